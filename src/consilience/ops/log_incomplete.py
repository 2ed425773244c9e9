"""What logarithms of the regularised incomplete gamma and beta functions, and their slopes, mean in NumPy.

In: arrays of shapes and arguments. Out: float64 arrays, with a relative error of about 1e-12. The smaller tail is its
density at the end times an integral that neither underflows nor cancels; the logarithm of the other follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from consilience.ops.incomplete_slopes import (
    CLOSE,
    GAUSS,
    LEAST_SHAPE,
    digamma_rest,
    excess,
    fall,
    integral,
)
from consilience.ops.log_beta import SERIES_FROM, betaln, gammaln_rest

Array = npt.NDArray[Any]
LEAST: Final = 0.1  # beta variables of smaller shapes are cut as if they had this one
SMALL: Final = 0.5  # below it the upper tail of a gamma variable of shape below 1 is one minus a series


class Tail(NamedTuple):
    """The tail that is computed: whether it is the lower one, the logarithms of both, and its relative changes.

    The first change is that in the logarithm of a gamma variable or the log odds of a beta variable, the others are
    those in the shapes.
    """

    lower: Array
    log: Array
    other: Array
    changes: tuple[Array, ...]


def _logarithm_of_ratio(log_x: Array, a: Array, relative: Array) -> Array:
    """log(x / a), relative = x / a - 1."""
    near = np.abs(relative) < 0.5
    return np.where(near, np.log1p(np.where(near, relative, 0.0)), log_x - np.log(a))


def _excess_of_ratio(relative: Array, log_ratio: Array) -> Array:
    """relative - log(1 + relative), whose logarithm is given where 1 + relative may underflow."""
    near = np.abs(relative) < 0.5
    close = np.where(near, relative, 0.0)
    return np.where(near, excess(close, 1.0 + close), relative - log_ratio)


def _log_gamma_density(a: Array, x: Array) -> Array:
    """log(x**a exp(-x) / gamma(a))."""
    from scipy.special import gammaln

    relative = (x - a) / a
    deviation = _excess_of_ratio(relative, _logarithm_of_ratio(np.log(x), a, relative))
    far = -a * deviation - gammaln_rest(a) + 0.5 * np.log(a / (2.0 * np.pi))
    return np.where(a > SERIES_FROM, far, a * np.log(x) - x - gammaln(a))


def _gamma_tail(shape: Array, x: Array, with_slope: bool) -> Tail:
    from scipy.special import digamma, gammaincc

    a, log_density = shape, _log_gamma_density(shape, x)
    small = (a < 1.0) & ((x < SMALL) | (x < a))
    # gammainc(a, x) = x**a exp(-x) / gamma(a + 1) + gammainc(a + 1, x)
    first, share = np.log(x) - digamma(a + 1.0), np.where(small, x / a, 1.0)
    lower = small | (x < a)
    a = np.where(small, a + 1.0, a)
    relative = (x - a) / a
    gap = _logarithm_of_ratio(np.log(x), a, relative) - digamma_rest(a)

    def below(weight: Callable[[Array], Array]) -> Array:  # t = x exp(-u)
        return integral(lambda u: (x - a) * u - x * excess(np.expm1(-u), np.exp(-u)), weight, np.abs(a - x), x)

    steepness = 1.0 - (a - 1.0) / x

    def above(weight: Callable[[Array], Array]) -> Array:  # t = x + u
        return integral(
            lambda u: -(a - 1.0) * excess(u / x, 1.0 + u / x) - steepness * u,
            weight,
            np.clip(steepness, 0.0, 1.0),
            (a - 1.0) / x / x,
        )

    value = np.where(lower, share * below(np.ones_like), above(np.ones_like) / x)
    value = value + np.where(small, share / x, 0.0)
    slope = np.zeros(())
    if with_slope:
        slope = np.where(lower, share * below(lambda u: gap - u), above(lambda u: gap + np.log1p(u / x)) / x)
        slope = slope + np.where(small, share / x * first, 0.0)
    log = log_density + np.log(value)
    upper = gammaincc(np.where(small, shape, 1.0), np.where(small, x, 1.0))
    other = np.where(small & (upper < 0.5), np.log(upper), np.log1p(-np.exp(log)))
    return Tail(lower, log, other, (np.where(lower, 1.0, -1.0) / value, slope / value))


def _log_beta_density(a: Array, b: Array, x: Array, y: Array, log_x: Array, log_y: Array) -> Array:
    """log(x**a y**b / B(a, b)), for x + y = 1."""
    n, offset = a + b, b * x - a * y
    first = _excess_of_ratio(offset / a, log_x + np.log(n / a))
    second = _excess_of_ratio(-offset / b, log_y + np.log(n / b))
    rest = gammaln_rest(n) - gammaln_rest(a) - gammaln_rest(b) + 0.5 * np.log(a * (b / n) / (2.0 * np.pi))
    far, near = rest - a * first - b * second, a * log_x + b * log_y - betaln(a, b)
    return np.asarray(np.where((a > SERIES_FROM) & (b > SERIES_FROM), far, near))


def _above_digamma(a: Array, b: Array, offset: Array, log_x: Array) -> Array:
    """log(x) - (digamma(a) - digamma(a + b)), for offset = b x - a y."""
    from scipy.special import zeta

    n = a + b
    middle, half = a + 0.5 * b, GAUSS * b
    short = 0.5 * b * (zeta(2.0, middle - half) + zeta(2.0, middle + half))
    relative = offset / a
    near = np.abs(relative) < 0.5
    log_ratio = np.where(near, np.log1p(np.where(near, relative, 0.0)), log_x + np.log(n / a))
    return np.where(b < CLOSE * a, log_x + short, log_ratio - (digamma_rest(a) - digamma_rest(n)))


def _lower_beta_tail(a: Array, b: Array, w: Array, with_slopes: bool) -> tuple[Array, Array, tuple[Array, Array]]:
    """The logarithm below the mean, the hazard, and the slopes in both shapes."""
    from scipy.special import digamma, expit

    x, y = expit(w), expit(-w)
    log_x, log_y = -np.logaddexp(0.0, -w), -np.logaddexp(0.0, w)
    log_density = _log_beta_density(a, b, x, y, log_x, log_y)
    # betainc(a, b, x) = x**a y**b / (a B(a, b)) + betainc(a + 1, b, x)
    small, n = a < 1.0, a + b
    at_end = np.where(small, 1.0 / a, 0.0)
    first = log_x - (digamma(a + 1.0) - digamma(n))
    second = _above_digamma(b, a, a * y - b * x, log_y)
    share = np.where(small, n / a * x, 1.0) / y
    a = np.where(small, a + 1.0, a)
    offset = b * x - a * y
    gaps = _above_digamma(a, b, offset, log_x), _above_digamma(b, a, -offset, log_y)
    odds, steepness = x / y, (x - offset) / y
    exponent = fall(a, b, odds, steepness)

    def below(weight: Callable[[Array], Array]) -> Array:  # t = x exp(-u)
        return share * integral(exponent, weight, np.clip(steepness, 0.0, a), (b - 1.0) * odds / y)

    value = at_end + below(np.ones_like)
    if not with_slopes:
        return log_density + np.log(value), 1.0 / value, (np.zeros(()), np.zeros(()))
    of_first = at_end * first + below(lambda u: gaps[0] - u)
    of_second = at_end * second + below(lambda u: gaps[1] + np.log1p(-odds * np.expm1(-u)))
    return log_density + np.log(value), 1.0 / value, (of_first / value, of_second / value)


def _beta_tail(a: Array, b: Array, w: Array, with_slopes: bool) -> Tail:
    lower = w < np.log(np.maximum(a, LEAST)) - np.log(np.maximum(b, LEAST))
    small, large = np.where(lower, a, b), np.where(lower, b, a)
    log, hazard, (first, second) = _lower_beta_tail(small, large, np.where(lower, w, -w), with_slopes)
    slopes = np.where(lower, first, second), np.where(lower, second, first)
    return Tail(lower, log, np.log1p(-np.exp(log)), (np.where(lower, hazard, -hazard), *slopes))


def _of_tail(tail: Tail, below: bool, part: int) -> Array:
    """The logarithm (part 0) of the lower or the upper tail, or one of its changes (1, 2, ...)."""
    direct = tail.lower == below
    if part == 0:
        return np.where(direct, tail.log, tail.other)
    change = tail.changes[part - 1]
    return np.where(direct, change, -np.exp(tail.log - tail.other) * change)


def _gamma_function(below: bool, part: int) -> Callable[[Array, Array], Array]:
    """log P (below) or log Q of (a, x), or its slope in x (part 1) or a (part 2); NaN for negative arguments."""

    def call(a: Array, x: Array) -> Array:
        with np.errstate(all="ignore"):
            regular = (a > 0.0) & (a < np.inf) & (x > 0.0) & (x < np.inf)
            shape, at = np.where(regular, np.maximum(a, LEAST_SHAPE), 1.0), np.where(regular, x, 1.0)
            value = _of_tail(_gamma_tail(shape, at, part == 2), below, part)
            value = value / at if part == 1 else value
            nothing = ((x == 0.0) & (a > 0.0)) | ((a == np.inf) & (x >= 0.0) & (x < np.inf))
            everything = ((a == 0.0) & (x > 0.0)) | ((x == np.inf) & (a >= 0.0) & (a < np.inf))
            end = _at_end(nothing, everything, below, part)
            if part == 1 and not below:  # minus the density at 0
                end = np.where((x == 0.0) & (a > 0.0) & (a <= 1.0), np.where(a < 1.0, -np.inf, -1.0), end)
            return np.where(regular, value, end)

    return call


def _beta_function(part: int) -> Callable[[Array, Array, Array], Array]:
    """log I_x(a, b) of (a, b, w), x = 1 / (1 + exp(-w)), or its slope in w (part 1), a (2) or b (3)."""

    def call(a: Array, b: Array, w: Array) -> Array:
        with np.errstate(all="ignore"):
            finite = (a > 0.0) & (b > 0.0) & (a < np.inf) & (b < np.inf)
            regular = finite & np.isfinite(w)
            first, second = (np.where(regular, np.maximum(shape, LEAST_SHAPE), 1.0) for shape in (a, b))
            value = _of_tail(_beta_tail(first, second, np.where(regular, w, 0.0), part > 1), True, part)
            # All mass is at 0 for a = 0 or b = infinity, at 1 for b = 0 or a = infinity.
            at_zero = ((a == 0.0) & (b > 0.0)) | ((a >= 0.0) & (a < np.inf) & (b == np.inf))
            at_one = ((b == 0.0) & (a > 0.0)) | ((b >= 0.0) & (b < np.inf) & (a == np.inf))
            inside = (finite | at_zero | at_one) & ~np.isnan(w)
            nothing = inside & ((w == -np.inf) | (at_one & (w < np.inf)))
            return np.where(regular, value, _at_end(nothing, inside & ~nothing, True, part))

    return call


def _at_end(nothing: Array, everything: Array, below: bool, part: int) -> Array:
    """The logarithms 0 and -inf of certainties, with slopes 0; NaN elsewhere."""
    full, none = (everything, nothing) if below else (nothing, everything)
    return np.where(full, 0.0, np.where(none, 0.0 if part else -np.inf, np.nan))


GAMMA_FUNCTIONS: Final = {
    name + suffix: _gamma_function(below, part)
    for name, below in (("log_gammainc", True), ("log_gammaincc", False))
    for part, suffix in enumerate(("", "_slope_x", "_slope_a"))
}
"""Logarithms of P and Q of (a, x), and their slopes."""
BETA_FUNCTIONS: Final = {
    f"log_betainc_odds{suffix}": _beta_function(part)
    for part, suffix in enumerate(("", "_slope_w", "_slope_a", "_slope_b"))
}
"""The logarithm of I of (a, b, w), w = log(x / (1 - x)), and its slopes."""
