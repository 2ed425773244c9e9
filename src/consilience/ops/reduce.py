"""Reductions over axes: many elements in, one out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from consilience.errors import DtypeError, ShapeError
from consilience.ir import COMPLEXES, FLOATS, INTEGERS, UNSIGNED, KeptAxes, Node, Op, TensorType
from consilience.ir.dimension import product
from consilience.ir.side_tables import describe
from consilience.ops.axes import Axis, all_but, normalised_axes, one_axis, without
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.shape import expand_dims, length_of, reshape


class Reduce(Op):
    """`kind` over `axes` (sorted, non-negative); the axes vanish.

    An empty sum is 0, product 1, logsumexp -inf, any False, all True; max and min need an element.
    """

    flops = 1.0
    kind: str
    axes: tuple[int, ...]

    def result_type(self, *inputs: Node) -> TensorType:
        (x,) = inputs
        shape = x.static_shape
        if self.kind in ("max", "min") and any(isinstance(shape[a], int) and shape[a] == 0 for a in self.axes):
            raise ShapeError(f"`{self.kind}` of an empty axis has no value: {describe(x)}.")
        return TensorType(x.dtype, tuple(n for i, n in enumerate(shape) if i not in self.axes))

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (without(self.axes, inputs[0].ndim),)

    def linear_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        return ((0,),) if self.kind == "sum" else ()

    def picks_of(self, count: int) -> tuple[int, ...]:
        return (0,) if self.kind in ("max", "min") else ()

    def monotone_in(self, count: int) -> tuple[int, ...]:
        return (int(self.kind != "prod"),)

    def __repr__(self) -> str:
        return f"{self.kind}(axes={self.axes})"


class ArgReduce(Op):
    """Position (int64) of the first extreme element along `axis`; `kind` is "max" or "min". NaN counts as extreme."""

    kind: str
    axis: int

    def result_type(self, *inputs: Node) -> TensorType:
        (x,) = inputs
        shape = x.static_shape
        if shape[self.axis] == 0:
            raise ShapeError(f"`arg{self.kind}` of an empty axis has no value: {describe(x)}.")
        return TensorType("int64", tuple(n for i, n in enumerate(shape) if i != self.axis))

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (without((self.axis,), inputs[0].ndim),)

    def __repr__(self) -> str:
        return f"arg{self.kind}(axis={self.axis})"


class Cumulative(Op):
    """Running `kind` ("sum" or "prod") along `axis`; `reverse` runs from the end."""

    flops = 1.0
    kind: str
    axis: int
    reverse: bool = False

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (all_but((self.axis,), inputs[0].ndim),)

    def linear_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        return ((0,),) if self.kind == "sum" else ()

    def monotone_in(self, count: int) -> tuple[int, ...]:
        return (int(self.kind == "sum"),)

    def zero_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        return ((0,),)

    def __repr__(self) -> str:
        return f"cum{self.kind}(axis={self.axis}{', reverse' if self.reverse else ''})"


class Softmax(Op):
    """`exp(x) / sum(exp(x))` over `axes` (sorted, >= 0), or its logarithm; the greatest element is taken off."""

    flops = 20.0
    axes: tuple[int, ...]
    logarithm: bool = False

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (all_but(self.axes, inputs[0].ndim),)

    def __repr__(self) -> str:
        return f"{'log_' if self.logarithm else ''}softmax(axes={self.axes})"


def reduce(kind: str, value: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Reduce over `axis` (all axes for None), in NumPy's dtype.

    Sums and products of bools and integers are int64, of unsigned integers uint64; those of float16 are taken in
    float32 and rounded once.
    """
    x = as_tensor(value)
    axes = normalised_axes(axis, x.ndim)
    if kind in ("sum", "prod", "logsumexp") and x.dtype == "float16":
        return cast(reduce(kind, cast(x, "float32"), axis, keepdims), "float16")
    if kind in ("any", "all"):
        x = x if x.dtype == "bool" else apply("neq", x, 0)
    elif x.dtype in COMPLEXES and kind not in ("sum", "prod"):
        raise DtypeError(f"complex numbers have no `{kind}`: {describe(x)}; take real parts or sizes first.")
    elif kind in ("sum", "prod"):
        x = cast(x, accumulator(x.dtype))
    elif kind == "logsumexp" and x.dtype not in FLOATS:
        x = cast(x, "float64")
    if x.dtype == "key":
        raise DtypeError(f"a random key is no number and has no `{kind}`.")
    result = Node(Reduce(kind, axes), x) if axes else x
    return expand_dims(result, axes) if keepdims and axes else result


def arg_reduce(kind: str, value: TensorLike, axis: SupportsIndex | None = None) -> Node:
    """Position of the first extreme; over the flattened tensor for `axis=None`."""
    x = as_tensor(value)
    if x.dtype in COMPLEXES:
        raise DtypeError(f"complex numbers have no `arg{kind}`: {describe(x)}; take real parts or sizes first.")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return Node(ArgReduce(kind, one_axis(axis, x)), x)


def cumulative(kind: str, value: TensorLike, axis: SupportsIndex | None = None) -> Node:
    """Running sum or product; over the flattened tensor for `axis=None`."""
    x = as_tensor(value)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    if x.dtype == "float16":
        return cast(cumulative(kind, cast(x, "float32"), axis), "float16")
    return Node(Cumulative(kind, one_axis(axis, x)), cast(x, accumulator(x.dtype)))


def accumulator(dtype: str) -> str:
    """The dtype in which numbers are added up or multiplied: integers and bools in 64 bits, floats in their own."""
    if dtype in UNSIGNED:
        return "uint64"
    return "int64" if dtype == "bool" or dtype in INTEGERS else dtype


def softmax(value: TensorLike, axis: Axis = None, logarithm: bool = False) -> Node:
    """exp(x) / sum(exp(x)) over `axis` (all axes for None), or its logarithm; integers become float64."""
    x = as_tensor(value)
    if x.dtype == "float16":
        return cast(softmax(cast(x, "float32"), axis, logarithm), "float16")
    if x.dtype not in FLOATS:
        x = cast(x, "float64")
    return Node(Softmax(normalised_axes(axis, x.ndim), logarithm), x)


def count(x: Node, axes: Sequence[int]) -> TensorLike:
    """Number of elements in the reduced axes: an integer, or a node when lengths are symbolic."""
    length = product(tuple(x.static_shape[a] for a in axes))
    return length if isinstance(length, int) else length_of(length)
