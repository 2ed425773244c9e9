"""Scalar functions as operations of StableHLO and CHLO.

An elementwise node and the values of its operands in, lines of the text out; broadcasting is written out. A function
that neither has is written in others, or refused by name.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from consilience.engines.stablehlo.emit.scope import HloScope, prints, shape_of
from consilience.engines.stablehlo.emit.text import HloValue
from consilience.errors import MissingRuleError
from consilience.ir import Node, constant
from consilience.ir.side_tables import describe
from consilience.lower.expand import SCALARS
from consilience.ops import TABLE, Elementwise, apply

_DIRECT: Final = {
    "sub": "subtract", "true_div": "divide", "neg": "negate", "sqrt": "sqrt", "cbrt": "cbrt", "minimum": "minimum",
    "maximum": "maximum", "floor": "floor", "ceil": "ceil", "round": "round_nearest_even", "exp": "exponential",
    "expm1": "exponential_minus_one", "log": "log", "log1p": "log_plus_one", "sin": "sine", "cos": "cosine",
    "tan": "tan", "tanh": "tanh", "arctan2": "atan2", "sigmoid": "logistic", "pow": "power",
    "logical_and": "and", "logical_or": "or", "logical_xor": "xor", "logical_not": "not", "bitwise_and": "and",
    "bitwise_or": "or", "bitwise_xor": "xor", "invert": "not", "left_shift": "shift_left", "add": "add",
    "mul": "multiply",
}  # fmt: skip
_CHLO: Final = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "erf": "erf", "erfc": "erfc", "erfinv": "erf_inv", "gammaln": "lgamma",
    "digamma": "digamma", "zeta": "zeta", "i1e": "bessel_i1e",
}  # fmt: skip
_COMPARED: Final = {"eq": "EQ", "neq": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}


def _number(x: Node, value: float) -> Node:
    return constant(np.asarray(value, x.dtype))


def _where(which: Node, x: Node, y: Node) -> Node:
    return apply("where", which, x, y)


def _signbit(x: Node) -> Node:
    """Of zeros, by the sign of their reciprocals."""
    zero = _number(x, 0)
    return apply(
        "logical_or", apply("lt", x, zero),
        apply("logical_and", apply("eq", x, zero), apply("lt", apply("true_div", _number(x, 1), x), zero)),
    )  # fmt: skip


def _mod(x: Node, y: Node) -> Node:
    """The remainder with the sign of the divisor."""
    rest, zero = apply("fmod", x, y), _number(x, 0)
    other = apply("neq", apply("lt", rest, zero), apply("lt", y, zero))
    return _where(apply("logical_and", apply("neq", rest, zero), other), apply("add", rest, y), rest)


def _floor_div(x: Node, y: Node) -> Node:
    """Of floats."""
    exact = apply("round", apply("true_div", apply("sub", x, apply("mod", x, y)), y))
    return _where(apply("eq", y, _number(y, 0)), apply("true_div", x, y), exact)


def _log1mexp(x: Node) -> Node:
    """Two forms, as in Maechler (2012)."""
    near = apply("log", apply("neg", apply("expm1", x)))
    return _where(apply("gt", x, _number(x, -math.log(2))), near, apply("log1p", apply("neg", apply("exp", x))))


def _asymptotic(x: Node, terms: int) -> Node:
    """1 - y + 3 y^2 - 15 y^3 ... at y = 1 / x^2, the factor of a Gaussian's tail (Abramowitz and Stegun 26.2.12)."""
    per_square = apply("true_div", _number(x, -1), apply("square", x))
    series = _number(x, 1)
    for i in range(terms, 0, -1):
        series = apply("add", _number(x, 1), per_square * _number(x, 2 * i - 1) * series)
    return series


def _erfcx(x: Node) -> Node:
    """By erfc where it is a number, and far above by the asymptotic series."""
    border, terms = (20.0, 7) if x.dtype == "float64" else (6.0, 6)
    far = apply("gt", x, _number(x, border))
    high, low = _where(far, x, _number(x, border)), _where(far, _number(x, border), x)
    above = _asymptotic(high * _number(x, math.sqrt(2)), terms) / (high * _number(x, math.sqrt(math.pi)))
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
    one, two = _number(t, 0), _number(t, 0)
    for coefficient in series[:0:-1]:
        one, two = _number(t, coefficient) + (t + t) * one - two, one
    return _number(t, series[0]) + t * one - two


