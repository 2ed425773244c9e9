"""Where in parameter space divergences sit: draws and the places of divergences enter, words leave."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SIGNIFICANT = 3.0  # standard errors of the mean rank
MOST_NAMED = 2


def describe(names: Sequence[str], draws: NDArray[np.float64], places: NDArray[np.float64]) -> str:
    """Say in which part of which coordinates the divergences lie, or that they lie everywhere.

    draws    float64 (draw, coordinate)
    places   float64 (divergence, coordinate): where the leapfrog steps that diverged began

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
        if abs(shift[i]) < SIGNIFICANT:
            continue
        if shift[i] < 0:
            bound = float(np.quantile(ranks[i], 0.9))
            parts.append(f"`{names[i]}` is small (nine in ten within its lowest {100 * bound:.0f} %)")
        else:
            bound = 1.0 - float(np.quantile(ranks[i], 0.1))
            parts.append(f"`{names[i]}` is large (nine in ten within its highest {100 * bound:.0f} %)")
    if not parts:
        return "They lie where the other draws lie; no single parameter tells where."
    return f"They sit where {' and '.join(parts)}."
