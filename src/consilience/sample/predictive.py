"""Draws of what was not observed, and densities of what was: model and posterior enter, groups of a tree leave."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy.typing as npt

from consilience import storage
from consilience.errors import ConsilienceWarning, ModelError
from consilience.model.model import Model, modelcontext
from consilience.model.predictive import log_likelihood, predict, redrawn
from consilience.sample.ahead import prepare_sampler
from consilience.sample.arguments import seed_from, wanted, whole_number
from consilience.sample.data import constant_data, observed_data
from consilience.storage.datatree import tree_of

if TYPE_CHECKING:
    import xarray

Array = npt.NDArray[Any]

PREDICTIVE_DRAWS: Final = 500


def sample_prior_predictive(
    draws: int = PREDICTIVE_DRAWS,
    model: Model | None = None,
    var_names: Sequence[str] | None = None,
    random_seed: Any = None,
) -> xarray.DataTree:
    """Draw all variables from the prior, data included.

    var_names   variables to keep; all by default
    returns     groups `prior` (free variables, deterministics) and `prior_predictive` (observed variables),
                with one chain; `observed_data`, `constant_data`
    warns       ConsilienceWarning where the model has potentials, which have no part in this
    """
    owner = modelcontext(model)
    draws = whole_number("draws", draws, 1)
    free = [v.name for v in owner.free] + list(owner.named_deterministics)
    observed = [v.name for v in owner.observed]
    names = wanted(var_names, free + observed)
    prepare_sampler()
    storage.prepare()
    redrawn(owner, names, [])
    if owner.named_potentials:
        _without_potentials(owner)
    values = predict(owner, names, {}, draws, seed_from(random_seed))
    return storage.build(
        {},
        prior={n: values[n][None] for n in names if n in free},
        prior_predictive={n: values[n][None] for n in names if n in observed},
        observed_data=observed_data(owner),
        constant_data=constant_data(owner),
        coords=owner.coords,
        dims=owner.named_vars_to_dims,
    )


def _without_potentials(model: Model) -> None:
    warnings.warn(
        f"draws from the prior leave out the potentials {', '.join(f'`{n}`' for n in model.named_potentials)}.",
        ConsilienceWarning,
        stacklevel=3,
    )


def sample_posterior_predictive(
    trace: xarray.DataTree,
    model: Model | None = None,
    var_names: Sequence[str] | None = None,
    *,
    extend_inferencedata: bool = True,
    predictions: bool = False,
    random_seed: Any = None,
) -> xarray.DataTree:
    """Draw new data for every draw of the posterior.

    trace         a result of `sample`; free variables that it does not hold are drawn from their prior, with
                  a warning where they are not among `var_names`
    var_names     variables to draw or compute; the observed ones by default. Deterministics are computed anew
    predictions   store the draws as group `predictions`, and the data as `predictions_constant_data`, for
                  data other than those the model was fitted to
    returns       `trace` with the group added, or a tree with that group alone if `extend_inferencedata` is
                  False
    raises        ModelError without observed variables, for unknown names, or where what has to be drawn has
                  no random generator; ShapeError where the draws do not fit the present data
    """
    owner = modelcontext(model)
    observed = [v.name for v in owner.observed]
    known = [v.name for v in owner.free] + observed + list(owner.named_deterministics)
    names = wanted(var_names, known) if var_names is not None else observed
    if not names:
        raise ModelError("the model has no observed variables; name what to compute with `var_names`.")
    given, chains, count = _posterior(owner, trace)
    anew = redrawn(owner, names, list(given))
    unasked = [name for name in anew if name not in names]
    if unasked:
        warnings.warn(
            f"the posterior holds no draws of {', '.join(f'`{n}`' for n in unasked)}, so they are drawn "
            "from their prior.",
            ConsilienceWarning,
            stacklevel=2,
        )
    if anew and owner.named_potentials:
        _without_potentials(owner)
    values = predict(owner, names, given, chains * count, seed_from(random_seed))
    arrays = {name: value.reshape(chains, count, *value.shape[1:]) for name, value in values.items()}
    groups: dict[str, dict[str, Array]] = {"predictions" if predictions else "posterior_predictive": arrays}
    if predictions and owner.data:
        groups["predictions_constant_data"] = constant_data(owner)
    if not extend_inferencedata:
        return tree_of(groups, owner.coords, owner.named_vars_to_dims)
    for group, members in groups.items():
        storage.extend(trace, group, members, owner.coords, owner.named_vars_to_dims)
    return trace


def compute_log_likelihood(
    trace: xarray.DataTree,
    *,
    var_names: Sequence[str] | None = None,
    extend_inferencedata: bool = True,
    model: Model | None = None,
) -> xarray.DataTree:
    """The log density of each observation at every draw of the posterior, for model comparison.

    var_names   observed variables; all by default
    returns     `trace` with the group `log_likelihood` added, or a tree with that group alone if
                `extend_inferencedata` is False
    """
    owner = modelcontext(model)
    names = wanted(var_names, [v.name for v in owner.observed])
    if not names:
        raise ModelError("the model has no observed variables, so there is no likelihood.")
    given, chains, count = _posterior(owner, trace)
    values = log_likelihood(owner, names, given, chains * count)
    arrays = {name: value.reshape(chains, count, *value.shape[1:]) for name, value in values.items()}
    # A vector that is one event has one number, and so not its axes.
    axes = {n: owner.dims_of[n][: arrays[n].ndim - 2] for n in names if n in owner.dims_of}
    if extend_inferencedata:
        return storage.extend(trace, "log_likelihood", arrays, owner.coords, axes)
    return tree_of({"log_likelihood": arrays}, owner.coords, axes)


def _posterior(model: Model, trace: xarray.DataTree) -> tuple[dict[str, Array], int, int]:
    """Draws of the model's free variables (draw of all chains, …), and the numbers of chains and draws."""
    if "posterior" not in trace:
        raise ModelError("the trace has no group `posterior`; pass a result of `pm.sample`.")
    posterior = trace["posterior"]
    chains, count = posterior.sizes["chain"], posterior.sizes["draw"]
    given = {}
    for variable in model.free:
        if variable.name in posterior:
            array = posterior[variable.name].transpose("chain", "draw", ...).to_numpy()
            given[variable.name] = array.reshape(chains * count, *array.shape[2:])
    return given, chains, count
