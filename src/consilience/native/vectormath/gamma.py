"""The gamma function, its logarithm and the derivatives of that: gamma, gammaln, digamma, trigamma.

In: float64 values, negative ones by reflection. Out: for x > 0 values at most 4-5 ULP off, also near the
zeros; for x < 0 an absolute error of that size. Small x move to a fixed interval by the recurrence; large x
have Stirling's series.
"""

from __future__ import annotations

import math
from typing import Final

from consilience.native.vectormath.coefficients import (
    DIGAMMA,
    DIGAMMA_STIRLING,
    GAMMALN,
    STIRLING,
    TRIGAMMA_STIRLING,
)
from consilience.native.vectormath.exponential import exponential, exponential_less_one
from consilience.native.vectormath.logarithm import assembled, logarithm, logarithm_of_sum, parts
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma, polynomial
from consilience.native.vectormath.power import power
from consilience.native.vectormath.trigonometric import half_turn_cotangent, half_turn_sine

HALF_LOG_TWO_PI: Final = 0.9189385332046728
LOG_PI: Final = math.log(math.pi)
DIGAMMA_ROOT: Final = float.fromhex("0x1.d8b618d5af8fep-2")  # the zero of digamma, less 1
DIGAMMA_ROOT_LOW: Final = float.fromhex("-0x1.1e563779a1f5bp-56")
TINY: Final = 2.0**-60  # closer to 0 than this, only the pole counts
FURTHEST: Final = 190.0  # gamma overflows, and is 0 to float64 at the negative
STIRLING_FROM: Final = 6.5
DERIVATIVES_FROM: Final = 6.0


def gammaln_of_positive(x: Lanes) -> Lanes:
    """log(gamma(x)), x >= 0 or NaN.

    Below 6.5: x = j + t with |t| <= 1/2; log(gamma(2 + t)) = t (1 + t) R(t) vanishes exactly where it
    should, and the logarithm of the product of the steps between 2 + t and x is added (j > 2) or taken off
    (j < 2).
    """
    large = x >= STIRLING_FROM
    small = choose(large, 2.0, x)
    j = small.round()
    t = small - j
    steps = choose(j < 2.0, choose(j < 1.0, small * (small + 1.0), small), 1.0)
    for k in range(1, 5):
        steps = choose(j > k + 1.5, steps * (small - float(k)), steps)
    # One logarithm: of x where x is large, else of the steps. It is -infinity at 0 and infinity at infinity.
    log = logarithm(choose(large, x, steps))
    central = fma(t * (t + 1.0), polynomial(t, GAMMALN), choose(j < 1.5, -log, log))
    inverse = 1.0 / choose(large, x, STIRLING_FROM)
    series = inverse * polynomial(inverse * inverse, STIRLING)
    distant = fma(x - 0.5, log - 1.0, (HALF_LOG_TWO_PI - 0.5) + series)
    return choose(large, distant, central)


@elementary
def gamma(x: Lanes) -> Lanes:
    """gamma(x); infinite at 0 with its sign, NaN at the negative integers and -infinity.

    As in `gammaln_of_positive`, with the steps as factors; Stirling's power goes in two halves that do not overflow.
    """
    builder = x.builder
    size = abs(x)
    large = size >= STIRLING_FROM
    small = choose(large, 2.0, size)
    j = small.round()
    t = small - j
    up = down = small.constant(1.0)
    down = choose(j < 2.0, choose(j < 1.0, small * (small + 1.0), small), down)
    for k in range(1, 5):
        up = choose(j > k + 1.5, up * (small - float(k)), up)
    excess = exponential_less_one(t * (t + 1.0) * polynomial(t, GAMMALN))
    central = fma(up, excess, up) / down
    big = choose(large, choose(size > FURTHEST, FURTHEST, size), STIRLING_FROM)
    half = power(big, fma(big, 0.5, -0.25))
    inverse = 1.0 / big
    rest = exponential_less_one(inverse * polynomial(inverse * inverse, STIRLING))
    root = half * exponential(-big) * math.sqrt(2.0 * math.pi)
    root = fma(root, rest, root)
    result = builder.variable(choose(large, root * half, central).with_sign(x).value)
    negative = x < 0.0
    with builder.if_(negative.any()):
        # gamma(x) gamma(-x) = -pi / (x sin(pi x))
        sine = half_turn_sine(choose(size > FURTHEST, FURTHEST - 0.5, size))
        lesser = choose(size < TINY, 1.0 / x, -math.pi / (size * sine * central))
        lesser = choose(large, -math.pi / (big * sine * root) / half, lesser)
        lesser = choose(size.floor().equals(size), math.nan, lesser)
        builder.set(result, choose(negative, lesser, x.of(builder.get(result))).value)
    return x.of(builder.get(result))


def gammaln_of_one_plus(x: Lanes) -> Lanes:
    """log(gamma(1 + x)), 0 <= x <= 1, relatively accurate near both zeros."""
    lower = x <= 0.5
    t = choose(lower, x, x - 1.0)
    value = t * (t + 1.0) * polynomial(t, GAMMALN)
    return choose(lower, value - logarithm_of_sum(x), value)


