"""Logarithms of tail probabilities are right wherever they are finite, far beyond where the probabilities underflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

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
