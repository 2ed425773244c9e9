"""Distributions of distributions of distributions: laws that hold for any of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.ir import Node, tensor_input
from tests.distributions.cases import value_of

BASES = [
    lambda a, b: pd.Normal.dist(a, b),
    lambda a, b: pd.StudentT.dist(2 + b, a, b),
    lambda a, b: pd.Gamma.dist(b, np.exp(a / 4)),
    lambda a, b: pd.LogNormal.dist(a / 4, b / 2),
    lambda a, b: pd.Exponential.dist(b),
    lambda a, b: pd.Beta.dist(b, 1 + b),
]
PLACES = np.array([0.1, 0.35, 0.5, 0.8])


@st.composite
def compositions(draw: st.DrawFn, depth: int = 2) -> Node:
    """A distribution of numbers, of mixtures and truncations in each other."""
    kind = draw(st.sampled_from(["base", "mixture", "truncated"])) if depth else "base"
    if kind == "base":
        return draw(st.sampled_from(BASES))(draw(st.floats(-2, 2)), draw(st.floats(0.5, 3)))
    if kind == "mixture":
        p = draw(st.floats(0.05, 0.95))
        return pd.Mixture.dist([p, 1 - p], [draw(compositions(depth - 1)) for _ in range(2)])
    inner = draw(compositions(depth - 1))
    # Two draws of the distribution are bounds that leave something between them.
    low, high = np.sort(pd.draw(inner, 40, random_seed=draw(st.integers(0, 100))))[[5, 30]]
    sides = draw(st.sampled_from([(low, None), (None, high), (low, high)]))
    return pd.Truncated.dist(inner, *sides)


@given(compositions())
@settings(max_examples=12, deadline=None, derandomize=True)
def test_draws_density_and_distribution_function_of_a_composition_agree(rv) -> None:
    """The probability of a draw is uniform, its slope is the density, both tails make 1, quantiles invert it."""
    draws = np.sort(pd.draw(rv, 2000, random_seed=1))
    log_cdf, log_ccdf = value_of(pd.logcdf(rv, draws)), value_of(pd.logccdf(rv, draws))
    assert stats.kstest(np.exp(log_cdf), "uniform").pvalue > 1e-5
    assert_allclose(np.exp(log_cdf) + np.exp(log_ccdf), 1.0, rtol=1e-9)
    at = draws[(PLACES * 2000).astype(int)]
    step = 1e-6 * np.maximum(np.abs(at), 1e-3)
    slope = (np.exp(value_of(pd.logcdf(rv, at + step))) - np.exp(value_of(pd.logcdf(rv, at - step)))) / (2 * step)
    # A bound may lie within a step.
    smooth = np.isfinite(value_of(pd.logp(rv, at + step))) & np.isfinite(value_of(pd.logp(rv, at - step)))
    assert_allclose(np.exp(value_of(pd.logp(rv, at)))[smooth], slope[smooth], rtol=1e-4, atol=1e-7)
    if rv.op.distribution is pd.Truncated and "mixture" not in repr(rv.op.components).lower():
        assert_allclose(value_of(pd.icdf(rv, np.exp(value_of(pd.logcdf(rv, at))))), at, rtol=1e-6)


def compiled(rv: Node, value: np.ndarray) -> np.ndarray:
    x = tensor_input("float64", value.shape, "x")
    return function([x], pd.logp(rv, x))(value)


@pytest.mark.parametrize(
    "family",
    [
        lambda a: pd.Truncated.dist(pd.Normal.dist(a, 1), a - 1, a + 2),
        lambda a: pd.Censored.dist(pd.Normal.dist(a, 1), a - 1, 2.0),
        lambda a: pd.GaussianRandomWalk.dist(a, 0.5, init_dist=pd.Normal.dist(a, 1), steps=3),
        lambda a: pd.AR.dist(np.expand_dims(a, -1) / 3, 0.5, init_dist=pd.Normal.dist(1, 1), steps=3),
        lambda a: pd.EulerMaruyama.dist(0.5, lambda x, a: (-a * x, 1.0), [a], init_dist=pd.Normal.dist(), steps=3),
        lambda a: pd.MvGaussianRandomWalk.dist(np.stack([a, -a], -1), np.eye(2), steps=3),
    ],
    ids=["Truncated", "Censored", "RandomWalk", "AR", "EulerMaruyama", "MvGaussianRandomWalk"],
)
def test_mixture_of_a_batch_of_compositions_is_that_of_a_list(family) -> None:
    """Components side by side or one by one, for values of any batch shape."""
    a, w = np.array([0.0, 0.4, 1.5]), [0.2, 0.3, 0.5]
    side_by_side, listed = pd.Mixture.dist(w, family(a)), pd.Mixture.dist(w, [family(x) for x in a])
    assert side_by_side.static_shape == listed.static_shape
    values = pd.draw(listed, 6, random_seed=1).reshape(2, 3, *listed.static_shape)
    for value in (values, values[0, 0]):
        expected = value_of(pd.logp(listed, value))
        assert np.isfinite(expected).all()
        assert_allclose(value_of(pd.logp(side_by_side, value)), expected, rtol=1e-11)
        assert_allclose(compiled(side_by_side, value), expected, rtol=1e-11)
    assert pd.draw(side_by_side, 5, random_seed=1).shape == (5, *listed.static_shape)
