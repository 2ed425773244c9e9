"""The step size with the acceptance asked for, read off the transitions of a window.

Dual averaging tries many step sizes; acceptance over their logarithm is a falling logistic curve, fitted by
penalised likelihood. Step sizes and acceptance probabilities enter, one step size leaves.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

PRIOR_SLOPE = -2.5
PRIOR_WEIGHT = 0.5
SHALLOWEST_SLOPE = -0.5
LEAST_SPREAD = 0.02  # of the log step sizes: below it there is no curve to fit
FARTHEST = 1.0  # from the mean log step size
MOST_ITERATIONS = 50


def step_size_for(target: float, step_sizes: NDArray[np.float64], acceptance: NDArray[np.float64]) -> float:
    """Step size at which the fitted acceptance is `target`.

    `step_sizes`: positive, any shape. `acceptance`: between 0 and 1, of the same shape.
    """
    logs = np.log(step_sizes.ravel())
    centre = float(logs.mean())
    if float(logs.std()) < LEAST_SPREAD:
        return math.exp(centre)
    x, y = logs - centre, acceptance.ravel()
    level, slope = _fit(x, y)
    moved = (math.log(target / (1.0 - target)) - level) / slope
    return math.exp(centre + min(max(moved, -FARTHEST), FARTHEST))


def _fit(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Level and slope of the logistic curve of greatest penalised likelihood, by Newton's method."""
    mean = min(max(float(y.mean()), 1e-3), 1.0 - 1e-3)
    level, slope = math.log(mean / (1.0 - mean)), PRIOR_SLOPE
    for _ in range(MOST_ITERATIONS):
        p = 1.0 / (1.0 + np.exp(-np.clip(level + slope * x, -30.0, 30.0)))
        weight = p * (1.0 - p)
        g0 = float((y - p).sum())
        g1 = float(((y - p) * x).sum()) - PRIOR_WEIGHT * (slope - PRIOR_SLOPE)
        h00 = float(weight.sum()) + 1e-9
        h01 = float((weight * x).sum())
        h11 = float((weight * x * x).sum()) + PRIOR_WEIGHT
        determinant = h00 * h11 - h01 * h01
        d0 = (h11 * g0 - h01 * g1) / determinant
        d1 = (h00 * g1 - h01 * g0) / determinant
        longest = max(abs(d0), abs(d1), 1.0)
        level, slope = level + d0 / longest, slope + d1 / longest
        if slope > SHALLOWEST_SLOPE:
            slope = SHALLOWEST_SLOPE
        if abs(d0) + abs(d1) < 1e-10:
            break
    return level, slope
