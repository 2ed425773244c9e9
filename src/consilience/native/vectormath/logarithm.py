"""Logarithms: log, log1p, log2, log10, log1mexp.

In: float64 values. Out: their logarithms, at most 2 ULP off. A value is 2**n m with m between sqrt(1/2) and
sqrt(2); log m is a polynomial in f = m - 1, without a division.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from consilience.native.program import Value
from consilience.native.vectormath.coefficients import LOG
from consilience.native.vectormath.exponential import LN2_HIGH, LN2_LOW, reduced
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma, polynomial, total

ONE_BITS: Final = 0x3FF0000000000000
ROOT_HALF_BITS: Final = 0x3FE6A09E667F3BCD
FRACTION_BITS: Final = (1 << 52) - 1
WHOLE: Final = 2.0**52
WHOLE_BITS: Final = 0x4330000000000000
BIAS: Final = 1023.0
NORMAL_BITS: Final = 0x0010000000000000
INFINITY_BITS: Final = 0x7FF0000000000000
SMALLEST_NORMAL: Final = 2.0**-1022

INVERSE_LN2: Final = 1 / math.log(2)
INVERSE_LN2_HIGH: Final = float.fromhex("0x1.7154768000000p+0")
INVERSE_LN2_LOW: Final = float.fromhex("-0x1.6a3e80f444178p-27")
INVERSE_LN10_HIGH: Final = float.fromhex("0x1.bcb7b18000000p-2")
INVERSE_LN10_LOW: Final = float.fromhex("-0x1.6c8d78e6acaa4p-29")
LOG10_2_HIGH: Final = float.fromhex("0x1.34413509f7800p-2")
LOG10_2_LOW: Final = float.fromhex("0x1.fef311f12b358p-46")


class Parts(NamedTuple):
    """x = 2**n (1 + f), sqrt(1/2) <= 1 + f < sqrt(2)."""

    n: Lanes
    f: Lanes


def parts(x: Lanes) -> Parts:
    """The parts of a positive, normal, finite x."""
    bits = x.bits + (ONE_BITS - ROOT_HALF_BITS)
    n = ((bits >> 52) | WHOLE_BITS).real - (WHOLE + BIAS)
    return Parts(n, ((bits & FRACTION_BITS) + ROOT_HALF_BITS).real - 1.0)


def assembled(n: Lanes, f: Lanes) -> Lanes:
    """n log 2 + log(1 + f)."""
    square = f * f
    rest = fma(square * f, polynomial(f, LOG), n * LN2_LOW)
    return fma(n, LN2_HIGH, f - (0.5 * square - rest))


def is_normal(x: Lanes) -> Lanes:
    """Whether x is positive, normal and finite: one unsigned comparison of bit patterns."""
    return (x.bits - NORMAL_BITS).below(INFINITY_BITS - NORMAL_BITS)


def over_whole_range(x: Lanes, formula: Callable[[Lanes, Lanes], Lanes]) -> Lanes:
    """formula(n, f), a logarithm, for any x: -infinity at 0, NaN below, infinity and NaN themselves.

    Subnormal, zero, negative and non-finite x are rare, so they take branches around the usual case.
    """
    builder = x.builder
    unusual = ~is_normal(x)
    found = unusual.any()
    scaled = builder.variable(x.value)
    shift = builder.variable(x.constant(0.0).value)
    with builder.if_(found):
        tiny = x < SMALLEST_NORMAL
        builder.set(scaled, choose(tiny, x * 2.0**54, x).value)
        builder.set(shift, choose(tiny, 54.0, x.constant(0.0)).value)
    n, f = parts(x.of(builder.get(scaled)))
    usual = formula(n - x.of(builder.get(shift)), f)
    return _with_special_values(usual, x, found)


def _with_special_values(usual: Lanes, x: Lanes, found: Value) -> Lanes:
    """`usual` for 0 < x < infinity; the limits of a logarithm elsewhere. `found`: whether that can occur."""
    builder = x.builder
    result = builder.variable(usual.value)
    with builder.if_(found):
        special = choose(x.equals(0.0), -math.inf, choose(x < 0.0, math.nan, x))
        builder.set(result, choose((x > 0.0) & (x < math.inf), usual, special).value)
    return x.of(builder.get(result))


def logarithm(x: Lanes) -> Lanes:
    """log x over the whole range."""
    return over_whole_range(x, assembled)


def logarithm_of_pair(x: Lanes, correction: Lanes) -> Lanes:
    """log(x + correction) for x that is not subnormal; |correction| at most an ULP of x.

    The correction joins f: for n = 0 that is exact when x + correction - 1 is a float64, and for other n its
    rounding does not matter.
    """
    bits = x.bits + (ONE_BITS - ROOT_HALF_BITS)
    exponent = bits >> 52
    n = (exponent | WHOLE_BITS).real - (WHOLE + BIAS)
    f = ((bits & FRACTION_BITS) + ROOT_HALF_BITS).real - 1.0
    # 2**-n as half of 2**(1 - n): the greatest x have n = 1024, for which it is 0 here, not bits of no number.
    usual = assembled(n, fma(correction, 0.5 * ((2047 - exponent) << 52).real, f))
    return _with_special_values(usual, x, (~((x > 0.0) & (x < math.inf))).any())


def logarithm_of_sum(x: Lanes) -> Lanes:
    """log(1 + x) over the whole range; loses the sign of zero."""
    u, error = total(x.constant(1.0), x)
    return logarithm_of_pair(u, error)


@elementary
def log(x: Lanes) -> Lanes:
    """Natural logarithm. Below 1 ULP."""
    return logarithm(x)


@elementary
def log1p(x: Lanes) -> Lanes:
    """log(1 + x), accurate near 0; -infinity at -1, NaN below."""
    return logarithm_of_sum(x).with_sign(x)


def _split(f: Lanes) -> tuple[Lanes, Lanes]:
    """log(1 + f) as a number of 26 bits and a remainder."""
    half_square = 0.5 * f * f
    cubic = f * f * f * polynomial(f, LOG)
    high = (f - half_square).upper
    return high, ((f - high) - half_square) + cubic


@elementary
def log2(x: Lanes) -> Lanes:
    """Logarithm to base 2, exact for powers of two."""

    def formula(n: Lanes, f: Lanes) -> Lanes:
        high, low = _split(f)
        leading = high * INVERSE_LN2_HIGH
        rest = fma(low, INVERSE_LN2, high * INVERSE_LN2_LOW)
        whole, error = total(n, leading)
        return whole + (error + rest)

    return over_whole_range(x, formula)


@elementary
def log10(x: Lanes) -> Lanes:
    """Logarithm to base 10, exact for powers of ten."""

    def formula(n: Lanes, f: Lanes) -> Lanes:
        high, low = _split(f)
        leading = high * INVERSE_LN10_HIGH
        rest = fma(low, 1 / math.log(10), fma(high, INVERSE_LN10_LOW, n * LOG10_2_LOW))
        whole, error = total(n * LOG10_2_HIGH, leading)
        return whole + (error + rest)

    return over_whole_range(x, formula)


@elementary
def log1mexp(x: Lanes) -> Lanes:
    """log(1 - exp(x)) for x < 0; -infinity at 0, NaN above.

    Mächler (2012): near 0 by the logarithm of -expm1(x), else by log1p(-exp(x)).
    """
    part = reduced(x)
    e = part.scaled(x, part.q + 1.0)
    near = x > -math.log(2)
    difference = 1.0 - e
    power = choose(near, part.power(), 1.0)
    u = choose(near, -fma(power, part.q, power - 1.0), difference)
    tiny = abs(x) < 2.0**-900  # -expm1(x) = -x may be subnormal, which the logarithm of a pair refuses
    u = choose(x > 0.0, math.nan, choose(tiny, x * -(2.0**100), u))
    result = logarithm_of_pair(u, choose(near, 0.0, (1.0 - difference) - e))
    return -abs(choose(tiny, result - 100 * math.log(2), result))
