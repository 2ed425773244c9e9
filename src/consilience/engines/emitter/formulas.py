"""Formulas of scalar functions for engines that lack them.

The name of a function and the types of its operands in; an expression in functions that engines have out.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import numpy as np

from consilience.ir import Node, TensorType, constant, tensor_input
from consilience.lower.expand import SCALARS
from consilience.ops import TABLE, apply
from consilience.ops.log_beta import SERIES_FROM, STIRLING
from consilience.ops.scalar import Column


def number(x: Node, value: float) -> Node:
    """A number of the dtype of x."""
    return constant(np.asarray(value, x.dtype))


def _where(which: Node, x: Node, y: Node) -> Node:
    return apply("where", which, x, y)


def _signbit(x: Node) -> Node:
    """Of zeros, by the sign of their reciprocals."""
    zero = number(x, 0)
    return apply(
        "logical_or", apply("lt", x, zero),
        apply("logical_and", apply("eq", x, zero), apply("lt", apply("true_div", number(x, 1), x), zero)),
    )  # fmt: skip


def _mod(x: Node, y: Node) -> Node:
    """The remainder with the sign of the divisor."""
    rest, zero = apply("fmod", x, y), number(x, 0)
    other = apply("neq", apply("lt", rest, zero), apply("lt", y, zero))
    return _where(apply("logical_and", apply("neq", rest, zero), other), apply("add", rest, y), rest)


def _log1mexp(x: Node) -> Node:
    """Two forms, as in Maechler (2012)."""
    near = apply("log", apply("neg", apply("expm1", x)))
    return _where(apply("gt", x, number(x, -math.log(2))), near, apply("log1p", apply("neg", apply("exp", x))))


def _asymptotic(x: Node, terms: int) -> Node:
    """1 - y + 3 y^2 - 15 y^3 ... at y = 1 / x^2, the factor of a Gaussian's tail (Abramowitz and Stegun 26.2.12)."""
    per_square = apply("true_div", number(x, -1), apply("square", x))
    series = number(x, 1)
    for i in range(terms, 0, -1):
        series = apply("add", number(x, 1), per_square * number(x, 2 * i - 1) * series)
    return series


def _erfcx(x: Node) -> Node:
    """By erfc where it is a number, and far above by the asymptotic series."""
    border, terms = (20.0, 7) if x.dtype == "float64" else (6.0, 6)
    far = apply("gt", x, number(x, border))
    high, low = _where(far, x, number(x, border)), _where(far, number(x, border), x)
    above = _asymptotic(high * number(x, math.sqrt(2)), terms) / (high * number(x, math.sqrt(math.pi)))
    return _where(far, above, apply("exp", apply("square", low)) * apply("erfc", low))


@functools.cache
def _series(name: str, power: float) -> tuple[list[float], list[float]]:
    """Chebyshev series of f(x) on [0, 8], and of x^power f(x) beyond, in 16 / x."""
    from numpy.polynomial.chebyshev import chebinterpolate

    f, fit = TABLE[name].numpy, cast(Any, chebinterpolate)
    return fit(lambda t: f(4 * (t + 1)), 30).tolist(), fit(
        lambda t: (16 / (t + 1)) ** power * f(16 / (t + 1)), 26
    ).tolist()


def _chebyshev(t: Node, series: list[float]) -> Node:
    """The sum of a series by Clenshaw's recurrence."""
    one, two = number(t, 0), number(t, 0)
    for coefficient in series[:0:-1]:
        one, two = number(t, coefficient) + (t + t) * one - two, one
    return number(t, series[0]) + t * one - two


def _by_series(name: str, size: Node, power: float) -> Node:
    """A function of positive numbers that decays as a power."""
    near, far = _series(name, power)
    eight = number(size, 8)
    low, high = apply("minimum", size, eight), apply("maximum", size, eight)
    below = _chebyshev(low * number(size, 0.25) - number(size, 1), near)
    above = _chebyshev(number(size, 16) / high - number(size, 1), far)
    for _ in range(int(power)):
        above = above / high
    return _where(apply("le", size, eight), below, above / apply("sqrt", high))


