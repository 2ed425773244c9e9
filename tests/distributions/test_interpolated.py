"""Densities that are linear between given points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.errors import ParameterError, ShapeError
from consilience.ir import tensor_input
from consilience.ops.reduce import reduce
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

PLACES = np.array([-2.0, -0.5, 0.0, 1.0, 3.0])
HEIGHTS = np.array([0.0, 2.0, 0.5, 0.5, 0.0])
TOTAL = np.trapezoid(HEIGHTS, PLACES)
INSIDE = np.array([-1.9, -1.0, -0.5, -0.2, 0.0, 0.3, 1.0, 2.5, 2.9999])


def density(x: float) -> float:
    return float(np.interp(x, PLACES, HEIGHTS)) / TOTAL


def mass(low: float, high: float) -> float:
    inner = [p for p in PLACES if low < p < high]
    return scipy.integrate.quad(density, low, high, points=inner or None, epsabs=1e-14)[0]


@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_density_and_tails_are_those_of_the_linear_interpolant(backend: str) -> None:
    """And -inf, or certainty, outside."""
    rv = pd.Interpolated.dist(PLACES, HEIGHTS)
    x = tensor_input("float64", (len(INSIDE) + 2,), "x")
    at = np.concatenate([[-3.0], INSIDE, [4.0]])
    logp, below, above = function([x], [pd.logp(rv, x), pd.logcdf(rv, x), pd.logccdf(rv, x)], backend=backend)(at)
    assert_allclose(np.exp(logp[1:-1]), [density(v) for v in INSIDE], rtol=1e-12)
    assert_allclose(np.exp(below[1:-1]), [mass(-2.0, v) for v in INSIDE], rtol=1e-9)
    assert_allclose(np.exp(above[1:-1]), [mass(v, 3.0) for v in INSIDE], rtol=1e-9)
    assert_array_equal(np.stack([logp, below, above])[:, [0, -1]], [[-np.inf] * 2, [-np.inf, 0.0], [0.0, -np.inf]])


def test_quantiles_invert_the_distribution_function() -> None:
    """Also where the density begins with 0, over a gap without mass, and at 0 and 1."""
    rv = pd.Interpolated.dist(PLACES, HEIGHTS)
    at = INSIDE[:-1]
    q = np.exp(value_of(pd.logcdf(rv, at)))
    assert_allclose(value_of(pd.icdf(rv, q)), at, rtol=1e-12, atol=1e-12)
    assert_array_equal(value_of(pd.icdf(rv, [0.0, 1.0])), [-2.0, 3.0])
    gap = pd.Interpolated.dist([0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 0.0, 1.0])
    assert_allclose(value_of(pd.icdf(gap, [0.25, 0.75])), [1.0 - np.sqrt(0.5), 3.0 + np.sqrt(0.5)])


def test_moments_and_draws_are_those_of_the_density() -> None:
    """By quadrature and by Kolmogorov-Smirnov."""
    rv = pd.Interpolated.dist(PLACES, HEIGHTS)
    segments = list(itertools.pairwise(PLACES))
    mean = sum(scipy.integrate.quad(lambda x: x * density(x), *s)[0] for s in segments)
    second = sum(scipy.integrate.quad(lambda x: x * x * density(x), *s)[0] for s in segments)
    assert_allclose(value_of(pd.mean(rv)), mean, rtol=1e-12)
    assert_allclose(value_of(pd.variance(rv)), second - mean**2, rtol=1e-12)
    draws = pd.draw(rv, 5000, random_seed=3)
    below = np.exp(value_of(pd.logcdf(rv, np.sort(draws))))
    assert scipy.stats.kstest(below, "uniform").pvalue > 1e-3


def test_heights_may_depend_on_parameters_and_batches_broadcast() -> None:
    """Slopes in the heights are those of finite differences; one density per row."""
    heights = tensor_input("float64", (2, 5), "heights")
    rv = pd.Interpolated.dist(PLACES, heights)
    total = reduce("sum", pd.logp(rv, np.array([0.3, -1.0])))
    (slope,) = gradient(total, [heights])
    at = np.stack([HEIGHTS, [1.0, 2.0, 3.0, 2.0, 1.0]])
    got = value_of(slope, {heights: at})
    for i, j in np.ndindex(2, 5):
        step = np.zeros((2, 5))
        step[i, j] = 1e-6
        if at[i, j] == 0.0:
            continue
        change = value_of(total, {heights: at + step}) - value_of(total, {heights: at - step})
        assert_allclose(got[i, j], change / 2e-6, rtol=1e-6, atol=1e-8)


def test_wrong_points_are_refused() -> None:
    """Places that do not increase, negative or vanishing heights, different lengths, one point."""
    with pytest.raises(ParameterError, match="x_points must be increasing"):
        pd.Interpolated.dist([0.0, 2.0, 1.0], [1.0, 1.0, 1.0])
    with pytest.raises(ParameterError, match="pdf_points must be numbers >= 0, not all 0"):
        pd.Interpolated.dist([0.0, 1.0], [1.0, -1.0])
    with pytest.raises(ParameterError, match="not all 0"):
        pd.Interpolated.dist([0.0, 1.0], [0.0, 0.0])
    with pytest.raises(ShapeError, match="one length of at least 2, got 3 and 2"):
        pd.Interpolated.dist([0.0, 1.0, 2.0], [1.0, 1.0])
    with pytest.raises(ShapeError, match="got 1 and 1"):
        pd.Interpolated.dist([0.0], [1.0])