@elementary
def gammaln(x: Lanes) -> Lanes:
    """log|gamma(x)|; infinity at 0, the negative integers and infinity, -infinity at -infinity."""
    builder = x.builder
    size = abs(x)
    positive = gammaln_of_positive(size)
    result = builder.variable(positive.value)
    negative = x < 0.0
    with builder.if_(negative.any()):
        # gamma(x) gamma(-x) = -pi / (x sin(pi x)); all numbers beyond 2**51 count as whole.
        bounded = choose(size > 2.0**51, 1.0, size)
        sine = abs(half_turn_sine(bounded))
        reflected = (LOG_PI - logarithm(bounded * sine)) - positive
        reflected = choose(size < TINY, positive, choose(sine.equals(0.0), math.inf, reflected))
        reflected = choose(size.equals(math.inf), -math.inf, reflected)
        builder.set(result, choose(negative, reflected, positive).value)
    return x.of(builder.get(result))


def digamma_of_positive(x: Lanes) -> Lanes:
    """The logarithmic derivative of the gamma function, x > 0 or NaN.

    Below 6: x = k + t with 0 <= t < 1; digamma(1 + t) = (t - root) R(t) vanishes exactly where it should. The
    reciprocals of the steps are gathered in one fraction, so that there is one division.
    """
    large = x >= DERIVATIVES_FROM
    small = choose(large, 1.0, x)
    whole = small.floor()
    t = small - whole
    below = whole < 0.5
    over = choose(large, 1.0, choose(below, -1.0, 0.0))
    under = choose(large, x, choose(below, small, 1.0))
    for k in range(1, 5):
        step = small - float(k)
        taken = whole > k + 0.5
        over = choose(taken, fma(over, step, under), over)
        under = choose(taken, under * step, under)
    fraction = over / under
    central = ((t - DIGAMMA_ROOT) - DIGAMMA_ROOT_LOW) * polynomial(t - 0.5, DIGAMMA) + fraction
    log = assembled(*parts(choose(large & (x < math.inf), x, DERIVATIVES_FROM)))
    square = fraction * fraction
    distant = log - fma(square, polynomial(square, DIGAMMA_STIRLING), 0.5 * fraction)
    distant = choose(x.equals(math.inf), math.inf, distant)
    return choose(large, distant, central)


@elementary
def digamma(x: Lanes) -> Lanes:
    """Derivative of log(gamma(x)); NaN at negative integers and -infinity, -infinity at 0, infinity at -0."""
    builder = x.builder
    size = abs(x)
    positive = digamma_of_positive(size)
    result = builder.variable(positive.value)
    negative = x < 0.0
    with builder.if_(negative.any()):
        # digamma(-s) = digamma(s) + 1 / s + pi cot(pi s)
        bounded = choose(size > 2.0**51, 1.0, size)
        whole = bounded.floor().equals(bounded)
        inverse = 1.0 / bounded
        reflected = positive + fma(half_turn_cotangent(bounded), math.pi, inverse)
        reflected = choose(size < TINY, inverse, reflected)
        builder.set(result, choose(negative, choose(whole, math.nan, reflected), positive).value)
    return choose(x.equals(0.0), x.constant(-math.inf).with_sign(-x), x.of(builder.get(result)))


def trigamma_of_positive(x: Lanes) -> Lanes:
    """Second derivative of log(gamma(x)), x > 0 or NaN.

    Below 6 the squared reciprocals of x, ..., x + 5 are gathered pairwise in one fraction, all positive.
    """
    large = x >= DERIVATIVES_FROM
    small = choose(large, 1.0, x)
    fractions = [(small.constant(1.0), square(small + float(k))) for k in range(1, 6)]
    while len(fractions) > 1:
        (a, b), (c, d) = fractions[0], fractions[1]
        fractions = [*fractions[2:], (fma(a, d, c * b), b * d)]
    ((over, under),) = fractions
    first = 1.0 / small
    inverse = 1.0 / choose(large, x, x + 6.0)
    z = inverse * inverse
    series = fma(z * inverse, polynomial(z, TRIGAMMA_STIRLING), fma(z, 0.5, inverse))
    return choose(large, series, fma(first, first, over / under + series))


def square(x: Lanes) -> Lanes:
    """x**2."""
    return x * x


@elementary
def trigamma(x: Lanes) -> Lanes:
    """Second derivative of log|gamma(x)|; infinity at 0 and the negative integers."""
    builder = x.builder
    size = abs(x)
    positive = trigamma_of_positive(size)
    result = builder.variable(positive.value)
    negative = x < 0.0
    with builder.if_(negative.any()):
        # trigamma(-s) = (pi / sin(pi s))**2 - trigamma(s) + 1 / s**2, where the poles cancel.
        bounded = choose(size > 2.0**51, 1.0, size)
        inverse = square(1.0 / bounded)
        reflected = square(math.pi / half_turn_sine(bounded)) - (positive - inverse)
        reflected = choose(size < TINY, inverse, reflected)
        builder.set(result, choose(negative, reflected, positive).value)
    return x.of(builder.get(result))
