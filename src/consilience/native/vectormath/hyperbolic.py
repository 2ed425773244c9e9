"""Hyperbolic functions and their inverses.

In: float64 values. Out: values at most 2-3 ULP off, from expm1 and log1p in forms that neither cancel nor
overflow.
"""

from __future__ import annotations

import math
from typing import Final

from consilience.native.vectormath.exponential import clamp, exponential_less_one, reduced
from consilience.native.vectormath.logarithm import logarithm_of_sum
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma

TINY: Final = 2.0**-28
"""Below it these odd functions equal their argument."""
HUGE: Final = 2.0**28
"""Above it sqrt(x**2 + 1) equals x."""


@elementary
def sinh(x: Lanes) -> Lanes:
    """Hyperbolic sine: (E + E / (E + 1)) / 2 with E = expm1(|x|)."""
    size = abs(x)
    part = reduced(clamp(size, 0.0, 710.5))
    quarter = part.power(-2)
    fourth = fma(quarter, part.q, quarter - 0.25)  # E / 4, which never overflows
    result = 2.0 * (fourth + fourth / fma(fourth, 4.0, 1.0))
    return choose(size < TINY, x, result.with_sign(x))


@elementary
def cosh(x: Lanes) -> Lanes:
    """Hyperbolic cosine: exp(|x|) / 2 + exp(-|x|) / 2."""
    part = reduced(clamp(abs(x), 0.0, 710.5))
    quarter = part.power(-2)
    fourth = fma(quarter, part.q, quarter)
    return 2.0 * (fourth + 0.0625 / fourth)


@elementary
def tanh(x: Lanes) -> Lanes:
    """Hyperbolic tangent: -E / (2 + E) with E = expm1(-2 |x|)."""
    size = abs(x)
    e = exponential_less_one(size * -2.0)
    return choose(size < TINY, x, (-e / (e + 2.0)).with_sign(x))


@elementary
def arcsinh(x: Lanes) -> Lanes:
    """Inverse hyperbolic sine: log1p(|x| + x**2 / (1 + sqrt(1 + x**2)))."""
    size = abs(x)
    huge = size > HUGE
    moderate = choose(huge, 1.0, size)
    square = moderate * moderate
    argument = moderate + square / ((square + 1.0).sqrt() + 1.0)
    return _with_huge(huge, size, argument).with_sign(x)


@elementary
def arccosh(x: Lanes) -> Lanes:
    """Inverse hyperbolic cosine: log1p(t + sqrt(2 t + t**2)) with t = x - 1; NaN below 1."""
    huge = x > HUGE
    t = choose(huge, 1.0, choose(x < 1.0, math.nan, x - 1.0))
    return _with_huge(huge, x, t + (t * (t + 2.0)).sqrt())


def _with_huge(huge: Lanes, x: Lanes, argument: Lanes) -> Lanes:
    """log(1 + argument), but log(2 x) where x is huge."""
    doubled = choose(huge, math.log(2), 0.0)
    return logarithm_of_sum(choose(huge, x - 1.0, argument)) + doubled


@elementary
def arctanh(x: Lanes) -> Lanes:
    """Inverse hyperbolic tangent: log1p(2 |x| / (1 - |x|)) / 2; NaN outside [-1, 1]."""
    size = abs(x)
    result = 0.5 * logarithm_of_sum((size + size) / (1.0 - size))
    return choose(size < TINY, x, choose(size > 1.0, math.nan, result).with_sign(x))