def _by_series(name: str, size: Node, power: float) -> Node:
    """A function of positive numbers that decays as a power."""
    near, far = _series(name, power)
    eight = _number(size, 8)
    low, high = apply("minimum", size, eight), apply("maximum", size, eight)
    below = _chebyshev(low * _number(size, 0.25) - _number(size, 1), near)
    above = _chebyshev(_number(size, 16) / high - _number(size, 1), far)
    for _ in range(int(power)):
        above = above / high
    return _where(apply("le", size, eight), below, above / apply("sqrt", high))


def _log_ndtr(x: Node) -> Node:
    """By erfc where it is a number, and far below by the asymptotic series."""
    border, terms = (20.0, 9) if x.dtype == "float64" else (8.0, 6)
    far = apply("lt", x, _number(x, -border))
    low = _where(far, x, _number(x, -border))
    below = (
        apply("log", _asymptotic(low, terms)) - apply("square", low) * _number(x, 0.5) - apply("log", apply("neg", low))
    )
    half = apply("erfc", apply("abs", x) * _number(x, 1 / math.sqrt(2))) * _number(x, 0.5)
    near = _where(apply("lt", x, _number(x, 0)), apply("log", half), apply("log1p", apply("neg", half)))
    return _where(far, below - _number(x, 0.5 * math.log(2 * math.pi)), near)


# Functions that neither StableHLO nor `lower` writes, in those that are.
_OTHERS: Final[dict[str, Callable[..., Node]]] = {
    "trunc": lambda x: _where(apply("lt", x, _number(x, 0)), apply("ceil", x), apply("floor", x)),
    "signbit": _signbit,
    "copysign": lambda x, y: _where(apply("signbit", y), apply("neg", apply("abs", x)), apply("abs", x)),
    "exp2": lambda x: apply("pow", _number(x, 2), x),
    "log2": lambda x: apply("mul", apply("log", x), _number(x, 1 / math.log(2))),
    "log10": lambda x: apply("mul", apply("log", x), _number(x, 1 / math.log(10))),
    "betaln": lambda a, b: apply("gammaln", a) + apply("gammaln", b) - apply("gammaln", apply("add", a, b)),
    "mod": _mod,
    "log1mexp": _log1mexp,
    "log_ndtr": _log_ndtr,
    "erfcx": _erfcx,
    "i0e": lambda x: _by_series("i0e", apply("abs", x), 0.5),
    "i0e_slope": lambda x: apply("sign", x) * _by_series("i0e_slope", apply("abs", x), 1.5),
    "i0": lambda x: apply("i0e", x) * apply("exp", apply("abs", x)),
    "i1": lambda x: apply("i1e", x) * apply("exp", apply("abs", x)),
}


def _remainder(scope: HloScope, x: HloValue, y: HloValue) -> HloValue:
    """With the sign of the dividend; of integers by 0 it is 0, as in NumPy."""
    w = scope.writer
    rest = w.same("stablehlo.remainder", x, y)
    if x.dtype.startswith("float"):
        return rest
    zero = w.full(0, x.shape, x.dtype)
    return w.select(w.compare("EQ", y, zero), zero, rest)


def _integer_quotient(scope: HloScope, x: HloValue, y: HloValue) -> HloValue:
    """Rounded down: the quotient rounded towards 0, less 1 where a rest has the sign that the divisor has not.

    By 0 it is 0, as in NumPy.
    """
    w = scope.writer
    zero, rest = w.full(0, x.shape, x.dtype), _remainder(scope, x, y)
    quotient = w.select(w.compare("EQ", y, zero), zero, w.same("stablehlo.divide", x, y))
    if x.dtype.startswith("uint"):
        return quotient
    other = w.compare("NE", w.compare("LT", rest, zero), w.compare("LT", y, zero))
    less = w.same("stablehlo.and", other, w.compare("NE", rest, zero))
    return w.select(less, w.same("stablehlo.subtract", quotient, w.full(1, x.shape, x.dtype)), quotient)


