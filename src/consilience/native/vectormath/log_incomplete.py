"""Logarithms of the regularised incomplete gamma and beta functions, and their slopes.

In: float64 shapes and arguments. Out: numbers with a relative error of about 1e-12. The smaller tail is its density at
the end times an integral that neither underflows nor cancels; `ops/log_incomplete.py` is the same in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from consilience.native.vectormath.exponential import exponential, exponential_less_one
from consilience.native.vectormath.gamma import (
    HALF_LOG_TWO_PI,
    digamma_of_positive,
    gammaln_of_positive,
    trigamma_of_positive,
)
from consilience.native.vectormath.incomplete import (
    STIRLING_FROM,
    Cell,
    complement_for_small,
    excess_over_logarithm,
    excess_over_mean,
    lane_by_lane,
    log_small_beta,
    stirling_rest,
)
from consilience.native.vectormath.incomplete_slopes import (
    CLOSE,
    GAUSS,
    LEAST_SHAPE,
    digamma_rest,
    fall,
    integrals,
    logarithm_near_one,
    spread,
)
from consilience.native.vectormath.logarithm import log1mexp, logarithm, logarithm_of_sum
from consilience.native.vectormath.notation import Elementary, Lanes, choose, fma

LEAST: Final = 0.1  # beta variables of smaller shapes are cut as if they had this one
SMALL: Final = 0.5  # below it the upper tail of a gamma variable of shape below 1 is one minus a series


class LanesOfTail(NamedTuple):
    """The tail that is computed: whether it is the lower one, the logarithms of both, and the change asked for.

    Part 1 is the slope of its logarithm in the logarithm of a gamma variable or the log odds of a beta variable, the
    following ones are those in the shapes; part 0 is the logarithm itself.
    """

    lower: Lanes
    log: Lanes
    other: Lanes
    change: Lanes


def _complement(log: Lanes) -> Lanes:
    """log(1 - exp(log))."""
    return log.of(log1mexp(log.builder, choose(log < 0.0, log, 0.0).value, fused=log.fused))


def _excess_of_ratio(relative: Lanes, log_ratio: Lanes) -> Lanes:
    """relative - log(1 + relative), whose logarithm is given where 1 + relative may underflow."""
    near = abs(relative) < 0.5
    close = choose(near, relative, 0.0)
    return choose(near, excess_over_logarithm(close, close + 1.0), relative - log_ratio)


def _one(u: Lanes) -> Lanes:
    return u.constant(1.0)


def _log_gamma_density(a: Lanes, x: Lanes, log_x: Lanes) -> Lanes:
    """log(x**a exp(-x) / gamma(a))."""
    large = a >= STIRLING_FROM
    big, small = choose(large, a, STIRLING_FROM), choose(large, 1.0, a)
    deviation = _excess_of_ratio((x - big) / big, log_x - logarithm(big))
    far = fma(-big, deviation, 0.5 * logarithm(big) - HALF_LOG_TWO_PI - stirling_rest(big))
    near = fma(a, log_x, -x) - (gammaln_of_positive(small + 1.0) - logarithm(small))
    return choose(large, far, near)


def _gamma_tail(shape: Lanes, x: Lanes, part: int) -> LanesOfTail:
    """Of shape and x, both positive and finite."""
    builder, log_x = x.builder, logarithm(x)
    small = (shape < 1.0) & ((x < SMALL) | (x < shape))
    lower = small | (x < shape)
    # P(a, x) = x**a exp(-x) / gamma(a + 1) + P(a + 1, x)
    share, at_end = choose(small, x / shape, 1.0), choose(small, 1.0 / shape, 0.0)
    a = choose(small, shape + 1.0, shape)
    relative = (x - a) / a
    gap = logarithm_near_one(relative, log_x - logarithm(a)) - digamma_rest(a)
    at, shapes, gaps = spread(x, a, gap)
    value, slope = Cell(at_end), Cell(x.constant(0.0))
    with builder.if_(lower.value):  # t = x exp(-u)

        def below(u: Lanes) -> Lanes:
            growth = exponential_less_one(-u)
            return (at - shapes) * u - at * excess_over_logarithm(growth, growth + 1.0)

        first = log_x - digamma_of_positive(shape + 1.0)
        weights = [_one, lambda u: gaps - u] if part == 2 else [_one]
        found = integrals(below, weights, abs(a - x), x)
        value.set(value.get() + share * found[0])
        slope.set(fma(at_end, first, share * found[-1]))
    with builder.else_():  # t = x + u
        steepness = 1.0 - (a - 1.0) / x
        (falls,) = spread(steepness)

        def above(u: Lanes) -> Lanes:
            return -(shapes - 1.0) * excess_over_logarithm(u / at, u / at + 1.0) - falls * u

        weights = [_one, lambda u: gaps + logarithm_of_sum(u / at)] if part == 2 else [_one]
        length = choose(steepness < 1.0, choose(steepness > 0.0, steepness, 0.0), 1.0)
        found = integrals(above, weights, length, (a - 1.0) / x / x)
        value.set(found[0] / x)
        slope.set(found[-1] / x)
    log = _log_gamma_density(shape, x, log_x) + logarithm(value.get())
    other = Cell(_complement(log))
    with builder.if_(small.value):
        upper = complement_for_small(shape, x)
        other.set(choose(upper < 0.5, logarithm(upper), other.get()))
    change = choose(lower, 1.0, -1.0) if part == 1 else slope.get()
    return LanesOfTail(lower, log, other.get(), change / value.get())


def _log_beta_density(a: Lanes, b: Lanes, x: Lanes, y: Lanes, log_x: Lanes, log_y: Lanes) -> Lanes:
    """log(x**a y**b / B(a, b)), x + y = 1."""
    large = (a >= STIRLING_FROM) & (b >= STIRLING_FROM)
    first, second = choose(large, a, STIRLING_FROM), choose(large, b, STIRLING_FROM)
    n, offset = first + second, excess_over_mean(first, second, x, y)
    exponent = -first * _excess_of_ratio(offset / first, log_x + logarithm(n / first))
    exponent = exponent - second * _excess_of_ratio(-offset / second, log_y + logarithm(n / second))
    rest = (stirling_rest(n) - stirling_rest(first)) - stirling_rest(second)
    far = exponent + rest + 0.5 * logarithm(first * (second / n)) - HALF_LOG_TWO_PI
    less, more = choose(a < b, a, b), choose(a < b, b, a)
    near = fma(a, log_x, fma(b, log_y, logarithm(less) - log_small_beta(less, more)))
    return choose(large, far, near)


def _above_digamma(a: Lanes, b: Lanes, offset: Lanes, log_x: Lanes) -> Lanes:
    """log(x) - (digamma(a) - digamma(a + b)), for offset = b x - a y."""
    n = a + b
    middle, half = a + 0.5 * b, b * GAUSS
    short = 0.5 * b * (trigamma_of_positive(middle - half) + trigamma_of_positive(middle + half))
    wide = logarithm_near_one(offset / a, log_x + logarithm(n / a)) - (digamma_rest(a) - digamma_rest(n))
    return choose(b < CLOSE * a, log_x + short, wide)


def _lower_beta_tail(shape: Lanes, b: Lanes, w: Lanes, part: int) -> tuple[Lanes, Lanes]:
    """The logarithm below the mean, and part 1, 2 or 3 of the changes."""
    e = exponential(-abs(w))
    negative, tail = w < 0.0, logarithm_of_sum(e)
    x, y = choose(negative, e, 1.0) / (e + 1.0), choose(negative, 1.0, e) / (e + 1.0)
    log_x, log_y = choose(negative, w, 0.0) - tail, -choose(negative, 0.0, w) - tail
    # I_x(a, b) = x**a y**b / (a B(a, b)) + I_x(a + 1, b)
    small = shape < 1.0
    at_end = choose(small, 1.0 / shape, 0.0)
    share = choose(small, (shape + b) / shape * x, 1.0) / y
    a = choose(small, shape + 1.0, shape)
    offset = excess_over_mean(a, b, x, y)
    odds, steepness = x / y, (x - offset) / y
    weights: list[Callable[[Lanes], Lanes]] = [_one]
    first = at_end
    if part == 2:
        first = log_x - (digamma_of_positive(shape + 1.0) - digamma_of_positive(shape + b))
        (gap,) = spread(_above_digamma(a, b, offset, log_x))
        weights.append(lambda u: gap - u)
    elif part == 3:
        first = _above_digamma(b, shape, -excess_over_mean(shape, b, x, y), log_y)
        gap, ratio = spread(_above_digamma(b, a, -offset, log_y), odds)
        weights.append(lambda u: gap + logarithm_of_sum(-exponential_less_one(-u) * ratio))
    slope = choose(steepness < a, choose(steepness > 0.0, steepness, 0.0), a)
    found = integrals(fall(a, b, odds, steepness), weights, slope, (b - 1.0) * odds / y)
    value = fma(share, found[0], at_end)
    change = x.constant(1.0) if part < 2 else fma(share, found[1], at_end * first)
    return _log_beta_density(shape, b, x, y, log_x, log_y) + logarithm(value), change / value


def _beta_tail(a: Lanes, b: Lanes, w: Lanes, part: int) -> LanesOfTail:
    """Of shapes and log odds, all finite."""
    lower = w < logarithm(choose(a < LEAST, LEAST, a)) - logarithm(choose(b < LEAST, LEAST, b))
    own, other, at = choose(lower, a, b), choose(lower, b, a), choose(lower, w, -w)
    log, change = Cell(w.constant(0.0)), Cell(w.constant(0.0))
    if part < 2:
        found = _lower_beta_tail(own, other, at, part)
        log.set(found[0])
        change.set(choose(lower, found[1], -found[1]))
    else:
        with w.builder.if_(lower.value):
            for cell, each in zip((log, change), _lower_beta_tail(own, other, at, part), strict=True):
                cell.set(each)
        with w.builder.else_():
            for cell, each in zip((log, change), _lower_beta_tail(own, other, at, 5 - part), strict=True):
                cell.set(each)
    return LanesOfTail(lower, log.get(), _complement(log.get()), change.get())


def _of_tail(tail: LanesOfTail, below: bool, part: int) -> Lanes:
    direct = tail.lower if below else ~tail.lower
    if part == 0:
        return choose(direct, tail.log, tail.other)
    return choose(direct, tail.change, -exponential(tail.log - tail.other) * tail.change)


def _at_end(nothing: Lanes, everything: Lanes, below: bool, part: int) -> Lanes:
    """The logarithms 0 and -inf of certainties, with slopes 0; NaN elsewhere."""
    full, none = (everything, nothing) if below else (nothing, everything)
    return choose(full, 0.0, choose(none, 0.0 if part else -math.inf, math.nan))


def _gamma(below: bool, part: int) -> Callable[[Lanes, Lanes], Lanes]:
    def formula(a: Lanes, x: Lanes) -> Lanes:
        nothing = (x.equals(0.0) & (a > 0.0)) | (a.equals(math.inf) & (x >= 0.0) & (x < math.inf))
        everything = (a.equals(0.0) & (x > 0.0)) | (x.equals(math.inf) & (a >= 0.0) & (a < math.inf))
        end = _at_end(nothing, everything, below, part)
        if part == 1 and not below:  # minus the density at 0
            at_zero = x.equals(0.0) & (a > 0.0) & (a <= 1.0)
            end = choose(at_zero, choose(a < 1.0, x.constant(-math.inf), -1.0), end)
        result = Cell(end)
        with x.builder.if_(((a > 0.0) & (a < math.inf) & (x > 0.0) & (x < math.inf)).value):
            value = _of_tail(_gamma_tail(choose(a < LEAST_SHAPE, LEAST_SHAPE, a), x, part), below, part)
            result.set(value / x if part == 1 else value)
        return result.get()

    return formula


def _beta(part: int) -> Callable[[Lanes, Lanes, Lanes], Lanes]:
    def formula(a: Lanes, b: Lanes, w: Lanes) -> Lanes:
        finite = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
        # All mass is at 0 for a = 0 or b = infinity, at 1 for b = 0 or a = infinity.
        at_zero = (a.equals(0.0) & (b > 0.0)) | ((a >= 0.0) & (a < math.inf) & b.equals(math.inf))
        at_one = (b.equals(0.0) & (a > 0.0)) | ((b >= 0.0) & (b < math.inf) & a.equals(math.inf))
        inside = (finite | at_zero | at_one) & w.equals(w)
        nothing = inside & (w.equals(-math.inf) | (at_one & (w < math.inf)))
        result = Cell(_at_end(nothing, inside & ~nothing, True, part))
        with w.builder.if_((finite & (abs(w) < math.inf)).value):
            first, second = (choose(shape < LEAST_SHAPE, LEAST_SHAPE, shape) for shape in (a, b))
            result.set(_of_tail(_beta_tail(first, second, w, part), True, part))
        return result.get()

    return formula


def named(name: str, arity: int) -> Elementary:
    """The logarithm by its name in the library, or its slope in the parameter with which the name ends."""
    logarithm, _, slope = name.partition("_slope_")
    if arity == 2:
        return lane_by_lane(name, arity, _gamma(logarithm == "log_gammainc", ("", "x", "a").index(slope)))
    return lane_by_lane(name, arity, _beta(("", "w", "a", "b").index(slope)))
