"""Ops that move or repeat elements without computing: views, joins and index ranges."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Dim, Dimension, KeptAxes, Node, Op, TensorType, constant, constant_value
from consilience.ir import dimension as dims
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe, name_of
from consilience.ir.types import Shape
from consilience.ops.axes import aligned, all_but, distinct, integers, normalised_axes, one_axis, reshaped, without
from consilience.ops.dtypes import kind_of
from consilience.ops.elementwise import Cast, Elementwise, TensorLike, apply, as_tensor, broadcast_shape, cast, promote


def at_least_zero(shape: Shape) -> tuple[ShapeConstraint, ...]:
    """What lengths of unknown sign must fulfil."""
    return tuple(
        ShapeConstraint(dims.maximum(n, 0), n, "a length must be >= 0") for n in shape if not dims.non_negative(n)
    )


class Reshape(Op):
    """The same elements in row-major order under another shape."""

    linear = ((0,),)
    picks = (0,)
    shape: Shape

    def result_type(self, *inputs: Node) -> TensorType:
        (x,) = inputs
        before, after = x.tensor_type.size, dims.product(self.shape)
        if isinstance(before, int) and isinstance(after, int) and before != after:
            raise ShapeError(f"cannot reshape {before} elements to {self.shape} ({after} elements): {describe(x)}.")
        return x.tensor_type.with_shape(self.shape)

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (reshaped(inputs[0].static_shape, self.shape),)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        before, after = inputs[0].tensor_type.size, dims.product(self.shape)
        same = () if before is after or before == after else (ShapeConstraint(before, after, "reshape keeps the size"),)
        return same + at_least_zero(self.shape)


class Transpose(Op):
    """Axes in another order: axis i of the result is axis `axes[i]` of the input."""

    linear = ((0,),)
    picks = (0,)
    axes: tuple[int, ...]

    def result_type(self, *inputs: Node) -> TensorType:
        shape = inputs[0].static_shape
        return inputs[0].tensor_type.with_shape(tuple(shape[a] for a in self.axes))

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (dict(enumerate(self.axes)),)


class ExpandDims(Op):
    """Axes of length 1 at the positions `axes` of the result (sorted)."""

    linear = ((0,),)
    picks = (0,)
    axes: tuple[int, ...]

    def result_type(self, *inputs: Node) -> TensorType:
        remaining = iter(inputs[0].static_shape)
        rank = inputs[0].ndim + len(self.axes)
        shape = tuple(1 if i in self.axes else next(remaining) for i in range(rank))
        return inputs[0].tensor_type.with_shape(shape)

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        kept = without(self.axes, inputs[0].ndim + len(self.axes))
        return ({new: old for old, new in kept.items()},)


class Squeeze(Op):
    """Drop the axes `axes` (sorted), which have length 1."""

    linear = ((0,),)
    picks = (0,)
    axes: tuple[int, ...]

    def result_type(self, *inputs: Node) -> TensorType:
        shape = inputs[0].static_shape
        for axis in self.axes:
            if isinstance(shape[axis], int) and shape[axis] != 1:
                raise ShapeError(f"cannot squeeze axis {axis} of length {shape[axis]}: {describe(inputs[0])}.")
        return inputs[0].tensor_type.with_shape(tuple(n for i, n in enumerate(shape) if i not in self.axes))

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (without(self.axes, inputs[0].ndim),)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        shape = inputs[0].static_shape
        return tuple(ShapeConstraint(shape[a], 1, "a squeezed axis has length 1") for a in self.axes if shape[a] != 1)


class BroadcastTo(Op):
    """Repeat along missing leading axes and axes of static length 1, up to `shape`."""

    linear = ((0,),)
    picks = (0,)
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

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return aligned(len(self.shape), inputs)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        pairs = zip(reversed(inputs[0].static_shape), reversed(self.shape), strict=False)
        return tuple(
            ShapeConstraint(a, b, "broadcast_to keeps lengths other than 1")
            for a, b in pairs
            if a != 1 and a is not b and a != b
        ) + at_least_zero(self.shape)


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

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (all_but((self.axis,), inputs[0].ndim),) * len(inputs)

    def linear_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        return (self.picks_of(count),)

    def picks_of(self, count: int) -> tuple[int, ...]:
        return tuple(range(count))

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        first = inputs[0].static_shape
        return tuple(
            ShapeConstraint(a, b, "joined tensors agree on the other axes")
            for x in inputs[1:]
            for i, (a, b) in enumerate(zip(first, x.static_shape, strict=True))
            if i != self.axis and a is not b and a != b
        )


class Iota(Op):
    """The integers 0, 1, …, length - 1 as int64."""

    length: Dim

    def result_type(self, *inputs: Node) -> TensorType:
        return TensorType("int64", (self.length,))

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        return at_least_zero((self.length,))


class LengthOf(Op):
    """A symbolic length as an int64 scalar."""

    length: Dim

    def result_type(self, *inputs: Node) -> TensorType:
        return TensorType("int64", ())

    def settled(self) -> Node | None:
        return constant(self.length, "int64") if isinstance(self.length, int) else None


def length_of(length: Dim) -> Node:
    """A length as an int64 scalar node."""
    if isinstance(length, int):
        return constant(length, "int64")
    atom = dims.as_atom(length)
    return atom.source if atom is not None and isinstance(atom.source, Node) else Node(LengthOf(length))


def as_integer(value: object) -> Dim:
    """An integer of either sign as far as it is known from shapes; what else an int64 scalar holds is a symbol."""
    if isinstance(value, Dimension):
        return value
    if not isinstance(value, Node):
        return operator.index(value)  # type: ignore[arg-type]  # anything with __index__, which is checked here
    known = constant_value(value)
    if value.ndim and not (known is not None and known.size == 1):
        raise ShapeError(f"an integer was needed, got {describe(value)}; take one element of it.")
    if kind_of(value.dtype) != "int":
        raise DtypeError(f"an integer was needed, got {describe(value)}; cast it with `.astype('int64')`.")
    if known is not None:
        return int(known.item())
    if isinstance(value.op, LengthOf):
        return value.op.length
    if isinstance(value.op, Cast) and kind_of(value.inputs[0].dtype) == "int":
        return as_integer(value.inputs[0])
    if isinstance(value.op, Elementwise):
        found = _arithmetic(value.op.function, value.inputs)
        if found is not None:
            return found
    return dims.computed(cast(value, "int64"), name_of(value) or "computed", non_negative=False)


def _arithmetic(function: str, operands: Sequence[Node]) -> Dim | None:
    """Integer arithmetic as arithmetic of lengths, where that has the operation."""
    if function == "neg":
        return -as_integer(operands[0])
    if function in ("floor_div", "mod"):
        divisor = as_integer(operands[1])
        if not isinstance(divisor, int) or divisor <= 0:
            return None
        dividend = as_integer(operands[0])
        quotient = dims.floordiv(dividend, divisor)
        return quotient if function == "floor_div" else dividend - divisor * quotient
    combine = _EXACT.get(function)
    return None if combine is None else functools.reduce(combine, map(as_integer, operands))


_EXACT: dict[str, Callable[[Dim, Dim], Dim]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": dims.multiply,
    "maximum": dims.maximum,
    "minimum": dims.minimum,
}


def as_length(value: object) -> Dim:
    """An axis length from an integer, a symbolic length or an integer scalar, whose value may be known later."""
    length = as_integer(value)
    if isinstance(length, int) and length < 0:
        raise ShapeError(f"a length must be >= 0, got {length}.")
    atom = dims.as_atom(length)
    if atom is not None and atom.kind == "value":
        return dims.computed(atom.source, atom.name, non_negative=True)
    return length


def as_shape(value: object) -> Shape:
    """A shape from one length or a sequence of lengths."""
    return tuple(as_length(v) for v in lengths_listed(value))


def lengths_listed(value: object) -> list[object]:
    """The members of a shape: one length, a sequence of lengths, or a vector of static length."""
    if isinstance(value, Node) and value.ndim:
        known = constant_value(value)
        if value.ndim > 1 or not isinstance(value.static_shape[0], int):
            raise ShapeError(
                f"a shape is a vector of known length, got {describe(value)}; the number of axes must be known."
            )
        return list(value) if known is None else known.tolist()
    several = hasattr(value, "__iter__") and not isinstance(value, Node) and bool(getattr(value, "ndim", True))
    return list(value) if several else [value]  # type: ignore[call-overload]  # what has `__iter__` is listed


def reshape(x: TensorLike, newshape: object, *, ndim: int | None = None) -> Node:
    """Another shape for the same elements; one length may be -1. `ndim`, if given, is the rank that it must have.

    x : ...
    newshape: Lengths of the result; one may be -1, which follows from the others.
    ndim : ...
    Returns: The same elements in another shape.
    See flatten: The same elements with rank `ndim`.
    See ravel: All elements along one axis.
    >>> pt.reshape([1.0, 2.0, 3.0, 4.0], (2, 2)).eval().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    x = as_tensor(x)
    given = lengths_listed(newshape)
    if ndim is not None and len(given) != ndim:
        raise ShapeError(f"a shape of rank {ndim} was asked for, got {tuple(given)} for {describe(x)}.")
    unknown = [i for i, n in enumerate(given) if as_integer(n) == -1]
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
    if len(axes) == 1:
        axes = () if axes[0] is None else integers(axes[0])
    order = distinct(integers(axes), x.ndim) if axes else tuple(reversed(range(x.ndim)))
    if len(order) != x.ndim:
        raise ShapeError(f"transpose needs every axis of rank {x.ndim} once, got {axes}.")
    return x if order == tuple(range(x.ndim)) else Node(Transpose(order), x)


