"""Scalar functions written in others: a column of the scalar table, which whoever lacks a row of its own goes through.

Machine code, engines and derivatives are had from the formula alone, so a function by formula is one row: `defined`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from consilience.ir import FLOATS, UNSIGNED, Node, constant, constant_value
from consilience.ops.elementwise import Elementwise, apply
from consilience.ops.scalar import LARGE_SQUARE, Column, Interval, Linear, row, special

Formula: TypeAlias = Callable[..., Node]
FORMULAS: Final = Column[Formula]("formula")


def defined(
    name: str,
    numpy: Callable[..., Any],
    formula: Formula,
    *,
    arity: int = 1,
    domain: tuple[Interval, ...] | None = None,
    linear: Linear = (),
    **traits: Any,
) -> None:
    """Add a function of floats by its NumPy meaning and a formula in other scalar functions, with traits of its row."""
    row(name, arity, numpy, domain=domain, linear=linear, **traits)
    FORMULAS[name] = formula


def written(name: str) -> Callable[[Formula], Formula]:
    """The formula of a function that has its row in `ops.scalar`."""

    def enter(formula: Formula) -> Formula:
        FORMULAS[name] = formula
        return formula

    return enter


def number(x: Node, value: float) -> Node:
    """A constant in the dtype of x."""
    return constant(np.asarray(value, x.dtype))


def where(condition: Node, then: Node, otherwise: Node) -> Node:
    """`then` where the condition holds, else `otherwise`."""
    return apply("where", condition, then, otherwise)


defined("deg2rad", np.deg2rad, lambda x: x * number(x, math.pi / 180), linear="together", monotone="+", parity="odd")
defined("rad2deg", np.rad2deg, lambda x: x * number(x, 180 / math.pi), linear="together", monotone="+", parity="odd")
defined("log_expit", special("log_expit"), lambda x: -apply("softplus", -x), monotone="+")

FORMULAS["square"] = lambda x: x * x
FORMULAS["reciprocal"] = lambda x: number(x, 1) / x
FORMULAS["logit"] = lambda x: apply("log", x) - apply("log1p", -x)
FORMULAS["softplus"] = lambda x: apply("maximum", x, number(x, 0)) + apply("log1p", _decay(x))
FORMULAS["isinf"] = lambda x: apply("eq", apply("abs", x), number(x, math.inf))
FORMULAS["isfinite"] = lambda x: apply("lt", apply("abs", x), number(x, math.inf))
FORMULAS["logical_not"] = lambda x: apply("invert", x)
FORMULAS["logical_and"] = lambda x, y: apply("bitwise_and", x, y)
FORMULAS["logical_or"] = lambda x, y: apply("bitwise_or", x, y)
FORMULAS["logical_xor"] = lambda x, y: apply("bitwise_xor", x, y)


def _decay(x: Node) -> Node:
    """exp(-|x|), one node for x and -x."""
    inner = x.inputs[0] if x.op == Elementwise("neg") else x
    return apply("exp", -apply("abs", inner))


@written("sigmoid")
def _sigmoid(x: Node) -> Node:
    e = _decay(x)
    return where(x >= number(x, 0), number(x, 1), e) / (number(x, 1) + e)


@written("logaddexp")
def _logaddexp(x: Node, y: Node) -> Node:
    high = apply("maximum", x, y)
    # Equal infinities have the difference NaN; there the sum is that infinity. Written as in the derivative.
    gap = apply("add", x, -y)
    gap = where(apply("logical_and", apply("eq", x, y), apply("isnan", gap)), number(x, 0), gap)
    return high + apply("log1p", _decay(gap))


@written("logaddexp2")
def _logaddexp2(x: Node, y: Node) -> Node:
    high = apply("maximum", x, y)
    gap = where(apply("eq", x, y), number(x, 0), -apply("abs", x - y))
    return high + apply("log1p", apply("exp2", gap)) * number(x, 1 / math.log(2))


@written("log1p_square")
def _log1p_square(x: Node) -> Node:
    size = apply("abs", x)
    far = apply("gt", size, number(x, LARGE_SQUARE))
    inner = where(far, number(x, 0), x)
    half = apply("log1p", where(far, size - number(x, 1), inner * inner))  # one logarithm
    return where(far, half + half, half)


@written("xlogy")
def _xlogy(x: Node, y: Node) -> Node:
    known = constant_value(x)
    return x * apply("log", y) if known is not None and known.all() else _zero_or(x, y, apply("log", y))


@written("xlog1py")
def _xlog1py(x: Node, y: Node) -> Node:
    return _zero_or(x, y, apply("log1p", y))


def _zero_or(x: Node, y: Node, logarithm: Node) -> Node:
    zero = apply("logical_and", apply("eq", x, 0), apply("logical_not", apply("isnan", y)))
    return where(zero, number(x, 0), x * logarithm)


@written("sign")
def _sign(x: Node) -> Node:
    zero, one = number(x, 0), number(x, 1)
    if x.dtype in UNSIGNED:
        return where(apply("eq", x, zero), zero, one)
    signed = where(x > zero, one, where(x < zero, -one, zero))
    return where(apply("isnan", x), x, signed) if x.dtype in FLOATS else signed


@written("hypot")
def _hypot(x: Node, y: Node) -> Node:
    a, b = apply("abs", x), apply("abs", y)
    high, low = apply("maximum", a, b), apply("minimum", a, b)
    ratio = where(apply("eq", high, 0), number(x, 0), low / high)
    finite = high * apply("sqrt", ratio * ratio + number(x, 1))
    infinite = apply("logical_or", apply("isinf", x), apply("isinf", y))
    return where(infinite, number(x, math.inf), finite)


@written("heaviside")
def _heaviside(x: Node, middle: Node) -> Node:
    step = where(x > number(x, 0), number(x, 1), where(apply("eq", x, 0), middle, number(x, 0)))
    return where(apply("isnan", x), x, step)


def _of_numbers(extremum: str) -> Formula:
    """The extremum of those of two arguments that are numbers."""

    def formula(x: Node, y: Node) -> Node:
        both = apply(extremum, x, y)
        return where(apply("isnan", x), y, where(apply("isnan", y), x, both)) if x.dtype in FLOATS else both

    return formula


FORMULAS["fmin"] = _of_numbers("minimum")
FORMULAS["fmax"] = _of_numbers("maximum")
