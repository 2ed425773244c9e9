"""Draws of what was not observed: model and posterior enter, groups of a tree leave."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy.typing as npt

from consilience.distributions.seeds import seed_from
from consilience.errors import ImplicitFreezeWarning, ModelError, warn
from consilience.model.model import Model, modelcontext
from consilience.model.predictive import predict, redrawn
from consilience.model.resampling import Resampling, default_outputs, resampling
from consilience.output import storage
from consilience.output.storage.datatree import label_array
from consilience.record import replace
from consilience.run.plan import whole_number
from consilience.sample.arguments import check_rest, wanted
from consilience.sample.by_label import ByLabel, following
from consilience.sample.compiling import naming_the_largest, prepare_sampler
from consilience.sample.data import constant_data, observed_data
from consilience.sample.given import Given, in_model_order, variables_of

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

    draws (int, optional): Number of draws; 500 by default.
    model : ...
    var_names: Variables to keep; all by default.
    random_seed : ...
    return_inferencedata: False: a dictionary of arrays (draws, …) by name.
    **pymc: PyMC's other keywords. Those without meaning here are ignored; the rest raise an error.
    Returns: A tree with one chain: the groups `prior` (free variables and deterministics), `prior_predictive` (observed
        variables), `observed_data` and `constant_data`. `var_names` may leave the first two empty.
    Warns ConsilienceWarning: If the model has potentials, which prior draws ignore, or if draws are NaN.
    See logp: Log density (or log mass) at a value.
    See draw: Independent draws of variables.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0.0, 10.0)
    ...     result = pm.sample_prior_predictive(draws=5, random_seed=1)
    >>> result.prior["mu"].shape
    (1, 5)
    """
    owner = modelcontext(model)
    check_rest(sample_prior_predictive, pymc)
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
    warn(f"draws from the prior leave out the potentials {', '.join(f'`{n}`' for n in model.named_potentials)}.")


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

    Random variables with draws in the trace keep these draws, matched by label. Other variables, and elements with new
    labels, are drawn given their parameters. Deterministics are computed. Observed variables have the lengths of the
    current data. `resampled_variables` lists which variables are kept, drawn and computed, and why.

    trace (DataTree): A result of `sample`, a dataset of draws, a dictionary of arrays (chain, draw, …) or a list of
        points such as that of `find_MAP`. Free variables without draws are drawn from their prior, with a warning if
        you did not ask for them.
    model : ...
    var_names: Variables to return; by default `sample_vars`, or else the observed ones and the deterministics that
        depend on these directly.
    sample_vars: Variables of the trace to draw or compute again.
    freeze_vars: Variables of the trace to keep without a warning; deterministics are then not computed.
    sample_dims : ...
    extend_inferencedata: True: add the groups to `trace`, replace groups of the same name, and return `trace`.
    predictions: True: the data are not those that the model was fitted to; store the draws as group `predictions`, and
        the data as `predictions_constant_data`.
    random_seed : ...
    return_inferencedata: False: a dictionary of arrays by name.
    store, executor (optional): As for `compute_log_likelihood`.
    **pymc: PyMC's other keywords. Those without meaning here are ignored; the rest raise an error.
    Returns: A tree with the group `posterior_predictive`, and the current data in `observed_data` and `constant_data`.
    Raises ModelError: If the model has no observed variables, a name is unknown, or a variable has no random generator.
    Raises ShapeError: If the draws do not fit the present data.
    Warns ConsilienceWarning: If draws are NaN.
    Warns ImplicitFreezeWarning: If a variable keeps its draws although something that it depends on has changed or is
        drawn again.
    See sample_smc: Draws of the posterior by particles that are moved from the prior to it.
    See fit: Approximate the posterior of a model by a simpler distribution.
    See sample: Draw from the posterior of a model with the No-U-Turn Sampler.
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
    check_rest(sample_posterior_predictive, pymc)
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
        warn(
            f"the posterior holds no draws of {', '.join(f'`{n}`' for n in unasked)}, so they are drawn "
            "from their prior."
        )
    if any(v.name in plan.drawn for v in owner.free) and owner.named_potentials:
        _without_potentials(owner)
    if owner.coordinates.moved():
        _from_the_beginning(owner, plan.outputs)
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
        warn(
            f"the trace has no draws of new labels. Drawn anew, given their parameters: {drawn}. All other labels keep "
            "their draws."
        )
    if plan.doubtful:
        doubts = "; ".join(f"`{name}`, although {reason}" for name, reason in plan.doubtful.items())
        warn(
            f"draws of the trace are used for {doubts}. Name such variables in `sample_vars` to draw them anew, or in "
            "`freeze_vars` where this is meant.",
            ImplicitFreezeWarning,
        )
    if not return_inferencedata:
        return arrays if whole else {str(name): values.to_numpy() for name, values in arrays.data_vars.items()}
    data = {"constant_data": constant_data(owner)}
    data = {"predictions_constant_data": data["constant_data"]} if predictions else data
    observed = {} if predictions else {"observed_data": observed_data(owner)}
    return draws.result(owner, {group: arrays, **observed, **data}, trace if extend_inferencedata else None)


def _from_the_beginning(model: Model, outputs: Sequence[str]) -> None:
    """Tell of series that are drawn from their first value, although the labels of time are others than before."""
    from consilience.ir.side_tables import name_of
    from consilience.model.forecasting import axis_of, series_of

    moved = model.coordinates.moved()
    axes = {str(name_of(node)): axis_of(rv) for node, rv in series_of(model).items()}
    dims = {name: model.dims_of[name][axes[name]] for name in outputs if name in axes and name in model.dims_of}
    again = [f"`{name}` along `{dim}`" for name, dim in dims.items() if dim in moved]
    if again:
        warn(
            f"drawn from the first value on, although labels are others than those of the data: {', '.join(again)}. "
            "`pm.forecast` continues from the last values."
        )


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

    trace (DataTree): Result with a posterior.
    model : ...
    var_names: Names of the variables to include; all by default.
    sample_vars: Names of the variables to draw anew.
    freeze_vars: Names of the variables to keep as they are.
    Returns: A record that prints as one line per variable, with mappings from names to reasons: `drawn`, `computed`,
        `taken`, and `doubtful` for those of `taken` on which something acts that has changed.
    Raises ModelError: For unknown names, or names in both `sample_vars` and `freeze_vars`.
    See sample_posterior_predictive: Does it.
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
    variables = in_model_order(model, variables_of(trace))
    known = trace["constant_data"].to_dataset() if "constant_data" in getattr(trace, "children", ()) else {}
    known = in_model_order(model, known)
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
