"""Draws are taken by their labels: whatever a posterior is used for, the order of its elements changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm

RNG = np.random.default_rng(3)
X = RNG.normal(size=(8, 3))
Y = X @ [2.0, 0.0, -1.0] + RNG.normal(size=8)
QUIET: Any = {"progressbar": False}


def regression() -> pm.Model:
    with pm.Model(coords={"f": ["a", "b", "c"], "row": list(range(8))}) as model:
        b = pm.Normal("b", dims="f")
        z = pm.Bernoulli("z", 0.3, dims="f")
        mu = pm.Deterministic("mu", X @ (b + z), dims="row")
        pm.Deterministic("twice", 2 * b, dims="f")
        pm.Normal("y", mu, 0.3, observed=Y, dims="row")
    return pm.marginalize(model, "z")


def sampled() -> xr.Dataset:
    draws = {"b": RNG.normal(size=(2, 5, 3))}
    return pm.to_inference_data(draws, coords={"f": ["a", "b", "c"]}, dims={"b": ["f"]}).posterior.to_dataset()


MODEL, DRAWS = regression(), sampled()


def tree(draws: xr.Dataset) -> xr.DataTree:
    return xr.DataTree.from_dict({"posterior": draws})


USES: dict[str, Callable[..., xr.Dataset]] = {
    "log likelihood": lambda draws, **how: pm.compute_log_likelihood(
        tree(draws), model=MODEL, extend_inferencedata=False, **QUIET, **how
    ),
    "log prior": lambda draws, **how: pm.compute_log_prior(
        tree(draws), model=MODEL, extend_inferencedata=False, **QUIET, **how
    ),
    "deterministics": lambda draws, **how: pm.compute_deterministics(
        draws, model=MODEL, var_names=["twice"], **QUIET, **how
    ),
    "predictions": lambda draws, **how: pm.sample_posterior_predictive(
        draws, model=MODEL, random_seed=1, **QUIET, **how
    ).posterior_predictive.to_dataset(),
    "marginalized variables": lambda draws, **how: pm.recover_marginals(
        tree(draws), model=MODEL, random_seed=1, extend_inferencedata=False
    ),
}


@pytest.mark.parametrize("order", [[2, 1, 0], [1, 2, 0]])
@pytest.mark.parametrize("use", USES)
def test_elements_of_draws_are_found_by_label(use: str, order: list[int]) -> None:
    wanted, found = (USES[use](draws) for draws in (DRAWS, DRAWS.isel(f=order)))
    assert wanted.data_vars
    xr.testing.assert_equal(wanted.drop_attrs(), found.drop_attrs())


@pytest.mark.parametrize("use", ["log likelihood", "log prior", "deterministics", "predictions"])
def test_elements_of_draws_are_found_by_label_part_by_part(use: str, tmp_path: Any) -> None:
    wanted = USES[use](DRAWS)
    found = USES[use](DRAWS.isel(f=[2, 0, 1]), store=tmp_path / "parts.zarr")
    for name in wanted.data_vars:
        np.testing.assert_allclose(found[name].transpose(*wanted[name].dims), wanted[name], rtol=1e-12)
