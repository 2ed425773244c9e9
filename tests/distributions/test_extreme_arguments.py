"""Log densities and their slopes from 1e-300 to 1e300, against the formulas in sixty digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt

TINY = (1e-300, 1e-200, 1e-160, 1e-100, 1e-16, 1e-8, 0.1)
SIZES = (*TINY, 0.5, 1.0, 3.0, 1e3, 1e8, 1e16, 1e100, 1e154, 1e160, 1e200, 1e300)
REAL = (0.0, *SIZES, *(-v for v in SIZES))
UNIT = (*TINY, 0.5, 0.9, 1.0 - 1e-10, 1.0 - 2.0**-53)
COUNTS = (0, 1, 2, 10, 1000, 10**6)


@dataclass(frozen=True)
class Row:
    """One distribution: its formula on numbers of many digits, parameters, and values in its support."""

    make: Callable[..., Any]
    formula: Callable[..., Any]
    parameters: tuple[tuple[float, ...], ...]
    values: tuple[float, ...]


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
            slopes = [_slope(lambda t, n=numbers: row.formula(t, *n), x) for x in row.values]
            np.testing.assert_allclose(found[1], slopes, rtol=1e-8, atol=1e-305, err_msg=f"slope of {where}")


def _slope(formula: Callable[[Any], Any], x: float) -> float:
    with mp.workdps(700):
        step = (abs(mp.mpf(x)) or 1) * mp.mpf("1e-20")
        near, far = formula(x - step), formula(x + step)
        return float((far - near) / (2 * step))


def test_one_cauchy_value_far_out() -> None:
    """log(1 + z^2) where z^2 is no finite number."""
    far = pm.logp(pm.Cauchy.dist(0, 1), 1e200).eval()
    np.testing.assert_allclose(far, -np.log(np.pi) - 400 * np.log(10), rtol=1e-15)
