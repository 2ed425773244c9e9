"""Draws of what was not observed, and densities of what was: model and posterior enter, groups of a tree leave."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy.typing as npt

from consilience.distributions.seeds import seed_from
from consilience.errors import ConsilienceWarning, ImplicitFreezeWarning, ModelError
from consilience.model.model import Model, modelcontext
from consilience.model.predictive import log_likelihood, predict, recover, redrawn
from consilience.model.resampling import Resampling, default_outputs, resampling
from consilience.output import storage
from consilience.output.storage.datatree import label_array
from consilience.record import replace
from consilience.run.plan import whole_number
from consilience.sample import keywords
from consilience.sample.arguments import PROGRESS_BARS, extras, one_of, wanted
from consilience.sample.by_label import ByLabel, following
from consilience.sample.compiling import naming_the_largest, prepare_sampler
from consilience.sample.data import constant_data, observed_data
from consilience.sample.given import Given, variables_of

Array = npt.NDArray[Any]
Names: TypeAlias = Sequence[str] | str | None

PREDICTIVE_DRAWS: Final = 500


def sample_prior_predictive(
    draws: int = PREDICTIVE_DRAWS,
    model: Model | None = None,
    var_names: Sequence[str] | None = None,
    random_seed: Any = None,
    return_inferencedata: bool = True,
    **pymc: Any,
) -> Any:
    """Draw all variables from the prior, including the observed ones.

    Parameters
    ----------
    draws : int, optional
        Number of draws; 500 by default.
    model : ...
    var_names : sequence of str, optional
        Variables to keep; all by default.
    random_seed : ...
    return_inferencedata : bool, default True
        False: a dictionary of arrays (draws, …) by name.
    **pymc : object
        PyMC's other keywords: those without meaning here pass, the rest are refused.

    Returns
    -------
    object
        A tree with one chain: the groups `prior` (free variables and deterministics), `prior_predictive` (observed
        variables), `observed_data` and `constant_data`. `var_names` may leave the first two empty.

    Warns
    -----
    ConsilienceWarning
        If the model has potentials, which prior draws ignore, or if draws are NaN.

    See Also
    --------
    logp : Log density (or log mass) at a value.
    draw : Independent draws of variables.

    Examples
    --------
    >>> import consilience as pm
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0.0, 10.0)
    ...     result = pm.sample_prior_predictive(draws=5, random_seed=1)
    >>> result.prior["mu"].shape
    (1, 5)
    """
    owner = modelcontext(model)
    _check("sample_prior_predictive", pymc, "draws model var_names random_seed return_inferencedata")
    draws = whole_number("draws", draws, 1)
    free = [v.name for v in (*owner.free, *owner.marginalized)]
    free += [*owner.named_deterministics, *owner.conditional_deterministics]
    observed = [v.name for v in owner.observed]
    names = wanted(var_names, free + observed)
    prepare_sampler()
    storage.prepare()
    redrawn(owner, names, [])
    if owner.named_potentials:
        _without_potentials(owner)
    with naming_the_largest(owner):
        values = predict(owner, names, {}, draws, seed_from(random_seed))
    if not return_inferencedata:
        return values
    groups = {
        "prior_predictive": {n: values[n][None] for n in names if n in observed},
        "prior": {n: values[n][None] for n in names if n in free},
        "observed_data": observed_data(owner),
        "constant_data": constant_data(owner),
    }
    kept = ("prior", *(("prior_predictive",) if observed else ()))  # whatever `var_names` leaves in them
    return storage.tree_of(groups, owner.coords, owner.named_vars_to_dims, kept=kept)


def _without_potentials(model: Model) -> None:
    warnings.warn(
        f"draws from the prior leave out the potentials {', '.join(f'`{n}`' for n in model.named_potentials)}.",
        ConsilienceWarning,
        stacklevel=3,
    )


def sample_posterior_predictive(
    trace: Any,
    model: Model | None = None,
    var_names: Names = None,
    *,
    sample_vars: Names = None,
    freeze_vars: Names = None,
    sample_dims: Sequence[str] | None = None,
    extend_inferencedata: bool = False,
    predictions: bool = False,
    random_seed: Any = None,
    return_inferencedata: bool = True,
    store: str | Path | None = None,
    executor: Any = None,
    **pymc: Any,
) -> Any:
    """Draw new data for every draw of the posterior.

    Random variables with draws in the trace keep them, matched by label. Other variables, and elements with new labels,
    are drawn given their parameters. Deterministics are computed. Observed variables have the lengths of the present
    data. `resampled_variables` says for each variable which it is, and why.

    Parameters
    ----------
    trace : DataTree
        A result of `sample`, a data set of draws, a dictionary of arrays (chain, draw, …) or a list of points such as
        that of `find_MAP`; free variables that it does not hold are drawn from their prior, with a warning where
        nobody asked for them.
    model : ...
    var_names : Names, optional
        Variables to return; by default `sample_vars`, or else the observed ones and the deterministics that depend on
        these directly.
    sample_vars : Names, optional
        Variables of the trace to draw or compute anew.
    freeze_vars : Names, optional
        Variables of the trace to keep without a warning; deterministics are then not computed.
    sample_dims : ...
    extend_inferencedata : bool, default False
        Add the groups to `trace`, in place of those of that name, and return it.
    predictions : bool, default False
        Store the draws as group `predictions`, and the data as `predictions_constant_data`, for data other than those
        the model was fitted to.
    random_seed : ...
    return_inferencedata : bool, default True
        False: a dictionary of arrays by name.
    store, executor : optional
        As for `compute_log_likelihood`.
    **pymc : object
        PyMC's other keywords: those without meaning here pass, the rest are refused.

    Returns
    -------
    object
        A tree with the group `posterior_predictive`, and the present data in `observed_data` and `constant_data`.

    Raises
    ------
    ModelError
        If the model has no observed variables, a name is unknown, or a variable has no random generator.
    ShapeError
        If the draws do not fit the present data.

    Warns
    -----
    ConsilienceWarning
        If draws are NaN.
    ImplicitFreezeWarning
        If a variable keeps its draws although something that it depends on has changed or is drawn anew.

    See Also
    --------
    sample_smc : Draws of the posterior by particles that are moved from the prior to it.
    fit : Approximate the posterior of a model by a simpler distribution.
    sample : Draw from the posterior of a model with the No-U-Turn Sampler.

    Examples
    --------
    >>> import consilience as pm
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0.0, 10.0)
    ...     y = pm.Normal("y", mu, 1.0, observed=[1.2, 0.7, 2.1])
    ...     result = pm.sample(
    ...         10, tune=100, chains=1, random_seed=1, progressbar=False, compute_convergence_checks=False
    ...     )
    ...     predicted = pm.sample_posterior_predictive(result, random_seed=1, progressbar=False)
    >>> predicted.posterior_predictive["y"].shape
    (1, 10, 3)
    """
    _check(
        "sample_posterior_predictive",
        pymc,
        "trace model var_names sample_vars freeze_vars sample_dims predictions extend_inferencedata random_seed "
        "return_inferencedata",
    )
    owner = modelcontext(model)
    plan = resampled_variables(trace, owner, var_names, sample_vars=sample_vars, freeze_vars=freeze_vars)
    if not plan.outputs:
        raise ModelError("the model has no observed variables; name what to compute with `var_names`.")
    possible = [v.name for v in (*owner.free, *owner.marginalized)]
    whole = store is None and executor is None
    draws = Given.of(owner, trace, sample_dims, list(dict.fromkeys([*possible, *plan.taken])), whole)
    draws = replace(draws, values={name: array for name, array in draws.values.items() if name in plan.taken})
    labels = ByLabel.of(owner, trace)
    first = draws if whole else draws.first()
    given = {name: labels.arranged(name, array, 1) for name, array in first.values.items()}
    found = {name: labels.partly(name, array.shape[1:]) for name, array in given.items()}
    partly = {name: some for name, some in found.items() if some is not None}
    redrawn(owner, plan.outputs, [name for name in given if name not in partly])
    unasked = [
        v.name for v in owner.free if v.name in plan.drawn and v.name not in (*_listed(sample_vars), *plan.outputs)
    ]
    if unasked:
        warnings.warn(
            f"the posterior holds no draws of {', '.join(f'`{n}`' for n in unasked)}, so they are drawn "
            "from their prior.",
            ConsilienceWarning,
            stacklevel=2,
        )
    if any(v.name in plan.drawn for v in owner.free) and owner.named_potentials:
        _without_potentials(owner)
    seed = seed_from(random_seed)
    group = "predictions" if predictions else "posterior_predictive"
    with naming_the_largest(owner):
        if whole:
            arrays: Any = draws.unfolded(predict(owner, plan.outputs, given, draws.count, seed, partly=partly))
        else:
            from consilience.sample.in_parts import Values, in_parts  # few results are computed so

            drawing = Values(owner, plan.outputs, "draws", {"seed": seed, "partly": partly})
            dims = owner.named_vars_to_dims
            arrange = partial(labels.arranged, axes=1)
            arrays = in_parts(drawing, draws, group, dims, store=store, executor=executor, arranged=arrange)
    if partly:
        drawn = "; ".join(f"`{name}` for {labels.lacking(name)}" for name in partly)
        warnings.warn(
            f"the trace has no draws of new labels. Drawn anew, given their parameters: {drawn}. All other labels keep "
            "their draws.",
            ConsilienceWarning,
            stacklevel=2,
        )
    if plan.doubtful:
        doubts = "; ".join(f"`{name}`, although {reason}" for name, reason in plan.doubtful.items())
        warnings.warn(
            f"draws of the trace are used for {doubts}. Name such variables in `sample_vars` to draw them anew, or in "
            "`freeze_vars` where this is meant.",
            ImplicitFreezeWarning,
            stacklevel=2,
        )
    if not return_inferencedata:
        return arrays if whole else {str(name): values.to_numpy() for name, values in arrays.data_vars.items()}
    data = {"constant_data": constant_data(owner)}
    data = {"predictions_constant_data": data["constant_data"]} if predictions else data
    observed = {} if predictions else {"observed_data": observed_data(owner)}
    return draws.result(owner, {group: arrays, **observed, **data}, trace if extend_inferencedata else None)


def resampled_variables(
    trace: Any,
    model: Model | None = None,
    var_names: Names = None,
    *,
    sample_vars: Names = None,
    freeze_vars: Names = None,
) -> Resampling:
    """What `sample_posterior_predictive` would draw anew, compute and take from the trace, and why; nothing is drawn.

    The arguments are those of `sample_posterior_predictive`.

    Parameters
    ----------
    trace : DataTree
        Result with a posterior.
    model : ...
    var_names : Names, optional
        Names of the variables to include; all by default.
    sample_vars : Names, optional
        Names of the variables to draw anew.
    freeze_vars : Names, optional
        Names of the variables to keep as they are.

    Returns
    -------
    Resampling
        A record that prints as one line per variable, with mappings from names to reasons: `drawn`, `computed`,
        `taken`, and `doubtful` for those of `taken` on which something acts that has changed.

    Raises
    ------
    ModelError
        For unknown names, or names in both `sample_vars` and `freeze_vars`.

    See Also
    --------
    sample_posterior_predictive : Does it.

    Examples
    --------
    >>> import numpy as np
    >>> import consilience as pm
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    >>> draws = pm.to_inference_data({"mu": np.zeros((1, 5))}, model=model)
    >>> print(pm.resampled_variables(draws, model))
     y  drawn anew: it is observed
    mu  from the trace: the trace has draws of it
    """
    owner = modelcontext(model)
    if var_names is not None or sample_vars is not None:
        outputs = _listed(sample_vars if var_names is None else var_names)
    else:
        observed = trace["observed_data"].data_vars if "observed_data" in getattr(trace, "children", ()) else ()
        outputs = default_outputs(owner, [str(name) for name in observed])
    present = [name for name in owner.named if name in variables_of(trace)]
    labels = ByLabel.of(owner, trace)
    lacking = {name: found for name in present if (found := labels.lacking(name))}
    changed = _changed(owner, trace, labels)
    followed = following(owner, trace)
    return resampling(owner, outputs, present, changed, _listed(sample_vars), _listed(freeze_vars), lacking, followed)


def _listed(names: Names) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(dict.fromkeys(names))


def _changed(model: Model, trace: Any, by_label: ByLabel) -> dict[str, str]:
    """Data of the model, and dimensions, that are not as the trace has them, and that labels do not bring together."""
    found: dict[str, str] = {}
    variables = variables_of(trace)
    known = trace["constant_data"].to_dataset() if "constant_data" in getattr(trace, "children", ()) else {}
    for name, values in constant_data(model).items():
        if name in known and by_label.differs(name, known[name].to_numpy(), values):
            found[name] = f"the data `{name}` have changed"
    for name in model.coordinates.names():
        labels = model.coords[name]
        index = getattr(variables, "indexes", {}).get(name)
        if index is None or name in by_label.places:
            continue
        if len(index) != model.coordinates.current_length(name):
            found[name] = f"the dimension `{name}` has another length"
        elif labels is not None and not index.equals(type(index)(label_array(labels))):
            found[name] = f"the dimension `{name}` has other labels"
    return found


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

    Parameters
    ----------
    idata : DataTree
        Result with a posterior.
    var_names : sequence of str, optional
        Observed variables; all by default.
    extend_inferencedata : bool, default True
        Whether the group is added to the result, which is then returned.
    model, sample_dims : ...
    store : str or Path, optional
        A zarr store to be made, or one that a run has written, to which the group is added: draws are computed part by
        part, and the result reads from there what is looked at. `pm.loo` and `pm.summary` of such results read them
        part by part, too.
    executor : Executor, optional
        Computes parts of the draws: threads, a process pool, `loky`, MPI, a Dask client, `pm.cluster.ray()`. Values do
        not depend on it.
    **pymc : object
        PyMC's other keywords; those without meaning here pass.

    Returns
    -------
    object
        `idata` with the group `log_likelihood`. With `extend_inferencedata=False` only that group, as a dataset.

    See Also
    --------
    compute_log_prior : That of the free variables.
    loo : Cross-validation by it.

    Examples
    --------
    >>> import numpy as np
    >>> import consilience as pm
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     y = pm.Normal("y", mu, 1, observed=[0.0, 1.0])
    >>> draws = pm.to_inference_data({"mu": np.zeros((1, 2))}, model=model)
    >>> pm.compute_log_likelihood(draws, model=model).log_likelihood["y"].round(3).values.tolist()
    [[[-0.919, -1.419], [-0.919, -1.419]]]
    """
    _check("compute_log_likelihood", pymc, _OF_DENSITIES)
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

    Parameters
    ----------
    idata : DataTree
        Result with a posterior.
    var_names : ...
    extend_inferencedata : bool, default True
        Whether the group is added to the result, which is then returned.
    model : ...
    sample_dims : sequence of str, optional
        Names of the dims of draws.
    store, executor : optional
        As for `compute_log_likelihood`.
    **pymc : object
        PyMC's other keywords; those without meaning here pass.

    Returns
    -------
    object
        The tree with a group `log_prior`; that group as a data set unless `extend_inferencedata`.

    See Also
    --------
    compute_log_likelihood : That of the observations.

    Examples
    --------
    >>> import numpy as np
    >>> import consilience as pm
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     y = pm.Normal("y", mu, 1, observed=[0.0, 1.0])
    >>> draws = pm.to_inference_data({"mu": np.zeros((1, 2))}, model=model)
    >>> pm.compute_log_prior(draws, model=model).log_prior["mu"].round(3).values.tolist()
    [[-0.919, -0.919]]
    """
    _check("compute_log_prior", pymc, _OF_DENSITIES)
    owner = modelcontext(model)
    names = wanted(var_names, [v.name for v in owner.free])
    if not names:
        raise ModelError("the model has no free variables, so there is no prior.")
    return _densities(owner, names, idata, sample_dims, "log_prior", extend_inferencedata, store, executor)


_OF_DENSITIES: Final = "idata var_names extend_inferencedata model sample_dims"


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

    Parameters
    ----------
    dataset : object
        A data set of draws such as `result.posterior`, a tree with that group, or a dictionary of arrays.
    var_names : sequence of str, optional
        Deterministics; all by default.
    model, sample_dims : ...
    merge_dataset : bool, default False
        Whether the result holds what the data set had, too.
    extend_dataset : bool, default False
        Whether they are added to `dataset` itself (to the group `posterior` of a tree), which is returned.
    store, executor : optional
        As for `compute_log_likelihood`.
    **pymc : object
        PyMC's other keywords; those without meaning here pass.

    Returns
    -------
    object
        An `xarray.Dataset`, or with `extend_dataset` what was given.

    Raises
    ------
    ModelError
        If draws of a variable are missing that a deterministic depends on.

    See Also
    --------
    sample : Computes them itself.

    Examples
    --------
    >>> import numpy as np
    >>> import consilience as pm
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    ...     double = pm.Deterministic("double", 2 * x)
    >>> draws = pm.to_inference_data({"x": np.array([[1.0, 2.0]])}, model=model)
    >>> pm.compute_deterministics(draws.posterior, model=model)["double"].values.tolist()
    [[2.0, 4.0]]
    """
    _check("compute_deterministics", pymc, "dataset var_names model sample_dims merge_dataset extend_dataset")
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


