"""Gauss's and Kummer's hypergeometric functions, hyp2f1 and hyp1f1, and their slopes in the parameters.

In: float64 values. Out: hyp2f1 from its series, directly or after Pfaff's transformation (DLMF 15.8.1), where SciPy
loses digits; the slopes from the series of their terms' slopes. The result is NaN where terms cancel to fewer than 8
digits, and where a million of them do not suffice (slopes for z above 1 - 4e-5 or below -2e4, of hyp1f1 beyond 1400).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from consilience.native.vectormath.exponential import exponential
from consilience.native.vectormath.incomplete import EPSILON, Cell, lane_by_lane, until_converged
from consilience.native.vectormath.notation import Lanes, choose
from consilience.native.vectormath.power import pow
from consilience.native.vectormath.scipy_function import scipy_value

Ratio = Callable[[Lanes], tuple[Lanes, Lanes]]
"""Of the term after the n-th to it, and the slope of this ratio in a parameter."""

SLOW: Final = 0.9  # beyond it the series takes hundreds of terms
AT_ONE: Final = 1.0 - 4e-5  # from it on a million do not suffice
FAR: Final = 1e6  # M(a, b, z) is greater than any number from here, for usual parameters
FAR_PARAMETER: Final = 1e5
LONGEST: Final = 1400.0  # argument of Kummer's function, whose series is as long
WHOLE: Final = 1e15
LOSS: Final = 2.0**-52 / 1e-8
MODERATE: Final = 10.0  # parameters for which SciPy needs no series
OVERFLOWING: Final = 600.0
SMALL_START: Final = 1e-290


def _power(x: Lanes, y: Lanes) -> Lanes:
    return x.of(pow(x.builder, x.value, y.value, fused=x.fused))


def _series(start: Lanes, ratio: Ratio) -> tuple[Lanes, Lanes]:
    """start (1 + r_0 + r_0 r_1 + ...) and its slope; NaN without convergence, or with fewer than 8 digits left."""
    term, slope = Cell(start), Cell(start.constant(0.0))
    value, total, size = Cell(start), Cell(start.constant(0.0)), Cell(abs(start))

    def turn(n: Lanes) -> Lanes:
        r, change = ratio(n)
        slope.set(slope.get() * r + term.get() * change)
        term.set(term.get() * r)
        value.set(value.get() + term.get())
        total.set(total.get() + slope.get())
        larger = choose(abs(slope.get()) > abs(term.get()), abs(slope.get()), abs(term.get()))
        size.set(size.get() + larger)
        unfinished = (abs(term.get()) > abs(value.get()) * EPSILON) | (abs(slope.get()) > abs(total.get()) * EPSILON)
        return ~unfinished

    converged = until_converged(start, turn)
    found = choose(abs(total.get()) > abs(value.get()), abs(total.get()), abs(value.get()))
    known = converged & (size.get() * LOSS <= found)
    return choose(known, value.get(), math.nan), choose(known, total.get(), math.nan)


def _reachable(z: Lanes, *parameters: Lanes) -> Lanes:
    """z, or NaN where a million terms are too few, or parameters so great that whole numbers do not change them."""
    reachable = z < AT_ONE
    for parameter in parameters:
        reachable = reachable & (abs(parameter) < WHOLE)
    return choose(reachable, z, math.nan)


def _hyp2f1(a: Lanes, b: Lanes, c: Lanes, z: Lanes) -> Lanes:
    """F(a, b; c; z), by SciPy for parameters for which its own series keep the digits."""
    negative = z < 0.0
    # z < 0: (1 - z)**-a F(a, c - b; c; z / (z - 1)), or the same with a and b exchanged
    exchanged = negative & ~((a > 0.0) & (c >= b))
    first, other = choose(exchanged, b, a), choose(exchanged, a, b)
    second = choose(negative, c - other, other)
    at = _reachable(choose(negative, z / (z - 1.0), z), a, b, c)
    small = (abs(a) <= MODERATE) & (abs(b) <= MODERATE) & (abs(c) <= MODERATE)
    positive = (first > 0.0) & (second >= 0.0) & (c > 0.0) & (at <= SLOW)
    result = Cell(z.constant(math.nan))

    def ratio(n: Lanes) -> tuple[Lanes, Lanes]:
        return (first + n) / (c + n) * ((second + n) / (n + 1.0)) * at, at.constant(0.0)

    with z.builder.if_((positive | ~small).value):
        factor = choose(negative, _power(1.0 - z, -first), 1.0)
        result.set(factor * _series(z.constant(1.0), ratio)[0])
    with z.builder.else_():
        with z.builder.if_(small.value):
            result.set(scipy_value("hyp2f1", a, b, c, z))
    return result.get()


def _hyp2f1_slope_a(a: Lanes, b: Lanes, c: Lanes, z: Lanes) -> Lanes:
    """The derivative of F(a, b; c; z) in a, for z < 1."""
    negative = z < 0.0
    first = choose(negative, c - a, a)
    at = _reachable(choose(negative, z / (z - 1.0), z), a, b, c)
    factor = choose(negative, _power(1.0 - z, -b), 1.0)

    def ratio(n: Lanes) -> tuple[Lanes, Lanes]:
        common = (b + n) / ((c + n) * (n + 1.0)) * at
        return (first + n) * common, choose(negative, -common, common)

    return factor * _series(z.constant(1.0), ratio)[1]


def _hyp2f1_slope_c(a: Lanes, b: Lanes, c: Lanes, z: Lanes) -> Lanes:
    """The derivative of F(a, b; c; z) in c, for z < 1."""
    negative = z < 0.0
    second = choose(negative, c - b, b)
    at = _reachable(choose(negative, z / (z - 1.0), z), a, b, c)
    factor = choose(negative, _power(1.0 - z, -a), 1.0)

    def ratio(n: Lanes) -> tuple[Lanes, Lanes]:
        common = (a + n) / ((c + n) * (n + 1.0)) * at
        numerator = choose(negative, b, -(b + n))  # of the slope of (c - b + n) / (c + n), or of (b + n) / (c + n)
        return (second + n) * common, common * (numerator / (c + n))

    return factor * _series(z.constant(1.0), ratio)[1]


def _hyp1f1(a: Lanes, b: Lanes, z: Lanes) -> Lanes:
    """M(a, b, z) by SciPy, whose loops do not end for the greatest numbers: there infinity or NaN."""
    usual = (abs(a) <= FAR_PARAMETER) & (abs(b) <= FAR_PARAMETER)
    result = Cell(choose(usual & (a > 0.0) & (b > 0.0) & (z > FAR), math.inf, z.constant(math.nan)))
    with z.builder.if_((usual & (abs(z) <= FAR)).value):
        result.set(scipy_value("hyp1f1", a, b, z))
    return result.get()


def _kummer_slope(a: Lanes, b: Lanes, z: Lanes, in_first: bool) -> Lanes:
    """The derivative of M(a, b, z) in a or b; below 0 by exp(z) M(b - a, b, -z)."""
    negative = z < 0.0
    size = choose((abs(z) < LONGEST) & (abs(a) < WHOLE) & (abs(b) < WHOLE), abs(z), math.nan)
    first = choose(negative, b - a, a)

    def ratio(n: Lanes) -> tuple[Lanes, Lanes]:
        common = size / ((b + n) * (n + 1.0))
        if in_first:
            return (first + n) * common, choose(negative, -common, common)
        return (first + n) * common, common * (choose(negative, a, -(a + n)) / (b + n))

    large = size > OVERFLOWING  # the sum of a series below 0 may be greater than any number
    start = choose(large, SMALL_START, z.constant(1.0))
    half = exponential(choose(negative, 0.5 * z, 0.0))
    slope = _series(start, ratio)[1]
    return (slope * half) * (half * choose(large, 1.0 / SMALL_START, 1.0))


hyp2f1: Final = lane_by_lane("hyp2f1", 4, _hyp2f1)
hyp2f1_slope_a: Final = lane_by_lane("hyp2f1_slope_a", 4, _hyp2f1_slope_a)
hyp2f1_slope_c: Final = lane_by_lane("hyp2f1_slope_c", 4, _hyp2f1_slope_c)
hyp1f1: Final = lane_by_lane("hyp1f1", 3, _hyp1f1)
hyp1f1_slope_a: Final = lane_by_lane("hyp1f1_slope_a", 3, lambda a, b, z: _kummer_slope(a, b, z, True))
hyp1f1_slope_b: Final = lane_by_lane("hyp1f1_slope_b", 3, lambda a, b, z: _kummer_slope(a, b, z, False))
