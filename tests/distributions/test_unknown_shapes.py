"""Log probabilities of tails and quantiles have slopes in the shapes: what censored and truncated models need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt

FAMILIES: dict[str, Callable[[Any, Any], Any]] = {
    "Beta": lambda a, b: pm.Beta.dist(a, b),
    "ChiSquared": lambda a, b: pm.ChiSquared.dist(a + b),
    "Gamma": lambda a, b: pm.Gamma.dist(a, b),
    "HalfStudentT": lambda a, b: pm.HalfStudentT.dist(nu=a, sigma=b),
    "InverseGamma": lambda a, b: pm.InverseGamma.dist(a, b),
    "NegativeBinomial": lambda a, b: pm.NegativeBinomial.dist(mu=a, alpha=b),
    "SkewStudentT": lambda a, b: pm.SkewStudentT.dist(a=a, b=b, mu=0, sigma=1),
    "StudentT": lambda a, b: pm.StudentT.dist(nu=a, mu=0.0, sigma=b),
}
POINT = np.array([2.3, 1.7])


def _check(build: Callable[[Any, Any], Any]) -> None:
    a, b = pt.scalar(), pt.scalar()
    value = pt.sum(build(a, b))
    compute = pt.function([a, b], [value, *pt.grad(value, [a, b])])
    for place, slope in enumerate(compute(*POINT)[1:]):
        step = 1e-3 * np.eye(2)[place]
        near, far = (compute(*(POINT + k * step))[0] - compute(*(POINT - k * step))[0] for k in (1, 2))
        np.testing.assert_allclose(slope, (8 * near - far) / 12e-3, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
def test_log_distribution_functions_have_slopes_in_both_parameters(name: str) -> None:
    values = [0.1, 0.5, 0.9] if name == "Beta" else [1.0, 2.0, 5.0]
    _check(lambda a, b: pm.logcdf(FAMILIES[name](a, b), np.array(values)))


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"NegativeBinomial"}))
def test_quantiles_have_slopes_in_both_parameters(name: str) -> None:
    _check(lambda a, b: pm.icdf(FAMILIES[name](a, b), np.array([0.1, 0.5, 0.93])))


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"Beta"}))
def test_censored_and_truncated_variables_have_slopes_in_both_parameters(name: str) -> None:
    observed = np.array([1.0, 2.0, 4.0])
    _check(lambda a, b: pm.logp(pm.Censored.dist(FAMILIES[name](a, b), lower=1.0, upper=4.0), observed))
    _check(lambda a, b: pm.logp(pm.Truncated.dist(FAMILIES[name](a, b), lower=1.0, upper=6.0), observed))


def test_a_censored_model_of_gamma_variables_finds_its_shape() -> None:
    """By gradients, from times of which a third is only known to be late."""
    times = np.random.default_rng(5).gamma(3.0, 0.5, 400)
    with pm.Model():
        alpha, beta = pm.HalfNormal("alpha", 5), pm.HalfNormal("beta", 5)
        pm.Censored("times", pm.Gamma.dist(alpha, beta), lower=None, upper=1.8, observed=np.minimum(times, 1.8))
        found = pm.sample(500, tune=300, chains=2, cores=1, random_seed=1, progressbar=False).posterior
    assert found["alpha"].mean() == pytest.approx(3.0, rel=0.2)
    assert found["beta"].mean() == pytest.approx(2.0, rel=0.2)
