"""Modified Bessel functions of any real order, and slopes of the scaled ones: iv, ive, kv, kve, ive_slope, kve_slope.

In: float64 orders and arguments. Out: values with a relative error of about 1e-13, and slopes in the argument that do
not cancel far out. Where the order or the argument is large by Debye's expansion (DLMF 10.41), which loses nothing
at the greatest numbers; elsewhere by SciPy. A slope has the sign of the argument taken as 0 at 0.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, NamedTuple

from consilience.native.vectormath.exponential import exponential
from consilience.native.vectormath.hyperbolic import arcsinh
from consilience.native.vectormath.incomplete import Cell, lane_by_lane
from consilience.native.vectormath.notation import Lanes, choose, fma, polynomial, total
from consilience.native.vectormath.power import pow
from consilience.native.vectormath.scipy_function import scipy_value

FROM: Final = 50.0
"""Debye's expansion has 16 digits from this sqrt(v**2 + x**2) on."""
TERMS: Final = 11
TINY: Final = 1e-150
NO_ORDER: Final = 1e-300  # SciPy has NaN for smaller negative orders
NEGLIGIBLE: Final = 20.0  # from this exponent on K_v is nothing beside I_v


def _debye_polynomials() -> list[list[float]]:
    """W_k with U_k(p) = p**k W_k(p**2), by the recurrence DLMF 10.41.9; coefficients from the constant upwards."""
    rows = [[Fraction(1)]]
    for k in range(TERMS - 1):
        before = [*rows[-1], Fraction(0)]
        after = []
        for j, w in enumerate(before):
            exponent, lower = k + 2 * j, before[j - 1] if j else Fraction(0)
            # of p**(k + 1 + 2 j): half p**2 (1 - p**2) U', and an eighth of the integral of (1 - 5 p**2) U
            slope = exponent * w - (exponent - 2) * lower
            after.append(slope / 2 + (w - 5 * lower) / (8 * (exponent + 1)))
        rows.append(after)
    return [[float(w) for w in row] for row in rows]


SUMS: Final = _debye_polynomials()
SLOPES: Final = [[-(2 * j + k) * w for j, w in enumerate(row)] for k, row in enumerate(SUMS)]
"""Of W_k(v**2 / s**2) s**-k in s, times s**(k + 1)."""


class Debye(NamedTuple):
    """The parts of the expansion for v >= 0 and x > 0, s = sqrt(v**2 + x**2).

    exponent   log I_v(x) less x, without its algebraic part
    factor     the algebraic part over that at v = 0
    slope      of the logarithm of the scaled function
    """

    exponent: Lanes
    factor: Lanes
    slope: Lanes


def _double_sum(rows: list[list[float]], q: Lanes, inverse: Lanes) -> Lanes:
    """Sum of rows[k][j] q**j inverse**k."""
    sum = polynomial(q, rows[-1])
    for row in reversed(rows[:-1]):
        sum = fma(sum, inverse, polynomial(q, row))
    return sum


def _debye(v: Lanes, x: Lanes, second_kind: bool) -> Debye:
    larger, smaller = choose(v > x, v, x), choose(v > x, x, v)
    ratio = smaller / larger
    s = larger * (ratio * ratio + 1.0).sqrt()
    share = v / s
    q = share * share
    inverse = (-1.0 if second_kind else 1.0) / s
    sum, change = _double_sum(SUMS, q, inverse), _double_sum(SLOPES, q, inverse)
    difference = v * (v / (s + x))  # s - x
    angle = x.of(arcsinh(x.builder, (v / x).value, fused=x.fused))
    exponent = difference - v * angle
    growth = (v / x) * (v / (s + x))
    leading = math.pi / 2 if second_kind else 1 / (2 * math.pi)
    factor = (leading / s).sqrt() * sum
    rest = (x / s) * ((change / sum - 0.5) / s)
    return Debye(-exponent, factor, rest - growth) if second_kind else Debye(exponent, factor, growth + rest)


def _is_large(order: Lanes, size: Lanes) -> Lanes:
    """Where the expansion is taken, both not negative."""
    return ((order >= FROM) | (size >= FROM)) & (order < math.inf) & (size < math.inf) & (size > 0.0)


def _is_whole(v: Lanes) -> Lanes:
    return v.equals(v.floor())


def _times_exponential(factor: Lanes, x: Lanes, y: Lanes) -> Lanes:
    """factor exp(x + y), in two halves: the exponential alone may overflow."""
    sum, error = total(x, y)
    half = exponential(0.5 * sum)
    value = half * factor * half
    return choose(abs(error) < 1.0, value * (error + 1.0), value)


def _power(x: Lanes, y: Lanes) -> Lanes:
    return x.of(pow(x.builder, x.value, y.value, fused=x.fused))


