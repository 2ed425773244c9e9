"""Machine code of the primitive scalar functions, for any number of lanes.

A row name and operand values in, a value out. Functions that are not here have a formula (`ops.formulas`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from typing import Final

from consilience.analysis.operations import per_element
from consilience.errors import MissingRuleError
from consilience.ir import UNSIGNED
from consilience.lower import half
from consilience.native.loops import Builder, Type, Value, f32, f64, i1, i8, i16, i32, i64
from consilience.ops import log_incomplete
from consilience.ops.scalar import LIBRARY_NAMES, Column

Code = Callable[..., Value]

# Storage types: a bool takes one byte in memory and one bit in a register; a float16 is a float32 in a register.
# Integers without sign lie as their bits; instructions that ask for the sign are told of the dtype.
MEMORY = {
    "float64": f64, "float32": f32, "float16": i16,
    "int64": i64, "int32": i32, "int16": i16, "int8": i8,
    "uint64": i64, "uint32": i32, "uint16": i16, "uint8": i8,
    "bool": i8, "key": i64,
}  # fmt: skip
REGISTER = MEMORY | {"bool": i1, "float16": f32}


def register_type(dtype: str, lanes: int = 1) -> Type:
    """Type of a value of a dtype in registers."""
    return REGISTER[dtype].vector(lanes) if lanes > 1 else REGISTER[dtype]


def _floating(x: Value) -> bool:
    return x.type.kind in ("f64", "f32")


def _like(b: Builder, x: Value, number: float) -> Value:
    return b.const(x.type, number)


# Scalars outside loops: the C library is faster than one lane of ours and needs no compilation.
C_LIBRARY = {
    name: name for name in ("exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "tanh", "pow")
}


def _math(name: str) -> Code:
    scalar = C_LIBRARY.get(name)

    def emit(b: Builder, *x: Value) -> Value:
        if scalar is None or x[0].type is not f64:
            return b.math(name, *x)
        b.module.declare(scalar, (f64, tuple(v.type for v in x)), pure=True)
        return b.call(scalar, f64, *x)

    return emit


def _compare(predicate: str) -> Code:
    return lambda b, x, y: _bool_compare(b, predicate, x, y)


def _bool_compare(b: Builder, predicate: str, x: Value, y: Value) -> Value:
    if x.type.kind == "i1":
        x, y = (b.cast(v, i8.vector(v.type.lanes) if v.type.lanes > 1 else i8) for v in (x, y))
        x, y = (b.and_(v, b.const(v.type, 1)) for v in (x, y))
    return b.cmp(predicate, x, y)


def _add(b: Builder, *x: Value) -> Value:
    if x[0].type.kind == "i1":
        return fold(b.or_, x)
    # Long sums run as several chains: additions wait for each other.
    chains = max(1, min(4, len(x) // 3))
    parts = [fold(b.add, x[i::chains]) for i in range(chains)]
    return fold(b.add, parts)


def _mul(b: Builder, *x: Value) -> Value:
    return fold(b.and_ if x[0].type.kind == "i1" else b.mul, x)


def _minimum(b: Builder, x: Value, y: Value) -> Value:
    return b.and_(x, y) if x.type.kind == "i1" else b.minimum(x, y)


def _maximum(b: Builder, x: Value, y: Value) -> Value:
    return b.or_(x, y) if x.type.kind == "i1" else b.maximum(x, y)


def _nonzero(b: Builder, y: Value) -> tuple[Value, Value]:
    """A divisor that is never 0 and whether it was 0; also keeps -1 apart, whose quotient may overflow."""
    zero = b.cmp("eq", y, _like(b, y, 0))
    return b.select(zero, _like(b, y, 1), y), zero


def _integer_division(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Floor quotient and the remainder with the divisor's sign; 0 and 0 for the divisor 0, as NumPy."""
    safe, zero = _nonzero(b, y)
    minus = b.cmp("eq", safe, _like(b, y, -1))
    divisor = b.select(minus, _like(b, y, 1), safe)
    quotient = b.div(x, divisor)
    remainder = b.sub(x, b.mul(quotient, divisor))
    differs = b.cmp("lt", b.xor(remainder, divisor), _like(b, y, 0))
    adjust = b.and_(differs, b.cmp("ne", remainder, _like(b, y, 0)))
    floor = b.select(adjust, b.sub(quotient, _like(b, y, 1)), quotient)
    rest = b.select(adjust, b.add(remainder, divisor), remainder)
    floor = b.select(minus, b.neg(x), floor)
    rest = b.select(minus, _like(b, y, 0), rest)
    nothing = _like(b, y, 0)
    return b.select(zero, nothing, floor), b.select(zero, nothing, rest)


