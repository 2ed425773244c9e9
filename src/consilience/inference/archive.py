"""Past points of chains, and differences of two of them: proposals that have the target's own shape.

Differential evolution (ter Braak 2006). Points enter as rows; which ones, and when they change, stays outside.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from consilience.inference.messages import Matrix
from consilience.inference.tuner import Windows
from consilience.native.typed_python import f64, i64, native

ARCHIVE: Final = 1000  # points at most


@native
def pair(points: i64, first: f64, second: f64) -> tuple[i64, i64]:
    """Two different ones of at least 2 points, from two numbers uniform on (0, 1)."""
    a = min(int(first * float(points)), points - 1)
    b = min(int(second * float(points - 1)), points - 2)
    if b >= a:
        b += 1
    return a, b


def past_points(earlier: Matrix | None, windows: Windows, dimension: int) -> Matrix:
    """Earlier points and those of all chains in all windows, thinned to `ARCHIVE`, float64 (point, coordinate).

    How the draws are divided into windows has no influence.
    """
    chains = sorted(set.intersection(*(set(some) for some in windows))) if windows else []
    first = np.zeros((0, dimension)) if earlier is None else earlier
    counts = [len(some[chains[0]].draws) * len(chains) for some in windows]
    begins = np.cumsum([len(first), *counts])  # numbers of points before each window
    total = int(begins[-1])
    rows = np.arange(0, total, max(1, math.ceil(total / ARCHIVE)))
    cuts = np.searchsorted(rows, begins)
    points = np.empty((len(rows), dimension))
    points[: cuts[0]] = first[rows[: cuts[0]]]
    for w, some in enumerate(windows):
        for at in range(cuts[w], cuts[w + 1]):
            transition, chain = divmod(int(rows[at] - begins[w]), len(chains))
            points[at] = some[chains[chain]].draws[transition]
    return points
