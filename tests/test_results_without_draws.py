"""A run that `max_time` ended while tuning has no draws: what maps draws gives none, what needs some says so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import consilience as pm

MAPS: dict[str, Any] = {
    "posterior_predictive": lambda r: pm.sample_posterior_predictive(r, progressbar=False, random_seed=1)[
        "posterior_predictive"
    ],
    "variables drawn anew": lambda r: pm.sample_posterior_predictive(
        r, var_names=["counts", "twice"], progressbar=False, random_seed=1
    )["posterior_predictive"],
    "compute_deterministics": lambda r: pm.compute_deterministics(r.posterior, progressbar=False),
    "compute_log_likelihood": lambda r: pm.compute_log_likelihood(r, extend_inferencedata=False, progressbar=False),
    "compute_log_prior": lambda r: pm.compute_log_prior(r, extend_inferencedata=False, progressbar=False),
}
NEEDS: dict[str, Any] = {
    "summary": pm.summary,
    "loo": pm.loo,
    "compare": lambda r: pm.compare({"one": r, "other": r}),
    "log_marginal_likelihood": pm.log_marginal_likelihood,
    "starting values": lambda r: pm.sample(10, tune=10, chains=2, initvals=r, progressbar=False),
}


@pytest.fixture(scope="module")
def model_and_result() -> Any:
    with pm.Model() as model:
        x = pm.Normal("x", shape=2)
        pm.Poisson("counts", pm.math.exp(x))
        pm.Deterministic("twice", 2 * x)
        pm.Normal("y", x.sum(), 1, observed=np.zeros(3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = pm.sample(10, tune=10, chains=2, random_seed=1, progressbar=False)
        pm.compute_log_likelihood(result, progressbar=False)
    return model, result.isel(draw=slice(0, 0))


@pytest.mark.parametrize("name", MAPS)
def test_nothing_is_computed_of_no_draws(name: str, model_and_result: Any) -> None:
    model, result = model_and_result
    with model:
        found = MAPS[name](result)
    assert dict(found.sizes)["draw"] == 0
    assert len(found.data_vars) > 0


@pytest.mark.parametrize("name", NEEDS)
def test_that_there_are_no_draws_is_said(name: str, model_and_result: Any) -> None:
    model, result = model_and_result
    with model, pytest.raises(pm.ConsilienceError, match="draws") as caught:
        NEEDS[name](result)
    assert "cannot be computed with" not in str(caught.value), "the error of a library, not ours"
