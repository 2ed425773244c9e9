"""How far a metric can be from the one that draws and gradients call for: both enter, a bound leaves.

It takes no more than the metric's own products, where learning that other metric takes eigenvectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from consilience.inference.metric import Scales

Matrix = NDArray[np.float64]


def error_bound(draws: Matrix, gradients: Matrix, scales: Scales) -> float:
    """Bound on the variance of the logs of the variances of the target's metric relative to this one.

    `draws`, `gradients`: float64 (draw, coordinate), at least one; where they are not finite the bound is not.

    Seen with this metric as the unit, let A be the covariance of the draws and B that of the gradients. The target's
    metric G is their geometric mean A # B^-1. For every smooth density A >= B^-1 (Cramer and Rao), so A >= G >= B^-1.
    As log(x)^2 <= x + 1/x - 2, the squared logs of the eigenvalues of G sum to at most tr A + tr B - 2 d, and those of
    G / c to tr A / c + c tr B - 2 d: with the best c to 2 sqrt(tr A tr B) - 2 d. Traces of covariances have no bias.
    """
    if scales.whitener is not None:
        draws, gradients = scales.whitener.seen(draws), scales.whitener.slopes(gradients)
    with np.errstate(all="ignore"):
        inner = _square(draws / scales.scale, scales, scales.eigenvalues)
        outer = _square(gradients * scales.scale, scales, 1.0 / scales.eigenvalues)
        return 2.0 * (float(np.sqrt(inner * outer)) - 1.0)


def _square(points: Matrix, scales: Scales, variances: NDArray[np.float64]) -> float:
    """Mean square per coordinate of points from their mean, with these variances along the directions as units."""
    centred = points - points.mean(axis=0)
    along = centred @ scales.directions.T
    squares = np.sum(centred * centred) + np.sum(along * along * (1.0 / variances - 1.0))
    return float(squares / centred.size)