def _float_mod(b: Builder, x: Value, y: Value) -> Value:
    """Remainder with the divisor's sign, as Python's float `%` and np.mod."""
    zero = _like(b, x, 0)
    rest = b.rem(x, y)
    differs = b.and_(b.cmp("ne", rest, zero), b.xor(b.cmp("lt", rest, zero), b.cmp("lt", y, zero)))
    adjusted = b.select(differs, b.add(rest, y), rest)
    return b.select(b.cmp("eq", adjusted, zero), b.copysign(zero, y), adjusted)


def _mod(b: Builder, x: Value, y: Value) -> Value:
    return _float_mod(b, x, y) if _floating(x) else _integer_division(b, x, y)[1]


def _floor_div(b: Builder, x: Value, y: Value) -> Value:
    if not _floating(x):
        return _integer_division(b, x, y)[0]
    # As NumPy: the quotient without its remainder, rounded to the nearest integer.
    zero, one = _like(b, x, 0), _like(b, x, 1)
    rest = b.rem(x, y)
    quotient = b.div(b.sub(x, rest), y)
    differs = b.and_(b.cmp("ne", rest, zero), b.xor(b.cmp("lt", rest, zero), b.cmp("lt", y, zero)))
    quotient = b.select(differs, b.sub(quotient, one), quotient)
    floor = b.floor(quotient)
    floor = b.select(b.cmp("gt", b.sub(quotient, floor), _like(b, x, 0.5)), b.add(floor, one), floor)
    signed = b.select(b.cmp("ne", quotient, zero), floor, b.copysign(zero, b.div(x, y)))
    return b.select(b.cmp("eq", y, zero), b.div(x, y), signed)


def _fmod(b: Builder, x: Value, y: Value) -> Value:
    if _floating(x):
        return b.rem(x, y)
    safe, zero = _nonzero(b, y)
    minus = b.cmp("eq", safe, _like(b, y, -1))
    rest = b.rem(x, b.select(minus, _like(b, y, 1), safe))
    return b.select(b.or_(zero, minus), _like(b, y, 0), rest)


def _signbit(b: Builder, x: Value) -> Value:
    return b.cmp("lt", b.copysign(_like(b, x, 1), x), _like(b, x, 0))


def _bounded_shift(b: Builder, shift: Callable[[Value, Value], Value], x: Value, y: Value) -> Value:
    """Shifts by at least the width give 0 (or all sign bits), as NumPy, never undefined bits."""
    width = 64 if x.type.kind == "i64" else 32
    inside = b.and_(b.cmp("ge", y, _like(b, y, 0)), b.cmp("lt", y, _like(b, y, width)))
    shifted = shift(x, b.select(inside, y, _like(b, y, 0)))
    beyond = _like(b, x, 0) if shift == b.shl else b.ashr(x, _like(b, x, width - 1))
    return b.select(inside, shifted, beyond)


def _draw(name: str, result: Type) -> Code:
    symbol = LIBRARY_NAMES.get(name, name)
    return lambda b, *x: b.math(symbol, *x, result=result.vector(x[0].type.lanes))


