"""The error function and its complements: erf, erfc, erfcx.

In: float64 values. Out: values at most 3 ULP off. Near 0 a polynomial in x**2; beyond, exp(-x**2) times
erfcx, which is a polynomial in (x - 3.5) / (x + 3.5) over 1 + 2 x on the whole half line.
"""

from __future__ import annotations

import math
from typing import Final

from consilience.native.vectormath.coefficients import ERF, ERFCX
from consilience.native.vectormath.exponential import exponential
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma, polynomial, total

PIVOT: Final = 3.5
NEAR: Final = 0.75  # closer to 0 than this, erfc is 1 - erf


def scaled_complement(x: Lanes) -> Lanes:
    """erfcx(x) = exp(x**2) erfc(x), 0 <= x < 2**500 or NaN."""
    sum, twice = x + PIVOT, x + x
    divisor, divisor_low = total(twice, twice.constant(1.0))
    common = 1.0 / (sum * divisor)  # one division for two quotients
    t = (x - PIVOT) * divisor * common
    inverse = sum * common
    # What rounding left undone in 1 / (1 + 2 x), as a relative correction.
    remainder = fma(-inverse, divisor, 1.0) - inverse * divisor_low
    result = fma(polynomial(t, ERFCX), inverse, inverse * 1.25)
    return fma(result, remainder, result) if x.fused else result


def central_ratio(z: Lanes) -> Lanes:
    """erf(x) / x for z = x**2 <= 1."""
    return polynomial(z, ERF) + 1.0


def negative_square(x: Lanes) -> tuple[Lanes, Lanes]:
    """-x**2 as an exact product of 26 bits and a remainder; |x| < 2**500."""
    upper = x.upper
    return -(upper * upper), -((x - upper) * (x + upper))


def gaussian(x: Lanes, factor: float = 1.0) -> Lanes:
    """exp(-factor x**2), without the error of x**2; factor a power of two, factor x**2 < 2000, or NaN."""
    high, low = negative_square(x)
    if factor != 1.0:
        high, low = high * factor, low * factor
    # Clamped at -746 where the result is zero anyway, the remainder may be anything small.
    return exponential(high, low)


def complement_of_positive(x: Lanes) -> Lanes:
    """erfc(x), x >= 0 or NaN."""
    x = choose(x > 30.0, 30.0, x)
    return gaussian(x) * scaled_complement(x)


@elementary
def erf(x: Lanes) -> Lanes:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    size = abs(x)
    near = fma(x, polynomial(x * x, ERF), x)
    far = (1.0 - complement_of_positive(size)).with_sign(x)
    return choose(size < 1.0, near, far)


@elementary
def erfc(x: Lanes) -> Lanes:
    """1 - erf(x), accurate in the upper tail."""
    size = abs(x)
    near = 1.0 - fma(x, polynomial(x * x, ERF), x)
    tail = complement_of_positive(size)
    return choose(size < NEAR, near, choose(x < 0.0, 2.0 - tail, tail))


@elementary
def erfcx(x: Lanes) -> Lanes:
    """exp(x**2) erfc(x); overflows below -26.6."""
    size = abs(x)
    distant = size > 1e9
    tail = choose(distant, (1 / math.sqrt(math.pi)) / size, scaled_complement(choose(distant, 1e9, size)))
    high, low = negative_square(choose(size > 30.0, 30.0, size))
    growth = exponential(-high, -low)
    near = growth * (1.0 - fma(x, polynomial(x * x, ERF), x))
    return choose(size < NEAR, near, choose(x < 0.0, 2.0 * growth - tail, tail))
