"""Ops that move or repeat elements without computing: views, joins and index ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Dim, Dimension, Node, Op, TensorType, constant, constant_value
from consilience.ir import dimension as dims
from consilience.ir.obligations import Obligation
from consilience.ir.side_tables import describe
from consilience.ir.types import Shape
from consilience.ops.dtypes import DtypeLike
from consilience.ops.elementwise import TensorLike, apply, as_tensor, broadcast_shape, cast, promote


class Reshape(Op):
    """The same elements in row-major order under another shape."""

    shape: Shape

    def result_type(self, *inputs: Node) -> TensorType:
        (x,) = inputs
        before, after = x.tensor_type.size, dims.product(self.shape)
        if isinstance(before, int) and isinstance(after, int) and before != after:
            raise ShapeError(f"cannot reshape {before} elements to {self.shape} ({after} elements): {describe(x)}.")
        return x.tensor_type.with_shape(self.shape)

    def obligations(self, *inputs: Node) -> tuple[Obligation, ...]:
        before, after = inputs[0].tensor_type.size, dims.product(self.shape)
        return () if before is after or before == after else (Obligation(before, after, "reshape keeps the size"),)


class Transpose(Op):
    """Axes in another order: axis i of the result is axis `axes[i]` of the input."""

    axes: tuple[int, ...]

    def result_type(self, *inputs: Node) -> TensorType:
        shape = inputs[0].static_shape
        return inputs[0].tensor_type.with_shape(tuple(shape[a] for a in self.axes))


class ExpandDims(Op):
    """Axes of length 1 at the positions `axes` of the result (sorted)."""

    axes: tuple[int, ...]

    def result_type(self, *inputs: Node) -> TensorType:
        remaining = iter(inputs[0].static_shape)
        rank = inputs[0].ndim + len(self.axes)
        shape = tuple(1 if i in self.axes else next(remaining) for i in range(rank))
        return inputs[0].tensor_type.with_shape(shape)


class Squeeze(Op):
    """Drop the axes `axes` (sorted), which have length 1."""

    axes: tuple[int, ...]

    def result_type(self, *inputs: Node) -> TensorType:
        shape = inputs[0].static_shape
        for axis in self.axes:
            if isinstance(shape[axis], int) and shape[axis] != 1:
                raise ShapeError(f"cannot squeeze axis {axis} of length {shape[axis]}: {describe(inputs[0])}.")
        return inputs[0].tensor_type.with_shape(tuple(n for i, n in enumerate(shape) if i not in self.axes))

    def obligations(self, *inputs: Node) -> tuple[Obligation, ...]:
        shape = inputs[0].static_shape
        return tuple(Obligation(shape[a], 1, "a squeezed axis has length 1") for a in self.axes if shape[a] != 1)


class BroadcastTo(Op):
    """Repeat along missing leading axes and axes of static length 1, up to `shape`."""

    shape: Shape

    def result_type(self, *inputs: Node) -> TensorType:
        (x,) = inputs
        own = x.static_shape
        if len(own) > len(self.shape):
            raise ShapeError(f"cannot broadcast rank {len(own)} to the shape {self.shape}: {describe(x)}.")
        for length, wanted in zip(reversed(own), reversed(self.shape), strict=False):
            if isinstance(length, int) and isinstance(wanted, int) and length not in (1, wanted):
                raise ShapeError(f"cannot broadcast {own} to {self.shape}: {describe(x)}.")
        return x.tensor_type.with_shape(self.shape)

    def obligations(self, *inputs: Node) -> tuple[Obligation, ...]:
        pairs = zip(reversed(inputs[0].static_shape), reversed(self.shape), strict=False)
        return tuple(
            Obligation(a, b, "broadcast_to keeps lengths other than 1")
            for a, b in pairs
            if a != 1 and a is not b and a != b
        )


class Concatenate(Op):
    """Join along `axis`; the other lengths are equal."""

    axis: int

    def result_type(self, *inputs: Node) -> TensorType:
        first = inputs[0].static_shape
        total: Dim = 0
        for x in inputs:
            if x.ndim != len(first):
                raise ShapeError(f"cannot join tensors of rank {len(first)} and {x.ndim}: {describe(x)}.")
            for i, (a, b) in enumerate(zip(first, x.static_shape, strict=True)):
                if i != self.axis and isinstance(a, int) and isinstance(b, int) and a != b:
                    raise ShapeError(
                        f"cannot join along axis {self.axis}: axis {i} has lengths {a} and {b}, {describe(x)}."
                    )
            total = total + x.static_shape[self.axis]
        return inputs[0].tensor_type.with_shape((*first[: self.axis], total, *first[self.axis + 1 :]))

    def obligations(self, *inputs: Node) -> tuple[Obligation, ...]:
        first = inputs[0].static_shape
        return tuple(
            Obligation(a, b, "joined tensors agree on the other axes")
            for x in inputs[1:]
            for i, (a, b) in enumerate(zip(first, x.static_shape, strict=True))
            if i != self.axis and a is not b and a != b
        )


class Iota(Op):
    """The integers 0, 1, …, length - 1 as int64."""

    length: Dim

    def result_type(self, *inputs: Node) -> TensorType:
        return TensorType("int64", (self.length,))


class LengthOf(Op):
    """A symbolic length as an int64 scalar."""

    length: Dim

    def result_type(self, *inputs: Node) -> TensorType:
        return TensorType("int64", ())


def length_of(length: Dim) -> Node:
    """A length as an int64 scalar node."""
    return constant(length, "int64") if isinstance(length, int) else Node(LengthOf(length))


def as_length(value: object) -> Dim:
    """An axis length from an integer, a symbolic length or a node that stands for one."""
    if isinstance(value, Dimension):
        return value
    if isinstance(value, Node):
        if isinstance(value.op, LengthOf):
            return value.op.length
        known = constant_value(value)
        if known is not None and known.size == 1:
            return as_length(int(known.item()))
        raise ShapeError(f"a length must be known from shapes, got {describe(value)}; use integers or `x.shape[i]`.")
    length: int = int(value)  # type: ignore[call-overload]  # anything with __index__, checked by int itself
    if length < 0:
        raise ShapeError(f"a length must be >= 0, got {length}.")
    return length


def as_shape(value: object) -> Shape:
    """A shape from one length or a sequence of lengths."""
    if isinstance(value, Node) and value.ndim == 0:
        return (as_length(value),)
    if isinstance(value, list | tuple):
        return tuple(as_length(v) for v in value)
    if hasattr(value, "__iter__") and not isinstance(value, Node):
        return tuple(as_length(v) for v in value)
    return (as_length(value),)


def reshape(value: TensorLike, shape: object) -> Node:
    """Another shape for the same elements; one length may be -1."""
    x = as_tensor(value)
    given = list(shape) if isinstance(shape, list | tuple) else [shape]
    unknown = [i for i, n in enumerate(given) if isinstance(n, int) and n == -1]
    if len(unknown) > 1:
        raise ShapeError(f"only one length of a reshape can be -1, got {tuple(given)}.")
    lengths: list[Dim] = [1 if i in unknown else as_length(n) for i, n in enumerate(given)]
    if unknown:
        known = dims.product(tuple(lengths))
        size = x.tensor_type.size
        if known == 0:
            raise ShapeError(f"the length -1 is undetermined when another length is 0, got {tuple(given)}.")
        if isinstance(size, int) and isinstance(known, int) and size % known:
            raise ShapeError(f"cannot reshape {size} elements to {tuple(given)}: {describe(x)}.")
        lengths[unknown[0]] = dims.floordiv(size, known)
    target = tuple(lengths)
    return x if target == x.static_shape else Node(Reshape(target), x)


def transpose(value: TensorLike, *axes: object) -> Node:
    """Axes in the given order, reversed when none is given."""
    x = as_tensor(value)
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], list | tuple)):
        axes = tuple(axes[0]) if axes[0] is not None else ()
    order = tuple(int(a) % max(x.ndim, 1) for a in axes) if axes else tuple(reversed(range(x.ndim)))  # type: ignore[call-overload]  # int() checks
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"transpose needs every axis of rank {x.ndim} once, got {axes}.")
    return x if order == tuple(range(x.ndim)) else Node(Transpose(order), x)


def moveaxis(value: TensorLike, source: int, destination: int) -> Node:
    """One axis at another place, the others in order."""
    x = as_tensor(value)
    order = [i for i in range(x.ndim) if i != source % x.ndim]
    order.insert(destination % x.ndim, source % x.ndim)
    return transpose(x, order)


def swapaxes(value: TensorLike, axis1: int, axis2: int) -> Node:
    """Two axes exchanged."""
    x = as_tensor(value)
    order = list(range(x.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(x, order)


def expand_dims(value: TensorLike, axis: int | Sequence[int]) -> Node:
    """New axes of length 1 at the given positions of the result."""
    x = as_tensor(value)
    given = (axis,) if isinstance(axis, int) else tuple(axis)
    rank = x.ndim + len(given)
    for a in given:
        if not -rank <= a < rank:
            raise ShapeError(f"axis {a} does not exist in the result of rank {rank}.")
    axes = tuple(sorted({a % rank for a in given}))
    if len(axes) != len(given):
        raise ShapeError(f"new axes must be distinct, got {given}.")
    return Node(ExpandDims(axes), x) if axes else x


def squeeze(value: TensorLike, axis: int | Sequence[int] | None = None) -> Node:
    """Drop axes of length 1: the given ones, or all whose length is statically 1."""
    x = as_tensor(value)
    if axis is None:
        axes = tuple(i for i, n in enumerate(x.static_shape) if n == 1)
    else:
        given = (axis,) if isinstance(axis, int) else tuple(axis)
        for a in given:
            if not -x.ndim <= a < x.ndim:
                raise ShapeError(f"axis {a} does not exist in {describe(x)}.")
        axes = tuple(sorted(a % x.ndim for a in given))
    return Node(Squeeze(axes), x) if axes else x


def broadcast_to(value: TensorLike, shape: object) -> Node:
    """`value` repeated to a shape."""
    x = as_tensor(value)
    target = as_shape(shape)
    return x if target == x.static_shape else Node(BroadcastTo(target), x)


def broadcast_arrays(*values: TensorLike) -> list[Node]:
    """All values at their common broadcast shape."""
    nodes = [as_tensor(v) for v in values]
    shape, _ = broadcast_shape(nodes)
    return [broadcast_to(node, shape) for node in nodes]


def concatenate(values: Sequence[TensorLike], axis: int = 0) -> Node:
    """Join tensors along an existing axis."""
    if not values:
        raise ShapeError("concatenate needs at least one tensor.")
    nodes, _ = promote(values)
    rank = nodes[0].ndim
    if rank == 0:
        raise ShapeError("rank-0 tensors cannot be joined; use `stack`.")
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} does not exist in tensors of rank {rank}.")
    return nodes[0] if len(nodes) == 1 else Node(Concatenate(axis % rank), *nodes)


def stack(values: Sequence[TensorLike], axis: int = 0) -> Node:
    """Join tensors of equal shape along a new axis."""
    nodes, _ = promote(values)
    return concatenate([expand_dims(node, axis) for node in nodes], axis)


def arange(
    start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: DtypeLike | None = None
) -> Node:
    """start, start + step, … below stop; bounds are numbers, or a symbolic length as the only argument."""
    if stop is None and isinstance(start, Node):
        return cast(Node(Iota(as_length(start))), dtype or "int64")
    numbers = [as_tensor(v) for v in ((0, start, step) if stop is None else (start, stop, step))]
    known = [constant_value(n) for n in numbers]
    if any(k is None for k in known):
        raise ShapeError("the length of `arange` must be known from numbers or from one symbolic length.")
    low, high, stride = (k.item() for k in known if k is not None)
    if stride == 0:
        raise ShapeError("`arange` needs a step other than 0.")
    length = max(0, -(-(high - low) // stride)) if all(isinstance(v, int) for v in (low, high, stride)) else None
    if length is None:
        length = max(0, math.ceil((high - low) / stride))
    positions = Node(Iota(int(length)))
    result = positions if stride == 1 else apply("mul", positions, stride)
    result = result if low == 0 else apply("add", result, low)
    return result if dtype is None else cast(result, dtype)


def full(shape: object, value: TensorLike, dtype: DtypeLike | None = None) -> Node:
    """A tensor of one repeated value."""
    x = as_tensor(value) if dtype is None else as_tensor(value, dtype)
    if x.dtype == "key":
        raise DtypeError("a random key is not repeated; derive keys with `fold_in`.")
    return broadcast_to(x, shape)


def eye(rows: object, columns: object | None = None, offset: int = 0, dtype: DtypeLike = "floatX") -> Node:
    """Ones where column - row equals `offset`, zeros elsewhere."""
    n = as_length(rows)
    m = n if columns is None else as_length(columns)
    row_index = expand_dims(Node(Iota(n)), 1)
    shifted = apply("add", row_index, offset) if offset else row_index
    return cast(apply("eq", shifted, expand_dims(Node(Iota(m)), 0)), dtype)
