"""Special functions and their derivatives, compiled, against 50-digit arithmetic over their domains.

Rows of vector code have their values in tests/native/vectormath_cases.py; here are the formulas made of them, and the
derivatives of both. Each test prints the greatest relative errors (`pytest -s`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest

import consilience.tensor as pt
from tests.native.vectormath_cases import (
    _beta_density,
    _betainc_slope,
    _erfcx,
    _gammainc_slope,
    _log_ndtr,
    powers,
    uniform,
)

Array = npt.NDArray[np.float64]
DIGITS = 50
POSITIVE = np.concatenate([powers(-8, 2, 16), uniform(0.2, 12, 12)])
ELSEWHERE = np.concatenate([powers(-8, 2, 16)[::-1], uniform(0.2, 12, 12)[::-1]])
LINE = np.concatenate([uniform(-6, 6, 16), -powers(-9, 2, 6), powers(-9, 2, 6)])


class Row(NamedTuple):
    """A function of tensors, the same in mpmath, points, and bounds of the relative errors of values and slopes."""

    ours: Callable[..., Any]
    exact: Callable[..., Any]
    points: tuple[Array, ...]
    value: float
    slope: float
    moving: tuple[int, ...] = (0,)


def _two(x: Array = POSITIVE, y: Array = ELSEWHERE) -> tuple[Array, Array]:
    return x, y


def _sinc(x: Any) -> Any:
    return mp.sinpi(x) / (mp.pi * x)


def _ndtri_exp(y: Any) -> Any:
    start = mp.mpf(float(pt.ndtri_exp(float(y)).eval()))
    return mp.findroot(lambda z: _log_ndtr(z) - y, (start, start * (1 + mp.mpf(10) ** -8)))


ROWS = {
    "gamma": Row(pt.gamma, mp.gamma, (np.concatenate([POSITIVE, -uniform(0, 20, 12)]),), 1e-15, 1e-13),
    "gammaln": Row(pt.gammaln, mp.loggamma, (POSITIVE,), 2e-15, 2e-15),
    "digamma": Row(pt.digamma, mp.digamma, (POSITIVE,), 2e-15, 2e-15),
    "trigamma": Row(pt.trigamma, lambda x: mp.psi(1, x), (POSITIVE,), 2e-15, 2e-15),
    "polygamma(4)": Row(lambda x: pt.polygamma(4, x), lambda x: mp.psi(4, x), (POSITIVE,), 4e-15, 4e-15),
    "zeta": Row(lambda q: pt.special.zeta(2.5, q), lambda q: mp.zeta(2.5, q), (uniform(0.01, 9, 12),), 2e-15, 2e-15),
    "betaln": Row(pt.betaln, lambda a, b: mp.log(mp.beta(a, b)), _two(), 1e-14, 1e-12, (0, 1)),
    "beta": Row(pt.beta, mp.beta, _two(), 1e-13, 1e-12, (0, 1)),
    "factorial": Row(pt.factorial, mp.factorial, (POSITIVE,), 1e-14, 1e-13),
    "poch": Row(pt.poch, mp.rf, _two(uniform(0.1, 300, 24), uniform(-0.1, 60, 24)), 3e-13, 3e-13, (0, 1)),
    "binom": Row(pt.special.binom, mp.binomial, _two(uniform(300, 1e4, 24), uniform(1, 40, 24)), 3e-13, 1e-12, (0, 1)),
    "multigammaln": Row(
        lambda x: pt.special.multigammaln(x, 3),
        lambda x: mp.fsum(mp.loggamma(x - j / mp.mpf(2)) for j in range(3)) + 1.5 * mp.log(mp.pi),
        (uniform(1.1, 40, 16),),
        1e-14,
        1e-14,
    ),
    "erfcx": Row(pt.erfcx, _erfcx, (np.concatenate([uniform(-20, 55, 40), powers(1, 8, 16)]),), 1e-15, 1e-12),
    "log_ndtr": Row(pt.log_ndtr, _log_ndtr, (np.concatenate([uniform(-50, 8, 30), -powers(2, 6, 6)]),), 1e-15, 1e-14),
    "ndtri_exp": Row(pt.ndtri_exp, _ndtri_exp, (-powers(-1.5, 4, 24),), 1e-14, 1e-13),
    "sinc": Row(pt.sinc, _sinc, (np.concatenate([uniform(0.05, 0.9, 12), powers(-9, -1, 24)]),), 1e-15, 1e-13),
    "log1mexp": Row(pt.log1mexp, lambda x: mp.log1p(-mp.exp(x)), (-powers(-12, 2.5, 30),), 1e-15, 1e-15),
    "softplus": Row(pt.softplus, lambda x: mp.log1p(mp.exp(x)), (LINE,), 1e-15, 1e-15),
    "sigmoid": Row(pt.sigmoid, lambda x: 1 / (1 + mp.exp(-x)), (LINE,), 1e-15, 2e-13),
    "logaddexp2": Row(
        pt.logaddexp2, lambda x, y: mp.log(2**x + 2**y, 2), _two(LINE, -LINE[::-1]), 1e-13, 1e-13, (0, 1)
    ),
    "logdiffexp": Row(
        lambda x, y: pt.logdiffexp(x + y, x),
        lambda x, y: x + mp.log(mp.expm1(y)),
        _two(uniform(-5, 5, 20), powers(-6, 1, 20)),
        1e-9,
        1e-8,
        (1,),
    ),
    "xlogx": Row(pt.xlogx, lambda x: x * mp.log(x), (POSITIVE,), 1e-15, 1e-13),
}


def _relative(got: Array, exact: list[Any]) -> float:
    """The greatest error relative to the exact value, which is given in more digits."""
    assert np.isfinite(got).all()
    return max(float(abs((mp.mpf(float(g)) - e) / e)) for g, e in zip(got, exact, strict=True))


@pytest.mark.parametrize("name", ROWS)
def test_values_and_slopes_are_exact_to_rounding(name: str) -> None:
    """Relative to each value, so that tails count as much as the centre."""
    row = ROWS[name]
    nodes = [pt.vector() for _ in row.points]
    value = row.ours(*nodes)
    compute = pt.function(nodes, [value, *pt.grad(value.sum(), [nodes[i] for i in row.moving])])
    values, *slopes = compute(*row.points)
    points = list(zip(*row.points, strict=True))
    with mp.workdps(DIGITS):
        numbers = [[mp.mpf(float(x)) for x in point] for point in points]
        worst = [_relative(values, [row.exact(*x) for x in numbers])]
        for place, slope in zip(row.moving, slopes, strict=True):
            orders = tuple(int(i == place) for i in range(len(row.points)))
            steps = [mp.diff(row.exact, tuple(x), orders) for x in numbers]
            worst.append(_relative(slope, steps))
    print(f"{name}: value {worst[0]:.1e}, slopes {' '.join(f'{w:.1e}' for w in worst[1:])}")
    assert worst[0] <= row.value
    assert max(worst[1:]) <= row.slope


@pytest.mark.parametrize("upper", [False, True], ids=["gammaincinv", "gammainccinv"])
def test_gamma_quantiles_have_the_slope_of_the_implicit_function(upper: bool) -> None:
    """In the shape, at the computed quantile: minus the slope of the probability over the density."""
    a, p = np.repeat([0.05, 0.7, 3.0, 40.0, 500.0], 3), np.tile([1e-8, 0.4, 0.999], 5)
    shape, probability = pt.vector(), pt.vector()
    x = (pt.gammainccinv if upper else pt.gammaincinv)(shape, probability)
    at, slopes = pt.function([shape, probability], [x, pt.grad(x.sum(), shape)])(a, p)
    with mp.workdps(DIGITS):
        exact = []
        for s, t in zip(map(float, a), map(float, at), strict=True):
            density = mp.exp((s - 1) * mp.log(t) - t - mp.loggamma(s))
            exact.append(-_gammainc_slope(mp.mpf(s), mp.mpf(t)) / density)
        assert _relative(slopes, exact) < 1e-12


@pytest.mark.parametrize("upper", [False, True], ids=["betaincinv", "betainccinv"])
def test_beta_quantiles_have_the_slopes_of_the_implicit_function(upper: bool) -> None:
    """In both shapes."""
    a, b = np.repeat([0.2, 1.5, 30.0], 9), np.tile(np.repeat([0.3, 2.0, 80.0], 3), 3)
    p = np.tile([1e-3, 0.4, 0.99], 9)
    first, second, probability = pt.vector(), pt.vector(), pt.vector()
    x = (pt.betainccinv if upper else pt.betaincinv)(first, second, probability)
    at, *slopes = pt.function([first, second, probability], [x, *pt.grad(x.sum(), [first, second])])(a, b, p)
    inside = (at > 1e-12) & (at < 0.9)  # elsewhere 1 - x has few digits
    with mp.workdps(DIGITS):
        points = [tuple(mp.mpf(float(v)) for v in point) for point in zip(a, b, at, strict=True)]
        points = [point for point, inner in zip(points, inside, strict=True) if inner]
        of_first = [-_betainc_slope(*point) / _beta_density(*point) for point in points]
        of_second = [_betainc_slope(t, s, 1 - x) / _beta_density(s, t, x) for s, t, x in points]
        assert _relative(slopes[0][inside], of_first) < 1e-12
        assert _relative(slopes[1][inside], of_second) < 1e-12


def test_differences_of_exponentials_at_their_ends() -> None:
    """Taking nothing away changes nothing, not even nothing; more cannot be taken away than there is."""
    a, b = pt.dvectors("a", "b")
    ends = [-np.inf, -np.inf, -1.0, 2.0, np.log(4.0)], [-1.0, -np.inf, -np.inf, 2.0, np.log(3.0)]
    run = pt.function([a, b], [pt.logdiffexp(a, b), pt.grad(pt.logdiffexp(a[2:], b[2:]).sum(), a)])
    value, slope = run(*ends)
    np.testing.assert_allclose(value, [np.nan, -np.inf, -1.0, -np.inf, 0.0], atol=1e-14)
    np.testing.assert_allclose(slope[[0, 1, 2, 4]], [0.0, 0.0, 1.0, 4.0])
