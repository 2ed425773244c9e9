"""Leave-one-out cross-validation, exact where importance sampling fails: observations one by one, in refits.

A result and its model in; ArviZ's `ELPDData` out.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from consilience.errors import ModelError
from consilience.estimators.cross_validation.importance import loo
from consilience.estimators.cross_validation.refits import (
    Refitting,
    arviz,
    axes_of,
    is_wrapper,
    log_mean,
    place_for_wrapper,
    pointwise_of,
    refits_of,
)
from consilience.model.model import Model
from consilience.sample.posterior import sample


def reloo(
    wrapper: Any,
    loo_orig: Any = None,
    var_name: str | None = None,
    log_weights: Any = None,
    k_threshold: float | None = None,
    pointwise: bool | None = None,
    *,
    model: Model | None = None,
    random_seed: Any = None,
    executor: Any = None,
    cores: int | None = None,
    limit: float | None = None,
    store: str | Path | None = None,
    retry: bool = False,
    sampler: Callable[..., Any] = sample,
    progressbar: bool = False,
    callback: Callable[..., Any] | None = None,
    **sampling: Any,
) -> Any:
    """Leave-one-out cross-validation with a refit for each observation where importance sampling can't be trusted.

    wrapper (DataTree or SamplingWrapper): A result of `pm.sample`, whose model is refitted; or ArviZ's wrapper.
    loo_orig (ELPDData): Pointwise `pm.loo` of it; computed by default.
    var_name: The observed variable, where there are several; the data of others are never left out.
    log_weights (DataArray): For `pm.loo`.
    k_threshold: Observations are refitted whose Pareto k is above it; by default `good_k` of `loo_orig`: 0.7, or less
        with few draws. `-np.inf` refits all.
    pointwise: Whether what is returned has `elpd_i`, `p_loo_i`, and `pareto_k`, which is 0 after a refit; by default as
        ArviZ's `rcParams` have it.
    model : ...
    random_seed (int, sequence of int or Generator): Of the refits; that of an observation depends on it and on its
        place.
    executor, cores, limit, store: As for `pm.loo_kfold`.
    retry: As for `pm.loo_kfold`.
    sampler (callable, default sample): As for `pm.loo_kfold`.
    progressbar: As for `pm.loo_kfold`.
    callback: As for `pm.loo_kfold`.
    **sampling: For the sampler: `draws`, `tune`, `chains` and others.
    Returns (ELPDData): ArviZ's record, with `errors`: why refits have no result, by place of the observation. These
        keep what importance sampling says, and their Pareto k.
    Raises ModelError: Where observations have one density together.
    Warns ConsilienceWarning: Where refits failed or did not converge.
    See loo: Without refits.
    See loo_kfold: Refits for all observations, by folds.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[0.2, -0.5, 1.0, 0.3])
    ...     result = pm.compute_log_likelihood(pm.sample(random_seed=1, progressbar=False))
    >>> found = pm.reloo(result, model=model, k_threshold=-np.inf, pointwise=True, random_seed=1)
    >>> found.errors, found.pareto_k.values.tolist()
    ({}, [0.0, 0.0, 0.0, 0.0])
    """
    given = is_wrapper(wrapper)
    values, name = pointwise_of(wrapper.idata_orig if given else wrapper, var_name, model)
    dims = axes_of(values)
    whole = values.transpose("chain", "draw", *dims)
    if loo_orig is None:
        import xarray

        tree = xarray.DataTree.from_dict({"log_likelihood": values.to_dataset(name=name)})
        tree["posterior"] = (wrapper.idata_orig if given else wrapper)["posterior"]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Estimated shape parameter of Pareto", UserWarning)  # hence the refits
            loo_orig = loo(tree, var_name=name, pointwise=True, log_weights=log_weights)
    if loo_orig.pareto_k is None or loo_orig.elpd_i is None:
        raise ModelError("`loo_orig` must have values of each observation: `pm.loo(result, pointwise=True)`.")
    least = loo_orig.good_k if k_threshold is None else k_threshold
    k = loo_orig.pareto_k.transpose(*dims).to_numpy().copy()
    held = {int(place): np.array([place]) for place in np.flatnonzero(k > least)}
    found: Mapping[int, Any] = {}
    if held:
        places = {place: place_for_wrapper(place, values) for place in held}
        refits = refits_of(wrapper if given else None, model, name, places, random_seed, sampler, sampling)
        found = Refitting(
            refits, held, store=store, about={"study": "reloo", "variable": name}, retry=retry, executor=executor,
            cores=cores, limit=limit, progressbar=progressbar, callback=callback,
        ).run()  # fmt: skip
    elpd = loo_orig.elpd_i.transpose(*dims).to_numpy().copy()
    for place, one in found.items():
        if "elpd" in one:
            elpd.ravel()[place], k.ravel()[place] = one["elpd"][0], 0.0
    p = log_mean(whole.to_numpy().reshape(-1, k.size)).reshape(k.shape) - elpd
    result = copy.copy(loo_orig)
    result.elpd, result.se, result.p = elpd.sum(), np.sqrt(k.size * np.var(elpd)), p.sum()
    result.warning = bool(np.any(k > loo_orig.good_k))
    result.errors = {place: one["error"] for place, one in found.items() if "error" in one}
    result.elpd_i = result.pareto_k = result.p_loo_i = None
    if arviz("rcParams")["stats.ic_pointwise"] if pointwise is None else pointwise:
        like = whole.isel(chain=0, draw=0, drop=True)
        result.elpd_i, result.pareto_k, result.p_loo_i = (like.copy(data=one) for one in (elpd, k, p))
    return result
