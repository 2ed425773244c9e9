"""Logarithms of tail probabilities are right wherever they are finite, far beyond where the probabilities underflow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import consilience as pm
import consilience.tensor as pt
from tests.native.exact_incomplete import _log_betainc_odds, _log_gammainc

Tails = Callable[..., tuple[Any, Any]]


def _gamma(shape: Callable[..., Any], at: Callable[..., Any], upper: bool = False) -> Tails:
    def tails(v: Any, *parameters: Any) -> tuple[Any, Any]:
        found = _log_gammainc(shape(v, *parameters), at(v, *parameters))
        return found[::-1] if upper else found

    return tails


def _beta(arguments: Callable[..., tuple[Any, Any, Any]], both_sides: bool = False) -> Tails:
    def tails(v: Any, *parameters: Any) -> tuple[Any, Any]:
        a, b, w = arguments(v, *parameters)
        below, above = _log_betainc_odds(a, b, w), _log_betainc_odds(b, a, -w)
        if not both_sides:
            return below, above
        half = below - mp.log(2)
        return (half, mp.log1p(-mp.exp(half))) if v < 0 else (mp.log1p(-mp.exp(half)), half)

    return tails


def _sums(mass: Callable[..., Any], most: int) -> Tails:
    def tails(v: Any, *parameters: Any) -> tuple[Any, Any]:
        masses = [mass(k, *parameters) for k in range(most + 1)]
        below, above = (mp.fsum(part) for part in (masses[: int(v) + 1], masses[int(v) + 1 :]))
        return (mp.log(below), mp.log1p(-below)) if below < above else (mp.log1p(-above), mp.log(above))

    return tails


def _student(v: Any, nu: Any) -> tuple[Any, Any, Any]:
    return nu / 2, mp.mpf(0.5), mp.log(nu / v**2)


# A distribution, its parameters, values in both tails, and log P(X <= v) and log P(X > v) in mpmath.
CASES: dict[str, tuple[Callable[..., Any], tuple[float, ...], tuple[float, ...], Tails]] = {
    "Gamma": (
        lambda a, b: pm.Gamma.dist(a, b),
        (31.5, 1.0),
        (1e-30, 1e-9, 0.02, 31.0, 900.0, 1100.0, 9e4),
        _gamma(lambda v, a, b: a, lambda v, a, b: b * v),
    ),
    "Gamma of a small shape": (
        lambda a, b: pm.Gamma.dist(a, b),
        (1e-3, 2.0),
        (1e-300, 1e-9, 0.02, 20.0, 900.0, 4e4),
        _gamma(lambda v, a, b: a, lambda v, a, b: b * v),
    ),
    "Gamma of a large shape": (
        lambda a, b: pm.Gamma.dist(a, b),
        (1e4, 1.0),
        (6e3, 1e4, 2e4),
        _gamma(lambda v, a, b: a, lambda v, a, b: b * v),
    ),
    "ChiSquared": (
        lambda nu: pm.ChiSquared.dist(nu),
        (7.0,),
        (1e-200, 1e-3, 5.0, 1700.0, 9e4),
        _gamma(lambda v, nu: nu / 2, lambda v, nu: v / 2),
    ),
    "InverseGamma": (
        lambda a, b: pm.InverseGamma.dist(a, b),
        (3.0, 2.0),
        (2e-5, 1e-3, 0.7, 1e9, 1e300),
        _gamma(lambda v, a, b: a, lambda v, a, b: b / v, upper=True),
    ),
    "Poisson": (
        lambda mu: pm.Poisson.dist(mu),
        (900.0,),
        (0.0, 150.0, 899.0, 2e4),
        _gamma(lambda v, mu: v + 1, lambda v, mu: mu, upper=True),
    ),
    "NegativeBinomial": (
        lambda mu, alpha: pm.NegativeBinomial.dist(mu=mu, alpha=alpha),
        (90.0, 12.0),
        (0.0, 89.0, 9e3),
        _beta(lambda v, mu, alpha: (alpha, v + 1, mp.log(alpha / mu))),
    ),
    "NegativeBinomial, nearly Poisson": (
        lambda mu, alpha: pm.NegativeBinomial.dist(mu=mu, alpha=alpha),
        (3.0, 3e3),
        (0.0, 3.0, 300.0),
        _beta(lambda v, mu, alpha: (alpha, v + 1, mp.log(alpha / mu))),
    ),
    "Binomial": (
        lambda n, p: pm.Binomial.dist(n, p),
        (600.0, 0.1),
        (0.0, 59.0, 500.0, 599.0),
        _beta(lambda v, n, p: (n - v, v + 1, mp.log((1 - p) / p))),
    ),
    "Beta": (
        lambda a, b: pm.Beta.dist(a, b),
        (60.0, 40.0),
        (1e-300, 1e-5, 0.1, 0.6, 0.999999, 1 - 2.0**-50),
        _beta(lambda v, a, b: (a, b, mp.log(v / (1 - v)))),
    ),
    "Beta of tiny shapes": (
        lambda a, b: pm.Beta.dist(a, b),
        (1e-9, 3e-8),
        (1e-300, 1e-9, 0.2, 0.5, 1 - 2.0**-50),
        _beta(lambda v, a, b: (a, b, mp.log(v / (1 - v)))),
    ),
    "BetaBinomial": (
        lambda a, b: pm.BetaBinomial.dist(a, b, n=150),
        (20.0, 1e7),
        (0.0, 3.0, 80.0, 149.0),
        _sums(lambda k, a, b: mp.binomial(150, k) * mp.beta(k + a, 150 - k + b) / mp.beta(a, b), 150),
    ),
    "BetaBinomial with heaps at both ends": (
        lambda a, b: pm.BetaBinomial.dist(a, b, n=40),
        (0.3, 1e-3),
        (0.0, 20.0, 39.0),
        _sums(lambda k, a, b: mp.binomial(40, k) * mp.beta(k + a, 40 - k + b) / mp.beta(a, b), 40),
    ),
    "BetaPrime": (
        lambda a, b: pm.BetaPrime.dist(a, b),
        (60.0, 40.0),
        (1e-300, 1e-5, 1.0, 1e9, 1e300),
        _beta(lambda v, a, b: (a, b, mp.log(v))),
    ),
    "StudentT": (
        lambda nu: pm.StudentT.dist(nu, 0.0, 1.0),
        (100.0,),
        (-1e300, -1e9, -3e3, -1.5, 1.5, 3e3, 1e9, 1e300),
        _beta(_student, both_sides=True),
    ),
    "HalfStudentT": (
        lambda nu: pm.HalfStudentT.dist(nu, 1.0),
        (100.0,),
        (1e-300, 1e-5, 1.5, 3e3, 1e9, 1e300),
        lambda v, nu: _beta(_student)(v, nu)[::-1],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_tails_and_their_slopes_are_right_where_the_probability_underflows(name: str) -> None:
    """logcdf and logccdf, with slopes in each parameter, to ten digits."""
    dist, parameters, values, tails = CASES[name]
    nodes = [pt.scalar() for _ in parameters]
    at = pt.vector()
    rv = dist(*nodes)
    both = pm.logcdf(rv, at), pm.logccdf(rv, at)
    compute = pt.function([at, *nodes], [*both, *(pt.jacobian(tail, node) for tail in both for node in nodes)])
    below, above, *slopes = compute(values, *parameters)

    def exact(moved: int = -1, step: float = 0.0) -> list[tuple[Any, Any]]:
        points = [[mp.mpf(v), *map(mp.mpf, parameters)] for v in values]
        return [tails(*(x * (1 + mp.mpf(step)) if i == moved else x for i, x in enumerate(p))) for p in points]

    with mp.workdps(30):
        wanted = np.array(exact(), float).T
        np.testing.assert_allclose([below, above], wanted, rtol=1e-10, atol=1e-300)
        for place, parameter in enumerate(parameters):
            up, down = (np.array(exact(place + 1, h)) for h in (1e-12, -1e-12))
            steps = ((up - down) / (2e-12 * parameter)).astype(float).T
            found = [slopes[place], slopes[len(parameters) + place]]
            np.testing.assert_allclose(found, steps, rtol=1e-9, atol=1e-15 if "nearly" in name else 1e-290)


def test_censored_data_beyond_the_smallest_probability_have_a_density_with_a_slope() -> None:
    """The upper tail of Gamma(31.5, 1) at 1,000 is exp(-865.65)."""
    with pm.Model() as model:
        rate = pm.HalfNormal("rate")
        pm.Censored("y", pm.Gamma.dist(31.5, rate), lower=None, upper=1000.0, observed=[1000.0, 900.0])
        pm.Truncated("z", pm.Gamma.dist(31.5, rate), lower=1000.0, observed=[1001.0])
    point = {"rate_log__": 0.0}
    assert np.isfinite(model.compile_logp()(point))
    assert np.isfinite(model.compile_dlogp()(point)).all()
    tail = pm.logp(pm.Censored.dist(pm.Gamma.dist(31.5, 1.0), lower=None, upper=1000.0), 1000.0)
    assert float(tail.eval()) == pytest.approx(-865.65, abs=0.01)


# Distributions by their parameters, the ends of their support, and values far out below and above.
Far = tuple[Callable[..., Any], tuple[float, ...], tuple[float, float], tuple[float, ...], tuple[float, ...]]
INF = np.inf


def _of(name: str, parameters: str) -> Callable[..., Any]:
    return lambda *values: getattr(pm, name).dist(**dict(zip(parameters.split(), values, strict=True)))


FAR: dict[str, Far] = {
    "Normal": (_of("Normal", "mu sigma"), (0.3, 1.2), (-INF, INF), (-8, -60, -1e5), (8, 60, 1e5)),
    "Laplace": (_of("Laplace", "mu b"), (0.3, 1.2), (-INF, INF), (-8, -2e3, -1e8), (8, 2e3, 1e8)),
    "Logistic": (_of("Logistic", "mu s"), (0.3, 1.2), (-INF, INF), (-8, -2e3, -1e8), (8, 2e3, 1e8)),
    "Cauchy": (_of("Cauchy", "alpha beta"), (0.3, 1.2), (-INF, INF), (-8, -1e8, -1e100), (8, 1e8, 1e100)),
    "ExGaussian": (_of("ExGaussian", "mu sigma nu"), (0.3, 1.2, 2.0), (-INF, INF), (-8, -60, -1e4), (8, 3e3, 1e6)),
    "ExGaussian, short": (_of("ExGaussian", "mu sigma nu"), (0.3, 1.2, 0.05), (-INF, INF), (-8, -1e4), (8, 20, 3e3)),
    "AsymmetricLaplace": (
        _of("AsymmetricLaplace", "kappa mu b"), (2.0, 0.3, 1.2), (-INF, INF), (-8, -2e3, -1e6), (8, 2e3, 1e6)
    ),
    "SkewNormal": (_of("SkewNormal", "mu sigma alpha"), (0.3, 1.2, 4.0), (-INF, INF), (-2, -60, -1e5), (8, 60, 1e5)),
    "Gumbel": (_of("Gumbel", "mu beta"), (0.3, 1.2), (-INF, INF), (-2, -5, -9), (8, 200, 1e6)),
    "Moyal": (_of("Moyal", "mu sigma"), (0.3, 1.2), (-INF, INF), (-2, -6, -12), (8, 200, 1e4)),
    "LogGamma": (_of("LogGamma", "alpha beta"), (2.3, 1.2), (-INF, INF), (-5, -1e3, -1e6), (4, 8, 12)),
    "SkewStudentT": (
        _of("SkewStudentT", "a b mu sigma"), (2.3, 4.2, 0.3, 1.2), (-INF, INF), (-5, -1e3, -1e30), (5, 1e3, 1e30)
    ),
    "GeneralizedNormal": (
        _of("GeneralizedNormal", "mu alpha beta"), (0.3, 1.2, 1.3), (-INF, INF), (-8, -600, -1e6), (8, 600, 1e6)
    ),
    "GeneralizedExtremeValue": (
        _of("GeneralizedExtremeValue", "mu sigma xi"), (0.3, 1.2, 0.2), (-5.7, INF), (-3,), (80, 1e60)
    ),
    "GeneralizedExtremeValue, nearly Gumbel": (
        _of("GeneralizedExtremeValue", "mu sigma xi"), (0.3, 1.2, 1e-9), (-INF, INF), (-3, -6), (80, 1e4)
    ),
    "LogNormal": (_of("LogNormal", "mu sigma"), (0.3, 1.2), (0, INF), (1e-3, 1e-200), (1e3, 1e30, 1e200)),
    "HalfNormal": (_of("HalfNormal", "sigma"), (1.2,), (0, INF), (1e-3, 1e-100), (8, 60, 1e5)),
    "HalfCauchy": (_of("HalfCauchy", "beta"), (1.2,), (0, INF), (1e-3, 1e-100), (8, 1e50)),
    "Exponential": (_of("Exponential", "lam"), (1.2,), (0, INF), (1e-3, 1e-100), (8, 2e3, 1e8)),
    "Weibull": (_of("Weibull", "alpha beta"), (2.5, 1.2), (0, INF), (1e-3, 1e-100), (8, 60, 1e3)),
    "Wald": (_of("Wald", "mu lam"), (1.5, 2.0), (0, INF), (1e-2, 1e-4, 1e-8), (8, 2e3, 1e6)),
    "Wald, narrow": (_of("Wald", "mu lam"), (1.5, 200.0), (0, INF), (0.1, 1e-2, 1e-4), (3, 8, 2e3)),
    "Wald, wide": (_of("Wald", "mu lam"), (1.5, 0.02), (0, INF), (1e-2, 1e-4, 1e-6), (8, 2e3, 1e6)),
    "Rice": (_of("Rice", "nu sigma"), (1.5, 1.2), (0, INF), (0.1, 1e-3, 1e-100), (8, 60, 1e4)),
    "Rice, far from 0": (_of("Rice", "nu sigma"), (30.0, 1.2), (0, INF), (20, 5, 1e-3), (40, 60, 1e4)),
    "Frechet": (_of("Frechet", "alpha sigma"), (2.0, 1.5), (0, INF), (0.3, 0.05, 1e-3), (8, 1e60)),
    "Dagum": (_of("Dagum", "p a b"), (0.7, 2.0, 1.5), (0, INF), (1e-3, 1e-100), (8, 1e60)),
    "LogLogistic": (_of("LogLogistic", "alpha beta"), (1.5, 2.5), (0, INF), (1e-3, 1e-100), (8, 1e60)),
    "Kumaraswamy": (_of("Kumaraswamy", "a b"), (2.5, 1.2), (0, 1), (1e-3, 1e-80), (0.999,)),
    "Kumaraswamy, near 0": (_of("Kumaraswamy", "a b"), (2.5, 300.0), (0, 1), (1e-3, 1e-80), (0.5, 0.999)),
    "LogitNormal": (_of("LogitNormal", "mu sigma"), (0.3, 1.2), (0, 1), (1e-3, 1e-100), (0.999,)),
    "VonMises": (_of("VonMises", "mu kappa"), (0.3, 200.0), (-np.pi, np.pi), (-1, -3.1), (1, 2, 3.1)),
    "VonMises, narrow": (_of("VonMises", "mu kappa"), (0.3, 5e3), (-np.pi, np.pi), (-1, -3.1), (1, 2, 3.1)),
    "Truncated gamma": (
        lambda a, b: pm.Truncated.dist(pm.Gamma.dist(a, b), lower=1.0), (2.0, 1.0), (1, INF), (1.001,), (80, 3e3, 1e5)
    ),
    "Truncated in the tail": (
        lambda *p: pm.Truncated.dist(pm.ExGaussian.dist(*p), lower=50.0), (0.0, 1.0, 2.0), (50, INF), (51,), (80, 1e5)
    ),
    "Normal mixture": (
        lambda a, b, s: pm.NormalMixture.dist(w=[0.3, 0.7], mu=pt.stack([a, b]), sigma=s),
        (0.1, 3.0, 1.2), (-INF, INF), (-9, -60, -1e4), (10, 60, 1e4),
    ),
    "Mixture of kinds": (
        lambda a, b, m: pm.Mixture.dist(w=[0.3, 0.7], comp_dists=[pm.Gamma.dist(a, b), pm.LogNormal.dist(m, 1.0)]),
        (2.0, 3.0, 1.2), (0, INF), (1e-3, 1e-30), (100, 1e5, 1e20),
    ),
}  # fmt: skip
COUNTS: dict[str, Far] = {
    "Poisson": (_of("Poisson", "mu"), (9.0,), (0, INF), (0, 3), (30, 2000)),
    "NegativeBinomial": (_of("NegativeBinomial", "mu alpha"), (9.0, 2.0), (0, INF), (0, 3), (100, 20000)),
    "Binomial": (lambda p: pm.Binomial.dist(1000, p), (0.2,), (0, 1000), (0, 3), (500, 990)),
    "Geometric": (_of("Geometric", "p"), (0.2,), (1, INF), (1, 3), (100, 20000)),
    "DiscreteWeibull": (_of("DiscreteWeibull", "q beta"), (0.4, 1.3), (0, INF), (0, 3), (100, 2000)),
    "ZeroInflatedPoisson": (_of("ZeroInflatedPoisson", "psi mu"), (0.4, 9.0), (0, INF), (0, 3), (30, 2000)),
    "ZeroInflatedNegativeBinomial": (
        _of("ZeroInflatedNegativeBinomial", "psi mu alpha"), (0.4, 9.0, 2.0), (0, INF), (0, 3), (100, 20000)
    ),
    "ZeroInflatedBinomial": (
        lambda psi, p: pm.ZeroInflatedBinomial.dist(psi, 1000, p), (0.4, 0.2), (0, 1000), (0, 3), (500, 990)
    ),
    "HurdlePoisson": (_of("HurdlePoisson", "psi mu"), (0.4, 9.0), (0, INF), (0, 3), (30, 2000)),
    "HurdleNegativeBinomial": (
        _of("HurdleNegativeBinomial", "psi mu alpha"), (0.4, 9.0, 2.0), (0, INF), (0, 3), (100, 20000)
    ),
    "ConwayMaxwellPoisson": (_of("ConwayMaxwellPoisson", "mu nu"), (9.0, 1.5), (0, 800), (0, 3), (30, 500)),
    "Skellam": (_of("Skellam", "mu1 mu2"), (9.0, 5.0), (-600, 800), (-30, -300), (30, 500)),
    "Censored Poisson": (
        lambda mu: pm.Censored.dist(pm.Poisson.dist(mu), lower=None, upper=300), (5.0,), (0, 300), (0, 2), (100, 299)
    ),
    "Categorical": (
        lambda a: pm.Categorical.dist(logit_p=pt.stack([a, 0.0, -a, 3.0])), (300.0,), (0, 3), (0,), (0, 1, 2)
    ),
    "Bernoulli": (_of("Bernoulli", "logit_p"), (800.0,), (0, 1), (0,), (0,)),
}  # fmt: skip


def _log_integral(log_density: Callable[[Any], Any], at: float, end: float) -> float:
    """log of the integral from a value to an end of the support, by double-exponential quadrature."""
    u = np.linspace(-4.5, 4.5, 801)
    if np.isinf(end):  # in steps of the length over which the density falls
        h = max(abs(at), 1e-3) * 1e-6
        slope = abs(np.diff(log_density(np.array([at - h, at + h])))[0]) / (2 * h)
        t = np.exp(np.pi / 2 * np.sinh(u))
        weight = np.pi / 2 * np.cosh(u) * t / slope
        x = at + np.sign(end) * t / slope
    else:
        u = u * 0.8
        s = np.pi / 2 * np.sinh(u)
        x = min(at, end) + abs(end - at) / (1 + np.exp(-2 * s))
        weight = abs(end - at) * np.pi / 4 * np.cosh(u) / np.cosh(s) ** 2
    inside = (x > min(at, end)) & (x < max(at, end))
    terms = log_density(x[inside]) + np.log(weight[inside])
    return float(scipy.special.logsumexp(terms) + np.log(u[1] - u[0]))


def _log_sum(log_mass: Callable[[Any], Any], first: float, last: float) -> float:
    return float(scipy.special.logsumexp(log_mass(np.arange(first, min(last, first + 200_000) + 1))))


@pytest.mark.parametrize("name", [*FAR, *COUNTS])
def test_tails_are_those_of_the_density_where_they_underflow(name: str) -> None:
    """logcdf and logccdf beside integrals and sums of the density, with finite and right slopes in each parameter."""
    whole = name in COUNTS
    dist, parameters, (low, high), below, above = (COUNTS if whole else FAR)[name]
    nodes = [pt.scalar() for _ in parameters]
    x = pt.lvector() if whole else pt.vector()
    rv = dist(*nodes)
    density = pt.function([x, *nodes], pm.logp(rv, x))
    tails = [pm.logcdf(rv, x), pm.logccdf(rv, x)]
    slopes = [pt.jacobian(tail, node) for tail in tails for node in nodes]
    compute = pt.function([x, *nodes], [*tails, *slopes])

    def exact(v: float, upper: bool, *at: float) -> float:
        def log_density(values: Any) -> Any:
            return density(values.astype(int if whole else float), *at)

        if whole:
            return _log_sum(log_density, v + 1, high) if upper else _log_sum(log_density, low, v)
        return _log_integral(log_density, v, high if upper else low)

    for upper, values in enumerate((below, above)):
        found = compute(np.array(values), *parameters)
        for k, v in enumerate(values):
            wanted = exact(v, bool(upper), *parameters)
            np.testing.assert_allclose(found[upper][k], wanted, rtol=1e-8, err_msg=str(v))
            for i, parameter in enumerate(parameters):
                h = 1e-6 * (abs(parameter) if abs(parameter) > 1e-3 else 1.0)
                moved = [[p + s * (i == j) for j, p in enumerate(parameters)] for s in (h, -h)]
                step = (exact(v, bool(upper), *moved[0]) - exact(v, bool(upper), *moved[1])) / (2 * h)
                own = found[2 + upper * len(parameters) + i][k]
                np.testing.assert_allclose(own, step, rtol=1e-4, atol=1e-8 * abs(wanted) + 1e-6, err_msg=f"{v}, {i}")


# Functions of x whose logarithm is that of a normal tail, with the exact one.
TAILS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "log erfc": (lambda x: pt.log(pt.erfc(x)), lambda x: mp.log(mp.erfc(x))),
    "log erfc / 2": (lambda x: pt.log(0.5 * pt.erfc(x)), lambda x: mp.log(mp.erfc(x) / 2)),
    "log (1 - erf)": (lambda x: pt.log(1 - pt.erf(x)), lambda x: mp.log(mp.erfc(x))),
    "log (1 + erf)": (lambda x: pt.log(1 + pt.erf(x)), lambda x: mp.log(mp.erfc(-x))),
    "log (1/2 + erf / 2)": (lambda x: pt.log(0.5 + 0.5 * pt.erf(x)), lambda x: mp.log(mp.erfc(-x) / 2)),
    "log (1/2 - erf / 2)": (lambda x: pt.log(0.5 - 0.5 * pt.erf(x)), lambda x: mp.log(mp.erfc(x) / 2)),
    "log1p erf": (lambda x: pt.log1p(pt.erf(x)), lambda x: mp.log(mp.erfc(-x)) if x < 0 else mp.log1p(mp.erf(x))),
    "log1p -erf": (lambda x: pt.log1p(-pt.erf(x)), lambda x: mp.log(mp.erfc(x)) if x > 0 else mp.log1p(-mp.erf(x))),
    "log1p -erfc / 2": (lambda x: pt.log1p(-0.5 * pt.erfc(x)), lambda x: mp.log(mp.erfc(-x) / 2)),
    "log invprobit": (lambda x: pt.log(pm.math.invprobit(x)), lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)),
    "log (1 - invprobit)": (lambda x: pt.log(1 - pm.math.invprobit(x)), lambda x: mp.log(mp.erfc(x / mp.sqrt(2)) / 2)),
}


@pytest.mark.parametrize("name", TAILS)
def test_logarithms_of_error_functions_are_finite_in_both_tails(name: str) -> None:
    """With their slopes, at arguments where erfc itself is 0 or 2 to the last digit."""
    ours, exact = TAILS[name]
    x = pt.vector()
    at = np.array([-40.0, -28.0, -9.0, -0.7, 0.3, 9.0, 28.0, 40.0])
    value = ours(x)
    found, slope = pt.function([x], [value, pt.grad(value.sum(), x)])(at)
    with mp.workdps(40):
        wanted = [float(exact(mp.mpf(v))) for v in at]
        steps = [float(mp.diff(exact, mp.mpf(v))) for v in at]
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(slope, steps, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("link", [pm.math.sigmoid, pm.math.invprobit], ids=["sigmoid", "invprobit"])
def test_choices_by_a_link_have_a_density_where_the_probability_saturates(link: Callable[[Any], Any]) -> None:
    """Bernoulli and binomial data with p written as a function: finite with a slope at 800 on the link's scale."""
    with pm.Model() as model:
        b = pm.Flat("b")
        p = link(b * np.array([1.0, -1.0]))
        pm.Bernoulli("y", p=p, observed=[1, 0])
        pm.Binomial("z", n=[4, 3], p=p, observed=[1, 2])
    for at in (-800.0, -50.0, 50.0, 800.0):
        assert np.isfinite(model.compile_logp()({"b": at}))
        slope = model.compile_dlogp()({"b": at})
        assert np.isfinite(slope).all()
        assert slope[0] * at < 0