def _check(function: str, given: Mapping[str, Any], accepted: str) -> None:
    """Pass over PyMC's keywords without meaning, refuse others."""
    rest = {name: value for name, value in given.items() if name not in ("progressbar", "idata_kwargs")}
    extras(given.get("idata_kwargs"))
    one_of("progressbar", given.get("progressbar", True), PROGRESS_BARS)
    keywords.check(function, rest, (*accepted.split(), "progressbar"), stacklevel=2)


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

    Parameters
    ----------
    idata : DataTree
        A result of `sample`, a data set of draws, or a dictionary of arrays (chain, draw, …).
    model : Model, optional
        The marginalized model; the one around by default.
    var_names : Names, optional
        Variables to keep; by default all marginalized ones and deterministics of them.
    return_samples : bool, default True
        False: log probabilities only.
    extend_inferencedata : bool, default True
        Add the results to the group `posterior` of `idata`, and return it; False: a data set of them.
    random_seed : ...

    Returns
    -------
    object
        For each variable `z` its draws, and as `lp_z` with a last axis of all its values their log probabilities given
        the free variables (and given the draws of marginalized variables that were summed out later, where there are
        several that act together).

    Raises
    ------
    ModelError
        Without marginalized variables, or where draws of free variables are missing.

    See Also
    --------
    marginalize : Sums over the variables.

    Examples
    --------
    >>> import consilience as pm
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
