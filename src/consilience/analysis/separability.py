"""Along which axes one element of an expression depends on one element of a variable.

An expression and a node inside it in, axes with their correspondence out. Each op tells which axes it keeps apart
(`Op.kept_axes`); others are mixed, which is always safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from consilience.ir import Node, constant, constant_value, topological
from consilience.ops import Index
from consilience.ops.index import Gather, NewAxis, gather_place, getitem, index_inc
from consilience.ops.reduce import reduce
from consilience.ops.shape import (
    ExpandDims,
    Iota,
    broadcast_to,
    expand_dims,
    transpose,
)
from consilience.record import Record


class Link(Record):
    """An axis of the variable, and which of its positions each position of the linked axis depends on.

    `places`: one int64 axis; None: position i depends on position i.
    """

    axis: int
    places: Node | None


# Axis of an expression -> axis of the variable. Element i of the expression depends on no element of the variable
# that lies elsewhere along a linked axis.
Links: TypeAlias = dict[int, Link]


def links(output: Node, variable: Node) -> Links | None:
    """How the axes of an expression follow those of a variable; None where it does not depend on it.

    Axes of the variable that have the length 1 are not linked.
    """
    known: dict[Node, Links] = {
        variable: {axis: Link(axis, None) for axis, length in enumerate(variable.static_shape) if length != 1}
    }
    for node in topological([output], stop=known.__contains__):
        if node not in known and any(operand in known for operand in node.inputs):
            known[node] = links_of_op(node, [known.get(operand) for operand in node.inputs])
    return known.get(output)


def links_of_op(node: Node, inputs: Sequence[Links | None]) -> Links:
    """The links of a node, given those of its inputs; None for inputs that do not depend on the variable."""
    found = [
        None if own is None else {axis: own[old] for axis, old in kept.items() if old in own}
        for own, kept in zip(inputs, kept_axes(node), strict=True)
    ]
    if isinstance(node.op, Index) and inputs[0] is not None:
        found[0] = {**(found[0] or {}), **_gathered(node, inputs)}
    return _common(found)


def kept_axes(node: Node) -> list[Mapping[int, int]]:
    """For each operand, axes of the node with the axis of the operand that each follows, as `Op.kept_axes` tells."""
    told = node.op.kept_axes(*node.inputs)
    return [*told, *({} for _ in node.inputs[len(told) :])]


def _common(inputs: Sequence[Links | None]) -> Links:
    """Links on which all inputs that depend on the variable agree."""
    given = [own for own in inputs if own is not None]
    return {axis: link for axis, link in given[0].items() if all(own.get(axis) == link for own in given)}


def _gathered(node: Node, inputs: Sequence[Links | None]) -> Links:
    """Axes of index arrays that read an axis of the variable at the places of one list, or each place by its number."""
    x, *arrays = node.inputs
    own, *others = inputs
    assert isinstance(node.op, Index)
    place = gather_place(node.op.specification)
    rank = max((array.ndim for array in arrays), default=0)
    result: Links = {}
    axis = number = 0
    for entry in node.op.specification:
        link = (own or {}).get(axis)
        if isinstance(entry, Gather) and link is not None and place is not None:
            along = _counted(arrays[number], rank)
            if _is_list(link, arrays, others):
                result[place] = Link(link.axis, arrays[0])
            elif along is not None and node.static_shape[place + along] == x.static_shape[axis]:
                result[place + along] = link
        number += isinstance(entry, Gather)
        axis += not isinstance(entry, NewAxis)
    return result


def _counted(array: Node, rank: int) -> int | None:
    """The axis of index arrays of a rank along which an array counts 0, 1, 2, …; None where it does not."""
    match array.op:
        case Iota():
            return rank - 1
        case ExpandDims() as op if isinstance(array.inputs[0].op, Iota):
            (axis,) = set(range(array.ndim)) - set(op.axes)
            return rank - array.ndim + axis
    known = constant_value(array)
    if known is None or known.size < 2:
        return None
    axes = [axis for axis, length in enumerate(known.shape) if length > 1]
    counts = len(axes) == 1 and np.array_equal(known.ravel(), np.arange(known.size))
    return rank - array.ndim + axes[0] if counts else None


def _is_list(link: Link, arrays: Sequence[Node], others: Sequence[Links | None]) -> bool:
    """Whether an axis that follows the variable directly is read at the places of one list."""
    return link.places is None and len(arrays) == 1 and arrays[0].ndim == 1 and others[0] is None


def gathered(factor: Node, own: Links, leaf: Node) -> Node:
    """A batched factor (value, …) as (value, *shape of the variable): summed over all other axes."""
    first: dict[int, int] = {}
    for axis, link in own.items():
        first.setdefault(link.axis, axis + 1)
    summed = tuple(axis for axis in range(1, factor.ndim) if axis not in first.values())
    kept = [axis for axis in range(factor.ndim) if axis not in summed]
    result = reduce("sum", factor, summed) if summed else factor
    result = transpose(result, [0, *(kept.index(first[axis]) for axis in sorted(first))])
    absent = tuple(axis + 1 for axis in range(leaf.ndim) if axis not in first)
    result = expand_dims(result, absent) if absent else result
    for axis, place in first.items():
        places = own[place - 1].places
        if places is not None:
            result = _collected(result, axis + 1, Link(axis, places), leaf)
    return result


def _collected(values: Node, axis: int, link: Link, leaf: Node) -> Node:
    """Values along an axis added up by the position of the variable that each belongs to."""
    target = list(values.static_shape)
    target[axis] = leaf.static_shape[link.axis]
    assert link.places is not None
    part = getitem(broadcast_to(constant(0.0), target), (*(slice(None) for _ in range(axis)), link.places))
    return index_inc(part, values)
