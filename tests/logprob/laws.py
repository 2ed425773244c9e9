"""What holds for the density of every node: it is the slope of the distribution function, and draws follow it."""

from __future__ import annotations

import numpy as np
import scipy.stats

import consilience.distributions as pd
from consilience import logprob
from consilience.ir import Node, tensor_input
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

# One test in 10^5 fails by chance, with seeds fixed none does anew.
CHANCE = 1e-5
COUNT = 4000


def evaluated(formula, node: Node, values, **options) -> np.ndarray:
    """A formula of `logprob` at values."""
    return np.asarray(value_of(formula(node, np.asarray(values), **options)))


def cdf(node: Node, values, **options) -> np.ndarray:
    """P(X <= x)."""
    return np.exp(evaluated(logprob.logcdf, node, values, **options))


def draws_of(node: Node, count: int = COUNT) -> np.ndarray:
    """Draws that have a value: a logarithm of a negative number has none."""
    draws = np.asarray(pd.draw(node, count, random_seed=11), "float64")
    return draws[~np.isnan(draws)]


def check_continuous(node: Node, **options) -> None:
    """A scalar node without atoms: density, both tails, draws and gradient agree; `options` are those of `logp`."""
    draws = draws_of(node)
    total = float(cdf(node, [np.inf], **options)[0])
    assert scipy.stats.kstest(draws, lambda x: cdf(node, x, **options) / total).pvalue > CHANCE
    points = np.quantile(draws, [0.03, 0.2, 0.41, 0.6, 0.87, 0.98])
    width = np.quantile(draws, 0.75) - np.quantile(draws, 0.25)
    density = evaluated(logprob.logp, node, points, **options)
    check_slope(node, points, np.exp(density), width, **options)
    np.testing.assert_allclose(
        np.exp(evaluated(logprob.logccdf, node, points, **options)),
        total - cdf(node, points, **options),
        rtol=1e-9,
        atol=1e-12,
    )
    check_gradient(node, points, **options)


def check_slope(node: Node, points, density, width: float, **options) -> None:
    """Density is the slope of the distribution function, by Richardson's extrapolation of central differences."""
    step = 1e-3 * np.minimum(width, 1 / np.maximum(density, 1e-3))

    def difference(h):
        return (cdf(node, points + h, **options) - cdf(node, points - h, **options)) / (2 * h)

    slope = (4 * difference(step / 2) - difference(step)) / 3
    np.testing.assert_allclose(density, slope, rtol=2e-4, atol=1e-7)


def check_gradient(node: Node, points, **options) -> None:
    """The derivative of the log density by the value is that of differences, by Richardson's extrapolation."""
    value = tensor_input("float64", (len(points),), "value")
    result = logprob.logp(node, value, **options)
    (slope,) = gradient(result.sum(), [value])
    found = value_of(slope, {value: points})
    # A density may be infinite at 0 and at the ends of the support.
    draws = draws_of(node)
    step = 1e-3 * np.minimum(np.abs(points), np.minimum(points - draws.min(), draws.max() - points))

    def difference(h):
        return (value_of(result, {value: points + h}) - value_of(result, {value: points - h})) / (2 * h)

    expected = (4 * difference(step / 2) - difference(step)) / 3
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def check_discrete(node: Node, values, **options) -> None:
    """A scalar node of masses: they sum to 1 over the values, make up the tails, and draws follow them."""
    values = np.sort(np.asarray(values, "float64"))
    masses = np.exp(evaluated(logprob.logp, node, values, **options))
    np.testing.assert_allclose(masses.sum(), 1, rtol=1e-7)
    reached = np.cumsum(masses)
    np.testing.assert_allclose(cdf(node, values, **options), reached, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(
        np.exp(evaluated(logprob.logccdf, node, values, **options)), 1 - reached, rtol=1e-6, atol=2e-8
    )
    draws = draws_of(node)
    counts = np.array([np.isclose(draws, v, rtol=1e-9, atol=0).sum() for v in values])
    assert counts.sum() == len(draws)
    likely = masses * len(draws) >= 5
    seen = np.r_[counts[likely], counts[~likely].sum()]
    expected = np.r_[masses[likely], masses[~likely].sum()] * len(draws)
    kept = expected > 1e-3
    assert seen[~kept].sum() == 0
    if kept.sum() > 1:
        assert (
            scipy.stats.chisquare(seen[kept], expected[kept] * seen[kept].sum() / expected[kept].sum()).pvalue > CHANCE
        )


def check_quantiles(node: Node, **options) -> None:
    """The quantile of a probability is where the distribution function reaches it."""
    q = np.array([0.01, 0.2, 0.5, 0.77, 0.99])
    np.testing.assert_allclose(cdf(node, evaluated(logprob.icdf, node, q, **options), **options), q, rtol=1e-9)
