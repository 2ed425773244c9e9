"""Elementwise functions that are formulas of rows of the scalar table, under PyTensor's, NumPy's and PyMC's names."""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from consilience.ir import Node
from consilience.ops.dtypes import kind_of
from consilience.ops.elementwise import StopGradient, TensorLike, apply, as_tensor, broadcast_shape, cast
from consilience.ops.notation import round_to
from consilience.ops.reductions import all as every
from consilience.ops.shape import broadcast_to
from consilience.tensor.keywords import export

_SQRT2 = math.sqrt(2.0)


def where(cond: TensorLike, ift: TensorLike | None = None, iff: TensorLike | None = None) -> Node:
    """`ift` where `cond` holds (is not zero), else `iff`, element by element. Both are computed; see `cond`.

    Parameters
    ----------
    cond : TensorLike
        Boolean tensor.
    ift : TensorLike, optional
        Value where the condition holds.
    iff : TensorLike, optional
        Value elsewhere.

    Returns
    -------
    TensorVariable
    """
    if ift is None or iff is None:
        raise TypeError("`where` needs both choices, as in `pt.where(x > 0, x, 0)`; positions are `pt.nonzero(x > 0)`.")
    return apply("where", cond, ift, iff)


switch = where


def stop_gradient(x: TensorLike) -> Node:
    """The value itself, treated as a constant by derivatives.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
    """
    return Node(StopGradient(), as_tensor(x))


def positive(x: TensorLike) -> Node:
    """The value itself.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
    """
    return as_tensor(x)


identity = tensor_copy = positive


def second(x: TensorLike, y: TensorLike) -> Node:
    """`y`, at the common broadcast shape of both.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    y : TensorLike
        Second operand, broadcast against the first.

    Returns
    -------
    TensorVariable
    """
    nodes = [as_tensor(x), as_tensor(y)]
    return broadcast_to(nodes[1], broadcast_shape(nodes)[0])


fill = second


def largest(*args: TensorLike) -> Node:
    """The greatest of several tensors, element by element; NaN when one is NaN.

    Parameters
    ----------
    *args : TensorLike
        The tensors, in order.

    Returns
    -------
    TensorVariable
    """
    return functools.reduce(lambda x, y: apply("maximum", x, y), args[1:], as_tensor(args[0]))


def smallest(*args: TensorLike) -> Node:
    """The least of several tensors, element by element; NaN when one is NaN.

    Parameters
    ----------
    *args : TensorLike
        The tensors, in order.

    Returns
    -------
    TensorVariable
    """
    return functools.reduce(lambda x, y: apply("minimum", x, y), args[1:], as_tensor(args[0]))


def logaddexp(*xs: TensorLike) -> Node:
    """`log(exp(x) + exp(y) + …)` without overflow.

    Parameters
    ----------
    *xs : TensorLike
        Two or more tensors.

    Returns
    -------
    TensorVariable
    """
    return functools.reduce(lambda x, y: apply("logaddexp", x, y), xs[1:], as_tensor(xs[0]))


def logdiffexp(a: TensorLike, b: TensorLike) -> Node:
    """`log(exp(a) - exp(b))` without overflow, for a >= b; NaN elsewhere.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    b : TensorLike
        Second operand, broadcast against the first.

    Returns
    -------
    TensorVariable
    """
    return apply("add", a, apply("log1mexp", apply("sub", b, a)))


def invprobit(x: TensorLike) -> Node:
    """The standard normal distribution function, exact to rounding in its lower tail.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
    """
    return apply("mul", 0.5, apply("erfc", apply("true_div", x, -_SQRT2)))


def erfcinv(x: TensorLike) -> Node:
    """The inverse of `erfc`, on (0, 2).

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
    """
    return apply("true_div", apply("ndtri", apply("mul", 0.5, x)), -_SQRT2)


def xlogx(c: TensorLike) -> Node:
    """`x log(x)`, which is 0 at 0.

    Parameters
    ----------
    c : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
    """
    return apply("xlogy", c, c)


def xlogy0(x: TensorLike, y: TensorLike) -> Node:
    """`x log(y)`, which is 0 at x = 0 whatever y, NaN included.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    y : TensorLike
        Second operand, broadcast against the first.

    Returns
    -------
    TensorVariable
    """
    nothing = apply("logical_and", apply("eq", x, 0), apply("isnan", y))
    return apply("xlogy", x, apply("where", nothing, 1.0, y))


def sinc(x: TensorLike) -> Node:
    """`sin(pi x) / (pi x)`, which is 1 at 0.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
    """
    angle = apply("mul", math.pi, x)
    near = apply("abs", angle) < 0.5  # by its series, whose slopes do not cancel
    square = apply("square", apply("where", near, angle, 0.0))
    series = 1.0 - square / (16.0 * 17.0)
    for k in range(7, 0, -1):
        series = 1.0 - square * series / (2.0 * k * (2.0 * k + 1.0))
    safe = apply("where", near, 1.0, angle)
    return apply("where", near, series, apply("true_div", apply("sin", safe), safe))


