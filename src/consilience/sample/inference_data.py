"""Arrays of draws from elsewhere as labelled trees: dictionaries and a model enter, groups leave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.distributions import context
from consilience.errors import ModelError
from consilience.model.model import Model, modelcontext
from consilience.output.storage.datatree import tree_of
from consilience.sample.data import constant_data, observed_data
from consilience.sample.derived import compute_log_likelihood, compute_log_prior

if TYPE_CHECKING:
    import xarray

Arrays: TypeAlias = Mapping[str, npt.ArrayLike]


def to_inference_data(
    trace: Arrays | xarray.DataTree | None = None,
    *,
    prior: Arrays | None = None,
    posterior_predictive: Arrays | None = None,
    log_likelihood: bool | Arrays = False,
    log_prior: bool | Arrays = False,
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, Any] | None = None,
    model: Model | None = None,
    save_warmup: bool | None = None,
    include_transformed: bool = False,
) -> xarray.DataTree:
    """Make a labelled tree from arrays of draws (chain, draw, …), with dims, coords and data of a model.

    trace (Arrays or xarray.DataTree): Draws of the posterior; a tree is returned unchanged.
    prior: Draws of the prior; those of observed variables become `prior_predictive`.
    posterior_predictive: Draws of observed variables.
    log_likelihood, log_prior: Arrays by name, or True to compute them.
    coords, dims (mapping): Labels and dims in addition to those of the model.
    model: The model; by default that of the enclosing `with` block, if there is one.
    save_warmup: Accepted for compatibility with PyMC; has no effect, because arrays hold no tuning draws.
    include_transformed: True: keep values of transformed variables, such as `tau_log__`, that are in `trace`.
    Returns (xarray.DataTree): Groups `posterior`, `observed_data` and others, as in results of `pm.sample`.
    Raises ModelError: If there are no draws.
    See predictions_to_inference_data: A tree of predictions.
    >>> tree = pm.to_inference_data({"mu": np.zeros((2, 5))})
    >>> dict(tree.posterior.sizes)
    {'chain': 2, 'draw': 5}
    """
    import xarray

    del save_warmup
    if isinstance(trace, xarray.DataTree):
        return trace
    owner = _model_or_none(model)
    observed = {v.name for v in owner.observed} if owner is not None else set()
    values = {str(v.value.name) for v in owner.free if v.transform is not None} if owner is not None else set()
    groups: dict[str, dict[str, Any]] = {
        "posterior": {n: a for n, a in (trace or {}).items() if include_transformed or n not in values},
        "prior": {n: a for n, a in (prior or {}).items() if n not in observed},
        "prior_predictive": {n: a for n, a in (prior or {}).items() if n in observed},
        "posterior_predictive": dict(posterior_predictive or {}),
        "log_likelihood": {} if isinstance(log_likelihood, bool) else dict(log_likelihood),
        "log_prior": {} if isinstance(log_prior, bool) else dict(log_prior),
    }
    if not any(groups.values()):
        raise ModelError("there are no draws: give `trace`, `prior` or `posterior_predictive`.")
    if owner is not None:
        groups |= {"observed_data": observed_data(owner), "constant_data": constant_data(owner)}
    tree = _tree(groups, owner, coords, dims)
    if log_likelihood is True:
        compute_log_likelihood(tree, model=owner)
    if log_prior is True:
        compute_log_prior(tree, model=owner)
    return tree


def predictions_to_inference_data(
    predictions: Arrays,
    posterior_trace: Arrays | None = None,
    model: Model | None = None,
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, Any] | None = None,
    *,
    idata_orig: xarray.DataTree | None = None,
    inplace: bool = False,
) -> xarray.DataTree:
    """Predictions (chain, draw, …) given by name as groups `predictions` and `predictions_constant_data`.

    predictions: Draws of predictions.
    posterior_trace: The draws they were made from, as group `posterior`.
    model : ...
    coords (mapping): Labels of dims.
    dims (mapping): Names of the axes; their lengths come from the model's coords.
    idata_orig (xarray.DataTree): A tree to which the groups are added: to a copy, or with `inplace` to the tree itself.
    inplace: Whether the groups are added to the given result.
    Returns (xarray.DataTree): A tree; `idata_orig` itself with `inplace`.
    See to_inference_data: A tree of draws.
    >>> tree = pm.predictions_to_inference_data({"y": np.zeros((2, 5, 3))})
    >>> dict(tree.predictions.sizes)
    {'chain': 2, 'draw': 5, 'y_dim_0': 3}
    """
    owner = _model_or_none(model)
    data = constant_data(owner) if owner is not None else {}
    posterior = dict(posterior_trace or {})
    groups: dict[str, dict[str, Any]] = {
        "predictions": dict(predictions),
        "predictions_constant_data": dict(data),
        "posterior": posterior,
    }
    made = _tree(groups, owner, coords, dims)
    if idata_orig is None:
        return made
    target = idata_orig if inplace else idata_orig.copy()
    for name, group in made.children.items():
        target[name] = group.copy()
    return target


def _model_or_none(model: Model | None) -> Model | None:
    return modelcontext(model) if model is not None or context.current_or_none() is not None else None


def _tree(
    groups: Mapping[str, Mapping[str, Any]],
    model: Model | None,
    coords: Mapping[str, Any] | None,
    dims: Mapping[str, Any] | None,
) -> xarray.DataTree:
    labels = {**(model.coords if model is not None else {}), **(coords or {})}
    axes = {**(model.named_vars_to_dims if model is not None else {}), **(dims or {})}
    arrays = {g: {n: np.asarray(a) for n, a in members.items()} for g, members in groups.items() if members}
    return tree_of(arrays, labels, axes)
