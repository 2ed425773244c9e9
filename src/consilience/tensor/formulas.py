"""Elementwise functions that are formulas of rows of the scalar table, under PyTensor's, NumPy's and PyMC's names."""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from consilience.ir import Node
from consilience.ops.dtypes import kind_of
from consilience.ops.elementwise import StopGradient, TensorLike, apply, as_tensor, broadcast_shape, cast
from consilience.ops.reductions import all as every
from consilience.ops.shape import broadcast_to

_SQRT2 = math.sqrt(2.0)


def where(cond: TensorLike, ift: TensorLike | None = None, iff: TensorLike | None = None) -> Node:
    """`ift` where `cond` holds (is not zero), else `iff`, element by element. Both are computed; `pt.cond` runs one.

    cond: Boolean tensor.
    ift: Value where the condition holds.
    iff: Value elsewhere.
    Returns: Of the common broadcast shape and dtype.
    See take: The elements at `indices` along `axis`.
    See choose: For each element of a the element of the choice of that number.
    >>> pt.switch([True, False], 1.0, 2.0).eval().tolist()
    [1.0, 2.0]
    """
    if ift is None or iff is None:
        raise TypeError("`where` needs both choices, as in `pt.where(x > 0, x, 0)`; positions are `pt.nonzero(x > 0)`.")
    return apply("where", cond, ift, iff)


switch = where


def stop_gradient(x: TensorLike) -> Node:
    """The value itself, treated as a constant by derivatives.

    x : ...
    Returns: The value.
    See identity: The value itself, with its derivative.
    >>> pt.stop_gradient(2.0).eval().item()
    2.0
    """
    return Node(StopGradient(), as_tensor(x))


def positive(x: TensorLike) -> Node:
    """The value itself.

    x : ...
    Returns: A tensor of the value.
    See stop_gradient: The value itself, treated as a constant by derivatives.
    >>> pt.identity(pt.as_tensor(3.0)).eval().item()
    3.0
    """
    return as_tensor(x)


identity = tensor_copy = positive


def second(x: TensorLike, y: TensorLike) -> Node:
    """`y`, at the common broadcast shape of both.

    x : ...
    y: Value of all elements.
    Returns: Of the common broadcast shape.
    See full_like: `fill_value` with the shape and (unless given) dtype of a.
    See full: A tensor of one repeated value.
    See alloc: `value` repeated to the lengths that follow it.
    >>> pt.fill([1.0, 2.0], 7.0).eval().tolist()
    [7.0, 7.0]
    """
    nodes = [as_tensor(x), as_tensor(y)]
    return broadcast_to(nodes[1], broadcast_shape(nodes)[0])


fill = second


def largest(*args: TensorLike) -> Node:
    """The greatest of several tensors, element by element; NaN when one is NaN.

    *args: The tensors, in order.
    Returns: Of the common broadcast shape and dtype.
    See smallest: The least of several tensors.
    >>> pt.largest([1.0, 5.0], [3.0, 2.0]).eval().tolist()
    [3.0, 5.0]
    """
    return functools.reduce(lambda x, y: apply("maximum", x, y), args[1:], as_tensor(args[0]))


def smallest(*args: TensorLike) -> Node:
    """The least of several tensors, element by element; NaN when one is NaN.

    *args: The tensors, in order.
    Returns: Of the common broadcast shape and dtype.
    See largest: The greatest of several tensors.
    >>> pt.smallest([1.0, 5.0], [3.0, 2.0]).eval().tolist()
    [1.0, 2.0]
    """
    return functools.reduce(lambda x, y: apply("minimum", x, y), args[1:], as_tensor(args[0]))


def logaddexp(*xs: TensorLike) -> Node:
    """`log(exp(x) + exp(y) + …)` without overflow.

    *xs: Two or more tensors.
    Returns: Of the common broadcast shape and dtype.
    See logdiffexp: `log(exp(a) - exp(b))` without overflow.
    See logsumexp: `log(sum(exp(x)))` over `axis` without overflow.
    >>> pt.logaddexp(0.5, 1.0).eval().round(4).item()
    1.4741
    """
    return functools.reduce(lambda x, y: apply("logaddexp", x, y), xs[1:], as_tensor(xs[0]))


def logdiffexp(a: TensorLike, b: TensorLike) -> Node:
    """`log(exp(a) - exp(b))` without overflow, for a >= b; NaN elsewhere.

    a, b (second) : ...
    Returns: Of the common broadcast shape and dtype.
    See logsumexp: `log(sum(exp(x)))` over `axis` without overflow.
    See logaddexp: The logarithm of a sum of exponentials.
    >>> pt.logdiffexp(1.0, 0.5).eval().round(4).item()
    0.0672
    """
    difference = apply("add", a, apply("log1mexp", apply("sub", b, a)))
    return apply("where", apply("eq", b, -np.inf), a, difference)  # nothing is taken away, of nothing either


