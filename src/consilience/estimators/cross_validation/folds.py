"""K-fold cross-validation: each part of the observations is predicted by a posterior without it.

A result and its model in; ArviZ's `ELPDData` out. Source: A. Vehtari, A. Gelman, J. Gabry (2017), "Practical Bayesian
model evaluation using leave-one-out cross-validation and WAIC".
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.distributions.seeds import seed_from
from consilience.errors import ShapeError, StorageError
from consilience.estimators.cross_validation.refits import (
    Refitting,
    arviz,
    axes_of,
    log_mean,
    pointwise_of,
    refits_of,
)
from consilience.model.model import Model
from consilience.sample.posterior import sample

Places = npt.NDArray[np.intp]


def loo_kfold(
    data: Any,
    wrapper: Any = None,
    pointwise: bool | None = None,
    var_name: str | None = None,
    k: int = 10,
    folds: npt.ArrayLike | None = None,
    stratify_by: npt.ArrayLike | None = None,
    group_by: npt.ArrayLike | None = None,
    save_fits: bool = False,
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
    """K-fold cross-validation: the log predictive density of each observation by a posterior without its fold.

    data (DataTree): A result of `pm.sample`.
    wrapper (SamplingWrapper): ArviZ's; without it the model itself is refitted: observations that are left out have no
        part in its density. It compiles once per worker.
    pointwise: Whether what is returned has `elpd_i` and `p_kfold_i`; by default as ArviZ's `rcParams` have it.
    var_name: The observed variable, where there are several; the data of others are never left out.
    k: Folds, drawn by `random_seed`.
    folds: Of each observation its fold: any labels.
    stratify_by: Classes of observations, which all folds have in equal shares.
    group_by: Observations of one value stay together in a fold.
    save_fits: Whether what is returned has `fold_fits`: of each fold its posterior and its observations.
    model, random_seed : ...
    executor (Executor): Where refits run: threads, a process pool, `loky`, MPI, a Dask client, `pm.cluster.ray()`;
        `cores` threads of this process by default. The numbers do not depend on it.
    cores: Number of these threads.
    limit: Seconds that a refit may take.
    store: File where refits are kept as they end; what it has is not computed again.
    retry: Whether refits that failed on an earlier day are tried again.
    sampler (callable, default sample): Called as `sampler(model=..., random_seed=..., **sampling)`, with `cores=1` and
        `progressbar=False`.
    progressbar : ...
    callback: Called with `consilience.events.StepProgress` while the study goes on.
    **sampling: For the sampler: `draws`, `tune`, `chains` and others.
    Returns (ELPDData): ArviZ's record, with `errors`: why refits have no result, by fold. Observations of these are NaN
        in `elpd_i`, and so are the sums.
    Raises ModelError: Where observations have one density together.
    Raises ShapeError: Where there are more folds than observations, or labels than these.
    Warns ConsilienceWarning: Where refits failed or did not converge.
    See loo: Without refits.
    See reloo: Refits for single observations.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[0.2, -0.5, 1.0, 0.3, -0.1, 0.6])
    ...     result = pm.sample(random_seed=1, progressbar=False)
    >>> found = pm.loo_kfold(result, model=model, k=3, random_seed=1)
    >>> found.errors, bool(abs(found.elpd - -6.5) < 0.7)
    ({}, True)
    """
    values, name = pointwise_of(data, var_name, model)
    dims = axes_of(values)
    whole = values.transpose("chain", "draw", *dims)
    count = int(np.prod(whole.shape[2:]))
    seed = seed_from(random_seed)
    of_each = _folds(count, k, folds, stratify_by, group_by, seed)
    number = int(of_each.max())
    held = {fold: np.flatnonzero(of_each == fold) for fold in range(1, number + 1)}
    refits = refits_of(wrapper, model, name, held, seed, sampler, sampling)
    unknown = folds is None and random_seed is None and store is not None and os.path.exists(store)
    if unknown:
        raise StorageError(f"{store} has folds of its own; give its `random_seed`, or the `folds`.")
    about = {"study": "loo_kfold", "variable": name, "folds": hashlib.sha256(of_each.tobytes()).hexdigest()[:32]}
    found = Refitting(
        refits, held, store=store, about=about, retry=retry, keeps=save_fits, executor=executor, cores=cores,
        limit=limit, progressbar=progressbar, callback=callback,
    ).run()  # fmt: skip
    elpd = np.full(count, np.nan)
    for fold, one in found.items():
        if "elpd" in one:
            elpd[held[fold]] = one["elpd"]
    p = log_mean(whole.to_numpy().reshape(-1, count)) - elpd
    errors = {fold: one["error"] for fold, one in found.items() if "error" in one}
    shown = arviz("rcParams")["stats.ic_pointwise"] if pointwise is None else pointwise
    like = whole.isel(chain=0, draw=0, drop=True)
    result = arviz("ELPDData")(
        kind="loo_kfold", elpd=elpd.sum(), se=np.sqrt(count * np.var(elpd)), p=p.sum(),
        n_samples=whole.sizes["chain"] * whole.sizes["draw"], n_data_points=count, scale="log", warning=False,
        good_k=None, elpd_i=like.copy(data=elpd.reshape(like.shape)) if shown or errors else None, n_folds=number,
    )  # fmt: skip
    result.errors = errors
    if shown or errors:
        result.p_kfold_i = like.copy(data=p.reshape(like.shape))
    if save_fits:
        result.fold_fits = {
            fold: {"fit": one["fit"], "test_indices": held[fold]} for fold, one in found.items() if "fit" in one
        }
    return result


def _folds(count: int, k: int, folds: Any, stratify_by: Any, group_by: Any, seed: int) -> Places:
    """The fold of each observation, counted from 1."""
    given = {"folds": folds, "stratify_by": stratify_by, "group_by": group_by}
    named = {name: np.asarray(labels).ravel() for name, labels in given.items() if labels is not None}
    if len(named) > 1:
        raise ShapeError(f"give one of {' and '.join(f'`{name}`' for name in named)}, not both.")
    for name, labels in named.items():
        if len(labels) != count:
            raise ShapeError(f"`{name}` must have a value for each of {count} observations, got {len(labels)}.")
    labels = next(iter(named.values()), np.zeros(count))
    known, places = np.unique(labels, return_inverse=True)
    if "folds" in named:
        if len(known) < 2:
            raise ShapeError(f"`folds` must have two folds or more, got {len(known)}.")
        return places.astype(np.intp) + 1
    most = len(known) if "group_by" in named else count
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 2 <= k <= most:
        what = "groups" if "group_by" in named else "observations"
        raise ShapeError(f"`k` must be a whole number from 2 to {most}, the number of {what}; got {k!r}.")
    generator = np.random.default_rng([seed, 1])
    if "group_by" in named:
        of_group = np.empty(most, np.intp)
        of_group[generator.permutation(most)] = np.arange(most) % k
        return of_group[places] + 1
    # One class after the other, each in an order of its own, and folds in turn.
    order = np.lexsort((generator.random(count), places))
    of_each = np.empty(count, np.intp)
    of_each[order] = np.arange(count) % k + 1
    return of_each
