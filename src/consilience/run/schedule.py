"""Lengths of windows and moments of checks, as pure functions of the options."""

from __future__ import annotations

import math

ALONE = 15  # transitions each chain makes by itself at first
WINDOW_GROWTH = 1.5
CHECK_GROWTH = 1.25
EARLY = 0.5  # share of the draws that should suffice, at which to look again


def tuning_window(number: int) -> int:
    """Length of the pooled window of this number, from 0: 15, 22, 33, 50, 75, …"""
    return int(ALONE * WINDOW_GROWTH**number)


def next_tuning_window(number: int, done: int, total: int | None) -> int:
    """Transitions of the next pooled window where `done` have been made, of `total` if that is fixed.

    The last window takes in what would be too short for one of its own.
    """
    length = tuning_window(number)
    if total is None:
        return length
    left = total - done
    return left if left < length + tuning_window(number + 1) else length


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

    Half of those that it takes if draws go on to be worth what they were, and never more than twice those there are:
    sizes are estimates, and those of few draws are poor ones.
    """
    return int(min(2.0 * draws, EARLY * draws * target / size)) if size > 0 else 2 * draws
