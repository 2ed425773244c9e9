"""Log densities and their slopes from 1e-300 to 1e300, against the formulas in sixty digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import consilience as pm
import consilience.distributions as pd
import consilience.tensor as pt

TINY = (1e-300, 1e-200, 1e-160, 1e-100, 1e-16, 1e-8, 0.1)
SIZES = (*TINY, 0.5, 1.0, 3.0, 1e3, 1e8, 1e16, 1e100, 1e154, 1e160, 1e200, 1e300)
REAL = (0.0, *SIZES, *(-v for v in SIZES))
UNIT = (*TINY, 0.5, 0.9, 1.0 - 1e-10, 1.0 - 2.0**-53)
COUNTS = (0, 1, 2, 10, 1000, 10**6)


@dataclass(frozen=True)
class Row:
    """One distribution: its formula on numbers of many digits, parameters, and values in its support.

    terms   size of the terms that cancel in the slope near a mode, for the smallest scale among the parameters
    """

    make: Callable[..., Any]
    formula: Callable[..., Any]
    parameters: tuple[tuple[float, ...], ...]
    values: tuple[float, ...]
    terms: float = 0.0


def log(x: Any) -> Any:
    return mp.log(x) if x > 0 else mp.mpf("-inf")


def times_log(a: Any, x: Any) -> Any:
    return a * log(x) if a else mp.mpf(0)


def heavy(z: Any) -> Any:
    return mp.log1p(z * z)


def student_t(x: Any, nu: Any, mu: Any, sigma: Any) -> Any:
    ratio = mp.loggamma((nu + 1) / 2) - mp.loggamma(nu / 2) - log(nu * mp.pi) / 2 - log(sigma)
    return ratio - (nu + 1) / 2 * heavy((x - mu) / sigma / mp.sqrt(nu))


def normal(z: Any, sigma: Any) -> Any:
    return -z * z / 2 - log(sigma) - log(2 * mp.pi) / 2


def gamma(x: Any, a: Any, b: Any) -> Any:
    return a * log(b) - b * x + times_log(a - 1, x) - mp.loggamma(a)


def beta(x: Any, a: Any, b: Any) -> Any:
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    return times_log(a - 1, x) + times_log(b - 1, 1 - x) - log_beta


def log_ways(n: Any, k: Any) -> Any:
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


def negative_binomial(x: Any, mu: Any, a: Any) -> Any:
    ways = mp.loggamma(x + a) - mp.loggamma(a) - mp.loggamma(x + 1)
    return ways - a * mp.log1p(mu / a) + times_log(x, mu / (mu + a))


def exp(x: Any) -> Any:
    return mp.exp(x) if x < 10**6 else mp.mpf("inf")


def softplus(x: Any) -> Any:
    return x if x > 10**4 else mp.log1p(mp.exp(x)) if x > -(10**4) else mp.mpf(0)


def extreme_value(x: Any, xi: Any) -> Any:
    if xi * x <= -1:
        return mp.mpf("-inf")
    w = -mp.log1p(xi * x) / xi
    return (xi + 1) * w - exp(w)


def skew_student(x: Any, a: Any, b: Any, m: Any, s: Any) -> Any:
    u = (x - m) / s / mp.sqrt(a + b)
    root = mp.sqrt(1 + u * u)
    below, above = (root + u, 1 / (root + u)) if u > 0 else (1 / (root - u), root - u)
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    powers = (a + mp.mpf(1) / 2) * log(below / root) + (b + mp.mpf(1) / 2) * log(above / root)
    return powers - (a + b - 1) * log(mp.mpf(2)) - log_beta - log(a + b) / 2 - log(s)


def log_normal_below(w: Any) -> Any:
    """log Phi(w); far below by its asymptotic series."""
    if w > 10**6:
        return mp.mpf(0)
    if w > -30:
        return mp.log1p(-mp.erfc(w / mp.sqrt(2)) / 2) if w > 0 else log(mp.erfc(-w / mp.sqrt(2)) / 2)
    term = total = mp.mpf(1)
    for k in range(60):
        term *= -(2 * k + 1) / (w * w)
        total += term
    return -w * w / 2 - log(-w) - log(2 * mp.pi) / 2 + log(total)


def log_bessel(u: Any) -> Any:
    """log(I_0(u)) - u."""
    if u < 10**4:
        return log(mp.besseli(0, u)) - u
    term = total = mp.mpf(1)
    for k in range(1, 12):
        term *= (2 * k - 1) ** 2 / (8 * k * u)
        total += term
    return log(total) - log(2 * mp.pi * u) / 2


ROWS = {
    "Normal": Row(
        pm.Normal.dist, lambda x, m, s: normal((x - m) / s, s), ((0, 1), (1, 1e-3), (-3, 1e5), (1e10, 1e-60)), REAL
    ),
    "StudentT": Row(
        pm.StudentT.dist,
        student_t,
        ((3, 0, 1), (0.5, 1, 1e-3), (1e6, 0, 1), (1e16, 0, 1), (1e-5, 0, 1), (4, 0, 1e-8), (4, 0, 1e200)),
        REAL,
    ),
    "Cauchy": Row(
        pm.Cauchy.dist,
        lambda x, a, b: -log(mp.pi) - log(b) - heavy((x - a) / b),
        ((0, 1), (1, 1e-3), (0, 1e-8), (0, 1e200)),
        REAL,
    ),
    "Laplace": Row(pm.Laplace.dist, lambda x, m, b: -abs(x - m) / b - log(2 * b), ((0, 1), (1, 1e-3), (0, 1e60)), REAL),
    "HalfNormal": Row(
        pm.HalfNormal.dist, lambda x, s: log(mp.mpf(2)) + normal(x / s, s), ((1,), (1e-3,), (10.0,)), SIZES
    ),
    "HalfCauchy": Row(
        pm.HalfCauchy.dist,
        lambda x, b: log(mp.mpf(2)) - log(mp.pi) - log(b) - heavy(x / b),
        ((1,), (1e-3,), (1e-8,), (1e200,)),
        SIZES,
    ),
    "LogNormal": Row(
        pm.LogNormal.dist,
        lambda x, m, s: normal((log(x) - m) / s, s) - log(x),
        ((0, 1), (3, 1e-3), (0, 1e3)),
        SIZES,
    ),
    "Exponential": Row(pm.Exponential.dist, lambda x, r: log(r) - r * x, ((1,), (1e-8,), (1e200,)), SIZES),
    "Gamma": Row(pm.Gamma.dist, gamma, ((1, 1), (0.5, 2), (3, 1e-3), (1e-5, 1), (1e6, 1e3)), SIZES),
    "InverseGamma": Row(
        pm.InverseGamma.dist,
        lambda x, a, b: a * log(b) - b / x - (a + 1) * log(x) - mp.loggamma(a),
        ((1, 1.5), (0.5, 2), (3, 1e-3), (1e6, 1e3)),
        SIZES,
    ),
    "Beta": Row(pm.Beta.dist, beta, ((1, 1), (0.5, 0.5), (2, 5), (1e6, 3), (1e-5, 1e-5)), UNIT),
    "Gumbel": Row(
        pd.Gumbel.dist,
        lambda x, m, b: -(x - m) / b - exp((m - x) / b) - log(b),
        ((0, 1), (1, 1e-3), (0, 1e60)),
        REAL,
        1e3,
    ),
    "Weibull": Row(
        pd.Weibull.dist,
        lambda x, a, b: log(a) - log(b) + times_log(a - 1, x / b) - exp(a * log(x / b)),
        ((1, 1), (0.5, 2), (3, 1e-3), (1e-5, 1), (1e3, 10)),
        SIZES,
    ),
    "Frechet": Row(
        pd.Frechet.dist,
        lambda x, a, s: log(a) - log(s) - (a + 1) * log(x / s) - exp(-a * log(x / s)),
        ((1, 1), (0.5, 2), (3, 1e-3), (1e-5, 1), (1e3, 10)),
        SIZES,
        1e3,
    ),
    "GeneralizedExtremeValue": Row(
        lambda xi: pd.GeneralizedExtremeValue.dist(0.0, 1.0, xi),
        extreme_value,
        ((1e-300,), (1e-12,), (1e-3,), (-1e-3,), (0.5,), (-0.5,), (3,), (-3,), (1e8,)),
        tuple(v for v in REAL if v > -300),
        1.0,
    ),
    "GeneralizedPareto": Row(
        lambda xi: pd.GeneralizedPareto.dist(0.0, 1.0, xi),
        lambda x, xi: -(1 + xi) * mp.log1p(xi * x) / xi if xi * x > -1 else mp.mpf("-inf"),
        ((1e-300,), (1e-12,), (1e-3,), (-1e-3,), (0.5,), (-0.5,), (3,), (-3,), (1e8,)),
        SIZES,
    ),
    "Pareto": Row(
        lambda alpha: pd.Pareto.dist(alpha, 1e-300),
        lambda x, a: log(a) + a * log(mp.mpf(1e-300)) - (a + 1) * log(x),
        ((1,), (1e-300,), (1e8,)),
        SIZES,
    ),
    "HalfStudentT": Row(
        pd.HalfStudentT.dist,
        lambda x, nu, s: log(mp.mpf(2)) + student_t(x, nu, 0, s),
        ((3, 1), (0.5, 1e-3), (1e16, 1), (1e-5, 1), (4, 1e200)),
        SIZES,
    ),
    "Logistic": Row(
        pd.Logistic.dist,
        lambda x, m, s: -abs(x - m) / s - 2 * mp.log1p(exp(-abs(x - m) / s)) - log(s),
        ((0, 1), (1, 1e-3), (0, 1e60)),
        REAL,
        1e3,
    ),
    "ChiSquared": Row(
        pd.ChiSquared.dist, lambda x, nu: gamma(x, nu / 2, mp.mpf(1) / 2), ((1,), (2,), (1e-5,), (1e6,)), SIZES
    ),
    "LogGamma": Row(
        pd.LogGamma.dist,
        lambda x, a, b: a * (x + log(b)) - exp(x + log(b)) - mp.loggamma(a),
        ((1, 1), (0.5, 1e-3), (1e-5, 1), (1e6, 1e3)),
        REAL,
        1e6,
    ),
    "GeneralizedNormal": Row(
        pd.GeneralizedNormal.dist,
        lambda x, m, a, b: log(b) - log(2 * a) - mp.loggamma(1 / b) - (exp(b * log(abs(x - m) / a)) if x != m else 0),
        ((0, 1, 2), (0, 1e-3, 1.5), (0, 10, 30), (0, 1e100, 1.001)),
        REAL,
        1.0,
    ),
    "Kumaraswamy": Row(
        pd.Kumaraswamy.dist,
        lambda x, a, b: log(a) + log(b) + times_log(a - 1, x) + times_log(b - 1, -mp.expm1(a * log(x))),
        ((1, 1), (0.5, 0.5), (2, 5), (1e3, 3), (1e-5, 1e-5)),
        UNIT,
    ),
    "LogitNormal": Row(
        pd.LogitNormal.dist,
        lambda x, m, s: normal((log(x) - log(1 - x) - m) / s, s) - log(x) - log(1 - x),
        ((0, 1), (3, 1e-3), (0, 1e3)),
        UNIT,
    ),
    "BetaPrime": Row(
        pd.BetaPrime.dist,
        lambda x, a, b: (a - 1) * log(x) - (a + b) * mp.log1p(x) - log(mp.beta(a, b)),
        ((1, 1.5), (0.5, 0.5), (2, 5), (1e3, 3), (1e-5, 1e-5)),
        SIZES,
    ),
    "Dagum": Row(
        pd.Dagum.dist,
        lambda x, p, a, b: log(a) + log(p) - log(x) - p * softplus(-a * log(x / b)) - softplus(a * log(x / b)),
        ((1, 1, 1), (0.5, 3, 1e-3), (1e3, 0.5, 1e8), (1e-5, 20, 1)),
        SIZES,
    ),
    "LogLogistic": Row(
        pd.LogLogistic.dist,
        lambda x, a, b: log(b) - log(x) - softplus(-b * log(x / a)) - softplus(b * log(x / a)),
        ((1, 1), (1e-3, 0.5), (1e8, 3), (1, 1e3), (1, 1e-5)),
        SIZES,
    ),
    "AsymmetricLaplace": Row(
        pd.AsymmetricLaplace.dist,
        lambda x, k, m, b: log(b) - log(k + 1 / k) - b * abs(x - m) * (k if x > m else 1 / k),
        ((1, 0, 1), (1e-3, 0, 1e-3), (1e200, 0, 1), (1e-300, 0, 1e-5)),
        REAL[1:],
    ),
    "Moyal": Row(
        pd.Moyal.dist,
        lambda x, m, s: -((x - m) / s + exp((m - x) / s)) / 2 - log(s) - log(2 * mp.pi) / 2,
        ((0, 1), (1, 1e-3), (0, 1e60)),
        REAL,
        1e3,
    ),
    "SkewStudentT": Row(
        pd.SkewStudentT.dist,
        skew_student,
        ((1, 1, 0, 1), (0.5, 3, 1, 1e-3), (1e-5, 2, 0, 1), (1e3, 2, 0, 1e100)),
        REAL,
        1e3,
    ),
    "SkewNormal": Row(
        pd.SkewNormal.dist,
        lambda x, a, m, s: log(mp.mpf(2)) + normal((x - m) / s, s) + log_normal_below(a * (x - m) / s),
        ((0, 0, 1), (3, 1, 1e-3), (-1e5, 0, 1), (1e-200, 0, 10)),
        REAL,
    ),
    "ExGaussian": Row(
        pd.ExGaussian.dist,
        lambda x, m, s, nu: (m - x) / nu + s * s / (2 * nu * nu) + log_normal_below((x - m) / s - s / nu) - log(nu),
        ((0, 1, 1), (1, 1e-3, 5), (0, 1, 1e-8), (0, 1, 1e8), (0, 10, 0.1)),
        REAL,
        1.0,
    ),
    "Rice": Row(
        pd.Rice.dist,
        lambda x, nu, s: log(x / s**2) - ((x - nu) / s) ** 2 / 2 + log_bessel(x * nu / s**2),
        ((0, 1), (1, 1), (3, 1e-3), (1e-200, 1), (1e4, 10), (0, 1e100)),
        SIZES,
        1e3,
    ),
    "Wald": Row(
        pd.Wald.dist,
        lambda x, m, r: log(r / (2 * mp.pi * x**3)) / 2 - r * (x - m) ** 2 / (2 * m * m * x),
        ((1, 1), (1e-3, 5), (1e8, 1e-3)),
        SIZES,
    ),
    "Levy": Row(
        lambda c: pd.Levy.dist(0.0, c),
        lambda x, c: log(c / (2 * mp.pi)) / 2 - mp.mpf(3) / 2 * log(x) - c / (2 * x),
        ((1,), (1e-300,), (1e8,)),
        SIZES,
    ),
    "VonMises": Row(
        pd.VonMises.dist,
        lambda x, m, k: -2 * k * mp.sin((x - m) / 2) ** 2 - log_bessel(k) - log(2 * mp.pi),
        ((0, 1), (1, 1e-300), (0, 1e8), (-2, 1e300)),
        (0.0, *TINY, 0.5, 1.0, 3.0, -0.1, -1.0, -1e-100, -3.0),
    ),
    "TruncatedNormal far above the mean": Row(
        lambda lower, upper: pd.TruncatedNormal.dist(0.0, 1.0, lower, upper),
        lambda x, a, b: normal(x, mp.mpf(1)) - log(mp.ncdf(-a) - mp.ncdf(-b)),
        ((1, 10), (-1, 1.0 + 1e-12), (1, 3), (0.5, 400)),
        (1.0,),
    ),
    "Bernoulli": Row(
        pm.Bernoulli.dist,
        lambda x, p: times_log(x, p) + times_log(1 - x, 1 - p),
        ((0.3,), (1e-300,), (0.0,), (1.0,), (1 - 2.0**-53,)),
        (0, 1),
    ),
    "Bernoulli of log odds": Row(
        lambda logit_p: pm.Bernoulli.dist(logit_p=logit_p),
        lambda x, z: x * z - (z if z > 10**4 else mp.log1p(mp.exp(z)) if z > -(10**4) else mp.mpf(0)),
        ((0.3,), (-800.0,), (800.0,), (1e300,), (-1e300,)),
        (0, 1),
    ),
    "Poisson": Row(
        pm.Poisson.dist,
        lambda x, m: times_log(x, m) - m - mp.loggamma(x + 1),
        ((3,), (1e-300,), (1e6,), (0,), (1e300,)),
        COUNTS,
    ),
    "Binomial": Row(
        lambda p: pm.Binomial.dist(n=10**6, p=p),
        lambda x, p: log_ways(mp.mpf(10**6), x) + times_log(x, p) + times_log(10**6 - x, 1 - p),
        ((0.3,), (1e-300,), (0.0,), (1.0,), (1 - 2.0**-53,)),
        COUNTS,
    ),
    "NegativeBinomial": Row(
        pm.NegativeBinomial.dist,
        negative_binomial,
        ((3, 2), (1e-300, 1), (1e6, 1e6), (3, 1e-10), (0, 1), (1e200, 1e3), (1e-200, 1e-200)),
        COUNTS,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_log_densities_hold_at_extreme_values(name: str) -> None:
    """Nothing overflows or vanishes before its logarithm is taken."""
    row = ROWS[name]
    discrete = row.values in (COUNTS, (0, 1))
    value = pt.lvector("value") if discrete else pt.dvector("value")
    parameters = [pt.dscalar() for _ in row.parameters[0]]
    logp = pm.logp(row.make(*parameters), value)
    outputs = [logp] if discrete else [logp, pm.grad(logp.sum(), value)]
    compiled = pm.function([value, *parameters], outputs)
    with mp.workdps(60):
        for given in row.parameters:
            numbers = [mp.mpf(p) for p in given]
            found = compiled(np.array(row.values), *given)
            expected = [row.formula(mp.mpf(x), *numbers) for x in row.values]
            where = f"{name}{given}"
            # A unit in the last place of the greatest of the terms that are added: here at most 1e5 times the sum.
            np.testing.assert_allclose(found[0], [float(e) for e in expected], rtol=1e-11, atol=1e-6, err_msg=where)
            if discrete:
                continue
            slopes = np.array([_slope(lambda t, n=numbers: row.formula(t, *n), x) for x in row.values])
            known = ~np.isnan(slopes)  # elsewhere the density itself is 0
            rounding = 1e-305 + 1e-15 * row.terms
            np.testing.assert_allclose(
                found[1][known], slopes[known], rtol=1e-8, atol=rounding, err_msg=f"slope of {where}"
            )


def _slope(formula: Callable[[Any], Any], x: float) -> float:
    with mp.workdps(700):
        step = (abs(mp.mpf(x)) or 1) * mp.mpf("1e-20")
        near, far = formula(x - step), formula(x + step)
        return float((far - near) / (2 * step))


def test_one_cauchy_value_far_out() -> None:
    """log(1 + z^2) where z^2 is no finite number."""
    far = pm.logp(pm.Cauchy.dist(0, 1), 1e200).eval()
    np.testing.assert_allclose(far, -np.log(np.pi) - 400 * np.log(10), rtol=1e-15)
