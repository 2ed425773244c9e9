"""Nested sampling finds evidences of closed forms, weights of modes, and posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import consilience as pm
from consilience.errors import ModelError, SamplingError
from tests.smc.test_evidences import CASES, RUNS, rate, regression


@pytest.mark.slow
@pytest.mark.parametrize("make", CASES)
def test_nested_sampling_is_within_three_standard_errors(make: Any) -> None:
    """In at least 95 % of the runs; errors are of the right size."""
    model, exact = make()
    found = pm.sample_nested(200, model=model, chains=RUNS, random_seed=1)["sample_stats"]
    standardised = (found["log_marginal_likelihood"] - exact) / found["log_marginal_likelihood_error"]
    assert (abs(standardised) < 3).mean() >= 0.95
    assert 0.5 < np.sqrt((standardised**2).mean()) < 1.4


@pytest.mark.parametrize("make", [regression, rate])
def test_evidences_of_nested_sampling_are_the_exact_ones(make: Any) -> None:
    model, exact = make()
    about = pm.sample_nested(200, model=model, chains=4, random_seed=3)["posterior"].attrs
    assert abs(about["log_marginal_likelihood"] - exact) < 3.5 * about["log_marginal_likelihood_error"]
    assert about["log_marginal_likelihood_error"] < 0.1


def test_posteriors_of_nested_sampling_are_the_exact_ones() -> None:
    model, _ = rate()
    draws = pm.sample_nested(400, model=model, chains=4, draws=2000, random_seed=1)["posterior"]["rate"]
    exact = stats.gamma(2 + 10, scale=1 / 7)
    assert float(draws.mean()) == pytest.approx(exact.mean(), rel=0.03)
    np.testing.assert_allclose(np.quantile(draws, [0.05, 0.5, 0.95]), exact.ppf([0.05, 0.5, 0.95]), rtol=0.06)


def test_separate_modes_have_their_weights() -> None:
    """A quarter of the mass is far away from the rest."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 10, shape=2)
        near, far = (-0.5 * pm.math.sum((x - place) ** 2) for place in (-8.0, 8.0))
        pm.Potential("modes", pm.math.logaddexp(np.log(0.75) + near, np.log(0.25) + far))
    found = pm.sample_nested(300, model=model, chains=8, random_seed=1)["posterior"]
    assert float((found["x"][..., 0] > 0).mean()) == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("value", [0.0, -3.0])
def test_likelihoods_with_steps_have_the_mass_of_their_steps(value: float) -> None:
    """Where whole regions have one likelihood, and others none at all."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1)
        pm.Potential("step", pm.math.where(abs(x) < 0.2, value, -np.inf))
    about = pm.sample_nested(150, model=model, chains=4, random_seed=1)["posterior"].attrs
    exact = value + np.log(special.erf(0.2 / np.sqrt(2)))
    assert abs(about["log_marginal_likelihood"] - exact) < 3.5 * about["log_marginal_likelihood_error"]


def test_draws_of_nested_sampling_do_not_depend_on_threads() -> None:
    model, _ = regression()
    first, second = (
        pm.sample_nested(40, model=model, chains=3, random_seed=2, cores=cores)["posterior"]["b"] for cores in (1, 4)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"live_points": 9}, SamplingError, "at least 10 for the 4 dimensions"),
        ({"live_points": 10.5}, TypeError, "whole number"),
        ({"draws": 0}, ValueError, "draws"),
        ({"moves": 0}, ValueError, "moves"),
        ({"cores": 0}, ValueError, "cores"),
        ({"tolerance": 2}, ValueError, "between 0 and 1"),
    ],
)
def test_settings_of_nested_sampling_that_do_not_fit(settings: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pm.sample_nested(**settings, model=regression()[0])


def test_models_that_nested_sampling_refuses() -> None:
    with pm.Model() as impossible:
        pm.Potential("never", -np.inf + 0 * pm.Normal("x", 0, 1))
    with pytest.raises(SamplingError, match="likelihood above 0"):
        pm.sample_nested(20, model=impossible)
    with pm.Model() as counts:
        pm.Normal("y", pm.Poisson("n", 3), 1, observed=2.0)
    with pytest.raises(ModelError, match="`n` is discrete"):
        pm.sample_nested(20, model=counts)
    with pm.Model() as simulated:
        pm.Simulator("s", lambda rng, m, size: rng.normal(m, 1, size), pm.Normal("m", 0, 1), observed=np.zeros(3))
    with pytest.raises(ModelError, match="whose log density is random"):
        pm.sample_nested(20, model=simulated)
