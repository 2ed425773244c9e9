"""The standard normal distribution: ndtri, log_ndtr; and erfinv, the same quantile on another scale.

In: float64 probabilities or quantiles. Out: quantiles and log probabilities at most 4 ULP off.
"""

from __future__ import annotations

import math
from typing import Final

from consilience.native.vectormath.coefficients import NORMAL_CENTRE, NORMAL_FAR_TAIL, NORMAL_TAIL
from consilience.native.vectormath.error_function import central_ratio, gaussian, scaled_complement
from consilience.native.vectormath.logarithm import logarithm, logarithm_of_pair
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma, polynomial, total_ordered

ROOT_HALF: Final = math.sqrt(0.5)
FAR: Final = 8.5
NEAR: Final = 0.7


def quantile(q: Lanes, tail: Lanes) -> Lanes:
    """|z| where a standard normal lies beyond z with probability `tail` = 1/2 - |q|; sign as q.

    Near the centre a polynomial in q**2. In the tail s = sqrt(-2 log(tail)) exceeds z by a smooth function
    of s, which is a polynomial in (s - c) / (s + c); the far tail, below 2e-16, has a branch of its own.
    """
    builder = q.builder
    central = q * polynomial(fma(q, q, -0.07), NORMAL_CENTRE)
    s = (-2.0 * logarithm(tail)).sqrt()
    excess = builder.variable(polynomial((s - 3.0) / (s + 3.0), NORMAL_TAIL).value)
    far = s > FAR
    with builder.if_(far.any()):
        beyond = polynomial((s - 16.0) / (s + 16.0), NORMAL_FAR_TAIL)
        builder.set(excess, choose(far, beyond, q.of(builder.get(excess))).value)
    outside = choose(tail.equals(0.0), math.inf, s - q.of(builder.get(excess)))
    return choose(abs(q) <= 0.4, central, outside.with_sign(q))


@elementary
def ndtri(p: Lanes) -> Lanes:
    """The standard normal quantile of probability p; infinite at 0 and 1, NaN outside [0, 1]."""
    q = p - 0.5
    result = quantile(q, choose(q < 0.0, p, 1.0 - p))
    return choose((p >= 0.0) & (p <= 1.0), result, math.nan)


@elementary
def erfinv(x: Lanes) -> Lanes:
    """The inverse of erf: ndtri((1 + x) / 2) / sqrt(2); infinite at -1 and 1, NaN outside."""
    size = abs(x)
    result = quantile(0.5 * x, fma(size, -0.5, 0.5)) * ROOT_HALF
    tiny = x * (0.5 * math.sqrt(math.pi))  # without halving first, which would cost a subnormal bit
    result = choose(size < 2.0**-60, tiny, result)
    return choose(size <= 1.0, result, math.nan)


@elementary
def log_ndtr(x: Lanes) -> Lanes:
    """Logarithm of the probability that a standard normal lies below x.

    Near 0 the logarithm of 1/2 + erf / 2; below, log(erfcx(|x| / sqrt(2)) / 2) - x**2 / 2; above, log1p of
    minus the upper tail.
    """
    size = abs(x)
    behind, near = x < -NEAR, size <= NEAR
    z = choose(size > 1e150, 1e150, size) * ROOT_HALF
    scaled = 0.5 * scaled_complement(z)
    ahead = choose(behind, 0.0, choose(size > 40.0, 40.0, size))
    change = choose(near, (0.5 * ROOT_HALF) * central_ratio(z * z) * x, -(gaussian(ahead, 0.5) * scaled))
    u, error = total_ordered(choose(near, x.constant(0.5), 1.0), change)
    logarithm = logarithm_of_pair(choose(behind, scaled, u), choose(behind, 0.0, error))
    return -abs(choose(behind, fma(x * -0.5, x, logarithm), logarithm))
