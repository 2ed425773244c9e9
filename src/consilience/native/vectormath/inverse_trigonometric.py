"""Inverse trigonometric functions: arcsin, arccos, arctan, arctan2.

In: float64 values. Out: angles in radians, at most 3 ULP off.
"""

from __future__ import annotations

import math
from typing import Final

from consilience.native.vectormath.coefficients import ARCSIN, ARCTAN
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma, polynomial
from consilience.native.vectormath.trigonometric import HALF_PI, HALF_PI_LOW

EIGHTH_TURN: Final = math.tan(math.pi / 8)


def _arctan_of_ratio(smaller: Lanes, larger: Lanes) -> tuple[Lanes, Lanes]:
    """arctan(smaller / larger) for 0 <= smaller <= larger, as a sum of two.

    Beyond pi/8 it is pi/4 - arctan((larger - smaller) / (larger + smaller)), with one division for both. What rounding
    takes there, up to 1.5 ULP, is put back to first order.
    """
    beyond = smaller > larger * EIGHTH_TURN
    above, below = choose(beyond, smaller - larger, smaller), choose(beyond, smaller + larger, larger)
    t = above / below
    lost = (smaller - (above + larger)) - t * (smaller - (below - larger))
    missing = choose(beyond, (lost - fma(t, below, -above)) / below, 0.0)
    z = t * t
    small = fma(t * z, polynomial(z, ARCTAN), choose(beyond, 0.5 * HALF_PI_LOW, 0.0)) + missing
    leading = choose(beyond, 0.5 * HALF_PI, 0.0)
    high = leading + t
    return high, (t - (high - leading)) + small


@elementary
def arctan(x: Lanes) -> Lanes:
    """The angle whose tangent is x, in [-pi/2, pi/2]."""
    size = abs(x)
    inverted = size > 1.0
    one = x.constant(1.0)
    finite = choose(size < 2.0**60, size, choose(size >= 2.0**60, 2.0**60, x))
    high, low = _arctan_of_ratio(choose(inverted, one, finite), choose(inverted, finite, one))
    turned = HALF_PI - high
    result = choose(inverted, turned + (((HALF_PI - turned) - high) + (HALF_PI_LOW - low)), high + low)
    return result.with_sign(x)


@elementary
def arctan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of the point (x, y), in [-pi, pi]; zeros and infinities as in C99."""
    width, height = abs(x), abs(y)
    inverted = height > width
    larger, smaller = choose(inverted, height, width), choose(inverted, width, height)
    # Sums of the largest numbers overflow, and 0 / 0 and infinity / infinity have a direction here.
    scale = choose(larger > 2.0**1000, 2.0**-60, 1.0)
    both_infinite = smaller.equals(math.inf)
    smaller = choose(both_infinite, 1.0, smaller * scale)
    larger = choose(both_infinite | larger.equals(0.0), 1.0, larger * scale)
    high, low = _arctan_of_ratio(smaller, larger)
    turned = HALF_PI - high
    low = choose(inverted, ((HALF_PI - turned) - high) + (HALF_PI_LOW - low), low)
    high = choose(inverted, turned, high)
    behind = x.bits < 0
    turned = math.pi - high
    result = choose(behind, turned + (((math.pi - turned) - high) + (2 * HALF_PI_LOW - low)), high + low)
    return choose(x.equals(x) & y.equals(y), result.with_sign(y), x + y)


def _arcsin_near_zero(s: Lanes, z: Lanes) -> Lanes:
    """arcsin(s) - s for s**2 = z <= 1/4."""
    return s * z * polynomial(z, ARCSIN)


@elementary
def arcsin(x: Lanes) -> Lanes:
    """The angle whose sine is x, in [-pi/2, pi/2]; NaN outside [-1, 1]."""
    size = abs(x)
    large = size > 0.5
    z = choose(large, fma(size, -0.5, 0.5), size * size)
    s = choose(large, z.sqrt(), size)
    small = _arcsin_near_zero(s, z)
    far = HALF_PI - (2.0 * (s + small) - HALF_PI_LOW)
    return choose(large, far, s + small).with_sign(x)


@elementary
def arccos(x: Lanes) -> Lanes:
    """The angle whose cosine is x, in [0, pi]; NaN outside [-1, 1]."""
    size = abs(x)
    large = size > 0.5
    z = choose(large, fma(size, -0.5, 0.5), size * size)
    s = choose(large, z.sqrt(), x)
    small = _arcsin_near_zero(s, z)
    behind = x < 0.0
    near = HALF_PI - (s + (small - HALF_PI_LOW))
    folded = 2.0 * (s + small)
    return choose(large, choose(behind, math.pi - (folded - 2 * HALF_PI_LOW), folded), near)
