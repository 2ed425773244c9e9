"""Slopes of the incomplete gamma and beta functions in their shapes.

In: float64 shapes and arguments. Out: slopes with a relative error of about 1e-12. The density times the slope of its
logarithm is integrated on the side where that has one sign, lane after lane; `ops/incomplete_slopes.py` is the same in
NumPy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Final

from consilience.native.loops import f64
from consilience.native.vectormath.coefficients import DIGAMMA_STIRLING
from consilience.native.vectormath.exponential import exponential, exponential_less_one
from consilience.native.vectormath.gamma import DERIVATIVES_FROM, digamma_of_positive, trigamma_of_positive
from consilience.native.vectormath.incomplete import (
    Cell,
    beta_density,
    excess_over_logarithm,
    excess_over_mean,
    gamma_density,
    lane_by_lane,
)
from consilience.native.vectormath.logarithm import logarithm, logarithm_of_sum
from consilience.native.vectormath.notation import Lanes, choose, fma, polynomial

# The integral of f(u) over u > 0 is that of f(u(s)) u'(s) over all s, u = exp(s - exp(-s)), for which the trapezoidal
# rule converges exponentially (Takahasi and Mori 1974).
STEP: Final = 1 / 8
FIRST: Final = -3.75
NODES: Final = 68
AT_ONCE: Final = 4
CLOSE: Final = 2e-3  # relative distance of two arguments of digamma whose difference needs care
GAUSS: Final = 0.5 / 3.0**0.5  # the nodes of the rule with two nodes, in lengths of the interval from its middle
LEAST_SHAPE: Final = 1e-300  # in place of 0, where the slope has this limit


def digamma_rest(x: Lanes) -> Lanes:
    """digamma(x) - log(x)."""
    large = x >= DERIVATIVES_FROM
    inverse = 1.0 / choose(large, x, DERIVATIVES_FROM)
    square = inverse * inverse
    series = -fma(square, polynomial(square, DIGAMMA_STIRLING), 0.5 * inverse)
    near = choose(large, 1.0, x)
    return choose(large, series, digamma_of_positive(near) - logarithm(near))


def spread(*scalars: Lanes) -> tuple[Lanes, ...]:
    """Each number in all of the lanes that an integrand is computed on."""
    return tuple(x.of(x.builder.splat(x.value, AT_ONCE)) for x in scalars)


def integrals(
    exponent: Callable[[Lanes], Lanes], weights: Sequence[Callable[[Lanes], Lanes]], slope: Lanes, bend: Lanes
) -> tuple[Lanes, ...]:
    """The integrals of weight(u) exp(exponent(u)) over u > 0, where exponent(u) begins as -slope u - bend u**2 / 2.

    Several nodes are computed at once: u is a vector, with what the integrand needs `spread` beside it.
    """
    builder = slope.builder
    length = 2.0 / (slope + (slope * slope + 2.0 * choose(bend > 0.0, bend, 0.0)).sqrt())
    (wide,) = spread(length)
    places = wide.constant(0.0).value
    for k in range(1, AT_ONCE):
        places = builder.insert(places, builder.const(f64, float(k)), k)
    sums = [Cell(wide.constant(0.0)) for _ in weights]
    with builder.for_(0, NODES, AT_ONCE) as node:
        (first,) = spread(slope.of(builder.cast(node, f64)))
        s = (first + wide.of(places)) * STEP + FIRST
        inverse = exponential(-s)
        u = wide * exponential(s - inverse)
        height = exponential(exponent(u))
        for weight, sum in zip(weights, sums, strict=True):
            sum.set(sum.get() + weight(u) * height * (u * (1.0 + inverse)))
    parts = [[slope.of(builder.extract(sum.get().value, k)) for k in range(AT_ONCE)] for sum in sums]
    return tuple(STEP * functools.reduce(lambda x, y: x + y, each) for each in parts)


def _integral(exponent: Callable[[Lanes], Lanes], weight: Callable[[Lanes], Lanes], slope: Lanes, bend: Lanes) -> Lanes:
    (result,) = integrals(exponent, [weight], slope, bend)
    return result


def logarithm_near_one(relative: Lanes, logarithm: Lanes) -> Lanes:
    """log(1 + relative), given it to full accuracy where it is large."""
    near = abs(relative) < 0.5
    return choose(near, logarithm_of_sum(choose(near, relative, 0.0)), logarithm)


def _regular_gamma(shape: Lanes, x: Lanes) -> Lanes:
    """The slope of P(a, x) in a, both positive and finite."""
    builder = x.builder
    # P(a, x) = x**a exp(-x) / gamma(a + 1) + P(a + 1, x)
    log_x = logarithm(x)
    first = log_x - digamma_of_positive(shape + 1.0)
    near = (shape < 1.0) & (first < 0.0)
    result = Cell(choose(near, gamma_density(shape, x) * first, 0.0))
    a = choose(near, shape + 1.0, shape)
    density = gamma_density(a, x) * a
    gap = logarithm_near_one((x - a) / a, log_x - logarithm(a)) - digamma_rest(a)

    at, shapes, gaps = spread(x, a, gap)
    with builder.if_((gap < 0.0).value):  # t = x exp(-u)

        def below(u: Lanes) -> Lanes:
            growth = exponential_less_one(-u)
            return (at - shapes) * u - at * excess_over_logarithm(growth, growth + 1.0)

        result.set(result.get() + density * _integral(below, lambda u: gaps - u, a - x, x))
    with builder.else_():  # t = x + u
        steepness = 1.0 - (a - 1.0) / x
        (falls,) = spread(steepness)

        def above(u: Lanes) -> Lanes:
            return -(shapes - 1.0) * excess_over_logarithm(u / at, u / at + 1.0) - falls * u

        tail = _integral(
            above,
            lambda u: gaps + logarithm_of_sum(u / at),
            choose(steepness < 1.0, steepness, 1.0),
            (a - 1.0) / x / x,
        )
        result.set(result.get() - density * tail / x)
    return result.get()


def _gamma_slope(a: Lanes, x: Lanes) -> Lanes:
    """The slope of P(a, x) in a, at most 0; 0 at the ends, NaN for negative arguments."""
    result = Cell(choose((a >= 0.0) & (x >= 0.0), x.constant(0.0), math.nan))
    with x.builder.if_(((a >= 0.0) & (a < math.inf) & (x > 0.0) & (x < math.inf)).value):
        result.set(_regular_gamma(choose(a < LEAST_SHAPE, LEAST_SHAPE, a), x))
    return result.get()


def fall(own: Lanes, other: Lanes, odds: Lanes, steepness: Lanes) -> Callable[[Lanes], Lanes]:
    """The fall of the logarithm of a beta density from x, where it has the slope `steepness`, to x exp(-u)."""
    own, other, odds, steepness = spread(own, other, odds, steepness)

    def exponent(u: Lanes) -> Lanes:
        growth = exponential_less_one(-u)
        rest = -growth * odds
        # Each is free of cancellation for its shapes.
        spread = other < 1.0
        falling = fma(own, -u, (other - 1.0) * logarithm_of_sum(rest))
        bend = own * excess_over_logarithm(growth, growth + 1.0)
        bending = growth * steepness - bend - (other - 1.0) * excess_over_logarithm(rest, rest + 1.0)
        return choose(spread, falling, bending)

    return exponent


def _regular_beta(first_shape: Lanes, second_shape: Lanes, x: Lanes, y: Lanes) -> Lanes:
    """The slope of I_x(a, b) in a, all positive and finite, x + y = 1."""
    builder = x.builder
    log_x = choose(x <= y, logarithm(x), logarithm_of_sum(-y))
    n = first_shape + second_shape
    density = Cell(beta_density(first_shape, second_shape, x, y))
    # I_x(a, b) = x**a y**b / (a B(a, b)) + I_x(a + 1, b)
    first = log_x - (digamma_of_positive(first_shape + 1.0) - digamma_of_positive(n))
    near = (first_shape < 1.0) & (first < 0.0)
    result = Cell(choose(near, density.get() / first_shape * first, 0.0))
    density.set(choose(near, density.get() * (n / first_shape) * x, density.get()))
    a = choose(near, first_shape + 1.0, first_shape)
    n = a + second_shape
    offset = excess_over_mean(a, second_shape, x, y)
    wide = logarithm_near_one(offset / a, log_x + logarithm(n / a)) - (digamma_rest(a) - digamma_rest(n))
    # The difference of digamma over a short interval is the integral of trigamma, by the rule of Gauss.
    middle, half = a + 0.5 * second_shape, second_shape * GAUSS
    short = 0.5 * second_shape * (trigamma_of_positive(middle - half) + trigamma_of_positive(middle + half))
    gap = choose(second_shape < CLOSE * a, log_x + short, wide)
    odds = x / y
    (gaps,) = spread(gap)

    with builder.if_((gap < 0.0).value):  # t = x exp(-u)
        steepness = (x - offset) / y
        below = fall(a, second_shape, odds, steepness)

        part = _integral(
            below,
            lambda u: gaps - u,
            choose(steepness < a, steepness, a),
            (second_shape - 1.0) * odds / y,
        )
        result.set(result.get() + density.get() * part / y)
    with builder.else_():  # 1 - t = y exp(-u)
        # I_x(a, b) = I_x(a, b + 1) - x**a y**b / (b B(a, b))
        small = second_shape < 1.0
        result.set(result.get() - choose(small, density.get() / second_shape * gap, 0.0))
        density.set(choose(small, density.get() * (n / second_shape) * y, density.get()))
        b = choose(small, second_shape + 1.0, second_shape)
        beyond = choose(small, gap + 1.0 / n, gap)
        steepness = (y + choose(small, offset + x, offset)) / x
        above = fall(b, a, 1.0 / odds, steepness)
        offsets, ratio = spread(beyond, odds)
        part = _integral(
            above,
            lambda u: offsets + logarithm_of_sum(-exponential_less_one(-u) / ratio),
            choose(steepness < b, steepness, b),
            (a - 1.0) / odds / x,
        )
        result.set(result.get() - density.get() * part / x)
    return result.get()


def _beta_slope(a: Lanes, b: Lanes, x: Lanes, first: bool) -> Lanes:
    """The slope in the first or the second shape; 0 at the ends, NaN outside of the domain."""
    valid = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)
    result = Cell(choose(valid, x.constant(0.0), math.nan))
    with x.builder.if_((valid & (a + b < math.inf) & (x > 0.0) & (x < 1.0)).value):
        a, b = (choose(shape < LEAST_SHAPE, LEAST_SHAPE, shape) for shape in (a, b))
        y = 1.0 - x
        result.set(_regular_beta(a, b, x, y) if first else -_regular_beta(b, a, y, x))
    return result.get()


def _beta_first(a: Lanes, b: Lanes, x: Lanes) -> Lanes:
    """The slope of I_x(a, b) in a, at most 0."""
    return _beta_slope(a, b, x, first=True)


def _beta_second(a: Lanes, b: Lanes, x: Lanes) -> Lanes:
    """The slope of I_x(a, b) in b, at least 0."""
    return _beta_slope(a, b, x, first=False)


gammainc_slope: Final = lane_by_lane("gammainc_slope", 2, _gamma_slope)
betainc_slope_a: Final = lane_by_lane("betainc_slope_a", 3, _beta_first)
betainc_slope_b: Final = lane_by_lane("betainc_slope_b", 3, _beta_second)
