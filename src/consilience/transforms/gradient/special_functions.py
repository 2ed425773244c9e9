"""Pullbacks of Bessel functions, integral functions and hypergeometric functions.

As in `scalar`: `g` is the cotangent of the result `y`. Derivatives in orders of Bessel functions are not known here;
those in parameters of hypergeometric functions are functions of their own, which have a derivative in the argument.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from consilience.ir import Node
from consilience.ops import apply
from consilience.transforms.gradient.scalar import Slope, derivative, unknown

where = partial(apply, "where")
eq = partial(apply, "eq")


def _order(name: str) -> Slope:
    return unknown(f"{name} with respect to its order", "treat the order as data.")


def _mean(name: str, v: Node, x: Node) -> Node:
    """Of the neighbours in the order."""
    return 0.5 * (apply(name, v - 1.0, x) + apply(name, v + 1.0, x))


def _difference(name: str, v: Node, x: Node) -> Node:
    return 0.5 * (apply(name, v - 1.0, x) - apply(name, v + 1.0, x))


def _over(y: Node, x: Node, series: Sequence[float], decay: bool = False) -> Node:
    """y / x of an odd y, within 1 by its series in x**2 (over exp(|x|) with `decay`), whose slopes do not cancel."""
    near = apply("lt", apply("abs", x), 1.0)
    close = where(near, x, 0.0)
    square = apply("square", close)
    quotient: Node | float = series[-1]
    for coefficient in reversed(series[:-1]):
        quotient = coefficient + square * quotient
    if decay:
        quotient = quotient * apply("exp", -apply("abs", close))
    return where(near, quotient, y / where(near, 1.0, x))


_TERMS = range(10)
_FIRST = [0.5 * 0.25**k / (math.factorial(k) * math.factorial(k + 1)) for k in _TERMS]  # of I_1(x) / x
_FIRST_SIGNED = [(-1) ** k * c for k, c in enumerate(_FIRST)]  # of J_1(x) / x
_SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in _TERMS]


def _excess(x: Node) -> Node:
    """i0e(x) - |i1e(x)|, which does not cancel far out."""
    return where(eq(x, 0.0), 1.0, -apply("sign", x) * apply("i0e_slope", x))


# Modified Bessel functions (DLMF 10.29), also over exp(|x|) and times exp(x).
derivative("i0", lambda g, y, x: g * apply("i1", x))
derivative("i1", lambda g, y, x: g * (apply("i0", x) - _over(y, x, _FIRST)))
derivative("i0e", lambda g, y, x: g * apply("i0e_slope", x))
derivative("i1e", lambda g, y, x: g * (_excess(x) - _over(y, x, _FIRST, decay=True)))
derivative("i0e_slope", lambda g, y, x: g * (2.0 * _excess(x) - _over(apply("i1e", x), x, _FIRST, decay=True)))
derivative("iv", _order("iv"), lambda g, y, v, x: g * _mean("iv", v, x))
derivative("ive", _order("ive"), lambda g, y, v, x: g * apply("ive_slope", v, x))
derivative(
    "ive_slope",
    _order("ive"),
    lambda g, y, v, x: g * (_mean("ive_slope", v, x) - apply("sign", x) * y),
)
derivative("k0", lambda g, y, x: -g * apply("k1", x))
derivative("k1", lambda g, y, x: -g * (apply("k0", x) + y / x))
derivative("k0e", lambda g, y, x: g * apply("kve_slope", 0.0, x))
derivative("k1e", lambda g, y, x: g * apply("kve_slope", 1.0, x))
derivative("kv", _order("kv"), lambda g, y, v, x: -g * _mean("kv", v, x))
derivative("kve", _order("kve"), lambda g, y, v, x: g * apply("kve_slope", v, x))
derivative("kve_slope", _order("kve"), lambda g, y, v, x: g * (y - _mean("kve_slope", v, x)))

# Bessel functions of the first and the second kind (DLMF 10.6).
derivative("j0", lambda g, y, x: -g * apply("j1", x))
derivative("j1", lambda g, y, x: g * (apply("j0", x) - _over(y, x, _FIRST_SIGNED)))
derivative("jv", _order("jv"), lambda g, y, v, x: g * _difference("jv", v, x))
derivative("y0", lambda g, y, x: -g * apply("y1", x))
derivative("y1", lambda g, y, x: g * (apply("y0", x) - y / x))
derivative("yv", _order("yv"), lambda g, y, v, x: g * _difference("yv", v, x))

# Functions defined by integrals.


def _exponential_integral(g: Node, y: Node, n: Node, x: Node) -> Node:
    decay = apply("exp", -x)
    first = eq(n, 0.0)
    return -g * where(first, decay * (1.0 + x) / apply("square", x), apply("expn", where(first, 0.0, n - 1.0), x))


def _dawson(g: Node, y: Node, x: Node) -> Node:
    """1 - 2 x y, far out by its asymptotic series (DLMF 7.12.1)."""
    far = apply("gt", apply("abs", x), 12.0)
    u = 0.5 / apply("square", where(far, x, 12.0))
    series: Node | float = 1.0
    for k in range(14, 1, -1):
        series = 1.0 + (2 * k - 1) * u * series
    return g * where(far, -u * series, 1.0 - 2.0 * x * y)


def _dilogarithm(g: Node, y: Node, x: Node) -> Node:
    """log(x) / (1 - x), near 1 by its series."""
    t = x - 1.0
    near = apply("lt", apply("abs", t), 0.01)
    close = where(near, t, 0.0)
    series: Node | float = 1.0 / 9.0
    for k in range(8, 0, -1):
        series = 1.0 / k - close * series
    return g * where(near, -series, apply("log", where(near, 2.0, x)) / where(near, 1.0, -t))


derivative("exp1", lambda g, y, x: -g * (apply("exp", -x) / x))
derivative("expi", lambda g, y, x: g * (apply("exp", x) / x))
derivative("expn", unknown("expn with respect to its order", "the order is a whole number."), _exponential_integral)
derivative("sine_integral", lambda g, y, x: g * _over(apply("sin", x), x, _SINE))
derivative("cosine_integral", lambda g, y, x: g * (apply("cos", x) / x))
derivative("dawsn", _dawson)
derivative("spence", _dilogarithm)
# As hypergeometric functions (DLMF 19.5): without the division by m of the usual formulas.
derivative("ellipk", lambda g, y, m: g * (math.pi / 8 * apply("hyp2f1", 1.5, 1.5, 2.0, m)))
derivative("ellipe", lambda g, y, m: g * (-math.pi / 8 * apply("hyp2f1", 0.5, 1.5, 2.0, m)))

# Hypergeometric functions (DLMF 13.3, 15.5). The slope of a slope in a parameter is not known, that in the argument is.


def _twice(name: str) -> Slope:
    return unknown(f"a derivative of {name} in a parameter, again in a parameter", "take one such derivative only.")


derivative(
    "hyp1f1",
    lambda g, y, a, b, z: g * apply("hyp1f1_slope_a", a, b, z),
    lambda g, y, a, b, z: g * apply("hyp1f1_slope_b", a, b, z),
    lambda g, y, a, b, z: g * (a / b * apply("hyp1f1", a + 1.0, b + 1.0, z)),
)
derivative(
    "hyp1f1_slope_a",
    _twice("hyp1f1"),
    _twice("hyp1f1"),
    lambda g, y, a, b, z: (
        g * ((apply("hyp1f1", a + 1.0, b + 1.0, z) + a * apply("hyp1f1_slope_a", a + 1.0, b + 1.0, z)) / b)
    ),
)
derivative(
    "hyp1f1_slope_b",
    _twice("hyp1f1"),
    _twice("hyp1f1"),
    lambda g, y, a, b, z: (
        g * (a / b * (apply("hyp1f1_slope_b", a + 1.0, b + 1.0, z) - apply("hyp1f1", a + 1.0, b + 1.0, z) / b))
    ),
)


def _next(name: str, a: Node, b: Node, c: Node, z: Node) -> Node:
    """The function whose parameters are each greater by one."""
    return apply(name, a + 1.0, b + 1.0, c + 1.0, z)


derivative(
    "hyp2f1",
    lambda g, y, a, b, c, z: g * apply("hyp2f1_slope_a", a, b, c, z),
    lambda g, y, a, b, c, z: g * apply("hyp2f1_slope_a", b, a, c, z),
    lambda g, y, a, b, c, z: g * apply("hyp2f1_slope_c", a, b, c, z),
    lambda g, y, a, b, c, z: g * (a * b / c * _next("hyp2f1", a, b, c, z)),
)
derivative(
    "hyp2f1_slope_a",
    _twice("hyp2f1"),
    _twice("hyp2f1"),
    _twice("hyp2f1"),
    lambda g, y, a, b, c, z: g * (b / c * (_next("hyp2f1", a, b, c, z) + a * _next("hyp2f1_slope_a", a, b, c, z))),
)
derivative(
    "hyp2f1_slope_c",
    _twice("hyp2f1"),
    _twice("hyp2f1"),
    _twice("hyp2f1"),
    lambda g, y, a, b, c, z: g * (a * b / c * (_next("hyp2f1_slope_c", a, b, c, z) - _next("hyp2f1", a, b, c, z) / c)),
)
