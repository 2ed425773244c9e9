"""The standard normal distribution: ndtri, ndtri_exp, log_ndtr; and erfinv, the same quantile on another scale.

In: float64 probabilities or quantiles. Out: quantiles and log probabilities at most 4 ULP off.
"""

from __future__ import annotations

import math
from typing import Final

from consilience.native.vectormath.coefficients import NORMAL_CENTRE, NORMAL_FAR_TAIL, NORMAL_TAIL
from consilience.native.vectormath.error_function import central_ratio, gaussian, scaled_complement
from consilience.native.vectormath.exponential import exponential, exponential_less_one
from consilience.native.vectormath.logarithm import logarithm, logarithm_of_pair
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma, polynomial, total_ordered

ROOT_HALF: Final = math.sqrt(0.5)
FAR: Final = 8.5
NEAR: Final = 0.7
DEEP: Final = -700.0  # logarithm of a probability; below, the quantile is found by Newton's method


def quantile(q: Lanes, tail: Lanes) -> Lanes:
    """|z| where a standard normal lies beyond z with probability `tail` = 1/2 - |q|; sign as q."""
    return quantile_of_logarithm(q, logarithm(tail))


def quantile_of_logarithm(q: Lanes, log_tail: Lanes) -> Lanes:
    """|z| where a standard normal lies beyond z with probability exp(log_tail) = 1/2 - |q|; sign as q.

    Near the centre a polynomial in q**2. In the tail s = sqrt(-2 log(tail)) exceeds z by a smooth function
    of s, which is a polynomial in (s - c) / (s + c); the far tail, below 2e-16, has a branch of its own.
    """
    builder = q.builder
    central = q * polynomial(fma(q, q, -0.07), NORMAL_CENTRE)
    s = (-2.0 * log_tail).sqrt()
    excess = builder.variable(polynomial((s - 3.0) / (s + 3.0), NORMAL_TAIL).value)
    far = s > FAR
    with builder.if_(far.any()):
        beyond = polynomial((s - 16.0) / (s + 16.0), NORMAL_FAR_TAIL)
        builder.set(excess, choose(far, beyond, q.of(builder.get(excess))).value)
    outside = choose(s.equals(math.inf), math.inf, s - q.of(builder.get(excess)))
    return choose(abs(q) <= 0.4, central, outside.with_sign(q))


@elementary
def ndtri(p: Lanes) -> Lanes:
    """The standard normal quantile of probability p; infinite at 0 and 1, NaN outside [0, 1]."""
    q = p - 0.5
    result = quantile(q, choose(q < 0.0, p, 1.0 - p))
    return choose((p >= 0.0) & (p <= 1.0), result, math.nan)


@elementary
def ndtri_exp(y: Lanes) -> Lanes:
    """The standard normal quantile of probability exp(y); -infinity at -infinity, infinity at 0, NaN above.

    Beyond the smallest float64 probability two steps of Newton's method on the logarithm of the tail.
    """
    builder = y.builder
    upper = y > -0.5
    difference = choose(y > -(2.0**-54), y, exponential_less_one(choose(upper, y, -0.5)))
    q = choose(upper, difference + 0.5, exponential(y) - 0.5)
    usual = choose(y < DEEP, DEEP, y)
    log_tail = choose(q < 0.0, usual, logarithm(-difference))
    result = builder.variable(quantile_of_logarithm(q, log_tail).value)
    deep = y < DEEP
    with builder.if_(deep.any()):
        level = choose(deep & (y > -1e300), y, choose(deep, -1e300, DEEP))
        z = (-2.0 * level - logarithm(level * (-4.0 * math.pi))).sqrt()
        for _ in range(2):
            scaled = scaled_complement(z * ROOT_HALF)
            excess = fma(z * -0.5, z, -level) + logarithm(0.5 * scaled)
            z = z + excess * scaled * math.sqrt(0.5 * math.pi)
        further = choose(y > -1e300, -z, -math.sqrt(2.0) * choose(y > -math.inf, -y, 1.0).sqrt())
        further = choose(y.equals(-math.inf), -math.inf, further)
        builder.set(result, choose(deep, further, y.of(builder.get(result))).value)
    return choose(y <= 0.0, y.of(builder.get(result)), math.nan)


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
