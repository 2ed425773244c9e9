"""Nested sampling: evidences of closed forms as often as their errors say, and draws of the posterior."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import ModelError, SamplingError
from tests.smc.test_evidences import CASES, Case


@pytest.mark.parametrize("make", CASES)
def test_evidences_are_those_of_closed_forms(make: Callable[[], Case]) -> None:
    """Within four standard errors, of one run of each model."""
    model, exact = make()
    known = pm.sample_nested(200, model=model, random_seed=1).posterior.attrs
    assert abs(known["log_marginal_likelihood"] - exact) < 4 * known["log_marginal_likelihood_error"]
    information = known["information"]
    assert known["log_marginal_likelihood_error"] == pytest.approx(np.sqrt(information / 200), rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("make", CASES)
def test_evidences_lie_within_three_standard_errors(make: Callable[[], Case]) -> None:
    """In at least 95 % of 200 runs, of which the errors are of the right size."""
    model, exact = make()
    found = []
    for seed in range(200):
        known = pm.sample_nested(100, model=model, random_seed=seed).posterior.attrs
        found.append((known["log_marginal_likelihood"] - exact) / known["log_marginal_likelihood_error"])
    assert (np.abs(found) < 3).mean() >= 0.95, np.sort(np.abs(found))[-12:]
    assert 0.7 < np.sqrt(np.mean(np.square(found))) < 1.4
    assert abs(np.mean(found)) < 0.3


def test_draws_have_the_moments_of_the_posterior() -> None:
    y = np.random.default_rng(0).normal(1.0, 1.0, 20)
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 2)
        pm.Deterministic("twice", 2 * mu)
        pm.Normal("y", mu, 1, observed=y)
    posterior = pm.sample_nested(500, model=model, random_seed=1).posterior
    variance = 1 / 20.25
    draws = posterior["mu"].values[0]
    assert abs(draws.mean() - variance * y.sum()) < 5 * np.sqrt(variance / len(draws))
    assert draws.std() == pytest.approx(np.sqrt(variance), rel=0.1)
    np.testing.assert_allclose(posterior["twice"], 2 * posterior["mu"])


def test_separate_modes_have_their_weights_and_the_evidence_of_both() -> None:
    scale = 0.5
    with pm.Model() as model:
        x = pm.Normal("x", 0, 5, shape=2)
        squares = [np.log(w) - 0.5 * ((x - c) ** 2).sum() / scale**2 for w, c in ((0.3, 4.0), (0.7, -4.0))]
        pm.Potential("p", pm.math.logaddexp(*squares))
    posterior = pm.sample_nested(500, model=model, random_seed=1).posterior
    known = posterior.attrs
    exact = np.log(2 * np.pi * scale**2) + 2 * stats.norm(0, np.sqrt(25 + scale**2)).logpdf(4.0)
    assert abs(known["log_marginal_likelihood"] - exact) < 4 * known["log_marginal_likelihood_error"]
    assert abs(float((posterior["x"][..., 0] > 0).mean()) - 0.3) < 0.07


def test_likelihoods_of_zero_and_of_few_values_are_counted() -> None:
    """A region whose share of the prior is the evidence: 1 inside, 0 outside."""
    with pm.Model() as model:
        x = pm.Uniform("x", 0, 1, shape=2)
        pm.Potential("p", pm.math.switch(x.sum() < 0.7, 0.0, -np.inf))
    known = pm.sample_nested(1000, model=model, random_seed=1).posterior.attrs
    share = 0.7**2 / 2
    assert known["log_marginal_likelihood"] == pytest.approx(np.log(share), abs=4 * np.sqrt((1 - share) / share / 1000))


def test_the_same_draws_whatever_the_threads() -> None:
    model, _ = CASES[1]()
    first, second = (pm.sample_nested(150, model=model, random_seed=2, cores=c).posterior for c in (1, 3))
    np.testing.assert_array_equal(first["b"], second["b"])


def test_what_makes_no_sense_is_refused() -> None:
    model, _ = CASES[1]()
    with pytest.raises(SamplingError, match=r"more than twice the number of dimensions, 4, .*; got 8"):
        pm.sample_nested(8, model=model)
    with pytest.raises(ValueError, match="`tolerance` must lie between 0 and 1, got 2"):
        pm.sample_nested(model=model, tolerance=2)
    with pytest.raises(ValueError, match="`repeats` must be a whole number > 0, got 0"):
        pm.sample_nested(model=model, repeats=0)
    with pm.Model() as discrete:
        k = pm.Poisson("k", 3)
        pm.Normal("y", k, 1, observed=1.0)
    with pytest.raises(ModelError, match="`k` is discrete"):
        pm.sample_nested(model=discrete)
    with pm.Model() as impossible:
        pm.Normal("x")
        pm.Potential("p", -np.inf)
    with pytest.raises(SamplingError, match="has a likelihood above 0"):
        pm.sample_nested(model=impossible)
    with pm.Model() as unbounded:
        x = pm.Normal("x")
        pm.Potential("p", 1.0 / x**2)
    with pytest.raises(SamplingError, match=r"no bound|no point with a log likelihood above|infinite"):
        pm.sample_nested(10, model=unbounded, random_seed=1, repeats=1)
