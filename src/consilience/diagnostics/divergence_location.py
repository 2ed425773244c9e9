"""Where in parameter space divergences sit: draws and the places of divergences enter, words leave."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SIGNIFICANT = 3.0  # standard errors of the mean rank
MOST_NAMED = 2
NARROW, WIDEST = 0.5, 0.4  # shares of the draws that tell a place: with nine in ten divergences, with half of them


def describe(names: Sequence[str], draws: NDArray[np.float64], places: NDArray[np.float64]) -> str:
    """Say in which part of which coordinates the divergences lie, or that they lie everywhere.

    `draws`: float64 (draw, coordinate). `places`: float64 (divergence, coordinate): where the leapfrog steps that
    diverged began.

    The mean rank of the places among the draws is compared with 1/2, its expectation if they lay where the draws
    lie; its standard error is then 1 / sqrt(12 n).
    """
    if not len(places) or not len(draws):
        return ""
    ranks = np.stack(
        [np.searchsorted(np.sort(draws[:, i]), places[:, i]) / len(draws) for i in range(draws.shape[1])]
    )  # (coordinate, divergence)
    shift = (ranks.mean(axis=1) - 0.5) * math.sqrt(12.0 * len(places))
    order = np.argsort(-np.abs(shift))[:MOST_NAMED]
    parts = []
    for i in order:
        if abs(shift[i]) >= SIGNIFICANT:
            side = ranks[i] if shift[i] < 0 else 1.0 - ranks[i]
            parts += _words(names[i], *("small", "lowest") if shift[i] < 0 else ("large", "highest"), side)
    if not parts:
        return "They lie where the other draws lie; no single parameter tells where."
    return f"They sit where {' and '.join(parts)}."


def _words(name: str, size: str, end: str, ranks: NDArray[np.float64]) -> list[str]:
    """How near to an end of a coordinate they lie; nothing where that end is as wide as the whole."""
    half, most = np.quantile(ranks, [0.5, 0.9])
    if half > WIDEST:
        return []
    share, bound = ("nine in ten", most) if most <= NARROW else ("half of them", half)
    return [f"`{name}` is {size} ({share} within its {end} {max(1.0, 100 * bound):.0f} %)"]
