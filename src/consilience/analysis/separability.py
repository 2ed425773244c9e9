"""Along which axes one element of an expression depends on one element of a variable.

An expression and a node inside it in, axes with their correspondence out. What an op that is not named here does to
an axis counts as mixing it, which is always safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from consilience.ir import Node, Shape, constant, constant_value, topological
from consilience.ops import Elementwise, Index
from consilience.ops.assertion import Assume, Require
from consilience.ops.elementwise import Cast, StopGradient
from consilience.ops.index import Gather, NewAxis, SliceIndex, gather_place, getitem, index_inc
from consilience.ops.linalg import MatMul
from consilience.ops.order import ArgSort, Sort
from consilience.ops.reduce import ArgReduce, Cumulative, Reduce, Softmax, reduce
from consilience.ops.shape import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Iota,
    Reshape,
    Squeeze,
    Transpose,
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
    first = inputs[0] or {}
    match node.op:
        case Elementwise() | Cast() | StopGradient() | Assume() | Require() | BroadcastTo():
            ranks = [operand.ndim for operand in node.inputs]
            return _common([_moved(own, node.ndim - rank) for own, rank in zip(inputs, ranks, strict=True)])
        case Transpose() as op:
            return {axis: first[old] for axis, old in enumerate(op.axes) if old in first}
        case ExpandDims() | Squeeze() | Reshape():
            return _reshaped(first, node.inputs[0].static_shape, node.static_shape)
        case Reduce() as op:
            return _without(first, op.axes)
        case ArgReduce() as op:
            return _without(first, (op.axis,))
        case Cumulative() | ArgSort() | Sort() as op:
            return {axis: link for axis, link in first.items() if axis != op.axis}
        case Softmax() as op:
            return {axis: link for axis, link in first.items() if axis not in op.axes}
        case Concatenate() as op:
            return {axis: link for axis, link in _common(inputs).items() if axis != op.axis}
        case MatMul():
            return _product(node, inputs)
        case Index() as op:
            return _indexed(node, op, inputs)
        case _:
            return {}


def _common(inputs: Sequence[Links | None]) -> Links:
    """Links on which all inputs that depend on the variable agree."""
    given = [own for own in inputs if own is not None]
    return {axis: link for axis, link in given[0].items() if all(own.get(axis) == link for own in given)}


def _moved(own: Links | None, by: int) -> Links | None:
    return None if own is None else {axis + by: link for axis, link in own.items()}


def _without(own: Links, axes: Sequence[int]) -> Links:
    return {axis - sum(a < axis for a in axes): link for axis, link in own.items() if axis not in axes}


def _reshaped(own: Links, before: Shape, after: Shape) -> Links:
    """An axis stays linked where the axes around it stay as they are, but for those of length 1."""
    old = [axis for axis, length in enumerate(before) if length != 1]
    new = [axis for axis, length in enumerate(after) if length != 1]
    head = 0
    while head < min(len(old), len(new)) and before[old[head]] == after[new[head]]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and before[old[-1 - tail]] == after[new[-1 - tail]]:
        tail += 1
    pairs = [
        *zip(old[:head], new[:head], strict=True),
        *zip(old[len(old) - tail :], new[len(new) - tail :], strict=True),
    ]
    return {axis: own[place] for place, axis in pairs if place in own}


def _product(node: Node, inputs: Sequence[Links | None]) -> Links:
    """Rows of the left factor and columns of the right one stay; factors that are no matrices are not looked into."""
    ranks = [operand.ndim for operand in node.inputs]
    if min(ranks) < 2:
        return {}
    left, right = (_moved(own, node.ndim - rank) for own, rank in zip(inputs, ranks, strict=True))
    kept = (
        None if left is None else {axis: link for axis, link in left.items() if axis != node.ndim - 1},
        None if right is None else {axis: link for axis, link in right.items() if axis != node.ndim - 2},
    )
    return _common(kept)


def _indexed(node: Node, op: Index, inputs: Sequence[Links | None]) -> Links:
    x, *arrays = node.inputs
    own, *others = inputs
    place = gather_place(op.specification)
    rank = max((array.ndim for array in arrays), default=0)
    found: list[Links | None] = []
    if own is not None:
        result: Links = {}
        axis = position = number = 0
        for entry in op.specification:
            if isinstance(entry, NewAxis):
                position += 1
                continue
            link = own.get(axis)
            at = position + (rank if place is not None and position >= place else 0)
            if isinstance(entry, SliceIndex):
                if link is not None and node.static_shape[at] == x.static_shape[axis] and entry == SliceIndex():
                    result[at] = link
                position += 1
            elif isinstance(entry, Gather) and link is not None and place is not None:
                along = _counted(arrays[number], rank)
                if _is_list(link, arrays, others):
                    result[place] = Link(link.axis, arrays[0])
                elif along is not None and node.static_shape[place + along] == x.static_shape[axis]:
                    result[place + along] = link
            number += isinstance(entry, Gather)
            axis += 1
        found.append(result)
    for array, links_of_array in zip(arrays, others, strict=True):
        found.append(_moved(links_of_array, (place or 0) + rank - array.ndim))
    return _common(found)


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
