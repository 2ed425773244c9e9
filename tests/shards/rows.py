"""A logistic regression of many rows, whole and as a model of a few of them; and its density on shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import consilience as pm
from consilience.model.log_density import model_density
from consilience.sample.sharded import ShardedDensity

ROWS = 2_300
SHARD = 300
POSITION = np.array([0.1, 0.2, -0.3, 0.4])
QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False, "random_seed": 3}


def table(rows: int = ROWS) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.normal(size=(rows, 3)), random.integers(0, 2, rows)


def files(folder: Path) -> dict[str, Path]:
    """Paths of x and y."""
    folder.mkdir(exist_ok=True)
    for name, values in zip("xy", table(), strict=True):
        np.save(folder / f"{name}.npy", values)
    return {name: folder / f"{name}.npy" for name in "xy"}


def model(x: Any, y: Any) -> pm.Model:
    with pm.Model() as made:
        eta = pm.Data("x", x) @ pm.Normal("b", shape=3)
        pm.Bernoulli("obs", logit_p=pm.Normal("a") + eta, observed=pm.Data("y", y))
    return made


def small() -> pm.Model:
    x, y = table(5)
    return model(x, y)


@contextmanager
def sharded(made: pm.Model, executor: Any, sources: Mapping[str, Any], **settings: Any) -> Iterator[ShardedDensity]:
    """The density of a model with its rows on workers, which are let go at the end."""
    shards = pm.cluster.shards(executor, sources, **{"rows": SHARD, **settings})
    density = ShardedDensity(model_density(made), shards)
    try:
        yield density
    finally:
        density.sums.close()


def assert_same_posterior(one: Any, other: Any) -> None:
    """Draws are equal in every bit."""
    for name, values in one.posterior.data_vars.items():
        np.testing.assert_array_equal(values.values, other.posterior[name].values, err_msg=str(name))
