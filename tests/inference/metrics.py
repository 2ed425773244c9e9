"""Metrics with directions, and the same as matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from consilience.inference.metric import Metric, Scales, install, new_metric
from consilience.inference.vectors import Vectors


def random_scales(seed: int, dimension: int, rank: int, spread: float = 1.0) -> Scales:
    """`rank` random directions (at most the dimension), logs of scales and eigenvalues within `spread` of 0."""
    rng = np.random.default_rng(seed)
    directions, _ = np.linalg.qr(rng.standard_normal((dimension, rank)))
    return Scales(
        np.exp(spread * rng.uniform(-1.0, 1.0, dimension)),
        np.ascontiguousarray(directions.T),
        np.exp(2.0 * spread * rng.uniform(-1.0, 1.0, rank)),
    )


def inverse_mass(scales: Scales) -> NDArray[np.float64]:
    """S (I + U (Lambda - I) U') S, by its definition."""
    u, s = scales.directions.T, scales.scale
    return np.asarray(s[:, None] * (np.eye(len(s)) + u * (scales.eigenvalues - 1.0) @ u.T) * s)


def scales_of(covariance: NDArray[np.float64]) -> Scales:
    """The metric whose inverse mass is this matrix, with all directions."""
    scale = np.sqrt(np.diag(covariance))
    eigenvalues, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return Scales(scale, np.ascontiguousarray(vectors.T), eigenvalues)


def metric_of(scales: Scales) -> Metric:
    """The metric as native code uses it."""
    metric = new_metric(Vectors(len(scales.scale)))
    install(metric, scales)
    return metric
