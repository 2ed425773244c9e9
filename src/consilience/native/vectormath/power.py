"""Powers and roots: pow, cbrt.

In: float64 values. Out: x**y at most 1-2 ULP off over the whole range, and the real cube root.
"""

from __future__ import annotations

import math
from typing import Final

from consilience.native.vectormath.coefficients import CUBE_ROOT, LOG_ODD
from consilience.native.vectormath.exponential import LN2_HIGH, LN2_LOW, clamp, reduced
from consilience.native.vectormath.logarithm import FRACTION_BITS, ONE_BITS, SMALLEST_NORMAL, is_normal, parts
from consilience.native.vectormath.notation import (
    ROUNDING,
    Lanes,
    choose,
    elementary,
    fma,
    polynomial,
    product,
    total,
    total_ordered,
)

TWO_THIRDS: Final = 2 / 3
TWO_THIRDS_LOW: Final = float.fromhex("0x1.5555555555555p-55")
FURTHEST: Final = 2.0**65  # a larger exponent gives 0, 1 or infinity as this one does
SCALING_BITS: Final = 0x4338000000000000 - 1023


def logarithm_in_two(x: Lanes, shift: Lanes) -> tuple[Lanes, Lanes]:
    """log(x / 2**shift) as high + low with about 65 correct bits; x positive, normal and finite.

    With s = (m - 1) / (m + 1) the logarithm of m is 2 s + s**3 (2/3 + 2/5 s**2 + ...): s, s**2 and the sum in
    brackets carry their rounding errors along.
    """
    n, f = parts(x)
    divisor, divisor_low = total_ordered(f.constant(2.0), f)
    inverse = 1.0 / divisor
    s = f * inverse
    back, back_error = product(s, divisor)
    s_low = (((f - back) - back_error) - s * divisor_low) * inverse
    z, z_error = product(s, s)
    z_error = fma(s + s, s_low, z_error)
    bracket, bracket_low = total_ordered(z.constant(TWO_THIRDS), fma(z, polynomial(z, LOG_ODD), TWO_THIRDS_LOW))
    term, term_low = product(z, bracket)
    term_low = term_low + fma(z, bracket_low, z_error * bracket)
    cubic, cubic_low = product(term, s)
    cubic_low = cubic_low + fma(term_low, s, term * s_low)
    high, low = total_ordered(s + s, cubic)
    low = low + (cubic_low + (s_low + s_low))
    n = n - shift
    whole, rest = total(n * LN2_HIGH, high)
    return total_ordered(whole, rest + fma(n, LN2_LOW, low))


def power(x: Lanes, y: Lanes) -> Lanes:
    """x**y with the special values of C99: 1 for y = 0 and for x = 1, NaN for x < 0 and y not whole.

    A base that is positive, normal and finite with an exponent of ordinary size is the usual case; the others
    take branches around it.
    """
    builder = x.builder
    unusual = (abs(y) >= FURTHEST) | y.differs(y) | ~is_normal(x)
    found = unusual.any()
    base, shift = builder.variable(x.value), builder.variable(x.constant(0.0).value)
    exponent = builder.variable(y.value)
    with builder.if_(found):
        size = abs(x)
        tiny = size < SMALLEST_NORMAL
        ordinary = (size > 0.0) & (size < math.inf)
        builder.set(base, choose(ordinary, choose(tiny, size * 2.0**54, size), 1.0).value)
        builder.set(shift, choose(tiny & ordinary, x.constant(54.0), 0.0).value)
        builder.set(exponent, clamp(y, -FURTHEST, FURTHEST).value)
    high, low = logarithm_in_two(x.of(builder.get(base)), x.of(builder.get(shift)))
    power = x.of(builder.get(exponent))
    leading, rest = product(high, power)
    part = reduced(leading, fma(low, power, rest))
    result = builder.variable(part.scaled(leading, part.q + 1.0).value)
    with builder.if_(found):
        special = _special_power(x, y, x.of(builder.get(result)))
        builder.set(result, choose(unusual, special, x.of(builder.get(result))).value)
    return x.of(builder.get(result))


pow: Final = elementary(power)


def _special_power(x: Lanes, y: Lanes, result: Lanes) -> Lanes:
    """x**y for any x and y, given |x|**y as `result` where x is neither 0 nor infinite."""
    size = abs(x)
    above = choose(y > 0.0, math.inf, x.constant(0.0))
    below = choose(y < 0.0, math.inf, x.constant(0.0))
    result = choose((size > 0.0) & (size < math.inf), result, choose(size > 1.0, above, below))
    half = 0.5 * y
    whole = y.floor().equals(y)
    odd = whole & half.floor().differs(half) & (abs(y) < 2.0**53)
    result = choose((x.bits < 0) & odd, -result, result)
    result = choose((x < 0.0) & (x > -math.inf) & ~whole, math.nan, result)
    result = choose(x.equals(x) & y.equals(y), result, x + y)
    return choose(y.equals(0.0) | x.equals(1.0), 1.0, result)


@elementary
def cbrt(x: Lanes) -> Lanes:
    """The real cube root.

    A polynomial gives 22 bits, cut so that their square is exact; one step of Halley's method triples them.
    """
    size = abs(x)
    tiny = size < 2.0**-1022
    bits = choose(tiny, size * 2.0**54, size).bits
    mantissa = ((bits & FRACTION_BITS) | ONE_BITS).real
    exponent = ((bits >> 52) | 0x4330000000000000).real - (2.0**52 + 1023.0)
    # exponent = 3 k + j with j = 0, 1, 2: the nearest integer to (exponent - 1) / 3 is k.
    shifted = fma(exponent - 1.0, 1 / 3, ROUNDING)
    j = fma(shifted - ROUNDING, -3.0, exponent)
    radicand = mantissa * choose(j.equals(0.0), 1.0, choose(j.equals(1.0), 2.0, 4.0))
    factor = choose(j.equals(0.0), 1.0, choose(j.equals(1.0), 2.0 ** (1 / 3), 2.0 ** (2 / 3)))
    root = (polynomial(mantissa, CUBE_ROOT) * factor).upper
    cube, cube_low = product(root * root, root)
    residual = (radicand - cube) - cube_low
    root = fma(root, residual / (cube + cube + radicand), root)
    scale = ((shifted.bits - SCALING_BITS) << 52).real
    result = root * scale * choose(tiny, 2.0**-18, 1.0)
    return choose((size > 0.0) & (size < math.inf), result.with_sign(x), x)