def _is_even(v: Lanes) -> Lanes:
    """Of a whole number."""
    half = 0.5 * v
    return half.equals(half.floor())


def _parity(v: Lanes, x: Lanes) -> Lanes:
    """(-1)**v where x is negative, else 1; NaN where that is not real."""
    return choose(x < 0.0, choose(_is_whole(v), choose(_is_even(v), 1.0, -1.0), math.nan), 1.0)


def _first_kind(v: Lanes, x: Lanes, scaled: bool) -> Lanes:
    """I_v(x), or it times exp(-|x|); NaN for negative x and orders that are not whole."""
    b = x.builder
    size = abs(x)
    order = choose(_is_whole(v) | (abs(v) < NO_ORDER), abs(v), v)
    result = Cell(x.constant(math.nan))

    def near() -> None:
        result.set(scipy_value("ive" if scaled else "iv", order, size))

    with b.if_((_is_large(abs(v), size) & ((order >= 0.0) | (size >= TINY))).value):
        parts = _debye(abs(v), size, False)
        with b.if_(((order >= 0.0) | (parts.exponent + size > NEGLIGIBLE)).value):
            growth = size.constant(0.0) if scaled else size
            result.set(_times_exponential(parts.factor, parts.exponent, growth))
        with b.else_():
            near()
    with b.else_():
        nothing = (order.equals(math.inf) & (size < math.inf)) | ((order > 3.0) & (size < TINY))
        with b.if_(nothing.value):
            result.set(0.0)
        with b.else_():
            with b.if_((size < TINY).value):
                # In proportion to the first term: SciPy's range ends at 1e-305.
                first = scipy_value("ive", order, size.constant(TINY)) * _power(size / TINY, order)
                infinite = choose(_is_even(order.floor()), -math.inf, math.inf)
                result.set(choose(order < -2.0, infinite, first))
            with b.else_():
                near()
                limit = 0.0 if scaled else math.inf
                result.set(choose(size.equals(math.inf) & (order < math.inf), limit, result.get()))
    return _parity(v, x) * result.get()


def _second_kind(v: Lanes, x: Lanes, scaled: bool) -> Lanes:
    """K_v(x), or it times exp(x); NaN for negative x."""
    b = x.builder
    order = abs(v)
    result = Cell(x.constant(math.nan))
    with b.if_(_is_large(order, x).value):
        parts = _debye(order, x, True)
        decay = x.constant(0.0) if scaled else -x
        result.set(_times_exponential(parts.factor, parts.exponent, decay))
    with b.else_():
        usual = scipy_value("kve" if scaled else "kv", order, x)
        high = order.equals(math.inf) & (x >= 0.0) & (x < math.inf)
        limit = choose(high, math.inf, usual)
        result.set(choose(x.equals(math.inf) & (order < math.inf), 0.0, limit))
    return result.get()


def _first_slope(v: Lanes, x: Lanes) -> Lanes:
    """The derivative of I_v(x) exp(-|x|) in x."""
    b = x.builder
    size = abs(x)
    value = _first_kind(v, size, True)
    result = Cell(x.constant(math.nan))
    with b.if_((_is_large(abs(v), size) & (size >= TINY)).value):
        parts = _debye(abs(v), size, False)
        result.set(choose(value.equals(0.0), 0.0, value * parts.slope))
    with b.else_():
        mean = 0.5 * (_first_kind(v - 1.0, size, True) + _first_kind(v + 1.0, size, True))
        result.set(mean - choose(size.equals(0.0), 0.0, value))
    return (_parity(v, x) * choose(x < 0.0, -1.0, 1.0)) * result.get()


def _second_slope(v: Lanes, x: Lanes) -> Lanes:
    """The derivative of K_v(x) exp(x) in x."""
    b = x.builder
    order = abs(v)
    value = _second_kind(order, x, True)
    result = Cell(x.constant(math.nan))
    with b.if_(_is_large(order, x).value):
        result.set(value * _debye(order, x, True).slope)
    with b.else_():
        result.set(value - 0.5 * (_second_kind(order - 1.0, x, True) + _second_kind(order + 1.0, x, True)))
    return choose(value.equals(math.inf), -math.inf, result.get())


ive: Final = lane_by_lane("ive", 2, lambda v, x: _first_kind(v, x, True))
iv: Final = lane_by_lane("iv", 2, lambda v, x: _first_kind(v, x, False))
kve: Final = lane_by_lane("kve", 2, lambda v, x: _second_kind(v, x, True))
kv: Final = lane_by_lane("kv", 2, lambda v, x: _second_kind(v, x, False))
ive_slope: Final = lane_by_lane("ive_slope", 2, _first_slope)
kve_slope: Final = lane_by_lane("kve_slope", 2, _second_slope)
