"""Scalar functions that can be inverted: one row each, with inverse and logarithm of its slope."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

from consilience.distributions.constraints import Bound
from consilience.distributions.mathematics import (
    LOG_2,
    LOG_PI,
    LOG_SQRT_2_PI,
    PI,
    SQRT_2,
    absolute,
    erf,
    erfc,
    erfinv,
    exp,
    expm1,
    log,
    log1mexp,
    log1p,
    log1p_square,
    log_ndtr,
    logit,
    ndtri,
    reciprocal,
    sigmoid,
    softplus,
    sqrt,
    square,
    tan,
)
from consilience.ir import Node
from consilience.logprob.measure import EVERYWHERE
from consilience.ops.elementwise import apply
from consilience.ops.scalar import TABLE, Column
from consilience.record import Record

Function: TypeAlias = Callable[[Node], Node]
HALF_PI: Final = 0.5 * PI
REAL: Final = (-math.inf, math.inf)
LN_10: Final = math.log(10.0)


class Bijection(Record):
    """A function y = f(x) that is strictly monotone on each side of at most one point.

    `inverse`: the x of a y of the image; of an even function the one >= 0.
    `log_slope`: function (x, y) -> log |dx / dy|.
    `increasing`: whether f increases; a bool tensor where a parameter decides. Of an even function for x >= 0, of one
        with a pole on each side of it.
    `domain`: ends of the numbers that f takes.
    `image`: ends of its values.
    `even`: `f(-x) = f(x)`: two branches.
    `pole`: `f` is odd and infinite at 0, and falls on both sides of it.
    """

    forward: Function
    inverse: Function
    log_slope: Callable[[Node, Node], Node]
    increasing: bool | Node = True
    domain: tuple[Bound, Bound] = EVERYWHERE
    image: tuple[Bound, Bound] = EVERYWHERE
    even: bool = False
    pole: bool = False


ROWS: Final = Column[Bijection]("inverse")


def row(
    name: str,
    inverse: Function,
    log_slope: Callable[[Node, Node], Node],
    *,
    domain: tuple[float, float] = REAL,
    image: tuple[float, float] = REAL,
    pole: bool = False,
) -> None:
    """Add a function of the scalar table, which tells whether it is even and whether it rises."""

    def forward(x: Node) -> Node:
        return apply(name, x)

    function = TABLE[name]
    even = function.parity == "even"
    ROWS[name] = Bijection(forward, inverse, log_slope, even or function.monotone == "+", domain, image, even, pole)


def _log_cosh(x: Node) -> Node:
    size = absolute(x)
    return size + log1p(exp(-2.0 * size)) - LOG_2


def _log_sinh(x: Node) -> Node:
    return x + log1mexp(-2.0 * x) - LOG_2


POSITIVE: Final = (0.0, math.inf)
row("neg", lambda y: -y, lambda x, y: 0.0 * y)
row("abs", lambda y: y, lambda x, y: 0.0 * y, image=POSITIVE)
row("square", sqrt, lambda x, y: -LOG_2 - 0.5 * log(y), image=POSITIVE)
row("sqrt", square, lambda x, y: LOG_2 + log(y), domain=POSITIVE, image=POSITIVE)
row("cbrt", lambda y: y * square(y), lambda x, y: math.log(3.0) + 2.0 * log(absolute(y)))
row("reciprocal", reciprocal, lambda x, y: -2.0 * log(absolute(y)), pole=True)

row("exp", log, lambda x, y: -x, image=POSITIVE)
row("exp2", lambda y: apply("log2", y), lambda x, y: -LOG_2 * x - math.log(LOG_2), image=POSITIVE)
row("expm1", log1p, lambda x, y: -x, image=(-1.0, math.inf))
row("log", exp, lambda x, y: y, domain=POSITIVE)
row("log2", lambda y: apply("exp2", y), lambda x, y: LOG_2 * y + math.log(LOG_2), domain=POSITIVE)
row("log10", lambda y: apply("pow", 10.0, y), lambda x, y: LN_10 * y + math.log(LN_10), domain=POSITIVE)
row("log1p", expm1, lambda x, y: y, domain=(-1.0, math.inf))
row("softplus", lambda y: y + log1mexp(-y), lambda x, y: -log1mexp(-y), image=POSITIVE)
row("sigmoid", logit, lambda x, y: softplus(x) + softplus(-x), image=(0.0, 1.0))
row("logit", sigmoid, lambda x, y: -softplus(y) - softplus(-y), domain=(0.0, 1.0))
row("log_expit", lambda y: y - log1mexp(y), lambda x, y: softplus(x), image=(-math.inf, 0.0))
row("log1mexp", log1mexp, lambda x, y: y - x, domain=(-math.inf, 0.0), image=(-math.inf, 0.0))  # its own inverse

row("sinh", lambda y: apply("arcsinh", y), lambda x, y: -0.5 * log1p_square(y))
row(
    "cosh",
    lambda y: apply("arccosh", y),
    lambda x, y: -0.5 * (log(y - 1.0) + log1p(y)),
    image=(1.0, math.inf),
)
row("tanh", lambda y: apply("arctanh", y), lambda x, y: 2.0 * _log_cosh(x), image=(-1.0, 1.0))
row("arcsinh", lambda y: apply("sinh", y), lambda x, y: _log_cosh(y))
row("arccosh", lambda y: apply("cosh", y), lambda x, y: _log_sinh(y), domain=(1.0, math.inf), image=POSITIVE)
row("arctanh", lambda y: apply("tanh", y), lambda x, y: -2.0 * _log_cosh(y), domain=(-1.0, 1.0))
row(
    "arcsin",
    lambda y: apply("sin", y),
    lambda x, y: log(apply("cos", y)),
    domain=(-1.0, 1.0),
    image=(-HALF_PI, HALF_PI),
)
row(
    "arccos",
    lambda y: apply("cos", y),
    lambda x, y: log(apply("sin", y)),
    domain=(-1.0, 1.0),
    image=(0.0, PI),
)
row("arctan", tan, lambda x, y: log1p_square(x), image=(-HALF_PI, HALF_PI))
row("deg2rad", lambda y: apply("rad2deg", y), lambda x, y: 0.0 * y + math.log(180.0 / PI))
row("rad2deg", lambda y: apply("deg2rad", y), lambda x, y: 0.0 * y - math.log(180.0 / PI))

row("erf", erfinv, lambda x, y: square(x) + 0.5 * LOG_PI - LOG_2, image=(-1.0, 1.0))
row(
    "erfc",
    lambda y: ndtri(0.5 * y) * (-1.0 / SQRT_2),
    lambda x, y: square(x) + 0.5 * LOG_PI - LOG_2,
    image=(0.0, 2.0),
)
row("erfinv", erf, lambda x, y: LOG_2 - 0.5 * LOG_PI - square(y), domain=(-1.0, 1.0))
row(
    "ndtri", lambda y: 0.5 * erfc(y * (-1.0 / SQRT_2)), lambda x, y: -0.5 * square(y) - LOG_SQRT_2_PI, domain=(0.0, 1.0)
)
row(
    "log_ndtr",
    lambda y: ndtri(exp(y)),
    lambda x, y: y + 0.5 * square(x) + LOG_SQRT_2_PI,
    image=(-math.inf, 0.0),
)
row("ndtri_exp", log_ndtr, lambda x, y: -x - 0.5 * square(y) - LOG_SQRT_2_PI, domain=(-math.inf, 0.0))
