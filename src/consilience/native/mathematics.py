"""Elementary functions for typed Python: the same name and the same bits under CPython and natively.

In: numbers. Out: what the C library gives, so that IEEE special values come back instead of exceptions. The
table `NATIVE` says how each is written in loops. Outside: vectors (`vectormath`), tensors.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable
from typing import Final

from consilience.native.loops import Builder
from consilience.native.program import Type, Value, f64, i1, i64
from consilience.record import Record

e: Final = math.e
inf: Final = math.inf
nan: Final = math.nan
pi: Final = math.pi

_c: Final = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)


class Row(Record):
    """How a function is written in loops: its operands' types, its result's type, and its instructions."""

    parameters: tuple[Type, ...]
    result: Type
    write: Callable[..., Value]  # (builder, *operands)


NATIVE: Final[dict[object, Row]] = {}
LIBRARY: Final[dict[str, int]] = {}  # address of each C function used, by symbol


def _c_function(name: str, arity: int) -> Callable[..., float]:
    function = getattr(_c, name)
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double] * arity
    LIBRARY[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
    types = (f64,) * arity

    def write(b: Builder, *args: Value) -> Value:
        b.module.declare(name, (f64, types), pure=True)
        return b.call(name, f64, *args)

    def call(*args: float) -> float:
        result: float = function(*args)
        return result

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{name}` of the C library."
    NATIVE[call] = Row(types, f64, write)
    return call


def _one(name: str) -> Callable[[float], float]:
    return _c_function(name, 1)


def _two(name: str) -> Callable[[float, float], float]:
    return _c_function(name, 2)


acos: Final = _one("acos")
asin: Final = _one("asin")
atan: Final = _one("atan")
atan2: Final = _two("atan2")
cbrt: Final = _one("cbrt")
cos: Final = _one("cos")
cosh: Final = _one("cosh")
erf: Final = _one("erf")
erfc: Final = _one("erfc")
exp: Final = _one("exp")
expm1: Final = _one("expm1")
hypot: Final = _two("hypot")
log: Final = _one("log")
log10: Final = _one("log10")
log1p: Final = _one("log1p")
log2: Final = _one("log2")
pow: Final = _two("pow")
sin: Final = _one("sin")
sinh: Final = _one("sinh")
tan: Final = _one("tan")
tanh: Final = _one("tanh")
ceil: Final = _one("ceil")
floor: Final = _one("floor")
sqrt: Final = _one("sqrt")
trunc: Final = _one("trunc")
copysign: Final = _two("copysign")
lgamma: Final = _one("lgamma")


def isnan(x: float) -> bool:
    """Whether x is NaN."""
    return x != x


def isfinite(x: float) -> bool:
    """Whether x is neither infinite nor NaN."""
    return -inf < x < inf


def minimum(x: float, y: float) -> float:
    """The smaller of x and y; NaN when one of them is."""
    return x if x != x or x < y else y


def maximum(x: float, y: float) -> float:
    """The larger of x and y; NaN when one of them is."""
    return x if x != x or x > y else y


def divide(x: float, y: float) -> float:
    """x / y with IEEE results for y = 0 (infinity or NaN), where Python's `/` raises."""
    if y == 0.0:
        return nan if x == 0.0 or x != x else copysign(inf, x) * copysign(1.0, y)
    return float(x) / float(y)


def fma(x: float, y: float, z: float) -> float:
    """x * y + z with one rounding (two on machines without the instruction)."""
    if not (isfinite(x) and isfinite(y) and isfinite(z)) or x == 0.0 or y == 0.0:
        return x * y + z
    from fractions import Fraction  # takes 3 ms to load, and machine code does not need it

    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z
    try:
        return float(exact)
    except OverflowError:
        return inf if exact > 0 else -inf


def float_bits(x: float) -> int:
    """The IEEE pattern of x as i64."""
    return ctypes.c_int64.from_buffer(ctypes.c_double(x)).value


def bits_float(n: int) -> float:
    """The f64 with the IEEE pattern n."""
    return ctypes.c_double.from_buffer(ctypes.c_int64(n)).value


def trailing_zeros(n: int) -> int:
    """Number of zero bits below the lowest one of n; n must not be 0."""
    return (n & -n).bit_length() - 1


def below_infinity(b: Builder, x: Value) -> Value:
    """Instructions of `isfinite`."""
    return b.cmp("lt", b.abs(x), b.const(x.type, inf))


def _trailing_zeros(b: Builder, n: Value) -> Value:
    # The lowest bit as a float is a power of two; its exponent is the number asked for.
    lowest = b.and_(n, b.neg(n))
    exponent = b.lshr(b.bitcast(b.cast(lowest, f64, signed=False), i64), b.const(i64, 52))
    return b.sub(exponent, b.const(i64, 1023))


NATIVE.update(
    {
        sqrt: Row((f64,), f64, Builder.sqrt),
        floor: Row((f64,), f64, Builder.floor),
        ceil: Row((f64,), f64, Builder.ceil),
        trunc: Row((f64,), f64, Builder.trunc),
        copysign: Row((f64, f64), f64, Builder.copysign),
        # The C function writes a global (the sign), so vectormath's is called: the last bits may differ.
        lgamma: Row((f64,), f64, lambda b, x: b.math("lgamma", x)),
        isnan: Row((f64,), i1, Builder.isnan),
        isfinite: Row((f64,), i1, below_infinity),
        minimum: Row((f64, f64), f64, Builder.minimum),
        maximum: Row((f64, f64), f64, Builder.maximum),
        divide: Row((f64, f64), f64, Builder.div),
        fma: Row((f64, f64, f64), f64, Builder.fma),
        float_bits: Row((f64,), i64, lambda b, x: b.bitcast(x, i64)),
        bits_float: Row((i64,), f64, lambda b, n: b.bitcast(n, f64)),
        trailing_zeros: Row((i64,), i64, _trailing_zeros),
    }
)
for _direct in ("sqrt", "floor", "ceil", "trunc", "copysign", "lgamma"):
    del LIBRARY[_direct]
