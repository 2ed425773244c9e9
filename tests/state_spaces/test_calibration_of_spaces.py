"""Simulation-based calibration of time series: data from the prior, ranks among draws of the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience import statespace as ss


def local_level() -> None:
    """A walk seen with noise, from a first level that is known in part."""
    level, noise = pm.HalfNormal("level", 0.5), pm.HalfNormal("noise", 1.0)
    space = {"T": [[1.0]], "Z": [[1.0]], "Q": (level**2).reshape((1, 1)), "H": (noise**2).reshape((1, 1))}
    pm.LinearGaussianStateSpace("y", **space, P0=[[1.0]], observed=np.zeros((40, 1)))


def named(space: Any) -> None:
    """A model by name, with its default priors in units of 1."""
    space.build_statespace_graph(np.tile([-1.0, 1.0], 20)[:, None], name="y")


MODELS = {
    "local level": local_level,
    "seasonal ARIMA": lambda: named(ss.SARIMAX((1, 0, 1), (1, 0, 0, 4))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_ranks_are_uniform(name: str) -> None:
    with pm.Model() as model:
        MODELS[name]()
    found = pm.sbc(model, n=100, random_seed=1)
    assert set(found.failures) <= {"divergent", "few effective draws"}, found.failures
    assert sum(found.failures.values()) <= 25, found.failures
    assert found.passed(), found.summary().to_string()