def sici(x: TensorLike) -> tuple[Node, Node]:
    """The sine integral Si(x) and the cosine integral Ci(|x|); the second is -inf at 0.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    tuple of (TensorVariable, TensorVariable)
    """
    return apply("sine_integral", x), apply("cosine_integral", x)


def divmod(x: TensorLike, y: TensorLike) -> tuple[Node, Node]:
    """Floor quotient and remainder, the remainder with the sign of y.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    y : TensorLike
        Second operand, broadcast against the first.

    Returns
    -------
    tuple of (TensorVariable, TensorVariable)
    """
    return apply("floor_div", x, y), apply("mod", x, y)


def ceil_intdiv(a: TensorLike, b: TensorLike) -> Node:
    """The quotient of integers, rounded up.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    b : TensorLike
        Second operand, broadcast against the first.

    Returns
    -------
    TensorVariable
    """
    quotient = apply("floor_div", a, b)
    return apply("add", quotient, cast(apply("neq", apply("mod", a, b), 0), quotient.dtype))


def round(a: TensorLike, mode: str | int | None = None, *, decimals: int = 0) -> Node:
    """The nearest multiple of 10 ** -decimals.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    mode : str or int, optional
        What becomes of halves: "half_to_even" (also for None) or "half_away_from_zero"; an integer here is NumPy's
        `decimals`.
    decimals : int, default 0
        Decimal places.

    Returns
    -------
    TensorVariable
    """
    return round_to(a, mode, decimals=decimals)


tround = round


def round_half_away_from_zero(x: TensorLike) -> Node:
    """The nearest whole number, halves away from zero.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
    """
    return round_to(x, "half_away_from_zero")


def iround(a: TensorLike, mode: str | None = None) -> Node:
    """The nearest whole number as int64; `mode` as in `round`.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    mode : str, optional
        How the function is compiled; `pm.get_mode` lists the words.

    Returns
    -------
    TensorVariable
    """
    return cast(round_to(a, mode), "int64")


def isposinf(x: TensorLike) -> Node:
    """Whether an element is +infinity.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
    """
    return apply("eq", x, np.inf)


def isneginf(x: TensorLike) -> Node:
    """Whether an element is -infinity.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.

    Returns
    -------
    TensorVariable
    """
    return apply("eq", x, -np.inf)


def isclose(
    a: TensorLike, b: TensorLike, rtol: TensorLike = 1e-5, atol: TensorLike = 1e-8, equal_nan: bool = False
) -> Node:
    """Whether |a - b| <= atol + rtol |b|; infinities are close to themselves, NaN to NaN where `equal_nan`.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    b : TensorLike
        Second operand, broadcast against the first.
    rtol : TensorLike, default 1e-05
        Relative tolerance.
    atol : TensorLike, default 1e-08
        Absolute tolerance.
    equal_nan : bool, default False
        Whether NaN equals NaN.

    Returns
    -------
    TensorVariable
    """
    margin = apply("add", atol, apply("mul", rtol, apply("abs", cast(b, "float64"))))
    near = apply("le", apply("abs", apply("sub", cast(a, "float64"), b)), margin)
    result = apply("where", apply("isfinite", b), near, apply("eq", a, b))
    if not equal_nan:
        return result
    return apply("logical_or", result, apply("logical_and", apply("isnan", a), apply("isnan", b)))


def allclose(
    a: TensorLike, b: TensorLike, rtol: TensorLike = 1e-5, atol: TensorLike = 1e-8, equal_nan: bool = False
) -> Node:
    """Whether `isclose` holds for all elements.

    Parameters
    ----------
    a : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    b : TensorLike
        Second operand, broadcast against the first.
    rtol : TensorLike, default 1e-05
        Relative tolerance.
    atol : TensorLike, default 1e-08
        Absolute tolerance.
    equal_nan : bool, default False
        Whether NaN equals NaN.

    Returns
    -------
    TensorVariable
    """
    return every(isclose(a, b, rtol, atol, equal_nan))


def nan_to_num(
    x: TensorLike, nan: TensorLike = 0.0, posinf: TensorLike | None = None, neginf: TensorLike | None = None
) -> Node:
    """`x` with NaN and infinities replaced; infinities by the greatest and least finite number for None.

    Parameters
    ----------
    x : TensorLike
        Tensor, or what becomes one: an array, a number, nested lists.
    nan : TensorLike, default 0.0
        What stands for NaN.
    posinf : TensorLike, optional
        What stands for infinity; the greatest number by default.
    neginf : TensorLike, optional
        What stands for minus infinity; the least number by default.

    Returns
    -------
    TensorVariable
    """
    node = as_tensor(x)
    if kind_of(node.dtype) != "float":
        return node
    limits: npt.NDArray[np.floating] = np.array([np.finfo(node.dtype).max, np.finfo(node.dtype).min])
    for bad, value in (
        (apply("isnan", node), nan),
        (isposinf(node), limits[0].item() if posinf is None else posinf),
        (isneginf(node), limits[1].item() if neginf is None else neginf),
    ):
        node = apply("where", bad, value, node)
    return node


export(globals())
