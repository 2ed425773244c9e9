"""Gives operators and methods of nodes their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.ir import INTEGERS, UNSIGNED, Node, constant_value
from consilience.ir.arithmetic import means
from consilience.ir.side_tables import describe, set_name
from consilience.ops import arrangement, index, linalg, order, reductions, shape, ufuncs
from consilience.ops.axes import integers, is_integer
from consilience.ops.dtypes import kind_of, weak_type
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast, promote
from consilience.ops.parameter_check import Asserted
from consilience.ops.reduce import reduce
from consilience.ops.scalar import TABLE
from consilience.ops.sparse import elementwise as elementwise  # enters operators of sparse matrices
from consilience.ops.sparse import indexing as indexing  # as above

for _name, _row in TABLE.items():
    if _row.accepts == ("complex",):  # of real tensors too, they are in ops/complex_numbers
        continue

    def _elementwise(*values: TensorLike, _function: str = _name) -> Node:
        return apply(_function, *values)

    means(_name)(_elementwise)


@means("positive")
def _positive(x: Node) -> Node:
    return x


# Whole powers of complex numbers up to this are products.
WHOLE_POWERS = 64


@means("pow")
def power(x: TensorLike, y: TensorLike) -> Node:
    """`x ** y`. Integers stay integers; negative exponents of them are refused, but for constants, which give float64.

    x, y : ...
    Returns: Of the common broadcast shape and dtype.
    See float_power: `x ** y` in float64.
    >>> pt.pow(2.0, 3).eval().item()
    8.0
    """
    a, b = as_tensor(x), as_tensor(y)
    known = constant_value(b)
    if known is not None and known.ndim == 0 and kind_of(b.dtype) == "int" and kind_of(a.dtype) != "key":
        number = int(known.item())
        if number == 2:
            return apply("square", x)
        if kind_of(a.dtype) == "complex" and abs(number) <= WHOLE_POWERS:
            power_ = _integer_power(a, abs(number))
            return power_ if number >= 0 else apply("reciprocal", power_)
        if kind_of(a.dtype) in ("int", "bool") and number >= 0:
            return _integer_power(cast(a, "int64") if a.dtype == "bool" else a, number)
    if {kind_of(a.dtype), kind_of(b.dtype)} <= {"int", "bool"}:
        if known is not None and (known < 0).any():
            return apply("pow", cast(a, "float64"), cast(b, "float64"))
        (base, exponent), dtype = promote([x, y])
        if kind_of(dtype) != "float":  # as of int64 and uint64 is
            return _whole_power(*(cast(v, "int8") if v.dtype == "bool" else v for v in (base, exponent)))
    return apply("pow", x, y)


@means("float power")
def float_power(x: TensorLike, y: TensorLike) -> Node:
    """`x ** y` in float64.

    x, y : ...
    Returns: Floats of the common broadcast shape.
    See pow: `x ** y`.
    >>> pt.float_power(2, -1).eval().item()
    0.5
    """
    return apply("pow", cast(x, "float64"), cast(y, "float64"))


def _whole_power(base: Node, exponent: Node) -> Node:
    """Integer powers by repeated squares, a square for each of the six bits that exponents of finite powers have.

    Greater exponents keep the powers of -1, 0 and 1 only; others are beyond every integer and give 0.
    """
    if exponent.dtype not in UNSIGNED:
        message = "integers have no negative integer powers; make one of both a float: `x.astype(float) ** y`"
        least = apply("ge", exponent, 0)
        exponent = Node(Asserted(message), exponent, reduce("all", least) if least.ndim else least)
    beyond = apply("gt", exponent, 63)
    bits = apply("where", beyond, apply("bitwise_and", exponent, 1) + 62, exponent)
    result, square = apply("add", apply("mul", base, 0), 1), base
    for place in range(6):
        odd = apply("neq", apply("bitwise_and", bits, 1 << place), 0)
        result = apply("mul", result, apply("where", odd, square, 1))
        square = apply("square", square)
    lost = apply("logical_and", beyond, apply("gt", apply("abs", base), 1))
    return apply("where", lost, 0, result)


def _integer_power(base: Node, exponent: int) -> Node:
    result, factor = None, base
    while exponent:
        if exponent & 1:
            result = factor if result is None else apply("mul", result, factor)
        exponent >>= 1
        if exponent:
            factor = apply("mul", factor, factor)
    return result if result is not None else cast(apply("add", apply("mul", base, 0), 1), base.dtype)


@means("clip")
def clip(x: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None) -> Node:
    """`x` limited to [min, max]; None leaves a side open, and so do whole Python numbers beyond an integer dtype.

    x : ...
    min: Least value; None for no bound.
    max: Greatest value; None for no bound.
    Returns: Of the common broadcast shape and dtype.
    See nan_to_num: `x` with NaN and infinities replaced.
    >>> pt.clip([-2.0, 0.5, 3.0], -1.0, 1.0).eval().tolist()
    [-1.0, 0.5, 1.0]
    """
    node = as_tensor(x)
    lowest: Any = min
    highest: Any = max
    if node.dtype in INTEGERS:
        limits = np.iinfo(node.dtype)
        lowest = None if weak_type(min) is int and lowest < limits.min else lowest
        highest = None if weak_type(max) is int and highest > limits.max else highest
    above = node if lowest is None else apply("maximum", node, lowest)
    return above if highest is None else apply("minimum", above, highest)


_ROUNDINGS = ("half_to_even", "half_away_from_zero")


def round_to(a: TensorLike, mode: str | int | None = None, *, decimals: int = 0) -> Node:
    """The nearest multiple of 10 ** -decimals; integers stay as they are where no digit before the point is rounded.

    `mode`: what becomes of halves: "half_to_even" (also for None) or "half_away_from_zero". NumPy has `decimals` here.
    """
    if is_integer(mode):
        return round_to(a, decimals=integers(mode)[0])
    if mode is not None and mode not in _ROUNDINGS:
        raise ValueError(f"mode must be one of {', '.join(_ROUNDINGS)}, got {mode!r}.")
    x = as_tensor(a)
    if kind_of(x.dtype) == "int" and decimals >= 0:
        return x
    scaled = x if not decimals else apply("mul" if decimals > 0 else "true_div", x, 10.0 ** abs(decimals))
    if mode == "half_away_from_zero":
        magnitude = apply("abs", scaled)
        below = apply("floor", magnitude)
        up = apply("ge", apply("sub", magnitude, below), 0.5)
        result = apply("copysign", apply("where", up, apply("add", below, 1.0), below), scaled)
    else:
        result = apply("round", scaled)
    result = result if not decimals else apply("true_div" if decimals > 0 else "mul", result, 10.0 ** abs(decimals))
    return cast(result, x.dtype) if kind_of(x.dtype) == "int" else result


class Lengths(tuple[Any, ...]):
    """The lengths of all axes, with the methods of the int64 vector of them: `x.shape.eval()`, `x.shape.prod()`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what NumPy and pickle ask for
            raise AttributeError(f"a shape has no `{name}`.", name=name, obj=self)
        return getattr(as_tensor(list(self), "int64"), name)


