"""Reductions and running totals as users call them: PyTensor's and NumPy's names and keywords.

In: tensors, axes and dtypes. Out: expressions of `Reduce`, `ArgReduce` and `Cumulative`. Axes count from either end.
"""

from __future__ import annotations

from typing import SupportsIndex

import numpy.typing as npt

from consilience.ir import Node
from consilience.ir.dimension import product
from consilience.ir.types import COMPLEXES, FLOATS
from consilience.ops.axes import Axis as Axis
from consilience.ops.axes import normalised_axes
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.reduce import arg_reduce, count, cumulative, reduce
from consilience.ops.shape import broadcast_to, expand_dims, reshape, transpose


def sum(
    input: TensorLike,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: npt.DTypeLike | None = None,
) -> Node:
    """Sum over `axis` (all axes for None); 0 when empty. bool and integers sum as int64, unless `dtype` says otherwise.

    input, axis, dtype, keepdims : ...
    acc_dtype: The type in which elements are added; `dtype` for None.
    Returns: Without the axes that are reduced.
    See prod: Product over `axis`.
    See mean: Arithmetic mean.
    See cumsum: Running sum along an axis.
    >>> pt.sum([[1.0, 5.0], [3.0, 2.0]], axis=0).eval().tolist()
    [4.0, 7.0]
    """
    return _total("sum", input, axis, dtype, keepdims, acc_dtype)


def prod(
    input: TensorLike,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: npt.DTypeLike | None = None,
    no_zeros_in_input: bool = False,
) -> Node:
    """Product over `axis`; 1 when empty. `dtype` and `acc_dtype` as in `sum`; the derivative is right at zeros too.

    input, axis, dtype, keepdims : ...
    acc_dtype: Taken for PyTensor's sake and without effect: sums are made in float64.
    no_zeros_in_input: Taken for PyTensor's sake and without effect.
    Returns: Without the axes that are reduced.
    See mean: Arithmetic mean.
    See cumsum: Running sum along an axis.
    See sum: Sum over `axis` (all axes for None).
    >>> pt.prod([[1.0, 5.0], [3.0, 2.0]], axis=0).eval().tolist()
    [3.0, 10.0]
    """
    return _total("prod", input, axis, dtype, keepdims, acc_dtype)


def _total(
    kind: str,
    value: TensorLike,
    axis: Axis,
    dtype: npt.DTypeLike | None,
    keepdims: bool,
    acc_dtype: npt.DTypeLike | None,
) -> Node:
    x, inner = as_tensor(value), acc_dtype if acc_dtype is not None else dtype
    result = reduce(kind, x if inner is None else cast(x, inner), axis, keepdims)
    return result if dtype is None else cast(result, dtype)


def max(x: TensorLike, axis: Axis = None, keepdims: bool = False, initial: TensorLike | None = None) -> Node:
    """Greatest element over `axis`, and `initial`; NaN when one is NaN.

    An empty axis is a ShapeError unless `initial` is given.

    x, axis, keepdims : ...
    initial: Value that the result is compared with.
    Returns: Without the axes that are reduced.
    See min: Least element over `axis`.
    See ptp: Greatest element minus least element over `axis`.
    See argmax: Position of the first greatest element (int64).
    >>> pt.max([[1.0, 5.0], [3.0, 2.0]], axis=0).eval().tolist()
    [3.0, 5.0]
    """
    return _extreme("max", "maximum", x, axis, keepdims, initial)


def min(x: TensorLike, axis: Axis = None, keepdims: bool = False, initial: TensorLike | None = None) -> Node:
    """Least element over `axis`, and `initial`; NaN when one is NaN.

    An empty axis is a ShapeError unless `initial` is given.

    x, axis, keepdims : ...
    initial: Value that the result is compared with.
    Returns: Without the axes that are reduced.
    See ptp: Greatest element minus least element over `axis`.
    See argmax: Position of the first greatest element (int64).
    See max: Greatest element over `axis`.
    >>> pt.min([[1.0, 5.0], [3.0, 2.0]], axis=0).eval().tolist()
    [1.0, 2.0]
    """
    return _extreme("min", "minimum", x, axis, keepdims, initial)


