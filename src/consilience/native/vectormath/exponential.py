"""Exponentials: exp, exp2, expm1.

In: float64 values. Out: their exponentials, at most 2 ULP off. One reduction serves all: x = n log 2 + r with
|r| <= log(2) / 2, a polynomial for r, and 2**n by shifting n into the exponent.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from consilience.native.vectormath.coefficients import EXP
from consilience.native.vectormath.notation import ROUNDING, Lanes, choose, elementary, fma, polynomial

LN2_HIGH: Final = float.fromhex("0x1.62e42fefa3800p-1")
"""log(2) to 42 bits: its product with any exponent is exact."""
LN2_LOW: Final = float.fromhex("0x1.ef35793c76730p-45")
LOG2_E: Final = 1 / math.log(2)
BIAS: Final = 1023
ROUNDING_BITS: Final = 0x4338000000000000
LARGEST: Final = 709.79  # exp overflows from 709.7827 on
EXTREME: Final = 708.0  # below it in size, exp is a normal number
SMALLEST: Final = -745.2  # exp rounds to zero from -745.1332 on


class Reduced(NamedTuple):
    """exp(x) = 2**n (1 + q); the low bits of `pattern` hold n."""

    pattern: Lanes
    q: Lanes

    def power(self, shift: int = 0) -> Lanes:
        """2**(n + shift), which must be a normal number."""
        return ((self.pattern + (BIAS + shift - ROUNDING_BITS)) << 52).real

    def ldexp(self, y: Lanes) -> Lanes:
        """y 2**n, rounded once, for |n| < 2046: the power goes in two halves."""
        exponents = self.pattern + (2 * BIAS - ROUNDING_BITS)
        half = exponents >> 1
        return y * (half << 52).real * ((exponents - half) << 52).real

    def scaled(self, x: Lanes, y: Lanes) -> Lanes:
        """y 2**n where y is near 1 and the exact result is exp(x): infinity, zero and NaN included.

        Arguments beyond 708 are rare, so they take a branch: the usual case is one integer addition.
        """
        builder = x.builder
        usual = (y.bits + (self.pattern << 52)).real
        result = builder.variable(usual.value)
        extreme = ~(abs(x) < EXTREME)
        with builder.if_(extreme.any()):
            bounded = choose(x > LARGEST, math.inf, choose(x < SMALLEST, 0.0, self.ldexp(y)))
            builder.set(result, choose(extreme, bounded, usual).value)
        return x.of(builder.get(result))


def reduced(x: Lanes, low: Lanes | None = None) -> Reduced:
    """exp(x + low) - 1 in reduced form; |low| small beside log 2.

    The low bits of `pattern` hold n for |x| < 2**50 only; q is NaN for infinity and NaN.
    """
    shifted = fma(x, LOG2_E, ROUNDING)
    n = shifted - ROUNDING
    leading = fma(n, -LN2_HIGH, x)
    tail = n * LN2_LOW if low is None else n * LN2_LOW - low
    r = leading - tail
    error = (leading - r) - tail
    return Reduced(shifted.bits, r + fma(r * r, polynomial(r, EXP), error))


def clamp(x: Lanes, low: float, high: float) -> Lanes:
    """x within [low, high]; NaN stays NaN."""
    x = choose(x > high, high, x)
    return choose(x < low, low, x)


def exponential(x: Lanes, low: Lanes | None = None) -> Lanes:
    """exp(x + low) over the whole range: overflow to infinity, subnormal results, NaN.

    |low| is small beside log 2 wherever exp(x) is neither 0 nor infinite.
    """
    part = reduced(x, low)
    return part.scaled(x, part.q + 1.0)


@elementary
def exp(x: Lanes) -> Lanes:
    """e**x. Below 1 ULP."""
    shifted = fma(x, LOG2_E, ROUNDING)
    n = shifted - ROUNDING
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, x))
    return Reduced(shifted.bits, r).scaled(x, fma(r * r, polynomial(r, EXP), r) + 1.0)


@elementary
def exp2(x: Lanes) -> Lanes:
    """2**x, exact for whole x."""
    x = clamp(x, -1080.0, 1025.0)
    shifted = x + ROUNDING
    r = (x - (shifted - ROUNDING)) * math.log(2)
    return Reduced(shifted.bits, r).ldexp(fma(r * r, polynomial(r, EXP), r) + 1.0)


def exponential_less_one(x: Lanes) -> Lanes:
    """exp(x) - 1; loses the sign of zero and a bit of subnormal x."""
    parts = reduced(clamp(x, -40.0, LARGEST))
    half = parts.power(-1)
    return fma(half, parts.q, half - 0.5) * 2.0


@elementary
def expm1(x: Lanes) -> Lanes:
    """exp(x) - 1, accurate near 0."""
    return choose(abs(x) < 2.0**-54, x, exponential_less_one(x))
