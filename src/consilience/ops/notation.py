"""Gives operators and methods of nodes their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience.ir import INTEGERS, Node, constant_value
from consilience.ir.arithmetic import means
from consilience.ir.side_tables import describe
from consilience.ops import index, linalg, reduce, shape, ufuncs
from consilience.ops.dtypes import kind_of, weak_type
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast

Axis = int | Sequence[int] | None

for _name in (
    "add", "sub", "mul", "true_div", "floor_div", "mod", "neg", "abs", "lt", "le", "gt", "ge",
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert",
):  # fmt: skip

    def _elementwise(*values: TensorLike, _function: str = _name) -> Node:
        return apply(_function, *values)

    means(_name)(_elementwise)

means("array_ufunc")(ufuncs.array_ufunc)
means("matmul")(linalg.matmul)
means("dot")(linalg.dot)
means("getitem")(index.getitem)
means("index_set")(index.index_set)
means("index_inc")(index.index_inc)
means("iter")(index.iterate)
means("stack")(shape.stack)
means("reshape")(shape.reshape)
means("transpose")(shape.transpose)
means("swapaxes")(shape.swapaxes)
means("squeeze")(shape.squeeze)
means("matrix_transpose")(linalg.matrix_transpose)
means("cast")(cast)
means("mean")(reduce.mean)
means("var")(reduce.var)

for _kind in ("sum", "prod", "max", "min", "any", "all"):

    def _reduction(x: Node, axis: Axis = None, keepdims: bool = False, _kind: str = _kind) -> Node:
        return reduce.reduce(_kind, x, axis, keepdims)

    means(_kind)(_reduction)


@means("positive")
def _positive(x: Node) -> Node:
    return x


# Whole powers of complex numbers up to this are products.
WHOLE_POWERS = 64


@means("pow")
def power(base: TensorLike, exponent: TensorLike) -> Node:
    """base ** exponent. Integers stay integers for a constant exponent >= 0, otherwise both become float64."""
    a, b = as_tensor(base), as_tensor(exponent)
    known = constant_value(b)
    if known is not None and known.size == 1 and kind_of(b.dtype) == "int" and kind_of(a.dtype) != "key":
        number = int(known.item())
        if number == 2:
            return apply("square", base)
        if kind_of(a.dtype) == "complex" and abs(number) <= WHOLE_POWERS:
            power_ = _integer_power(a, abs(number))
            return power_ if number >= 0 else apply("reciprocal", power_)
        if kind_of(a.dtype) in ("int", "bool") and number >= 0:
            return _integer_power(cast(a, "int64") if a.dtype == "bool" else a, number)
    if {kind_of(a.dtype), kind_of(b.dtype)} <= {"int", "bool"}:
        return apply("pow", cast(a, "float64"), cast(b, "float64"))
    return apply("pow", base, exponent)


def _integer_power(base: Node, exponent: int) -> Node:
    result, factor = None, base
    while exponent:
        if exponent & 1:
            result = factor if result is None else apply("mul", result, factor)
        exponent >>= 1
        if exponent:
            factor = apply("mul", factor, factor)
    return result if result is not None else cast(apply("add", apply("mul", base, 0), 1), base.dtype)


@means("std")
def std(x: TensorLike, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Node:
    """Square root of the variance."""
    return apply("sqrt", reduce.var(x, axis, ddof, keepdims))


@means("argmax")
def argmax(x: TensorLike, axis: int | None = None) -> Node:
    """Position of the first greatest element (int64)."""
    return reduce.arg_reduce("max", x, axis)


@means("argmin")
def argmin(x: TensorLike, axis: int | None = None) -> Node:
    """Position of the first least element (int64)."""
    return reduce.arg_reduce("min", x, axis)


@means("cumsum")
def cumsum(x: TensorLike, axis: int | None = None) -> Node:
    """Running sum along an axis, over the flattened tensor for None."""
    return reduce.cumulative("sum", x, axis)


def cumprod(x: TensorLike, axis: int | None = None) -> Node:
    """Running product along an axis, over the flattened tensor for None."""
    return reduce.cumulative("prod", x, axis)


@means("clip")
def clip(x: TensorLike, low: TensorLike, high: TensorLike) -> Node:
    """x limited to [low, high]. Whole Python numbers beyond the range of an integer dtype limit nothing."""
    node = as_tensor(x)
    lowest: Any = low
    highest: Any = high
    if node.dtype in INTEGERS:
        limits = np.iinfo(node.dtype)
        lowest = max(lowest, int(limits.min)) if weak_type(low) is int else lowest
        highest = min(highest, int(limits.max)) if weak_type(high) is int else highest
    return apply("minimum", apply("maximum", node, lowest), highest)


@means("shape")
def shape_of(x: Node) -> tuple[Any, ...]:
    """Lengths of all axes: integers where static, else int64 scalar nodes that can be used as lengths."""
    return tuple(n if isinstance(n, int) else shape.length_of(n) for n in x.static_shape)


@means("len")
def _length(x: Node) -> int:
    if not x.ndim or not isinstance(x.static_shape[0], int):
        raise TypeError(f"`len` needs a static first length, got {describe(x)}; use `x.shape[0]`.")
    return x.static_shape[0]