def _log_ndtr(x: Node) -> Node:
    """By erfc where it is a number, and far below by the asymptotic series."""
    border, terms = (20.0, 9) if x.dtype == "float64" else (8.0, 6)
    far = apply("lt", x, number(x, -border))
    low = _where(far, x, number(x, -border))
    below = (
        apply("log", _asymptotic(low, terms)) - apply("square", low) * number(x, 0.5) - apply("log", apply("neg", low))
    )
    half = apply("erfc", apply("abs", x) * number(x, 1 / math.sqrt(2))) * number(x, 0.5)
    near = _where(apply("lt", x, number(x, 0)), apply("log", half), apply("log1p", apply("neg", half)))
    return _where(far, below - number(x, 0.5 * math.log(2 * math.pi)), near)


def _rest(x: Node) -> Node:
    inverse = number(x, 1) / apply("maximum", x, number(x, SERIES_FROM))
    square, series = inverse * inverse, number(x, STIRLING[-1])
    for coefficient in STIRLING[-2::-1]:
        series = series * square + number(x, coefficient)
    return inverse * series


def _betaln(a: Node, b: Node) -> Node:
    """As in `ops.log_beta`."""
    zero, infinity = number(a, 0), number(a, math.inf)
    small, large = apply("minimum", a, b), apply("maximum", a, b)
    total = small + large
    growth = (large - number(a, 0.5)) * apply("log1p", small / large) + small * (apply("log", total) - number(a, 1))
    far = apply("gammaln", small) - (growth + _rest(total) - _rest(large))
    near = apply("gammaln", a) + apply("gammaln", b) - apply("gammaln", total)
    near = _where(apply("logical_and", apply("eq", a, zero), apply("eq", b, zero)), infinity, near)
    positive, infinite = apply("gt", small, zero), apply("eq", total, infinity)
    ends = apply("logical_and", apply("logical_and", positive, infinite), apply("lt", small, infinity))
    large = apply("logical_and", apply("gt", large, number(a, SERIES_FROM)), apply("lt", total, infinity))
    return _where(apply("logical_and", positive, large), far, _where(ends, -infinity, near))


def _unscaled(name: str) -> Callable[[Node], Node]:
    """A Bessel function by the one that is scaled by exp(-|x|), with its limits."""

    def of(x: Node) -> Node:
        size = apply("abs", x)
        return _where(apply("isinf", x), size if name == "i0e" else x, apply(name, x) * apply("exp", size))

    return of


FORMULAS: Final[Mapping[str, Callable[..., Node]]] = {
    **SCALARS,
    **Column("formula for engines", {
    "trunc": lambda x: _where(apply("lt", x, number(x, 0)), apply("ceil", x), apply("floor", x)),
    "signbit": _signbit,
    "copysign": lambda x, y: _where(apply("signbit", y), apply("neg", apply("abs", x)), apply("abs", x)),
    "exp2": lambda x: apply("pow", number(x, 2), x),
    "log2": lambda x: apply("mul", apply("log", x), number(x, 1 / math.log(2))),
    "log10": lambda x: apply("mul", apply("log", x), number(x, 1 / math.log(10))),
    "betaln": _betaln,
    "mod": _mod,
    "log1mexp": _log1mexp,
    "log_ndtr": _log_ndtr,
    "erfcx": _erfcx,
    "i0e": lambda x: _by_series("i0e", apply("abs", x), 0.5),
    "i0e_slope": lambda x: apply("sign", x) * _by_series("i0e_slope", apply("abs", x), 1.5),
    "i0": _unscaled("i0e"),
    "i1": _unscaled("i1e"),
    }),
}  # fmt: skip
"""How functions are written for an engine that lacks them: those for which machine code has code of its own, and those
that `lower` writes out too."""


@functools.lru_cache(maxsize=4096)
def written(function: str, operands: tuple[TensorType, ...]) -> tuple[list[Node], Node] | None:
    """Leaves of these types, and the function of them in functions that engines have; None where it has no formula."""
    if function not in FORMULAS:
        return None
    leaves = [tensor_input(t.dtype, t.shape, f"x{i}") for i, t in enumerate(operands)]
    return leaves, FORMULAS[function](*leaves)
