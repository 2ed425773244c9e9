"""A diagonal metric learnt by one chain from its draws and gradients: the Fisher-divergence optimum.

The diagonal Gaussian whose score is nearest to the target's in the mean square has the variances
sqrt(var(draws) / var(gradients)) (Seyboldt, Carlson & Carpenter 2026, arXiv:2603.18845). Two running
estimators see the same draws; the older one gives the metric and is replaced by the younger one at window
ends, so that early draws are forgotten. Window ends are the business of `warmup`.
"""

from __future__ import annotations

import numpy as np

from consilience.inference.metric import Metric, make_diagonal, set_variance
from consilience.native.mathematics import sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, record, simd

FEWEST_DRAWS = 3  # draws needed before an estimate is used
ROUNDING = 1e-10  # of a gradient that is zero


@record
class Estimators:
    """What a chain has seen.

    means, squares (Array): Running means and sums of squared deviations, f64[2, 2, dimension]: estimator (two of them),
        then draws before gradients.
    counts (Array): Draws seen by each estimator, i64[2].
    foreground: 0 or 1: the estimator that gives the metric.
    """

    means: Array[f64]
    squares: Array[f64]
    counts: Array[i64]
    foreground: i64
    dimension: i64


def new_estimators(dimension: int) -> Estimators:
    """Estimators that have seen nothing."""
    return Estimators(
        means=np.zeros(4 * dimension),
        squares=np.zeros(4 * dimension),
        counts=np.zeros(2, np.int64),
        foreground=0,
        dimension=dimension,
    )


@native(rare=True)
def guess(metric: Metric, gradient: Array[f64]) -> None:
    """First metric, from one gradient alone: variance 1 / |gradient|, and 1 where that is zero but for rounding.

    At the mean of its data, where chains may begin, an intercept has such a gradient.
    """
    make_diagonal(metric)
    for i in range(metric.dimension):
        slope = abs(gradient[i])
        set_variance(metric, i, 1.0 / slope if slope > ROUNDING else 1.0)


@native(shared=True)
def accumulate(means: Array[f64], squares: Array[f64], values: Array[f64], count: i64, dimension: i64) -> None:
    """Add the `count`-th observation to running means and squared deviations (Welford 1962)."""
    share = 1.0 / float(count)
    for i in simd(dimension):
        before = values[i] - means[i]
        means[i] += share * before
        squares[i] += before * (values[i] - means[i])


@native(rare=True)
def observe(estimators: Estimators, position: Array[f64], gradient: Array[f64]) -> None:
    """Show one draw and its gradient to both estimators."""
    n = estimators.dimension
    for estimator in range(2):
        estimators.counts[estimator] += 1
        count = estimators.counts[estimator]
        draws = 2 * estimator * n
        scores = draws + n
        accumulate(estimators.means[draws:], estimators.squares[draws:], position, count, n)
        accumulate(estimators.means[scores:], estimators.squares[scores:], gradient, count, n)


@native(rare=True)
def switch(estimators: Estimators) -> None:
    """The younger estimator takes over; the older one is emptied and becomes the younger."""
    n = estimators.dimension
    emptied = estimators.foreground
    estimators.counts[emptied] = 0
    for i in range(2 * n):
        estimators.means[2 * emptied * n + i] = 0.0
        estimators.squares[2 * emptied * n + i] = 0.0
    estimators.foreground = 1 - emptied


@native
def younger_count(estimators: Estimators) -> i64:
    """Draws seen by the estimator that is not in use yet."""
    return estimators.counts[1 - estimators.foreground]


@native(rare=True)
def refresh(estimators: Estimators, metric: Metric) -> boolean:
    """Set the metric from the estimator in use; False, with nothing changed, if it has seen too few draws.

    Directions that the metric had belong to other scales, and go: with both, momenta would not have its mass.
    """
    n = estimators.dimension
    if estimators.counts[estimators.foreground] < FEWEST_DRAWS:
        return False
    draws = estimators.squares[2 * estimators.foreground * n :]
    scores = estimators.squares[(2 * estimators.foreground + 1) * n :]
    for i in range(n):
        if draws[i] > 0.0 and scores[i] > 0.0:  # else this coordinate has taught nothing yet
            # both sums of squares have the same divisor, which cancels
            set_variance(metric, i, sqrt(draws[i] / scores[i]))
    make_diagonal(metric)
    return True