CODE: Final = Column[Code](
    "machine code",
    {
        "add": _add,
        "mul": _mul,
        "sub": lambda b, x, y: b.sub(x, y),
        "true_div": lambda b, x, y: b.div(x, y),
        "floor_div": _floor_div,
        "mod": _mod,
        "fmod": _fmod,
        "neg": lambda b, x: b.neg(x),
        "abs": lambda b, x: b.abs(x),
        "sqrt": lambda b, x: b.sqrt(x),
        "minimum": _minimum,
        "maximum": _maximum,
        "floor": lambda b, x: b.floor(x),
        "ceil": lambda b, x: b.ceil(x),
        "trunc": lambda b, x: b.trunc(x),
        "round": lambda b, x: b.round_even(x),
        "copysign": lambda b, x, y: b.copysign(x, y),
        "isnan": lambda b, x: b.isnan(x),
        "signbit": _signbit,
        "bitwise_and": lambda b, x, y: b.and_(x, y),
        "bitwise_or": lambda b, x, y: b.or_(x, y),
        "bitwise_xor": lambda b, x, y: b.xor(x, y),
        "invert": lambda b, x: b.not_(x),
        "left_shift": lambda b, x, y: _bounded_shift(b, b.shl, x, y),
        "right_shift": lambda b, x, y: _bounded_shift(b, b.ashr, x, y),
        "where": lambda b, c, x, y: b.select(c, x, y),
        "eq": _compare("eq"),
        "neq": _compare("ne"),
        "lt": _compare("lt"),
        "le": _compare("le"),
        "gt": _compare("gt"),
        "ge": _compare("ge"),
        "fold_in": _draw("fold_in", i64),
        "random_uniform": _draw("random_uniform", f64),
        "random_normal": _draw("random_normal", f64),
        "random_exponential": _draw("random_exponential", f64),
        "random_gamma": _draw("random_gamma", f64),
        "random_von_mises": _draw("random_von_mises", f64),
        "random_poisson": _draw("random_poisson", i64),
        "random_binomial": _draw("random_binomial", i64),
        "random_conway_maxwell_poisson": _draw("random_conway_maxwell_poisson", i64),
    },
)
for _name in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "log1mexp", "pow", "cbrt", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "erf", "erfc", "erfcx",
    "erfinv", "ndtri", "log_ndtr", "i0e", "i1e", "gammaln", "digamma", "trigamma", "gammainc", "gammaincc", "betainc",
    "gamma", "zeta", "betaln", "owens_t", "ndtri_exp",
    "gammainc_slope", "betainc_slope_a", "betainc_slope_b",
    *log_incomplete.GAMMA_FUNCTIONS, *log_incomplete.BETA_FUNCTIONS,
    "gammaincinv", "gammainccinv", "betaincinv", "betainccinv",
    "poisson_quantile", "binomial_quantile", "negative_binomial_quantile",
    "beta_binomial_sum", "beta_binomial_sum_slope_a", "beta_binomial_sum_slope_b", "beta_binomial_quantile",
    "i0", "i0e_slope", "i1", "iv", "ive", "ive_slope", "j0", "j1", "jv", "k0", "k0e", "k1", "k1e", "kv", "kve",
    "kve_slope", "y0", "y1", "yv", "exp1", "expi", "expn", "sine_integral", "cosine_integral", "dawsn", "spence",
    "ellipk", "ellipe", "hyp1f1", "hyp1f1_slope_a", "hyp1f1_slope_b", "hyp2f1", "hyp2f1_slope_a", "hyp2f1_slope_c",
):  # fmt: skip
    CODE[_name] = _math(_name)

# Functions that cost as much as a division: the kernel builder does not recompute or overfill loops with them. A
# square root is one instruction of vectors.
HEAVY: Final = frozenset(name for name in CODE if per_element(name, 1) >= per_element("true_div", 1)) - {"sqrt"}


