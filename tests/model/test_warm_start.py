"""Results of any method are starting values of any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ModelError, ShapeError, SupportError
from consilience.model.log_density import model_density
from consilience.model.starting_point import starting_positions

DATA = np.random.default_rng(0).normal(3.0, 2.0, 50)


def model() -> pm.Model:
    with pm.Model() as made:
        shares = pm.Dirichlet("shares", np.ones(3))
        scale = pm.HalfNormal("scale", 5.0)
        pm.Normal("y", 3.0 * shares.sum(), scale, observed=DATA)
        pm.Deterministic("twice", 2 * scale)
    return made


RESULTS: dict[str, Callable[[], Any]] = {
    "pm.sample": lambda: pm.sample(random_seed=1, progressbar=False),
    "pm.sample_smc": lambda: pm.sample_smc(100, random_seed=1, chains=2),
    "pm.fit_pathfinder": lambda: pm.fit_pathfinder(random_seed=2),
    "pm.fit_laplace": lambda: pm.fit_laplace(random_seed=1),
    "pm.fit": lambda: pm.fit(method="advi", random_seed=1, check=False).sample(50, random_seed=1),
    "a group": lambda: pm.fit_laplace(random_seed=1).posterior,
    "a prior": lambda: pm.sample_prior_predictive(20, random_seed=1)["prior"],
}


@pytest.mark.parametrize("name", RESULTS)
def test_chains_begin_at_draws_of_a_result(name: str) -> None:
    """At one each, without noise."""
    with model() as own, np.errstate(all="ignore"):
        result = RESULTS[name]()
        density = model_density(own)
        points = density.expand(starting_positions(density, 4, 3, result, jitter=False), False)
        group = getattr(result, "posterior", result)
        draws = group["scale"].values.ravel()
        assert len(set(points["scale"])) == 4
        places = [int(np.argmin(np.abs(draws - value))) for value in points["scale"]]
        np.testing.assert_allclose(draws[places], points["scale"], rtol=1e-12)
        np.testing.assert_allclose(group["shares"].values.reshape(-1, 3)[places], points["shares"], rtol=1e-9)
        again = pm.sample(initvals=result, random_seed=1, progressbar=False)
        assert again.status == "converged"


def test_searches_begin_there_too() -> None:
    with model():
        result = pm.fit_laplace(random_seed=1)
        first = pm.find_MAP(progressbar=False)
        for start in (result, first):
            found = pm.find_MAP(start=start, progressbar=False)
            assert found["scale"] == pytest.approx(float(first["scale"]), rel=1e-4)
        assert pm.fit_pathfinder(initvals=result, random_seed=1).posterior.attrs["pareto_k"] < 0.7


def test_a_result_of_another_model_is_told() -> None:
    with model():
        result = pm.fit_laplace(random_seed=1)
    with pm.Model():
        pm.Normal("mu")
        with pytest.raises(ModelError, match=r"none of the free variables \['mu'\]"):
            pm.sample(initvals=result, progressbar=False)
    with pm.Model():
        pm.Normal("scale", shape=2)
        wrong = result.posterior["shares"].rename("scale").to_dataset()
        with pytest.raises(ShapeError, match=r"`scale` has shape \(3,\)"):
            pm.sample(initvals=wrong, progressbar=False)
    with pm.Model():
        pm.Uniform("scale", 0.0, 1e-6)
        with pytest.raises(SupportError, match="outside its support"):
            pm.sample(initvals=result, progressbar=False)


@pytest.mark.parametrize("init", ["pathfinder", "advi+adapt_diag", "map"])
def test_methods_that_begin_by_a_fit_name_the_fit(init: str) -> None:
    with pm.Model():
        pm.Normal("x")
        with pytest.raises(pm.SamplingError, match=r"give `initvals=pm\.fi"):
            pm.sample(init=init)