def test_tails_of_draws_without_replacement_are_right_where_the_probability_underflows() -> None:
    """Of HyperGeometric, both of them, beside sums of binomial coefficients."""
    population, marked, drawn = 3000, 1400, 1000
    values = [0.0, 10.0, 200.0, 466.0, 467.0, 900.0, 999.0]
    rv = pm.HyperGeometric.dist(population, marked, drawn)
    found = pt.stack([pm.logcdf(rv, values), pm.logccdf(rv, values)]).eval()
    masses = [math.comb(marked, k) * math.comb(population - marked, drawn - k) for k in range(drawn + 1)]
    total = sum(masses)
    with mp.workdps(30):
        for v, below, above in zip(values, *found, strict=True):
            parts = [mp.mpf(sum(part)) / total for part in (masses[: int(v) + 1], masses[int(v) + 1 :])]
            exact = [mp.log(p) if p < 0.5 else mp.log1p(-q) for p, q in (parts, parts[::-1])]
            np.testing.assert_allclose([below, above], np.array(exact, float), rtol=1e-12, atol=1e-300)


def test_tails_of_interpolated_densities_keep_what_is_small() -> None:
    """Next to ends of no height, over gaps, and of segments that are nothing beside the others."""
    rv = pm.Interpolated.dist([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 1e-30, 0.0])
    at = [1e-300, 1e-9, 1.5, 2.0, 3.0, 3.5, 4.0 - 2.0**-40]
    below, above = (f(rv, at).eval() for f in (pm.logcdf, pm.logccdf))
    exact = [2 * np.log(1e-300), 2 * np.log(1e-9)]  # masses are x^2 / 2 of 1 (and 1e-30)
    np.testing.assert_allclose(below[:2], np.array(exact) - np.log(2), rtol=1e-14)
    np.testing.assert_allclose(above[2:], np.log([0.125, 1e-30, 5e-31, 1.25e-31, 0.5e-30 * 2.0**-80]), rtol=1e-14)
    np.testing.assert_allclose(below[2:], np.log1p(-np.exp(above[2:])), rtol=1e-14)


