"""Parts of tail probabilities that keep their digits where one minus a probability would lose them.

Graphs in and out; nothing here knows of a distribution's parameters.
"""

from __future__ import annotations

import math
from typing import Final

from consilience.distributions.mathematics import (
    LOG_2,
    LOG_SQRT_2_PI,
    SQRT_2,
    absolute,
    equal,
    erf,
    erfc,
    erfcx,
    erfinv,
    exp,
    expm1,
    greater,
    i0e,
    less,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    logical_and,
    logical_or,
    logit,
    minimum,
    ndtri,
    sqrt,
    square,
    where,
)
from consilience.ir import Node

# exp(-TINY) is nothing beside 1, its square nothing beside itself.
_TINY: Final = 40.0
# Below it the series stand in for quotients that become 0 / 0.
_NEAR: Final = 0.02


def log1mexp_of_exp(w: Node) -> Node:
    """log(1 - exp(-exp(w))): the other tail of a law one of whose tails is exp(-exp(w))."""
    small = less(w, -_TINY)
    return where(small, w, log1mexp(-exp(where(small, 0.0, w))))


def log_difference(a: Node, b: Node) -> Node:
    """log(exp(a) - exp(b)) for a >= b; -inf where both are -inf."""
    empty = equal(a, -math.inf)
    base = where(empty, 0.0, a)
    gap = minimum(where(empty, -1.0, b) - base, 0.0)
    return where(empty, -math.inf, base + log1mexp(gap))


def log_erf(u: Node) -> Node:
    """Logarithm of the error function, u >= 0."""
    near = less(u, 1.0)
    return where(near, log(erf(where(near, u, 0.5))), log1p(-erfc(where(near, 1.0, u))))


def log_erfc(u: Node) -> Node:
    """Logarithm of the complementary error function."""
    near = less(u, 0.5)
    return where(near, log1p(-erf(where(near, u, 0.0))), LOG_2 + log_ndtr(-SQRT_2 * u))


def log_half_erfcx(x: Node) -> Node:
    """log(ndtr(-x)) + x^2 / 2: the upper normal tail without its Gaussian factor."""
    # Far out by its asymptotic series, because the slope of erfcx is a difference that cancels there.
    far = greater(x, 100.0)
    inverse = 1.0 / square(where(far, x, 100.0))
    series = 1.0 - 3.0 * inverse * (1.0 - 5.0 * inverse * (1.0 - 7.0 * inverse))
    outer = log1p(-inverse * series) - log(where(far, x, 100.0)) - LOG_SQRT_2_PI
    return where(far, outer, log(0.5 * erfcx(where(far, 100.0, x) / SQRT_2)))


def log_i0e(u: Node) -> Node:
    """log(I_0(u)) - u, u >= 0."""
    return log(i0e(u))


def two_sided_normal_quantile(q: Node) -> Node:
    """a >= 0 that a standard normal exceeds in size with probability q."""
    rare = less(q, 0.5)
    return where(rare, -ndtri(0.5 * q), SQRT_2 * erfinv(1.0 - q))


def log_odds(p: Node) -> Node:
    """log(p / (1 - p)), without slope where it is infinite."""
    none, all = equal(p, 0.0), equal(p, 1.0)
    return where(none, -math.inf, where(all, math.inf, logit(where(logical_or(none, all), 0.5, p))))


def log_of_size(x: Node) -> Node:
    """log(x), x >= 0, without slope at 0."""
    none = equal(x, 0.0)
    return where(none, -math.inf, log(where(none, 1.0, x)))


def log1p_quotient(xi: Node, z: Node) -> Node:
    """log(1 + xi z) / xi, z at xi = 0; 1 + xi z > 0."""
    u = xi * z
    near = less(absolute(u), _NEAR)
    small = where(near, u, 0.0)
    series = small * 0.0
    for k in range(10, 0, -1):
        series = (1.0 / k if k % 2 else -1.0 / k) + small * series
    return where(near, z * series, log1p(where(near, 1.0, u)) / where(near, 1.0, xi))


def expm1_quotient(xi: Node, y: Node) -> Node:
    """(exp(xi y) - 1) / xi, y at xi = 0."""
    u = where(logical_and(equal(xi, 0.0), equal(absolute(y), math.inf)), 0.0, xi * y)
    near = less(absolute(u), _NEAR)
    small = where(near, u, 0.0)
    series = small * 0.0
    for k in range(9, 0, -1):
        series = 1.0 / math.factorial(k) + small * series
    return where(near, y * series, expm1(where(near, 1.0, u)) / where(near, 1.0, xi))


def ndtri_exp(y: Node) -> Node:
    """z with log P(Z <= z) = y for a standard normal, also where the probability underflows or is almost 1."""
    upper = greater(y, -0.5)
    central = greater(y, -700.0)
    high = -ndtri(-expm1(where(upper, y, -1.0)))
    middle = ndtri(exp(where(central, y, -1.0)))
    # Far out -z^2 / 2 - log(-z sqrt(2 pi)) = y, and two steps of Newton's method.
    far = where(central, -800.0, y)
    size = sqrt(-2.0 * far)
    size = sqrt(-2.0 * (far + log(size) + LOG_SQRT_2_PI))
    for _ in range(2):
        tail = log_half_erfcx(size)
        excess = tail - 0.5 * square(size) - far
        size = size + excess * exp(tail + LOG_SQRT_2_PI)
    return where(upper, high, where(central, middle, where(equal(y, -math.inf), -math.inf, -size)))


# Half-width of an interval, times one plus its distance from 0, over which six points integrate the normal density.
_NARROW: Final = 0.25
_POINTS: Final = (0.2386191860831969, 0.6612093864662645, 0.932469514203152)
_WEIGHTS: Final = (0.467913934572691, 0.3607615730481386, 0.1713244923791704)


def log_normal_mass(low: Node, high: Node, width: Node | None = None) -> Node:
    """Log P(low < Z < high) of a standard normal, low <= high, either infinite; also of narrow and far intervals.

    `width`: high - low, where it is known with more digits than the ends have.
    """
    half = 0.5 * (high - low if width is None else width)
    nearer = where(less(absolute(low), absolute(high)), low, high)
    narrow = less(half * (1.0 + absolute(nearer)), _NARROW)
    radius = where(narrow, half, 0.0)
    # From the middle: exp(-middle^2 / 2) times the integral of exp(-middle t - t^2 / 2).
    middle = where(narrow, low, 0.0) + radius
    total = radius * 0.0
    for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
        t = radius * point
        total = total + (0.5 * weight) * exp(-0.5 * square(t)) * (exp(middle * t) + exp(-middle * t))
    close = log(2.0 * radius) + log(total) - 0.5 * square(middle) - LOG_SQRT_2_PI
    # The tail in which neither end is beyond the middle.
    mirrored = greater(low, 0.0)
    near, far = where(mirrored, -low, high), where(mirrored, -high, low)
    apart = where(narrow, 1.0, near), where(narrow, -1.0, far)
    upper = log_ndtr(apart[0])
    return where(narrow, close, upper + log1mexp(log_ndtr(apart[1]) - upper))