def _extreme(
    kind: str, function: str, value: TensorLike, axis: Axis, keepdims: bool, initial: TensorLike | None
) -> Node:
    if initial is None:
        return reduce(kind, value, axis, keepdims)
    x = as_tensor(value)
    axes = normalised_axes(axis, x.ndim)
    if 0 in [x.static_shape[a] for a in axes]:
        shape = [1 if i in axes else n for i, n in enumerate(x.static_shape) if keepdims or i not in axes]
        return broadcast_to(cast(as_tensor(initial), x.dtype), shape)
    return apply(function, reduce(kind, x, axis, keepdims), initial)


def any(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Whether some element is true (not zero); False when empty.

    x, axis, keepdims : ...
    Returns: Booleans, without the axes that are reduced.
    See all: Whether every element is true (not zero).
    >>> pt.any([[True, False], [False, False]], axis=1).eval().tolist()
    [True, False]
    """
    return reduce("any", x, axis, keepdims)


def all(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Whether every element is true (not zero); True when empty.

    x, axis, keepdims : ...
    Returns: Booleans, without the axes that are reduced.
    See any: Whether some element is true (not zero).
    >>> pt.all([[True, False], [True, True]], axis=1).eval().tolist()
    [False, True]
    """
    return reduce("all", x, axis, keepdims)


def logsumexp(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """`log(sum(exp(x)))` over `axis` without overflow; -inf when empty.

    x, axis, keepdims : ...
    Returns: Floats, without the axes that are reduced.
    See softmax: `exp(c)` divided by its sum over `axis` (all axes for None).
    See log_softmax: `c - logsumexp(c)` over `axis` (all axes for None).
    >>> pt.logsumexp([1.0, 2.0]).eval().round(4).item()
    2.3133
    """
    return reduce("logsumexp", x, axis, keepdims)


def argmax(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Position of the first greatest element (int64), in row-major order over several axes.

    x, axis, keepdims : ...
    Returns: Positions (int64), without the axes that are reduced.
    See argmin: Position of the first least element (int64).
    See max_and_argmax: Greatest element over `axis` and the position of the first such.
    See argsort: Positions (int64) that put the elements along `axis` in ascending order.
    >>> pt.argmax([3.0, 5.0, 1.0]).eval().item()
    1
    """
    return _position("max", x, axis, keepdims)


def argmin(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Position of the first least element (int64), in row-major order over several axes.

    x, axis, keepdims : ...
    Returns: Positions (int64), without the axes that are reduced.
    See max_and_argmax: Greatest element over `axis` and the position of the first such.
    See argsort: Positions (int64) that put the elements along `axis` in ascending order.
    See argmax: Position of the first greatest element (int64).
    >>> pt.argmin([3.0, 5.0, 1.0]).eval().item()
    2
    """
    return _position("min", x, axis, keepdims)


def _position(kind: str, value: TensorLike, axis: Axis, keepdims: bool) -> Node:
    x = as_tensor(value)
    axes = normalised_axes(axis, x.ndim)
    if len(axes) != 1:
        rest = [i for i in range(x.ndim) if i not in axes]
        last = product(tuple(x.static_shape[a] for a in axes))
        result = arg_reduce(kind, reshape(transpose(x, [*rest, *axes]), [*(x.static_shape[a] for a in rest), last]), -1)
    else:
        result = arg_reduce(kind, x, axes[0])
    return expand_dims(result, axes) if keepdims else result


def mean(
    input: TensorLike,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: npt.DTypeLike | None = None,
) -> Node:
    """Arithmetic mean; NaN for no elements. bool and integers give float64. `dtype` and `acc_dtype` as in `sum`.

    input, axis, dtype, keepdims : ...
    acc_dtype: Taken for PyTensor's sake and without effect: sums are made in float64.
    Returns: Floats, without the axes that are reduced.
    See median: The middle element over `axis` (all axes for None).
    See std: Square root of the variance.
    See var: Mean squared deviation from the mean.
    >>> pt.mean([[1.0, 5.0], [3.0, 2.0]], axis=0).eval().tolist()
    [2.0, 3.5]
    """
    x = as_tensor(input)
    if x.dtype == "float16":
        found = mean(cast(x, "float32"), axis, dtype, keepdims, acc_dtype)
        return cast(found, "float16") if dtype is None else found
    if x.dtype not in (*FLOATS, *COMPLEXES):
        x = cast(x, "float64")
    total = sum(x, axis, dtype, keepdims, acc_dtype)
    number = as_tensor(count(x, normalised_axes(axis, x.ndim)))
    exact = total.dtype not in (*FLOATS, *COMPLEXES)  # short integers do not hold any number
    return apply("true_div", cast(total, "int64") if exact else total, number if exact else cast(number, total.dtype))


def var(input: TensorLike, axis: Axis = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> Node:
    """Mean squared deviation from the mean, divided by (number - ddof).

    input, axis : ...
    ddof: What is taken off the number of elements in the divisor.
    keepdims : ...
    corrected: Subtract the square of the mean deviation, which is 0 but for rounding.
    Returns: Floats, without the axes that are reduced.
    See average: Mean over `axis`.
    See mean: Arithmetic mean.
    See median: The middle element over `axis` (all axes for None).
    >>> pt.var([1.0, 2.0, 4.0]).eval().round(4).item()
    1.5556
    """
    x = as_tensor(input)
    if x.dtype == "float16":
        return cast(var(cast(x, "float32"), axis, ddof, keepdims, corrected), "float16")
    if x.dtype not in (*FLOATS, *COMPLEXES):
        x = cast(x, "float64")
    axes = normalised_axes(axis, x.ndim)
    deviation = apply("sub", x, mean(x, axes, keepdims=True)) if axes else apply("sub", x, x)
    squared = _squared_size(deviation)
    total = reduce("sum", squared, axes, keepdims) if axes else squared
    number = as_tensor(count(x, axes))
    if corrected and axes:
        excess = _squared_size(reduce("sum", deviation, axes, keepdims))
        total = apply("sub", total, apply("true_div", excess, cast(number, total.dtype)))
    return apply("true_div", total, cast(apply("sub", number, ddof), total.dtype))


def _squared_size(x: Node) -> Node:
    return apply("square", apply("abs", x) if x.dtype in COMPLEXES else x)


def std(input: TensorLike, axis: Axis = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> Node:
    """Square root of the variance.

    Where the variance is 0 it has no direction in which it grows, and its derivative is 0 by convention, like that of
    `pt.linalg.norm` at 0.

    input, axis : ...
    ddof: What is taken off the number of elements in the divisor.
    keepdims : ...
    corrected: As in `var`.
    Returns: Floats, without the axes that are reduced.
    See var: Mean squared deviation from the mean.
    See average: Mean over `axis`.
    See mean: Arithmetic mean.
    >>> pt.std([1.0, 2.0, 4.0]).eval().round(4).item()
    1.2472
    """
    return root(var(input, axis, ddof, keepdims, corrected), 2)


def root(total: Node, order: float) -> Node:
    """The root of a sum of powers; its slope at 0, which has no direction, is taken to be 0."""
    none = apply("eq", total, 0)
    some = apply("where", none, 1, total)
    return apply("where", none, total, apply("sqrt", some) if order == 2 else apply("pow", some, 1.0 / order))


def cumsum(x: TensorLike, axis: SupportsIndex | None = None) -> Node:
    """Running sum along an axis, over the flattened tensor for None.

    x, axis (or flattened) : ...
    Returns: Of the shape of `x`; a vector for None.
    See sum: Sum over `axis` (all axes for None).
    See prod: Product over `axis`.
    See mean: Arithmetic mean.
    >>> pt.cumsum([1.0, 2.0, 3.0]).eval().tolist()
    [1.0, 3.0, 6.0]
    """
    return cumulative("sum", x, axis)


def cumprod(x: TensorLike, axis: SupportsIndex | None = None) -> Node:
    """Running product along an axis, over the flattened tensor for None.

    x, axis (or flattened) : ...
    Returns: Of the shape of `x`; a vector for None.
    See cumsum: Running sum along an axis.
    See prod: Product over `axis`.
    >>> pt.cumprod([1.0, 2.0, 3.0]).eval().tolist()
    [1.0, 2.0, 6.0]
    """
    return cumulative("prod", x, axis)


def ptp(a: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Greatest element minus least element over `axis`.

    a, axis, keepdims : ...
    Returns: Without the axes that are reduced.
    See argmax: Position of the first greatest element (int64).
    See max: Greatest element over `axis`.
    See min: Least element over `axis`.
    >>> pt.ptp([1.0, 5.0, 3.0]).eval().item()
    4.0
    """
    return apply("sub", max(a, axis, keepdims), min(a, axis, keepdims))