def _unsigned_division(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    safe, zero = _nonzero(b, y)
    nothing = _like(b, y, 0)
    quotient, rest = b.div_unsigned(x, safe), b.rem_unsigned(x, safe)
    return b.select(zero, nothing, quotient), b.select(zero, nothing, rest)


def extremum(b: Builder, least: bool, x: Value, y: Value, dtype: str) -> Value:
    """The smaller or the larger of two numbers."""
    if dtype in UNSIGNED:
        return b.select(b.cmp("ult" if least else "ugt", x, y), x, y)
    return b.minimum(x, y) if least else b.maximum(x, y)


# What differs for integers without sign.
UNSIGNED_CODE: Final = Column[Code](
    "unsigned",
    {
        "floor_div": lambda b, x, y: _unsigned_division(b, x, y)[0],
        "mod": lambda b, x, y: _unsigned_division(b, x, y)[1],
        "fmod": lambda b, x, y: _unsigned_division(b, x, y)[1],
        "minimum": lambda b, x, y: extremum(b, True, x, y, "uint64"),
        "maximum": lambda b, x, y: extremum(b, False, x, y, "uint64"),
        "abs": lambda b, x: x,
        "right_shift": lambda b, x, y: _unsigned_shift(b, b.lshr, x, y),
        "left_shift": lambda b, x, y: _unsigned_shift(b, b.shl, x, y),
        "lt": _compare("ult"),
        "le": _compare("ule"),
        "gt": _compare("ugt"),
        "ge": _compare("uge"),
    },
)


def _unsigned_shift(b: Builder, shift: Callable[[Value, Value], Value], x: Value, y: Value) -> Value:
    inside = b.cmp("ult", y, _like(b, y, x.type.bits))
    return b.select(inside, shift(x, b.select(inside, y, _like(b, y, 0))), _like(b, x, 0))


def code(b: Builder, function: str, operands: Sequence[Value], dtype: str) -> Value:
    """Emit one scalar function on operands of equal lanes; `dtype` is that of the last operand."""
    rule = UNSIGNED_CODE.get(function) if dtype in UNSIGNED else None
    rule = rule or CODE.get(function)
    if rule is None:
        raise MissingRuleError(
            f"the scalar function `{function}` has neither machine code (lower/scalar_code.py) "
            "nor a formula (ops/formulas.py); add one of them."
        )
    return rule(b, *operands)


def convert(b: Builder, x: Value, source: str, dtype: str) -> Value:
    """A value of one dtype cast to another."""
    if dtype == "float16":
        return half.rounded(b, x if _floating(x) else _to_float(b, x, source))
    target = register_type(dtype, x.type.lanes)
    result = b.cast(x, target, signed=source not in UNSIGNED and not _into_unsigned(x, dtype))
    if _floating(x) and dtype in ("int64", "int32", "int16", "int8"):  # no index: NaN is the least number, as in NumPy
        return b.select(b.isnan(x), b.const(target, -(1 << (target.bits - 1))), result)
    return result


def _to_float(b: Builder, x: Value, source: str) -> Value:
    return b.cast(x, f32.vector(x.type.lanes), signed=source not in UNSIGNED)


def _into_unsigned(x: Value, dtype: str) -> bool:
    return _floating(x) and dtype in UNSIGNED


def from_memory(b: Builder, dtype: str, value: Value) -> Value:
    """Bytes become bits for bool, float16 becomes float32, nothing else changes."""
    if dtype == "float16":
        return half.widened(b, value)
    return b.cmp("ne", value, b.const(value.type, 0)) if dtype == "bool" else value


def to_memory(b: Builder, dtype: str, value: Value) -> Value:
    """Bits become bytes 0 or 1 for bool, float32 becomes float16, nothing else changes."""
    if dtype == "float16":
        return half.narrowed(b, value)
    if dtype != "bool":
        return value
    byte = i8.vector(value.type.lanes) if value.type.lanes > 1 else i8
    return b.select(value, b.const(byte, 1), b.const(byte, 0))
