"""The Polya-gamma distribution against its alternating series in many digits."""

from __future__ import annotations

import functools

import mpmath as mp
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.errors import ParameterError
from consilience.ir import tensor_input
from consilience.ops.reduce import reduce
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

PARAMETERS = [(0.05, 0.0), (0.1, 1.3), (0.5, 0.0), (1.0, 0.0), (1.0, -2.0), (2.5, 20.0), (12.0, 1.0)]


@functools.cache
def series(x: float, h: float, z: float) -> tuple[float, float]:
    """Logarithms of the density (Polson, Scott, Windle 2013, section 2.3) and, for z = 0, of its integral up to x."""
    with mp.workdps(150):
        x, h, z = mp.mpf(x), mp.mpf(h), mp.mpf(z)
        density, below, term = mp.mpf(0), mp.mpf(0), mp.mpf(1)
        factor = mp.power(2, h)  # (-1)^n 2^h gamma(n + h) / (gamma(h) n!)
        n = 0
        while n < 6 or abs(term) > mp.mpf(10) ** -140:
            level = 2 * n + h
            term = factor * level * mp.exp(-(level**2) / (8 * x)) / mp.sqrt(8 * mp.pi * x**3)
            density += term
            below += factor * mp.erfc(level / mp.sqrt(8 * x)) if z == 0 else 0
            factor *= -(n + h) / (n + 1)
            n += 1
        tilt = h * mp.log(mp.cosh(z / 2)) - z * z * x / 2
        return float(mp.log(density) + tilt), float(mp.log(below)) if z == 0 else np.nan


def at(h: float, z: float) -> np.ndarray:
    """From far below the mean to far above it."""
    return np.array([0.03, 0.3, 0.9, 1.1, 3.0, 8.0]) * float(value_of(pd.mean(pd.PolyaGamma.dist(h, z))))


@pytest.mark.parametrize(("h", "z"), PARAMETERS)
@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_density_and_distribution_function_are_those_of_the_series(h: float, z: float, backend: str) -> None:
    """In both tails; the distribution function to fewer digits where h is small."""
    values = at(h, z)
    x = tensor_input("float64", values.shape, "x")
    rv = pd.PolyaGamma.dist(h, z)
    density, below, above = function([x], [pd.logp(rv, x), pd.logcdf(rv, x), pd.logccdf(rv, x)], backend=backend)(
        values
    )
    expected = np.array([series(v, h, z) for v in values])
    assert_allclose(density, expected[:, 0], rtol=1e-11, atol=1e-11)
    assert_allclose(np.exp(below) + np.exp(above), 1.0, rtol=1e-14)
    if z == 0.0:
        assert_allclose(below, expected[:, 1], rtol=1e-11 if h >= 0.3 else 1e-6)


@pytest.mark.parametrize(("h", "z"), [p for p in PARAMETERS if p[0] >= 0.3])
def test_slopes_of_the_tails_are_the_density(h: float, z: float) -> None:
    """Far into both tails, and on both sides of the mean, where one integral takes over from the other."""
    values = np.concatenate([at(h, z), at(h, z)[2:4] * [1.1111, 0.9091]])
    x = tensor_input("float64", values.shape, "x")
    rv = pd.PolyaGamma.dist(h, z)
    tails = [pd.logcdf(rv, x), pd.logccdf(rv, x)]
    slopes = [gradient(reduce("sum", tail), x) for tail in tails]
    density, below, above, up, down = (value_of(t, {x: values}) for t in (pd.logp(rv, x), *tails, *slopes))
    assert_allclose(up, np.exp(density - below), rtol=1e-8)
    assert_allclose(down, -np.exp(density - above), rtol=1e-8)


def test_slopes_in_the_parameters_are_those_of_finite_differences() -> None:
    """In the value, h and z."""
    leaves = [tensor_input("float64", (4,), name) for name in "xhz"]
    x, h, z = leaves
    total = reduce("sum", pd.logp(pd.PolyaGamma.dist(h, z), x))
    points = [np.array([0.05, 0.3, 0.6, 4.0]), np.array([0.3, 1.0, 2.0, 9.0]), np.array([0.0, 1.0, -3.0, 0.5])]
    point = dict(zip(leaves, points, strict=True))
    for leaf, slope in zip(leaves, gradient(total, leaves), strict=True):
        for i in range(4):
            step = np.zeros(4)
            step[i] = 1e-5
            change = value_of(total, point | {leaf: point[leaf] + step}) - value_of(
                total, point | {leaf: point[leaf] - step}
            )
            assert_allclose(value_of(slope, point)[i], change / 2e-5, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("h", "z"), [(0.4, 0.0), (1.0, 2.0), (7.0, -5.0)])
def test_draws_follow_the_distribution_function_and_the_moments(h: float, z: float) -> None:
    """Kolmogorov-Smirnov, mean and variance."""
    rv = pd.PolyaGamma.dist(h, z)
    draws = pd.draw(rv, 4000, random_seed=11)
    below = np.exp(value_of(pd.logcdf(rv, draws[:1000])))
    assert scipy.stats.kstest(below, "uniform").pvalue > 1e-3
    mean, variance = (float(value_of(f(rv))) for f in (pd.mean, pd.variance))
    assert abs(draws.mean() - mean) < 5.0 * np.sqrt(variance / len(draws))
    assert_allclose(draws.var(), variance, rtol=0.25)


def test_moments_are_those_of_the_series_of_gamma_variables() -> None:
    """Also next to z = 0, where the closed forms cancel."""
    k = np.arange(200_000) + 0.5
    for z in (0.0, 1e-9, 1e-3, 0.05, 0.0601, 1.0, 40.0):
        weights = 1.0 / (2.0 * (np.pi * k) ** 2 + 0.5 * z * z)
        rv = pd.PolyaGamma.dist(1.5, z)
        assert_allclose(value_of(pd.mean(rv)), 1.5 * (weights.sum() + 1.0 / (2.0 * np.pi**2 * len(k))), rtol=1e-9)
        assert_allclose(value_of(pd.variance(rv)), 1.5 * (weights**2).sum(), rtol=1e-11)


def test_wrong_shapes_say_so() -> None:
    """h must be positive; nothing below 0 has a density."""
    with pytest.raises(ParameterError, match="PolyaGamma: h must be > 0"):
        pd.PolyaGamma.dist(0.0)
    assert_array_equal(value_of(pd.logp(pd.PolyaGamma.dist(), [-1.0, 0.0])), -np.inf)
