"""Scalar functions as operations of StableHLO and CHLO.

An elementwise node and the values of its operands in, lines of the text out; broadcasting is written out. A function
that neither has is written in others, or refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from consilience.engines.emitter.formulas import FORMULAS, number
from consilience.engines.stablehlo.emit.scope import HloScope, prints, shape_of
from consilience.engines.stablehlo.emit.text import HloValue
from consilience.errors import MissingRuleError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ops import Elementwise, apply

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


def _floor_div(x: Node, y: Node) -> Node:
    """Of floats."""
    exact = apply("round", apply("true_div", apply("sub", x, apply("mod", x, y)), y))
    return apply("where", apply("eq", y, number(y, 0)), apply("true_div", x, y), exact)


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
    if name in FORMULAS:
        return scope.expanded(node, FORMULAS[name](*node.inputs))
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
