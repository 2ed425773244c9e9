"""What follows from draws of a model: a posterior enters; densities, deterministics and summed variables leave."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError
from consilience.model.model import Model, modelcontext
from consilience.model.predictive import log_likelihood, predict, recover, redrawn
from consilience.sample.arguments import check_rest, wanted
from consilience.sample.by_label import ByLabel
from consilience.sample.given import Given, variables_of
from consilience.sample.predictive import Names


def compute_log_likelihood(
    idata: Any,
    *,
    var_names: Sequence[str] | None = None,
    extend_inferencedata: bool = True,
    model: Model | None = None,
    sample_dims: Sequence[str] | None = None,
    store: str | Path | None = None,
    executor: Any = None,
    **pymc: Any,
) -> Any:
    """Compute the log density of each observation at every draw of the posterior, for model comparison.

    idata (DataTree): Result with a posterior.
    var_names: Observed variables; all by default.
    extend_inferencedata: Whether the group is added to the result, which is then returned.
    model, sample_dims : ...
    store: A zarr store to be made, or one that a run has written, to which the group is added: draws are computed part
        by part, and the result reads from there what is looked at. `pm.loo` and `pm.summary` of such results read them
        part by part, too.
    executor (Executor): Computes parts of the draws: threads, a process pool, `loky`, MPI, a Dask client,
        `pm.cluster.ray()`. Values do not depend on it.
    **pymc: PyMC's other keywords; those without meaning here pass.
    Returns: `idata` with the group `log_likelihood`. With `extend_inferencedata=False` only that group, as a dataset.
    See compute_log_prior: That of the free variables.
    See loo: Cross-validation by it.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     y = pm.Normal("y", mu, 1, observed=[0.0, 1.0])
    >>> draws = pm.to_inference_data({"mu": np.zeros((1, 2))}, model=model)
    >>> pm.compute_log_likelihood(draws, model=model).log_likelihood["y"].round(3).values.tolist()
    [[[-0.919, -1.419], [-0.919, -1.419]]]
    """
    check_rest(compute_log_likelihood, pymc)
    owner = modelcontext(model)
    names = wanted(var_names, [v.name for v in owner.observed])
    if not names:
        raise ModelError("the model has no observed variables, so there is no likelihood.")
    _all_rows(owner, idata)
    return _densities(owner, names, idata, sample_dims, "log_likelihood", extend_inferencedata, store, executor)


def _all_rows(model: Model, trace: Any) -> None:
    """ModelError where draws know of rows on shards that the model does not hold."""
    for name, rows in json.loads(getattr(variables_of(trace), "attrs", {}).get("rows_on_shards", "{}")).items():
        held = len(model.data[name].get_value()) if name in model.data else rows
        if held != rows:
            raise ModelError(
                f"the draws depend on {rows:,} rows of `{name}`, which were on shards, and the model holds {held:,}: "
                '`pm.set_data` of all rows first (`np.load(path, mmap_mode="r")` is read in place), and `store=` for '
                "values that are larger than the memory."
            )


def compute_log_prior(
    idata: Any,
    *,
    var_names: Sequence[str] | None = None,
    extend_inferencedata: bool = True,
    model: Model | None = None,
    sample_dims: Sequence[str] | None = None,
    store: str | Path | None = None,
    executor: Any = None,
    **pymc: Any,
) -> Any:
    """Compute the log density of each free variable at every draw of the posterior, without Jacobian terms.

    Takes the arguments of `compute_log_likelihood`; the group is `log_prior`.

    idata (DataTree): Result with a posterior.
    var_names : ...
    extend_inferencedata: Whether the group is added to the result, which is then returned.
    model : ...
    sample_dims: Names of the dims of draws.
    store, executor (optional): As for `compute_log_likelihood`.
    **pymc: PyMC's other keywords; those without meaning here pass.
    Returns: The tree with a group `log_prior`; that group as a data set unless `extend_inferencedata`.
    See compute_log_likelihood: That of the observations.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     y = pm.Normal("y", mu, 1, observed=[0.0, 1.0])
    >>> draws = pm.to_inference_data({"mu": np.zeros((1, 2))}, model=model)
    >>> pm.compute_log_prior(draws, model=model).log_prior["mu"].round(3).values.tolist()
    [[-0.919, -0.919]]
    """
    check_rest(compute_log_prior, pymc)
    owner = modelcontext(model)
    names = wanted(var_names, [v.name for v in owner.free])
    if not names:
        raise ModelError("the model has no free variables, so there is no prior.")
    return _densities(owner, names, idata, sample_dims, "log_prior", extend_inferencedata, store, executor)


def _densities(
    model: Model,
    names: Sequence[str],
    trace: Any,
    sample_dims: Sequence[str] | None,
    group: str,
    extend: bool,
    store: str | Path | None,
    executor: Any,
) -> Any:
    whole = store is None and executor is None
    draws = Given.of(model, trace, sample_dims, whole=whole)
    lacking = [n for n in names if n not in draws.values and n in {v.name for v in model.free}]
    if lacking:
        raise ModelError(f"the trace holds no draws of {', '.join(f'`{n}`' for n in lacking)}.")
    if not whole:
        from consilience.sample.in_parts import Values, in_parts  # few results are computed so

        values = Values(model, names, "densities", {})
        made = in_parts(values, draws, group, None, store=store, executor=executor)
        return draws.result(model, {group: made}, trace) if extend else made
    arrays = draws.unfolded(log_likelihood(model, names, draws.values, draws.count))
    # A vector that is one event has one number, and so not its axes.
    rank = len(draws.shape)
    axes = {n: model.dims_of[n][: arrays[n].ndim - rank] for n in names if n in model.dims_of}
    made = draws.dataset(model, arrays, axes, group)
    return draws.result(model, {group: made}, trace) if extend else made


def compute_deterministics(
    dataset: Any,
    *,
    var_names: Sequence[str] | None = None,
    model: Model | None = None,
    sample_dims: Sequence[str] | None = None,
    merge_dataset: bool = False,
    extend_dataset: bool = False,
    store: str | Path | None = None,
    executor: Any = None,
    **pymc: Any,
) -> Any:
    """Compute deterministics from draws of the free variables.

    dataset: A data set of draws such as `result.posterior`, a tree with that group, or a dictionary of arrays.
    var_names: Deterministics; all by default.
    model, sample_dims : ...
    merge_dataset: Whether the result holds what the data set had, too.
    extend_dataset: Whether they are added to `dataset` itself (to the group `posterior` of a tree), which is returned.
    store, executor (optional): As for `compute_log_likelihood`.
    **pymc: PyMC's other keywords; those without meaning here pass.
    Returns: An `xarray.Dataset`, or with `extend_dataset` what was given.
    Raises ModelError: If draws of a variable are missing that a deterministic depends on.
    See sample: Computes them itself.
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    ...     double = pm.Deterministic("double", 2 * x)
    >>> draws = pm.to_inference_data({"x": np.array([[1.0, 2.0]])}, model=model)
    >>> pm.compute_deterministics(draws.posterior, model=model)["double"].values.tolist()
    [[2.0, 4.0]]
    """
    check_rest(compute_deterministics, pymc)
    if merge_dataset and extend_dataset:
        raise ModelError("give `merge_dataset` (a new data set) or `extend_dataset` (the one given), not both.")
    owner = modelcontext(model)
    names = wanted(var_names, list(owner.named_deterministics))
    whole = store is None and executor is None
    draws = Given.of(owner, dataset, sample_dims, whole=whole)
    lacking = redrawn(owner, names, list(draws.values))
    if lacking:
        raise ModelError(f"the draws hold no {', '.join(f'`{n}`' for n in lacking)}, on which deterministics depend.")
    labels = ByLabel.of(owner, dataset)
    new = {name: found for name in draws.values if (found := labels.lacking(name))}
    if new:
        name, found = next(iter(new.items()))
        raise ModelError(f"the draws hold no `{name}` for {found}; `pm.sample_posterior_predictive` draws it.")
    if whole:
        given = {name: labels.arranged(name, array, 1) for name, array in draws.values.items()}
        values = draws.unfolded(predict(owner, names, given, draws.count, 0, with_data=True))
        made = draws.dataset(owner, values, owner.named_vars_to_dims, "posterior")
    else:
        from consilience.sample.in_parts import Values, in_parts  # few results are computed so

        computing = Values(owner, names, "draws", {"seed": 0, "with_data": True})
        dims, arrange = owner.named_vars_to_dims, partial(labels.arranged, axes=1)
        made = in_parts(computing, draws, "deterministics", dims, store=store, executor=executor, arranged=arrange)
    if extend_dataset and not hasattr(dataset, "sizes"):
        dataset.update({name: made[name].to_numpy() for name in names})
        return dataset
    if extend_dataset:
        (dataset["posterior"] if getattr(dataset, "children", ()) else dataset).update(made)
        return dataset
    return made.merge(variables_of(dataset)) if merge_dataset else made


def recover_marginals(
    idata: Any,
    *,
    model: Model | None = None,
    var_names: Names = None,
    return_samples: bool = True,
    extend_inferencedata: bool = True,
    random_seed: Any = None,
) -> Any:
    """Draw marginalized variables for every draw of the posterior, given all other variables and the data.

    idata (DataTree): A result of `sample`, a data set of draws, or a dictionary of arrays (chain, draw, …).
    model: The marginalized model; the one around by default.
    var_names: Variables to keep; by default all marginalized ones and deterministics of them.
    return_samples: False: log probabilities only.
    extend_inferencedata: Add the results to the group `posterior` of `idata`, and return it; False: a data set of them.
    random_seed : ...
    Returns: For each variable `z` its draws, and as `lp_z` with a last axis of all its values their log probabilities
        given the free variables (and given the draws of marginalized variables that were summed out later, where there
        are several that act together).
    Raises ModelError: Without marginalized variables, or where draws of free variables are missing.
    See marginalize: Sums over the variables.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     z = pm.Bernoulli("z", 0.3)
    ...     y = pm.Normal("y", mu + z, 1.0, observed=0.5)
    >>> with pm.marginalize(model, "z") as summed:
    ...     result = pm.sample(random_seed=1, progressbar=False)
    >>> "z" in pm.recover_marginals(result, model=summed, random_seed=1).posterior
    True
    """
    import xarray

    owner = modelcontext(model)
    if not owner.marginalized:
        raise ModelError("the model has no marginalized variables; make one with `pm.marginalize(model, [names])`.")
    names = wanted(var_names, [*(v.name for v in owner.marginalized), *owner.conditional_deterministics])
    draws = Given.of(owner, idata, None)
    lacking = [v.name for v in owner.free if v.name not in draws.values]
    if lacking:
        raise ModelError(f"the draws hold no {', '.join(f'`{n}`' for n in lacking)}, on which those to recover depend.")
    seed = seed_from(random_seed)
    from consilience.model.tails import lengthen_for  # few models need it

    lengthen_for(owner, draws.values, seed)
    found, weights = recover(owner, draws.values, draws.count, seed)
    made = {name: found[name] for name in names if name in found}
    derived = [name for name in names if name in owner.conditional_deterministics]
    if derived:
        made |= predict(owner, derived, {**draws.values, **found}, draws.count, seed, with_data=True)
    arrays = dict(made) if return_samples else {}
    arrays |= {f"lp_{name}": weights[name] for name in names if name in weights}
    dims = {f"lp_{name}": (*axes, None) for name, axes in owner.dims_of.items() if name in weights}
    data = draws.dataset(owner, draws.unfolded(arrays), {**owner.dims_of, **dims}, "posterior")
    if not extend_inferencedata:
        return data
    if not isinstance(idata, xarray.DataTree):
        raise ModelError("only a tree can be extended; pass `extend_inferencedata=False`.")
    before = variables_of(idata)
    idata["posterior"] = xarray.DataTree(before.drop_vars([name for name in arrays if name in before]).merge(data))
    return idata