@prints(Elementwise)
def _elementwise(scope: HloScope, node: Node, *values: HloValue) -> HloValue:
    w, shape = scope.writer, shape_of(node)
    name: str = node.op.function  # type: ignore[attr-defined]  # Elementwise
    if name in _OTHERS:
        return scope.expanded(node, _OTHERS[name](*node.inputs))
    if name == "floor_div" and node.dtype.startswith("float"):
        return scope.expanded(node, _floor_div(*node.inputs))
    given = [w.broadcast(v, shape) for v in values]
    special = _SPECIAL.get(name)
    if special is not None:
        return special(scope, *given)
    if name in _COMPARED:
        return w.compare(_COMPARED[name], given[0], given[1])
    if name in _DIRECT:
        found = given[0]
        for other in given[1:]:
            found = w.same(f"stablehlo.{_DIRECT[name]}", found, other)
        return found if len(given) > 1 else w.same(f"stablehlo.{_DIRECT[name]}", found)
    if name in _CHLO:
        return w.chlo(_CHLO[name], *given)
    if name in SCALARS:
        return scope.expanded(node, SCALARS[name](*node.inputs))
    raise MissingRuleError(
        f"`{name}` has no form in StableHLO, in {describe(node)}; compute it outside, and give the result as an input."
    )


def _abs(scope: HloScope, x: HloValue) -> HloValue:
    return x if x.dtype.startswith("uint") else scope.writer.same("stablehlo.abs", x)


def _sign(scope: HloScope, x: HloValue) -> HloValue:
    w = scope.writer
    if not x.dtype.startswith("uint"):
        return w.same("stablehlo.sign", x)
    return w.convert(w.compare("NE", x, w.full(0, x.shape, x.dtype)), x.dtype)


def part(name: str) -> Callable[[HloScope, HloValue], HloValue]:
    """What writes a real part of complex numbers: `real`, `imag` or `abs`."""
    return lambda scope, x: scope.writer.op(f"stablehlo.{name}", [x], x.shape, real_of(x.dtype))


def real_of(dtype: str) -> str:
    """The dtype of the parts of complex numbers."""
    return {"complex128": "float64", "complex64": "float32"}[dtype]


def complex_of(scope: HloScope, x: HloValue, y: HloValue) -> HloValue:
    """Complex numbers of real and imaginary parts."""
    return scope.writer.op("stablehlo.complex", [x, y], x.shape, {"float32": "complex64"}.get(x.dtype, "complex128"))


def _angle(scope: HloScope, x: HloValue) -> HloValue:
    return scope.writer.same("stablehlo.atan2", part("imag")(scope, x), part("real")(scope, x))


def _conj(scope: HloScope, x: HloValue) -> HloValue:
    w = scope.writer
    return complex_of(scope, part("real")(scope, x), w.same("stablehlo.negate", part("imag")(scope, x)))


def _trigamma(scope: HloScope, x: HloValue) -> HloValue:
    return scope.writer.chlo("polygamma", scope.writer.full(1, x.shape, x.dtype), x)


def _right_shift(scope: HloScope, x: HloValue, by: HloValue) -> HloValue:
    way = "logical" if x.dtype.startswith("uint") else "arithmetic"
    return scope.writer.same(f"stablehlo.shift_right_{way}", x, by)


_SPECIAL: Final[dict[str, Callable[..., HloValue]]] = {
    "abs": _abs, "sign": _sign, "modulus": part("abs"), "real": part("real"), "imag": part("imag"),
    "complex": complex_of, "angle": _angle, "conj": _conj, "trigamma": _trigamma, "right_shift": _right_shift,
    "floor_div": _integer_quotient, "fmod": _remainder,
    "isnan": lambda scope, x: scope.writer.compare("NE", x, x),
    "isfinite": lambda scope, x: scope.writer.op("stablehlo.is_finite", [x], x.shape, "bool"),
    "where": lambda scope, which, x, y: scope.writer.select(which, x, y),
}  # fmt: skip
