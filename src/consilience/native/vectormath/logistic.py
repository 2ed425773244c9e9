"""Functions of log-odds: sigmoid, softplus, log1mexp.

In: float64 values. Out: probabilities and their logarithms without cancellation or overflow.
"""

from __future__ import annotations

import math

from consilience.native.vectormath.exponential import exponential, reduced
from consilience.native.vectormath.logarithm import assembled, logarithm_of_pair
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma


@elementary
def sigmoid(x: Lanes) -> Lanes:
    """1 / (1 + exp(-x)), also where exp(-x) overflows."""
    e = exponential(-abs(x))
    return choose(x < 0.0, e, 1.0) / (e + 1.0)


@elementary
def softplus(x: Lanes) -> Lanes:
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))."""
    t = exponential(-abs(x))
    # 1 + t lies in [1, 2]: beyond sqrt(2) half of it is taken, without rounding t first.
    beyond = t > math.sqrt(2) - 1
    n = choose(beyond, 1.0, 0.0)
    f = choose(beyond, fma(t, 0.5, -0.5), t)
    return choose(x > 0.0, x, choose(x <= 0.0, 0.0, x)) + assembled(n, f)


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