def moveaxis(a: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Node:
    """Axes at other places, the others in order.

    a : ...
    source: The axes to move.
    destination: Their new places.
    Returns: The same elements, with the axes so.
    See swapaxes: Two axes exchanged.
    See permute_dims: Axes in the given order.
    See matrix_transpose: The last two axes exchanged.
    >>> pt.moveaxis(pt.zeros((2, 3)), 0, 1).eval().tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """
    x = as_tensor(a)
    pairs = [distinct(integers(given), x.ndim) for given in (source, destination)]
    if len(pairs[0]) != len(pairs[1]):
        raise ShapeError(f"`moveaxis` needs distinct axes and a place for each, got {source} and {destination}.")
    order = [i for i in range(x.ndim) if i not in pairs[0]]
    for place, axis in sorted(zip(pairs[1], pairs[0], strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


def swapaxes(y: TensorLike, axis1: int, axis2: int) -> Node:
    """Two axes exchanged.

    y: Tensor, or what becomes one: an array, a number, nested lists.
    axis1, axis2 : ...
    Returns: The same elements, with the axes so.
    See permute_dims: Axes in the given order.
    See matrix_transpose: The last two axes exchanged.
    See moveaxis: Axes at other places.
    >>> pt.swapaxes(pt.as_tensor([[1.0, 2.0]]), 0, 1).eval().tolist()
    [[1.0], [2.0]]
    """
    x = as_tensor(y)
    order, (i, j) = list(range(x.ndim)), (one_axis(axis1, x), one_axis(axis2, x))
    order[i], order[j] = j, i
    return transpose(x, order)


def expand_dims(a: TensorLike, axis: int | Sequence[int]) -> Node:
    """New axes of length 1 at the given positions of the result.

    a : ...
    axis: Places of the new axes in the result.
    Returns: The same elements, with the axes so.
    See squeeze: Drop axes of length 1.
    See dimshuffle: Axes in the order of `pattern`.
    See permute_dims: Axes in the given order.
    >>> pt.expand_dims([1.0, 2.0], 0).eval().tolist()
    [[1.0, 2.0]]
    """
    x = as_tensor(a)
    given = integers(axis)
    axes = normalised_axes(given, x.ndim + len(given))
    return Node(ExpandDims(axes), x) if axes else x


def squeeze(x: TensorLike, axis: int | Sequence[int] | None = None) -> Node:
    """Drop axes of length 1: the given ones, or all whose length is statically 1.

    x : ...
    axis: Axes of length 1 to leave out; None for all that have it.
    Returns: The same elements, with the axes so.
    See dimshuffle: Axes in the order of `pattern`.
    See permute_dims: Axes in the given order.
    See expand_dims: New axes of length 1 at the given positions of the result.
    >>> pt.squeeze([[1.0, 2.0]]).eval().tolist()
    [1.0, 2.0]
    """
    x = as_tensor(x)
    if axis is None:
        axes = tuple(i for i, n in enumerate(x.static_shape) if n == 1)
    else:
        axes = normalised_axes(axis, x.ndim)
    return Node(Squeeze(axes), x) if axes else x


def broadcast_to(x: TensorLike, shape: object) -> Node:
    """`x` repeated to a shape. A length that cannot exceed 1, such as that of `x[:1]`, must be 1 to be repeated.

    x, shape : ...
    Returns: Of that shape.
    See broadcast_arrays: All values at their common broadcast shape.
    See broadcast_shape: The common shape to which tensors broadcast.
    >>> pt.broadcast_to([1.0, 2.0], (2, 2)).eval().tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    x = as_tensor(x)
    target = as_shape(shape)
    pairs = zip(x.static_shape, target[len(target) - x.ndim :], strict=False)
    own = tuple(1 if have != wanted and _at_most_one(have) else have for have, wanted in pairs)
    if len(own) == x.ndim and own != x.static_shape:
        x = Node(Reshape(own), x)
    return x if target == x.static_shape else Node(BroadcastTo(target), x)


def _at_most_one(length: Dim) -> bool:
    atom = dims.as_atom(length)
    return atom is not None and atom.kind == "min" and 1 in [n for n in atom.arguments if isinstance(n, int)]


def broadcast_arrays(*args: TensorLike) -> list[Node]:
    """All values at their common broadcast shape.

    *args: The tensors, in order.
    Returns: As many as there are arguments.
    See broadcast_shape: The common shape to which tensors broadcast.
    See broadcast_to: `x` repeated to a shape.
    >>> [x.eval().tolist() for x in pt.broadcast_arrays([1.0, 2.0], 3.0)]
    [[1.0, 2.0], [3.0, 3.0]]
    """
    nodes = [as_tensor(v) for v in args]
    shape, _ = broadcast_shape(nodes)
    return [broadcast_to(node, shape) for node in nodes]


def concatenate(tensor_list: Sequence[TensorLike], axis: int = 0) -> Node:
    """Join tensors along an existing axis.

    tensor_list, axis (one) : ...
    Returns: The joined tensor, of the common dtype.
    See join: Tensors joined along an existing axis.
    See stack: Join tensors of equal shape along a new axis.
    See split: Parts along an axis.
    >>> pt.concat([[1.0, 2.0], [3.0]]).eval().tolist()
    [1.0, 2.0, 3.0]
    """
    if not len(tensor_list):
        raise ShapeError("concatenate needs at least one tensor.")
    nodes = [as_tensor(value) for value in tensor_list]
    if any(node.dtype != "key" for node in nodes):
        nodes, _ = promote(nodes)
    rank = nodes[0].ndim
    if rank == 0:
        raise ShapeError("rank-0 tensors cannot be joined; use `stack`.")
    place = one_axis(axis, nodes[0])
    return nodes[0] if len(nodes) == 1 else Node(Concatenate(place), *nodes)


def stack(tensors: Sequence[TensorLike], axis: int = 0) -> Node:
    """Join tensors of equal shape along a new axis.

    tensors: The tensors, in order.
    axis (new) : ...
    Returns: Of one more axis per stacking.
    See split: Parts along an axis.
    See concat: Join tensors along an existing axis.
    See join: Tensors joined along an existing axis.
    >>> pt.stack([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    nodes, _ = promote(tensors)
    return concatenate([expand_dims(node, axis) for node in nodes], axis)


def arange(
    start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: npt.DTypeLike | None = None
) -> Node:
    """Start, start + step, … below stop (above it for a negative step); all may be scalar tensors.

    start: First number; where `stop` is missing, the end, and 0 is the first.
    stop: End; not included.
    step: Distance of neighbours.
    dtype : ...
    Returns: A vector; its length may be known at the call only.
    See linspace: `num` evenly spaced numbers from `start` to `stop`.
    See geomspace: `num` numbers of equal ratios from `start` to `stop`.
    See logspace: Numbers at equal ratios between powers.
    >>> pt.arange(0, 6, 2).eval().tolist()
    [0, 2, 4]
    """
    low, high, stride = (as_tensor(v) for v in ((0, start, step) if stop is None else (start, stop, step)))
    for bound in (low, high, stride):
        if bound.ndim:
            raise ShapeError(f"`arange` needs scalars, got {describe(bound)}.")
    known = constant_value(stride)
    if known is not None and known == 0:
        raise ShapeError("`arange` needs a step other than 0.")
    positions = Node(Iota(_steps(low, high, stride)))
    result = positions if known is not None and known == 1 else apply("mul", positions, stride)
    first = constant_value(low)
    result = result if first is not None and first == 0 else apply("add", result, low)
    wanted = promote([low, high, stride])[1]
    return cast(result, dtype or ("int64" if kind_of(wanted) == "int" else wanted))


def _steps(low: Node, high: Node, stride: Node) -> Dim:
    """How many steps lead from `low` to just before `high`."""
    if any(kind_of(v.dtype) == "float" for v in (low, high, stride)):
        exact = cast(apply("ceil", apply("true_div", apply("sub", high, low), stride)), "int64")
        known = [float(k) for v in (low, high, stride) if (k := constant_value(v)) is not None]
        if len(known) == 3:
            return max(0, math.ceil((known[1] - known[0]) / known[2]))
        return as_length(apply("maximum", exact, 0))
    step = as_integer(stride)
    span = as_integer(high) - as_integer(low)
    if not isinstance(step, int):  # ceil(a / b) is -(-a // b)
        return as_length(apply("maximum", apply("neg", apply("floor_div", apply("sub", low, high), stride)), 0))
    return dims.maximum(dims.floordiv(span + step - 1, step) if step > 0 else dims.floordiv(-span - step - 1, -step), 0)


def full(shape: object, fill_value: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """A tensor of one repeated value.

    shape : ...
    fill_value: Value of every element.
    dtype : ...
    Returns: Of that shape, and of the dtype of the value unless one is given.
    See alloc: `value` repeated to the lengths that follow it.
    See fill: Values at the shape of another tensor.
    See full_like: `fill_value` with the shape and (unless given) dtype of a.
    >>> pt.full((2,), 3.0).eval().tolist()
    [3.0, 3.0]
    """
    x = as_tensor(fill_value) if dtype is None else as_tensor(fill_value, dtype)
    if x.dtype == "key":
        raise DtypeError("a random key is not repeated; derive keys with `fold_in`.")
    return broadcast_to(x, shape)


def eye(n: object, m: object | None = None, k: Any = 0, dtype: npt.DTypeLike | None = None) -> Node:
    """Ones where column - row equals `k`, zeros elsewhere: n x m (n x n for None), of `config.floatX` unless said.

    n: Number of rows.
    m: Number of columns; as many as rows by default.
    k: Offset of the diagonal; 0 is the main one, positive ones lie above it.
    dtype (floatX) : ...
    Returns: A matrix, `config.floatX` unless a dtype is given.
    See tri: Ones on and below diagonal `k`.
    See identity_like: Ones on the main diagonal and zeros elsewhere.
    >>> pt.eye(2).eval().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    rows = as_length(n)
    columns = rows if m is None else as_length(m)
    row_index = expand_dims(Node(Iota(rows)), 1)
    shifted = row_index if isinstance(k, int) and not k else apply("add", row_index, k)
    return cast(apply("eq", shifted, expand_dims(Node(Iota(columns)), 0)), dtype)