def invprobit(x: TensorLike) -> Node:
    """The standard normal distribution function, exact to rounding in its lower tail.

    x : ...
    Returns: Floats, element by element.
    See erfcinv: The inverse of `erfc`.
    >>> pt.invprobit(0.5).eval().round(4).item()
    0.6915
    """
    return apply("mul", 0.5, apply("erfc", apply("true_div", x, -_SQRT2)))


def erfcinv(x: TensorLike) -> Node:
    """The inverse of `erfc`, on (0, 2).

    x : ...
    Returns: Floats, element by element.
    See invprobit: The standard normal distribution function.
    >>> pt.erfcinv(0.5).eval().round(4).item()
    0.4769
    """
    return apply("true_div", apply("ndtri", apply("mul", 0.5, x)), -_SQRT2)


def xlogx(c: TensorLike) -> Node:
    """`x log(x)`, which is 0 at 0.

    c : ...
    Returns: Floats, element by element.
    See xlogy0: `x log(y)`, which is 0 at x = 0.
    >>> pt.xlogx(2.0).eval().round(4).item()
    1.3863
    """
    return apply("xlogy", c, c)


def xlogy0(x: TensorLike, y: TensorLike) -> Node:
    """`x log(y)`, which is 0 at x = 0 whatever y, NaN included.

    x, y : ...
    Returns: Floats of the common broadcast shape.
    See xlogx: `x log(x)`.
    >>> pt.xlogy0(2.0, 3.0).eval().round(4).item()
    2.1972
    """
    nothing = apply("logical_and", apply("eq", x, 0), apply("isnan", y))
    return apply("xlogy", x, apply("where", nothing, 1.0, y))


def sinc(x: TensorLike) -> Node:
    """`sin(pi x) / (pi x)`, which is 1 at 0.

    x : ...
    Returns: Floats, element by element.
    See sici: The sine integral Si(x) and the cosine integral Ci(|x|).
    >>> pt.sinc(0.5).eval().round(4).item()
    0.6366
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

    x : ...
    Returns: Both, of the shape of `x`.
    See sinc: `sin(pi x) / (pi x)`.
    >>> [x.eval().round(4).item() for x in pt.sici(0.5)]
    [0.4931, -0.1778]
    """
    return apply("sine_integral", x), apply("cosine_integral", x)


def isposinf(x: TensorLike) -> Node:
    """Whether an element is +infinity.

    x : ...
    Returns: Booleans of the common broadcast shape.
    See isclose: Whether |a - b| <= atol + rtol |b|.
    See isneginf: Whether an element is -infinity.
    >>> pt.isposinf([float("inf"), 1.0]).eval().tolist()
    [True, False]
    """
    return apply("eq", x, np.inf)


def isneginf(x: TensorLike) -> Node:
    """Whether an element is -infinity.

    x : ...
    Returns: Booleans of the common broadcast shape.
    See isposinf: Whether an element is +infinity.
    See isclose: Whether |a - b| <= atol + rtol |b|.
    >>> pt.isneginf([-float("inf"), 1.0]).eval().tolist()
    [True, False]
    """
    return apply("eq", x, -np.inf)


def isclose(
    a: TensorLike, b: TensorLike, rtol: TensorLike = 1e-5, atol: TensorLike = 1e-8, equal_nan: bool = False
) -> Node:
    """Whether |a - b| <= atol + rtol |b|; infinities are close to themselves, NaN to NaN where `equal_nan`.

    a, b (second) : ...
    rtol: Relative tolerance.
    atol: Absolute tolerance.
    equal_nan: Whether NaN equals NaN.
    Returns: Booleans of the common broadcast shape.
    See allclose: Whether `isclose` holds for all elements.
    >>> pt.isclose([1.0, 2.0], 1.0).eval().tolist()
    [True, False]
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

    a, b (second) : ...
    rtol: Relative tolerance.
    atol: Absolute tolerance.
    equal_nan: Whether NaN equals NaN.
    Returns: One boolean.
    See isclose: Whether |a - b| <= atol + rtol |b|.
    >>> pt.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9]).eval().item()
    True
    """
    return every(isclose(a, b, rtol, atol, equal_nan))


def nan_to_num(
    x: TensorLike, nan: TensorLike = 0.0, posinf: TensorLike | None = None, neginf: TensorLike | None = None
) -> Node:
    """`x` with NaN and infinities replaced; infinities by the greatest and least finite number for None.

    x : ...
    nan: What stands for NaN.
    posinf: What stands for infinity; the greatest number by default.
    neginf: What stands for minus infinity; the least number by default.
    Returns: Of the shape of `x`, all finite.
    See clip: Limited to an interval.
    >>> pt.nan_to_num([float("nan"), 1.0]).eval().tolist()
    [0.0, 1.0]
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
