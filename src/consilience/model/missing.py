"""Missing observations: a random variable and a mask of its elements in, two variables and their union out.

The elements of one variable are split into those with data and those without. Who registers them is `variables`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.distributions.distribution import Distribution
from consilience.distributions.partly_observed import divided, is_divisible
from consilience.distributions.random_variable import distribution_of
from consilience.errors import ModelError
from consilience.ir import Node, Shape, ShapeConstraint, constant
from consilience.model.data import Mask
from consilience.ops.assertion import require
from consilience.ops.index import Index, getitem


def parts(name: str, rv: Node, mask: Mask) -> tuple[Node, Node, Mask]:
    """The variable of the elements with data, that of those without, and the mask of what counts as an element.

    Vectors that lack as wholes are elements of their batch; those of which some numbers lack are divided.

    Raises ModelError for distributions whose elements are neither independent nor can be parted, and for a single
    number.
    """
    if not mask.ndim:
        raise ModelError(f"`{name}` is one number, which is missing: leave `observed` out, and it is a free variable.")
    bound = distribution_of(rv)
    rank = bound.event_rank
    whole = mask.reshape(*mask.shape[: mask.ndim - rank], -1)
    simple = type(bound).batch_shapes is Distribution.batch_shapes and not bound.components
    if rank and mask.ndim > rank and simple and (whole == whole[..., :1]).all():
        mask = whole[..., 0]
    elif is_divisible(rv):
        return *divided(rv, mask), mask
    return _elements(name, rv, np.nonzero(~mask)), _elements(name, rv, np.nonzero(mask)), mask


def _elements(name: str, rv: Node, places: tuple[npt.NDArray[np.intp], ...], own: int = 0) -> Node:
    """The variable of some elements of another, along one axis; its last `own` axes belong to every element."""
    bound = distribution_of(rv)
    if not places:
        return rv
    inside = len(places) <= rv.ndim - own - bound.event_rank
    if inside and not bound.event_rank and (part := bound.elements(tuple(map(constant, places)))) is not None:
        return part
    if not inside or type(bound).batch_shapes is not Distribution.batch_shapes:
        raise ModelError(
            f"`{name}` has missing values, but the elements of {bound.title} are tied to each other, so the ones that "
            "are there have no density of their own here. Leave out whole rows with missing values, or write the "
            "missing ones as a variable of their own."
        )
    own += bound.event_rank
    lengths = rv.static_shape[: rv.ndim - own]
    values = [
        _picked(value, rank + own - bound.event_rank, lengths, places)
        for value, rank in zip(bound.values, bound.event_ranks(), strict=True)
    ]
    components = [
        [_elements(name, node, places[len(places) - node.ndim + axes :], axes) for node in group]
        for group, axes in zip(bound.components, bound.component_axes(), strict=True)
    ]
    shape = (*places[0].shape, *rv.static_shape[rv.ndim - own :])
    return type(bound).variable(values, shape, None, bound.settings, components)


def _picked(value: Node, last: int, lengths: Shape, places: tuple[npt.NDArray[np.intp], ...]) -> Node:
    """A parameter's values for some elements of its variable: its axes before the `last` ones follow the variable's.

    Along axes of length 1 all elements have the same.
    """
    rank = value.ndim - last
    if rank <= 0:
        return value
    ends = zip(value.static_shape[:rank], lengths[len(lengths) - rank :], places[len(places) - rank :], strict=True)
    index = tuple(0 if length == 1 and full != 1 else constant(place) for length, full, place in ends)
    return getitem(value, index)


def unparted(there: Node) -> Node | None:
    """The variable of all elements, of which `parts` made that of those with data; None where it does not tell them."""
    bound = distribution_of(there)
    values = []
    for value, rank in zip(bound.values, bound.event_ranks(), strict=True):
        if isinstance(value.op, Index) and value.inputs[1:]:
            value = value.inputs[0]
        elif value.ndim > rank:
            return None
        values.append(value)
    components = [[unparted(node) for node in group] for group in bound.components]
    known = [[node for node in group if node is not None] for group in components]
    if known != components or type(bound).batch_shapes is not Distribution.batch_shapes:
        return None
    return type(bound).variable(values, None, None, bound.settings, known)


def fixed(node: Node, rv: Node, mask: Mask) -> Node:
    """A node, with the demand that data have the lengths they had when places of missing values were noted."""
    demands = tuple(
        ShapeConstraint(length, known, "data with missing values keep their length")
        for length, known in zip(rv.static_shape, mask.shape, strict=True)
        if not isinstance(length, int)
    )
    return require([node], demands)[0]
