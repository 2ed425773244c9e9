"""Missing observations: a random variable and a mask of its elements in, two variables and their union out.

The elements of one variable are split into those with data and those without. Who registers them is `variables`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.distributions.distribution import Distribution
from consilience.distributions.random_variable import distribution_of
from consilience.errors import ModelError
from consilience.ir import Node, ShapeConstraint, constant
from consilience.ir.leaves import is_masked
from consilience.ops.assertion import require
from consilience.ops.index import getitem
from consilience.ops.shape import concatenate, reshape

Mask = npt.NDArray[np.bool_]


def missing_in(values: Any) -> Mask | None:
    """Where data are missing: masked elements, NaN, None, pandas' NA; None where all are there."""
    if isinstance(values, Node):
        return None
    if hasattr(values, "isna"):
        mask = np.asarray(values.isna(), bool)
    else:
        try:
            array = np.asarray(values)
        except ValueError:  # ragged lists; who reads the values refuses them
            return None
        if array.dtype == object:
            # What is missing is no number, or does not equal itself.
            mask = np.array([v is None or bool(v != v) for v in array.ravel()], bool).reshape(array.shape)
        else:
            mask = np.isnan(array) if array.dtype.kind in "fc" else np.zeros(array.shape, bool)
    if is_masked(values):
        mask = mask | np.ma.getmaskarray(values)
    return mask if mask.any() else None


def present_in(values: Any, mask: Mask) -> npt.NDArray[Any]:
    """The elements that are not missing, one axis."""
    array = np.ma.getdata(values) if is_masked(values) else np.asarray(values)
    present = array[~mask]
    return np.asarray(present.tolist()) if present.dtype == object else present


def parts(name: str, rv: Node, mask: Mask) -> tuple[Node, Node, Node]:
    """The variable of the elements with data, that of those without, and both put together in the shape of all.

    raises   ModelError for distributions whose elements are not independent
    """
    there, lacking = (_elements(name, rv, np.nonzero(chosen)) for chosen in (~mask, mask))
    order = np.argsort(np.concatenate([np.flatnonzero(~mask), np.flatnonzero(mask)]))
    joined = reshape(getitem(concatenate([there, lacking]), constant(order)), mask.shape)
    return there, lacking, joined


def _elements(name: str, rv: Node, places: tuple[npt.NDArray[np.intp], ...]) -> Node:
    """The variable of some elements of another, along one axis."""
    bound = distribution_of(rv)
    if bound.event_rank or type(bound).batch_shapes is not Distribution.batch_shapes:
        raise ModelError(
            f"`{name}` has missing values, but the elements of {bound.title} are not independent, so the ones that are "
            "there have no density of their own here. Leave out whole rows with missing values, or write the missing "
            "ones as a variable of their own."
        )
    values = [_picked(value, rank, rv, places) for value, rank in zip(bound.values, bound.event_ranks(), strict=True)]
    components = [
        [_elements(name, node, places[len(places) - node.ndim :]) for node in group] for group in bound.components
    ]
    shape = places[0].shape if places else ()
    return type(bound).variable(values, shape, None, bound.settings, components)


def _picked(value: Node, event_rank: int, rv: Node, places: tuple[npt.NDArray[np.intp], ...]) -> Node:
    """A parameter's values for some elements of its variable; equal for all along axes of length 1."""
    rank = value.ndim - event_rank
    if not rank:
        return value
    own = value.static_shape[:rank]
    ends = zip(own, rv.static_shape[rv.ndim - rank :], places[len(places) - rank :], strict=True)
    index = tuple(0 if length == 1 and full != 1 else constant(place) for length, full, place in ends)
    return getitem(value, index)


def fixed(node: Node, rv: Node, mask: Mask) -> Node:
    """A node, with the demand that data have the lengths they had when places of missing values were noted."""
    demands = tuple(
        ShapeConstraint(length, known, "data with missing values keep their length")
        for length, known in zip(rv.static_shape, mask.shape, strict=True)
        if not isinstance(length, int)
    )
    return require([node], demands)[0]
