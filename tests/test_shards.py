"""Rows on workers: the draws follow from rows and seed, whoever has the rows; rows that are joined are refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import SamplingError
from consilience.model.log_density import model_density
from consilience.sample.sharded import ShardedDensity

ROWS = 2_300


def model(x: Any, y: Any) -> pm.Model:
    with pm.Model() as made:
        eta = pm.Data("x", x) @ pm.Normal("b", shape=3)
        pm.Bernoulli("obs", logit_p=pm.Normal("a") + eta, observed=pm.Data("y", y))
    return made


def test_sums_of_shards_are_the_density_of_all_rows(tmp_path: Path) -> None:
    """The same bits for one, two and five workers."""
    random = np.random.default_rng(0)
    x, y = random.normal(size=(ROWS, 3)), random.integers(0, 2, ROWS)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    position, found = np.array([0.1, 0.2, -0.3, 0.4]), []
    for count in (1, 2, 5):
        with ThreadPoolExecutor(count) as pool:
            shards = pm.cluster.shards(pool, {"x": tmp_path / "x.npy", "y": tmp_path / "y.npy"}, rows=300)
            density = ShardedDensity(model_density(model(x[:5], y[:5])), shards)
            found.append(density(position))
            density.sums.close()
    value, slope = model_density(model(x, y))(position)
    np.testing.assert_allclose(found[0][0], value, rtol=1e-11)
    np.testing.assert_allclose(found[0][1], slope, rtol=1e-9)
    for other, gradient in found[1:]:
        assert other == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])


def test_rows_that_depend_on_each_other_are_refused_by_the_name_of_their_term() -> None:
    with pm.Model() as joined:
        y = pm.Data("y", np.arange(5.0))
        pm.Potential("centred", -pm.math.sqr(y - y.mean() - pm.Normal("m")).sum())
    with pytest.raises(SamplingError, match="term of `centred`"):
        model_density(joined).row_terms(["y"])
