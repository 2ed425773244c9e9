"""Quantiles that are searched for: the tail at the quantile is the probability that was asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.ir import Node, tensor_input
from consilience.ops.reduce import reduce
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

Q = np.array([1e-300, 1e-12, 1e-5, 0.01, 0.2, 0.3, 0.5, 0.8, 0.99, 1 - 1e-7])

CONTINUOUS: dict[str, Callable[[], Node]] = {
    "mixture": lambda: pd.NormalMixture.dist([0.3, 0.7], [-1.0, 2.0], [0.5, 1.5]),
    "far apart": lambda: pd.NormalMixture.dist([0.25, 0.75], [0.0, 1e6], [1e-3, 1.0]),
    "heavy tails": lambda: pd.Mixture.dist([0.3, 0.7], [pd.Cauchy.dist(0, 1), pd.HalfNormal.dist(1)]),
    "several mixtures": lambda: pd.NormalMixture.dist([[0.3, 0.7], [0.5, 0.5]], [[-1.0, 2.0], [3.0, 4.0]], [0.5, 1.5]),
    "Polya-gamma 1": lambda: pd.PolyaGamma.dist(1.0, 0.0),
    "Polya-gamma 0.3": lambda: pd.PolyaGamma.dist(0.3, 2.0),
    "Polya-gamma 1e4": lambda: pd.PolyaGamma.dist(1e4, 0.0),
    "narrow direction": lambda: pd.VonMises.dist(-3.1, 1e6),
    "one direction": lambda: pd.VonMises.dist(0.0, 1e300),
}


@pytest.mark.parametrize("make", CONTINUOUS.values(), ids=CONTINUOUS)
@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_the_tail_at_a_quantile_is_the_probability(make: Callable[[], Node], backend: str) -> None:
    """As logarithms, in the smaller tail; the ends are those of the support."""
    rv = make()
    q = Q.reshape(-1, *(1,) * rv.ndim)
    x = tensor_input("float64", (len(Q), *rv.static_shape), "x")
    (found,) = function([], [pd.icdf(rv, q)], backend=backend)()
    below, above = function([x], [pd.logcdf(rv, x), pd.logccdf(rv, x)], backend=backend)(found)
    error = np.where(q < 0.5, below - np.log(q), above - np.log1p(-q))
    assert np.abs(error).max() < 1e-9
    ends = value_of(pd.icdf(rv, np.array([0.0, 1.0]).reshape(-1, *(1,) * rv.ndim)))
    assert (ends[0] <= found).all()
    assert (ends[1] >= found).all()


def test_angles_of_any_probability_lie_on_the_circle() -> None:
    """Where the tail begins between two numbers too."""
    for mu, kappa in ((0.0, 1.0), (3.0, 2.0), (1.0, 1e-3), (2.0, 50.0)):
        rv = pd.VonMises.dist(mu, kappa)
        x = value_of(pd.icdf(rv, Q))
        assert (np.abs(x) <= np.pi).all()
        assert_allclose(np.exp(value_of(pd.logcdf(rv, x[2:]))), Q[2:], rtol=1e-9)
        assert_array_equal(value_of(pd.icdf(rv, [0.0, 1.0])), [-np.pi, np.pi])


DISCRETE: dict[str, Callable[[], Node]] = {
    "mixture": lambda: pd.Mixture.dist([0.3, 0.7], [pd.Poisson.dist(3), pd.Binomial.dist(40, 0.7)]),
    "huge counts": lambda: pd.Mixture.dist([0.3, 0.7], [pd.Poisson.dist(3), pd.Binomial.dist(10**9, 0.7)]),
    "Skellam": lambda: pd.Skellam.dist(40.0, 63.0),
    "large Skellam": lambda: pd.Skellam.dist(1e6, 1e6),
    "one Poisson count": lambda: pd.Skellam.dist(5.0, 0.0),
    "less one Poisson count": lambda: pd.Skellam.dist(0.0, 5.0),
    "nearly always 0": lambda: pd.Skellam.dist(1e-3, 1e-3),
}


@pytest.mark.parametrize("make", DISCRETE.values(), ids=DISCRETE)
def test_a_quantile_is_the_smallest_number_whose_probability_reaches_it(make: Callable[[], Node]) -> None:
    """At the number it is reached, at the one before not."""
    rv = make()
    x = value_of(pd.icdf(rv, Q))
    assert_array_equal(x, np.floor(x))
    x = x.astype(int)
    lower = Q < 0.5
    asked = np.where(lower, np.log(Q), np.log1p(-Q))
    tails = [np.where(lower, value_of(pd.logcdf(rv, k)), value_of(pd.logccdf(rv, k))) for k in (x - 1, x)]
    sign = np.where(lower, 1.0, -1.0)
    assert (sign * (tails[0] - asked) <= 1e-11).all()
    assert (sign * (tails[1] - asked) >= -1e-11).all()


def test_quantiles_of_mixtures_have_the_derivatives_of_the_inverse() -> None:
    """By a mean: the share of its component in the density at the quantile."""
    mu = tensor_input("float64", (2,), "mu")
    q = np.array([0.01, 0.4, 0.9])
    rv = pd.NormalMixture.dist([0.3, 0.7], mu, [0.5, 1.5])
    (slope,) = gradient(reduce("sum", pd.icdf(rv, q)), [mu])
    at = np.array([-1.0, 2.0])
    found = function([mu], slope)(at)
    x = function([mu], pd.icdf(rv, q))(at)
    parts = np.array([0.3, 0.7]) * np.exp(value_of(pd.logp(pd.Normal.dist(at, [0.5, 1.5]), x[:, None])))
    assert_allclose(found, (parts / parts.sum(1, keepdims=True)).sum(0), rtol=1e-7)
