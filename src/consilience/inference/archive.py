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
    parts = [] if earlier is None else [earlier]
    if windows:
        chains = sorted(set.intersection(*(set(some) for some in windows)))
        by_chain = [np.concatenate([some[c].draws for some in windows]) for c in chains]
        parts.append(np.stack(by_chain, axis=1).reshape(-1, dimension))
    points = np.concatenate(parts) if parts else np.zeros((0, dimension))
    return points[:: max(1, math.ceil(len(points) / ARCHIVE))]
