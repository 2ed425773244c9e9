"""The logarithm of a probability's complement, log1mexp: float64 in and out, without cancellation."""

from __future__ import annotations

import math

from consilience.native.vectormath.exponential import reduced
from consilience.native.vectormath.logarithm import logarithm_of_pair
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma


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
