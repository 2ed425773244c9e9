"""A wrapper of ArviZ's kind and samplers, for workers which import them from here."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import xarray
from arviz_stats.loo import SamplingWrapper
from scipy import stats

import consilience as pm


def posterior_of_mean(data: Any, seed: int) -> xarray.DataTree:
    """Exact draws where data have deviation 1 and the mean's prior is a standard normal."""
    precision = 1.0 + len(data)
    draws = np.random.default_rng(seed).normal(np.sum(data) / precision, precision**-0.5, (2, 500))
    return xarray.DataTree.from_dict({"posterior": xarray.Dataset({"mean": (("chain", "draw"), draws)})})


class Exact(SamplingWrapper):
    """Normal data with a normal mean."""

    def __init__(self, data: Any, idata_orig: Any) -> None:
        super().__init__(model=None, idata_orig=idata_orig)
        self.data = np.asarray(data)

    def sel_observations(self, idx: Any) -> Any:
        return np.delete(self.data, idx), np.atleast_1d(self.data[idx])

    def sample(self, modified_observed_data: Any) -> Any:
        return posterior_of_mean(modified_observed_data, len(modified_observed_data))

    def get_inference_data(self, fitted_model: Any) -> Any:
        return fitted_model

    def log_likelihood__i(self, excluded_obs: Any, idata__i: Any) -> Any:
        mean = idata__i["posterior"]["mean"]
        values = stats.norm.logpdf(excluded_obs, mean.values[..., None], 1.0)
        return xarray.DataArray(values, dims=("chain", "draw", "obs"))


def fails_by_place(model: pm.Model, random_seed: int, cores: int, progressbar: bool) -> Any:
    """Raises, sleeps, or kills its process, by which observation has no part in the density."""
    from consilience.backends import contexts

    (place,) = np.flatnonzero(~contexts.DEFAULT.get(model.data["y counts"]))
    if place == 0:
        raise ValueError("not without the first")
    if place == 1:
        time.sleep(60)
    if place == 2:
        os._exit(3)
    data = contexts.DEFAULT.get(model.data["values"])
    return posterior_of_mean(np.delete(data, place), random_seed % 1000)
