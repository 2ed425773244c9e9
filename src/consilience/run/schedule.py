"""Moments of checks, as pure functions of the options."""

from __future__ import annotations

import math

CHECK_GROWTH = 1.25
MANY = 3  # times the draws of the first check, from which on another tuning costs less than they
LEAST_SHARE = 0.5  # of the draws that should suffice, at which to look again however poor the estimate
UNLIKELY = 1.645  # standard errors that an estimate exceeds in 5 % of cases


def check_after(draws: int, first: int, last: int) -> int:
    """Draws at the first check after `draws`: even, the first at `first`, each a quarter farther, none past `last`."""
    stage = 0
    while True:
        at = math.ceil(first * CHECK_GROWTH**stage)
        at += at % 2
        if at >= last:
            return last
        if at > draws:
            return at
        stage += 1


def look_again_after(draws: int, size: float, target: float) -> int:
    """Draws of each chain before the next look, where `draws` have an effective size of `size`, of `target` asked for.

    Those with which it is unlikely that they suffice: as many as it takes if draws go on to be worth what they were,
    less the error of the estimate, but at least half of them, and never more than twice those there are.

    Source: Sokal (1997), Monte Carlo methods in statistical mechanics, section 3: an autocorrelation time from lags up
    to M has a relative variance of 2 (2 M + 1) over the number of draws; M is taken as two such times.
    """
    if not size > 0:
        return 2 * draws
    return int(min(2.0 * draws, least_needed(draws, size, target)))


def least_needed(draws: int, size: float, target: float) -> float:
    """Draws of each chain with which it is unlikely that they suffice, however many; see `look_again_after`."""
    if not size > 0:
        return math.inf
    return max(LEAST_SHARE, 1.0 - UNLIKELY * math.sqrt(8.0 / size)) * draws * target / size
