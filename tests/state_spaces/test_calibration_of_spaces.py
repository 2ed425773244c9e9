"""Simulation-based calibration of time series: data from the prior, ranks among draws of the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import statespace as ss


def local_level() -> None:
    """A walk seen with noise, from a first level that is known in part."""
    level, noise = pm.HalfNormal("level", 0.5), pm.HalfNormal("noise", 1.0)
    space = {"T": [[1.0]], "Z": [[1.0]], "Q": (level**2).reshape((1, 1)), "H": (noise**2).reshape((1, 1))}
    pm.LinearGaussianStateSpace("y", **space, P0=[[1.0]], observed=np.zeros((40, 1)))


def named(space: Any) -> None:
    """A model by name, with its default priors in units of 1."""
    space.build_statespace_graph(np.tile([-1.0, 1.0], 20)[:, None] * np.ones(space.columns), name="y")


def factor() -> None:
    """Three series with a common factor, whose default priors hold but for a stationary factor."""
    pm.Uniform("factor_ar", -0.95, 0.95, shape=(1, 1))
    named(ss.DynamicFactor(1, 1, ["a", "b", "c"]))


def counts() -> None:
    """Counts whose logarithmic mean is a stationary autoregression that is not seen."""
    rho, sigma = pm.Uniform("rho", -0.9, 0.9), pm.HalfNormal("sigma", 0.5)
    first = pm.Normal.dist(0.0, sigma / pt.sqrt(1 - rho**2))
    level = pm.AR("level", rho[None], sigma=sigma, init_dist=first, steps=29)
    pm.Poisson("y", pt.exp(1.0 + level), observed=np.ones(30, int))


def counts_of_past_counts() -> None:
    """A loop: the mean of a count follows from the mean and the count before (INGARCH)."""
    rise, stay = pm.Beta("rise", 2, 3), pm.Beta("stay", 2, 3)

    def series(rise: Any, stay: Any, size: Any) -> Any:
        def step(count: Any, mean: Any) -> Any:
            mean = 1.0 + 0.7 * rise * count + 0.7 * stay * mean
            return pm.Poisson.dist(mean), mean

        start = [pt.as_tensor(3), pt.as_tensor(3.0)]
        return pm.scan(step, outputs_info=start, n_steps=30, return_updates=False)[0]

    pm.CustomDist("y", rise, stay, dist=series, observed=np.ones(30, int))


MODELS = {
    "local level": local_level,
    "seasonal ARIMA": lambda: named(ss.SARIMAX((1, 0, 1), (1, 0, 0, 4))),
    "dynamic factor": factor,
    "counts": counts,
    "counts of past counts": counts_of_past_counts,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_ranks_are_uniform(name: str) -> None:
    with pm.Model() as model:
        MODELS[name]()
    found = pm.sbc(model, n=100, random_seed=1)
    known = {"divergent", "few effective draws"}
    if name == "dynamic factor":  # loadings near 0 leave the sign of the others open
        known |= {"chains_disagree", "not_converged"}
    if name == "counts":  # where the level hardly moves, it is bound to its scale
        known |= {"not_converged"}
    assert set(found.failures) <= known, found.failures
    assert sum(found.failures.values()) <= 25, found.failures
    assert found.passed(), found.summary().to_string()
