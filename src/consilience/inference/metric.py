"""A diagonal metric learnt from draws and gradients: the Fisher-divergence optimum.

The diagonal Gaussian whose score is nearest to the target's in the mean square has the variances
sqrt(var(draws) / var(gradients)) (Seyboldt, Carlson & Carpenter 2026, arXiv:2603.18845). Two running
estimators see the same draws; the older one gives the metric and is replaced by the younger one at window
ends, so that early draws are forgotten. Window ends are the business of `warmup`.
"""

from __future__ import annotations

import numpy as np

from consilience.inference.vectors import Vectors
from consilience.native.mathematics import isnan, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

SMALLEST_VARIANCE = 1e-20
LARGEST_VARIANCE = 1e20
FEWEST_DRAWS = 3  # draws needed before an estimate is used


@record
class Metric:
    """A diagonal metric and what it is learnt from.

    variance         inverse mass per coordinate, f64[dimension]
    mass_deviation   1 / sqrt(variance): standard deviation of the momentum, f64[dimension]
    means, squares   running means and sums of squared deviations, f64[2, 2, dimension]:
                     estimator (two of them), then draws before gradients
    counts           draws seen by each estimator, i64[2]
    foreground       0 or 1: the estimator that gives the metric
    """

    variance: Array[f64]
    mass_deviation: Array[f64]
    means: Array[f64]
    squares: Array[f64]
    counts: Array[i64]
    foreground: i64
    dimension: i64


def new_metric(vectors: Vectors) -> Metric:
    """The unit metric, which has learnt nothing yet."""
    dimension = vectors.dimension
    return Metric(
        variance=vectors.vector(1.0),
        mass_deviation=vectors.vector(1.0),
        means=np.zeros(4 * dimension),
        squares=np.zeros(4 * dimension),
        counts=np.zeros(2, np.int64),
        foreground=0,
        dimension=dimension,
    )


@native
def set_variance(metric: Metric, i: i64, variance: f64) -> None:
    """Set one variance, kept within bounds; what is no number becomes 1."""
    if isnan(variance):
        variance = 1.0
    variance = min(max(variance, SMALLEST_VARIANCE), LARGEST_VARIANCE)
    metric.variance[i] = variance
    metric.mass_deviation[i] = 1.0 / sqrt(variance)


@native
def guess(metric: Metric, gradient: Array[f64]) -> None:
    """First metric, from one gradient alone: variance 1 / |gradient|, and 1 where the gradient is zero."""
    for i in range(metric.dimension):
        slope = abs(gradient[i])
        set_variance(metric, i, 1.0 / slope if slope > 0.0 else 1.0)


@native(shared=True)
def accumulate(means: Array[f64], squares: Array[f64], values: Array[f64], count: i64, dimension: i64) -> None:
    """Add the `count`-th observation to running means and squared deviations (Welford 1962)."""
    share = 1.0 / float(count)
    for i in range(dimension):
        before = values[i] - means[i]
        means[i] += share * before
        squares[i] += before * (values[i] - means[i])


@native
def observe(metric: Metric, position: Array[f64], gradient: Array[f64]) -> None:
    """Show one draw and its gradient to both estimators."""
    n = metric.dimension
    for estimator in range(2):
        metric.counts[estimator] += 1
        count = metric.counts[estimator]
        draws = 2 * estimator * n
        scores = draws + n
        accumulate(metric.means[draws:], metric.squares[draws:], position, count, n)
        accumulate(metric.means[scores:], metric.squares[scores:], gradient, count, n)


@native
def switch(metric: Metric) -> None:
    """The younger estimator takes over; the older one is emptied and becomes the younger."""
    n = metric.dimension
    emptied = metric.foreground
    metric.counts[emptied] = 0
    for i in range(2 * n):
        metric.means[2 * emptied * n + i] = 0.0
        metric.squares[2 * emptied * n + i] = 0.0
    metric.foreground = 1 - emptied


@native
def younger_count(metric: Metric) -> i64:
    """Draws seen by the estimator that is not in use yet."""
    return metric.counts[1 - metric.foreground]


@native
def refresh(metric: Metric) -> boolean:
    """Set the metric from the estimator in use; False, with nothing changed, if it has seen too few draws."""
    n = metric.dimension
    if metric.counts[metric.foreground] < FEWEST_DRAWS:
        return False
    draws = metric.squares[2 * metric.foreground * n :]
    scores = metric.squares[(2 * metric.foreground + 1) * n :]
    for i in range(n):
        if draws[i] > 0.0 and scores[i] > 0.0:  # else this coordinate has taught nothing yet
            # both sums of squares have the same divisor, which cancels
            set_variance(metric, i, sqrt(draws[i] / scores[i]))
    return True