@means("shape")
def shape_of(x: TensorLike) -> Lengths:
    """Lengths of all axes: integers where static, else int64 scalar nodes that can be used as lengths.

    x : ...
    Returns (sequence of int or None): A length per axis.
    See specify_shape: `x` with lengths that are promised.
    >>> pt.shape(pt.zeros((2, 3)))
    (2, 3)
    """
    return Lengths(n if isinstance(n, int) else shape.length_of(n) for n in as_tensor(x).static_shape)


@means("len")
def _length(x: Node) -> int:
    if not x.ndim:
        raise TypeError(f"a scalar has no length, got {describe(x)}; `pt.atleast_1d(x)` is a vector of it.")
    if not isinstance(x.static_shape[0], int):
        raise TypeError(f"`len` needs a static first length, got {describe(x)}; use `x.shape[0]`.")
    return x.static_shape[0]


@means("size")
def _size(x: Node) -> Any:
    return x.tensor_type.size if isinstance(x.tensor_type.size, int) else shape.length_of(x.tensor_type.size)


@means("copy")
def _copy(x: Node, name: str | None) -> Node:
    if name is not None:
        set_name(x, name)
    return x


means("array_ufunc")(ufuncs.array_ufunc)
means("matmul")(linalg.matmul)
means("dot")(linalg.dot)
means("getitem")(index.getitem)
means("nonzero")(index.nonzero)
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
means("round to")(round_to)
for _name in ("flatten", "repeat", "take", "dimshuffle", "diagonal", "trace", "full_like"):
    means(_name)(getattr(arrangement, _name))
for _name in ("sort", "argsort", "searchsorted"):
    means(_name)(getattr(order, _name))

for _name in (
    "sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax", "argmin", "cumsum", "cumprod", "ptp",
):  # fmt: skip
    means(_name)(getattr(reductions, _name))
