"""Ops at greatest lengths: one row each, with the padding, the node and what stands for its operands."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from consilience.ir import (
    FLOATS,
    Dim,
    Node,
    Op,
    constant,
)
from consilience.ir import dimension as dims
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.assertion import Require
from consilience.ops.control import Item
from consilience.ops.elementwise import Elementwise, apply, cast
from consilience.ops.index import FULL, At, Entry, Gather, Index, IndexUpdate, MaskPositions, NewAxis, SliceIndex
from consilience.ops.linalg import MatMul
from consilience.ops.order import ArgSort, Sort
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.reduce import ArgReduce, Cumulative, Reduce, Softmax
from consilience.ops.shape import (
    BroadcastTo,
    Concatenate,
    Iota,
    LengthOf,
    Reshape,
    Squeeze,
    broadcast_to,
    concatenate,
    length_of,
    reshape,
)
from consilience.ops.varying.padding import Padding, padded_form, taken, within
from consilience.record import replace


def _extreme(dtype: str, least: bool) -> float:
    if dtype in FLOATS:
        return float("-inf" if least else "inf")
    if dtype == "bool":
        return not least
    limits = np.iinfo(dtype)
    return limits.min if least else limits.max


@padded_form(Elementwise)
def _elementwise(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    return Node(node.op, *pad.aligned(node.inputs, inputs))


@padded_form(LengthOf)
def _length(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    assert isinstance(node.op, LengthOf)
    return pad.number(node.op.length)


@padded_form(Iota)
def _iota(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    assert isinstance(node.op, Iota)
    return within(Node(Iota(pad.bound(node.op.length))), pad.number(node.op.length))


@padded_form(Require)
def _require(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    assert isinstance(node.op, Require)
    (x,) = inputs
    kept: list[ShapeConstraint] = []
    for constraint in node.op.lengths:
        if pad.varies(constraint.left) or pad.varies(constraint.right):
            x = pad.same(x, constraint.left, constraint.right, constraint.reason)
        else:
            kept.append(constraint)
    return Node(Require(tuple(kept)), x) if kept else x


@padded_form(Asserted, ParameterCheck)
def _checked(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    x, holds, *rest = inputs
    return Node(node.op, x, pad.filled(holds, node.inputs[1], range(holds.ndim), True), *rest)


@padded_form(Reduce, ArgReduce, Cumulative, Sort, ArgSort, Softmax)
def _along_axes(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    """Axes that the result does not follow have what changes nothing behind the elements that count.

    Where they stay axes of the result, the last element that counts is in the places behind.
    """
    (own,), (x,), op = node.inputs, inputs, node.op
    (kept,) = op.kept_axes(own)
    axes = [axis for axis in range(own.ndim) if axis not in kept.values()]
    result = Node(op, pad.filled(x, own, axes, _neutral(op, x.dtype)))
    if isinstance(op, Reduce | ArgReduce):
        kind = op.kind if isinstance(op, Reduce) else f"arg{op.kind}"
        return _of_some(pad, result, own, axes, kind) if op.kind in ("max", "min") else result
    for axis in axes:
        if pad.varies(node.static_shape[axis]):
            result = pad.refit(result, axis, pad.number(node.static_shape[axis]), result.static_shape[axis])
    return result


def _neutral(op: Op, dtype: str) -> float:
    """What changes nothing behind the elements along an axis."""
    match op:
        case Reduce(kind="sum") | Cumulative(kind="sum"):
            return 0
        case Reduce(kind="prod") | Cumulative():
            return 1
        case Reduce(kind="any" | "all"):
            return op.kind == "all"
        case Softmax():
            return float("-inf")
        case Sort() | ArgSort():
            return _extreme(dtype, False)
    assert isinstance(op, Reduce | ArgReduce)
    return _extreme(dtype, (op.kind == "max") if isinstance(op, ArgReduce) else (op.kind != "min"))


def _of_some(pad: Padding, result: Node, own: Node, axes: Iterable[int], kind: str) -> Node:
    """The result, where there is an element."""
    for axis in axes:
        if pad.varies(own.static_shape[axis]):
            some = apply("gt", pad.number(own.static_shape[axis]), 0)
            result = Node(Asserted(f"`{kind}` of an empty axis has no value, in {describe(own)}"), result, some)
    return result


@padded_form(MatMul)
def _matmul(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    (a, b), (left, right) = node.inputs, inputs
    if any(pad.varies(n) for x in (a, b) for n in x.static_shape[:-2]):
        raise pad.missing(node)
    axes = a.ndim - 1, b.ndim - (2 if b.ndim > 1 else 1)
    own = a.static_shape[axes[0]], b.static_shape[axes[1]]
    if any(map(pad.varies, own)):
        fixed = [n for n in own if not pad.varies(n)]
        target = fixed[0] if fixed else dims.minimum(left.static_shape[axes[0]], right.static_shape[axes[1]])
        left = pad.same(pad.fitted(left, axes[0], own[0], target), *own, "matrices that are multiplied fit together")
        right = pad.fitted(right, axes[1], own[1], target)
        left, right = pad.filled(left, a, axes[:1], 0), pad.filled(right, b, axes[1:], 0)
    return Node(node.op, left, right)


@padded_form(Squeeze)
def _squeeze(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    assert isinstance(node.op, Squeeze)
    (x,) = inputs
    for axis in node.op.axes:
        if pad.varies(node.inputs[0].static_shape[axis]):
            x = pad.same(x, node.inputs[0].static_shape[axis], 1, "a squeezed axis has length 1")
            x = taken(x, constant([0]), axis)
    return Node(node.op, x)


@padded_form(BroadcastTo)
def _broadcast(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    assert isinstance(node.op, BroadcastTo)
    (own,), (x,), shape = node.inputs, inputs, [pad.bound(n) for n in node.op.shape]
    for axis in range(-own.ndim, 0):
        before, after = own.static_shape[axis], node.op.shape[axis]
        if before != 1 and (pad.varies(before) or pad.varies(after)):
            x = pad.same(x, before, after, "broadcast_to keeps lengths other than 1")
            if pad.varies(after):
                shape[axis] = x.static_shape[axis]
            else:
                x = pad.fitted(x, axis % own.ndim, before, after)
    return broadcast_to(x, tuple(shape))


@padded_form(Reshape)
def _reshape(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    """Elements stay in their places where the first axis alone differs, before and after."""
    assert isinstance(node.op, Reshape)
    (own,), (x,) = node.inputs, inputs
    before, after = ([n for n in shape if n != 1] for shape in (own.static_shape, node.op.shape))
    if any(map(pad.varies, (*before[1:], *after[1:]))) or not before or not after or not pad.varies(after[0]):
        raise pad.missing(node)
    size, row = x.tensor_type.size, dims.product(tuple(after[1:]))
    x = pad.same(x, own.tensor_type.size, dims.product(node.op.shape), "reshape keeps the size")
    first = next(i for i, n in enumerate(node.op.shape) if n != 1)
    return Node(Reshape((*node.op.shape[:first], dims.floordiv(size, row), *node.op.shape[first + 1 :])), x)


@padded_form(Concatenate)
def _concatenate(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    assert isinstance(node.op, Concatenate)
    axis = node.op.axis
    for other in range(node.ndim):
        own = [x.static_shape[other] for x in node.inputs]
        if other != axis and any(map(pad.varies, own)):
            fixed = [n for n in own if not pad.varies(n)]
            lengths = [x.static_shape[other] for x in inputs]
            target = fixed[0] if fixed else functools.reduce(dims.minimum, lengths)
            inputs = [
                pad.same(pad.fitted(x, other, n, target), own[0], n, "joined tensors agree on the other axes")
                for x, n in zip(inputs, own, strict=True)
            ]
    joined = concatenate(inputs, axis)
    if not pad.varies(node.static_shape[axis]):
        return joined
    place = within(Node(Iota(joined.static_shape[axis])), pad.number(node.static_shape[axis]))
    # Behind the elements in use of each part lie others, which later parts have to leap over.
    found, before, padded = place, constant(0), constant(0)
    for x, part in zip(node.inputs[:-1], inputs[:-1], strict=True):
        before = apply("add", before, pad.number(x.static_shape[axis]))
        padded = apply("add", padded, length_of(part.static_shape[axis]))
        found = apply("where", apply("ge", place, before), apply("add", place, apply("sub", padded, before)), found)
    return taken(joined, found, axis)


@padded_form(MaskPositions)
def _mask_positions(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    op, (own,), (mask,) = node.op, node.inputs, inputs
    assert isinstance(op, MaskPositions)
    if any(map(pad.varies, op.covered[1:])):
        raise pad.missing(node)
    flat = reshape(pad.filled(mask, own, range(own.ndim), False), (-1,))
    size = flat.static_shape[0]
    places = Node(Sort(0), apply("where", flat, Node(Iota(size)), length_of(size)))
    return within(taken(places, within(Node(Iota(size)), pad.number(op.count)), 0), length_of(size))


@padded_form(Index)
def _index(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    op, (own, *indices), (x, *arrays) = node.op, node.inputs, inputs
    assert isinstance(op, Index)
    if own.op.__class__ is Item and op.specification == (At(-1), *[FULL] * (own.ndim - 1)):
        end = pad.ends.get((own.inputs[0], own.op.position))
        if end is not None:
            return _of_some(pad, end, own, [0], "[-1]")
    arrays = pad.aligned(indices, arrays)
    kept: list[Entry] = []
    axis, array = 0, 0
    for entry in op.specification:
        if isinstance(entry, NewAxis):
            kept.append(entry)
            continue
        length = own.static_shape[axis]
        if isinstance(entry, SliceIndex):
            if entry != FULL and (pad.varies(length) or pad.varies(entry.length(length))):
                x, entry = taken(x, _positions(pad, entry, length, x.static_shape[axis]), axis), FULL
        elif pad.varies(length):
            count = pad.number(length)
            place = constant(entry.position) if isinstance(entry, At) else arrays[array]
            place = apply("where", apply("lt", place, 0), apply("add", place, count), place)
            inside = apply("logical_and", apply("ge", place, 0), apply("lt", place, count))
            place = within(apply("maximum", place, 0), length_of(x.static_shape[axis]))
            if isinstance(entry, Gather):
                inside = pad.filled(inside, indices[array], range(inside.ndim), True)
            place = Node(Asserted(f"an index is outside an axis of length `{length!r}`"), place, inside)
            if isinstance(entry, At):
                x, entry = taken(x, reshape(place, (1,)), axis), At(0)
            else:
                arrays[array] = place
        array += isinstance(entry, Gather)
        kept.append(entry)
        axis += 1
    return Node(replace(op, specification=tuple(kept)), x, *arrays)


def _positions(pad: Padding, entry: SliceIndex, length: Dim, padded: Dim) -> Node:
    """The positions that a slice takes."""
    after, step = entry.length(length), entry.step or 1
    place = within(Node(Iota(pad.bound(after))), pad.number(after))
    start = _start(pad, entry, length)
    place = apply("add", start, place if step == 1 else apply("mul", place, step))
    return within(apply("maximum", place, 0), length_of(padded))


def _start(pad: Padding, entry: SliceIndex, length: Dim) -> Node:
    step = entry.step or 1
    first = entry.start if entry.start is not None else (0 if step > 0 else length - 1)
    return pad.place(first, step, length)


@padded_form(IndexUpdate)
def _update(pad: Padding, node: Node, inputs: list[Node]) -> Node:
    """A slice of one axis, and all of the others."""
    op, (own, given, *_), (x, values, *arrays) = node.op, node.inputs, inputs
    assert isinstance(op, IndexUpdate)
    parts = [i for i, entry in enumerate(op.specification) if entry != FULL]
    entry = op.specification[parts[0]] if len(parts) == 1 else None
    if arrays or not isinstance(entry, SliceIndex) or entry.step not in (None, 1):
        raise pad.missing(node)
    (axis,) = parts
    length = own.static_shape[axis]
    values = pad.same(values, entry.length(length), given.static_shape[axis], "values have the shape of their place")
    for other in range(own.ndim):
        if other != axis:
            values = pad.fitted(values, other, given.static_shape[other], x.static_shape[other])
    place = apply("sub", Node(Iota(x.static_shape[axis])), _start(pad, entry, length))
    inside = apply("logical_and", apply("ge", place, 0), apply("lt", place, pad.number(entry.length(length))))
    shape = [1] * x.ndim
    shape[axis] = -1
    inside = reshape(inside, shape)
    moved = taken(values, within(apply("maximum", place, 0), length_of(values.static_shape[axis])), axis)
    if op.mode == "set":
        return apply("where", inside, moved, x)
    return apply("add", x, apply("where", inside, moved, cast(constant(0), x.dtype)))