def test_ordered_categories_have_logarithms_where_probabilities_underflow_or_have_no_digits() -> None:
    """Narrow categories far out, beside an integral; counts of categories whose probability underflows."""
    cutpoints = [-1.0, -1.0 + 2.0**-40, 1.0]
    rv = pm.OrderedProbit.dist(-1000.0, cutpoints)
    found = [float(pm.logp(rv, k).eval()) for k in range(4)]
    with mp.workdps(30):
        ends = [mp.mpf(c) + 1000 for c in cutpoints] + [mp.mpf(2000)]
        for k, (low, high) in enumerate(itertools.pairwise(ends), 1):
            reach = min(high - low, 80 / low)
            mass = mp.quad(lambda t, low=low: mp.exp(-low * t - t * t / 2), [0, reach / 8, reach])
            np.testing.assert_allclose(found[k], float(mp.log(mass) - low**2 / 2 - mp.log(2 * mp.pi) / 2), rtol=1e-14)
    counts = pm.OrderedMultinomial.dist(900.0, [-1.0, 0.0, 1.0], n=3)
    assert float(pm.logp(counts, [1, 0, 0, 2]).eval()) == pytest.approx(np.log(3) - 901.0, rel=1e-14)


@pytest.mark.parametrize(("h", "z", "x"), [(1e6, 0.3, 2.5e5), (1e6, 0.3, 7.5e5), (1e6, 50.0, 2e3), (1e5, 0.0, 2e4)])
def test_tails_of_many_polya_gamma_variables_are_those_of_the_inverse_transform(h: float, z: float, x: float) -> None:
    """Of a large shape, hundreds of standard deviations out, beside the integral along a line through the saddle."""
    rv = pm.PolyaGamma.dist(h, z)
    upper = x > float(pm.PolyaGamma.bound((pt.constant(h), pt.constant(z))).mean().eval())
    found = float((pm.logccdf if upper else pm.logcdf)(rv, x).eval())
    with mp.workdps(25):
        h, z, x = mp.mpf(h), mp.mpf(z), mp.mpf(x)

        def exponent(s: Any) -> Any:
            root = mp.sqrt(mp.mpc(z * z / 4 + s / 2))
            return s * x + h * (mp.log(mp.cosh(z / 2)) - root - mp.log1p(mp.exp(-2 * root)) + mp.log(2))

        ends = (-(mp.pi**2 + z * z) / 2, mp.mpf(0)) if upper else (mp.mpf(0), mp.mpf(10**6))
        for _ in range(90):  # of a convex function
            third = (ends[1] - ends[0]) / 3
            left, right = ends[0] + third, ends[1] - third
            ends = (ends[0], right) if mp.re(exponent(left)) < mp.re(exponent(right)) else (left, ends[1])
        saddle, top = ends[0], mp.re(exponent(ends[0]))
        scale = 1 / mp.sqrt(abs(mp.diff(lambda s: mp.re(exponent(s)), saddle, 2)))

        def height(y: Any) -> Any:
            s = saddle + 1j * y
            return mp.re(mp.exp(exponent(s) - top) / (-s if upper else s))

        wanted = mp.log(mp.quad(height, [scale * k for k in (0, 4, 8, 16)]) / mp.pi) + top
    np.testing.assert_allclose(found, float(wanted), rtol=1e-11)
