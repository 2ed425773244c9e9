"""Inverses of the incomplete gamma and beta functions: gammaincinv, gammainccinv, betaincinv, betainccinv.

In: float64 parameters and probabilities. Out: quantiles with a relative error of about 1e-13; of beta variables
about 1e-16 over the smaller shape where that is more. Subnormal probabilities and quantiles have fewer digits.
Each starts close and then takes two to four Halley steps, lane after lane.

The smaller tail, which is exact in its own digits, is solved for. On the scale w = log x for the gamma and
w = log(x / (1 - x)) for the beta distribution the density is log-concave, and so is the tail: the slope and the
bend of its logarithm are known, Newton's steps come from one side, and asymptotes bound the root.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from consilience.native.vectormath.exponential import clamp, exponential, exponential_less_one
from consilience.native.vectormath.gamma import gammaln_of_one_plus, gammaln_of_positive
from consilience.native.vectormath.incomplete import (
    Cell,
    beta_density,
    gamma_density,
    incomplete_gamma,
    lane_by_lane,
    log_small_beta,
    regular_beta,
    until_converged,
)
from consilience.native.vectormath.logarithm import logarithm, logarithm_of_sum
from consilience.native.vectormath.normal import quantile
from consilience.native.vectormath.notation import Lanes, choose, fma

SMALLEST: Final = 5e-324
TURNS: Final = 100  # far more than any start needs; beyond, the result is NaN
ON_LINE: Final = 0.2  # next to an asymptote of the tail: start there
AT_LINE: Final = 1e-9  # so close that the asymptote with its first correction is the result
OFF_CENTRE: Final = 0.1  # standard deviations; the start's correction is 0 / 0 at the centre
CUBIC_ERROR: Final = 1e-17


def _larger(x: Lanes, y: Lanes | float) -> Lanes:
    """The larger of two numbers, y where x is NaN."""
    return choose(x > y, x, y)


def _deviance_start(
    tail: Lanes, curvature: Lanes, outside: Callable[[Lanes], Lanes], deviance: Callable[[Lanes], tuple[Lanes, Lanes]]
) -> Lanes:
    """The distance t from the mode, on the scale w, beyond which there is about the probability `tail`.

    deviance    D(t), the fall of the log density below its mode, and its derivative
    curvature   the second derivative of D at 0
    outside     of s, a number near the solution of D = s

    With r = sqrt(2 D), signed, the tail is nearly normal in r + log(v / r) / r, v = D' / sqrt(curvature)
    (Barndorff-Nielsen 1986; for the gamma distribution Temme 1992). One correction follows the solution.
    """
    z = quantile(tail - 0.5, tail)
    r = choose(z > -OFF_CENTRE, -OFF_CENTRE, z)
    level = 0.5 * r * r
    t = Cell(outside(level))
    builder = tail.builder
    with builder.for_(0, 4):
        depth, slope = deviance(t.get())
        step = (depth - level) / slope
        t.set(t.get() - choose(abs(step) < math.inf, step, 0.0))
    slope = abs(deviance(t.get())[1])
    correction = logarithm(slope / (-r * curvature.sqrt())) / r
    shift = ((z - r) - correction) * r / slope  # outwards
    shift = choose(abs(shift) < 1.0, shift, choose(shift < 0.0, -1.0, shift.constant(1.0)))
    outward = choose(t.get() < 0.0, -1.0, t.get().constant(1.0))
    return t.get() + shift * outward


def _halley(value: Lanes, target: Lanes, log_target: Lanes, density: Lanes, lean: Lanes) -> tuple[Lanes, Lanes]:
    """A step on the scale w, and whether none is needed after it.

    value, density    the tail and its derivative; target, log_target: what it should be
    lean              the derivative of log(density), which log-concavity makes a bound of density / value

    The logarithm of the tail has the slope s = density / value and the second derivative s (lean - s). The
    third is about s times the square of these: that bounds the error of the next point.
    """
    value = choose(value.equals(0.0), SMALLEST, value)
    ratio = value / target
    excess = choose(ratio.equals(math.inf), -log_target, logarithm(ratio))
    slope = _larger(_larger(density / value, lean), 1e-200)
    newton = -excess / slope
    bend = fma(0.5 * newton, lean - slope, 1.0)
    step = newton / _larger(bend, 0.5)
    scaled = step * (slope + abs(lean) + 1.0)
    return clamp(step, -300.0, 300.0), ~(abs(step) * scaled * scaled > CUBIC_ERROR)


def gamma_quantile(a: Lanes, tail: Lanes, lower: Lanes) -> Lanes:
    """x with P(a, x) = tail (lower) or Q(a, x) = tail (not lower); 0 < a < infinity, 0 < tail <= 1/2."""
    log_tail = logarithm(tail)
    log_lower = choose(lower, log_tail, logarithm_of_sum(-tail))
    one = choose(a < 1.0, a, 1.0)
    log_gamma = choose(a < 1.0, gammaln_of_one_plus(one), gammaln_of_positive(_larger(a, 1.0) + 1.0))
    # P = x**a / gamma(a + 1) (1 - a x / (a + 1) + ...) is below its first factor.
    asymptote = exponential((log_lower + log_gamma) / a)
    distance = asymptote / (a + 1.0)
    x = Cell(fma(asymptote, distance, asymptote))
    converged = Cell(x.get())

    def outside(level: Lanes) -> Lanes:
        k = level / a
        far = k + (k + k).sqrt()
        return choose(lower, -far, logarithm_of_sum(far))

    def deviance(t: Lanes) -> tuple[Lanes, Lanes]:
        growth = exponential_less_one(t)
        return a * (growth - t), a * growth

    def turn() -> Lanes:
        at = x.get()
        p, q = incomplete_gamma(a, at)
        lean = choose(lower, a - at, at - a)
        value = choose(lower, p.get(), q.get())
        step, last = _halley(value, tail, log_tail, a * gamma_density(a, at), lean)
        x.set(fma(at, exponential_less_one(choose(lower, step, -step)), at))
        return last

    builder = a.builder
    with builder.if_((~(distance < AT_LINE)).value):
        with builder.if_((~(distance < ON_LINE)).value):
            middle = a * exponential(_deviance_start(tail, a, outside, deviance))
            x.set(_larger(middle, asymptote))
        converged.set(choose(until_converged(a, lambda k: turn(), TURNS), 1.0, math.nan))
    with builder.else_():
        converged.set(1.0)
    return x.get() * converged.get()


def _gamma_inverse(a: Lanes, probability: Lanes, lower: bool) -> Lanes:
    """The quantile of a lower or an upper probability, with the limits at 0 and 1."""
    builder = a.builder
    inside = (probability > 0.0) & (probability < 1.0)
    result = Cell(a.constant(math.nan))
    with builder.if_((inside & (a > 0.0) & (a < math.inf)).value):
        small = probability <= 0.5
        tail = choose(small, probability, 1.0 - probability)
        result.set(gamma_quantile(a, tail, small if lower else ~small))
    with builder.else_():
        ends = choose(probability.equals(0.0 if lower else 1.0), a.constant(0.0), math.inf)
        defined = (a >= 0.0) & (probability.equals(0.0) | probability.equals(1.0))
        result.set(choose(defined, ends, math.nan))
    return result.get()


def _lower_inverse(a: Lanes, p: Lanes) -> Lanes:
    """x with P(a, x) = p; NaN unless 0 <= p <= 1 and a >= 0."""
    return _gamma_inverse(a, p, lower=True)


def _upper_inverse(a: Lanes, q: Lanes) -> Lanes:
    """x with Q(a, x) = q; NaN unless 0 <= q <= 1 and a >= 0."""
    return _gamma_inverse(a, q, lower=False)


gammaincinv: Final = lane_by_lane("gammaincinv", 2, _lower_inverse)
gammainccinv: Final = lane_by_lane("gammainccinv", 2, _upper_inverse)


def _beta_quantile(a: Lanes, b: Lanes, tail: Lanes) -> tuple[Lanes, Lanes]:
    """x and 1 - x with I_x(a, b) = tail; 0 < a, b < infinity, 0 < tail <= 1/2."""
    builder = a.builder
    log_tail = logarithm(tail)
    small, large = choose(a < b, a, b), choose(a < b, b, a)
    log_beta = log_small_beta(small, large) - logarithm(small)
    n = a + b
    # The lines to which log(tail) in w and log(1 - tail) in -w come close are above them: bounds of w.
    low = (log_tail + (log_beta + logarithm(a))) / a
    high = -(logarithm_of_sum(-tail) + (log_beta + logarithm(b))) / b
    above_low = exponential(low) * (n / (a + 1.0))
    below_high = exponential(-high) * (n / (b + 1.0))
    near_low = ~(below_high < above_low)
    distance = choose(near_low, above_low, below_high)
    w = Cell(choose(near_low, low + above_low, high - below_high))

    mode, rest = a / n, b / n
    curvature = a * rest

    def outside(level: Lanes) -> Lanes:
        k = level / (choose(a < b, a, b) * choose(a < b, rest, mode))
        far = k + (k + k).sqrt()
        return -choose(a < b, far, logarithm_of_sum(far))

    def deviance(t: Lanes) -> tuple[Lanes, Lanes]:
        growth = exponential(t)
        share = fma(mode, growth, rest)
        return fma(n, logarithm(share), -(a * t)), n * (mode * growth / share) - a

    with builder.if_((~(distance < ON_LINE)).value):
        middle = logarithm(a / b) + _deviance_start(tail, curvature, outside, deviance)
        middle = choose(middle > low, middle, low)
        w.set(choose(middle < high, middle, high))
    odds = exponential(-abs(w.get()))
    far_part, near_part = odds / (odds + 1.0), 1.0 / (odds + 1.0)
    left = w.get() < 0.0
    x, y = Cell(choose(left, far_part, near_part)), Cell(choose(left, near_part, far_part))
    valid = Cell(a.constant(1.0))

    def turn() -> Lanes:
        at, beyond = x.get(), y.get()
        lean = a * beyond - b * at
        value = regular_beta(a, b, at, beyond)
        step, last = _halley(value, tail, log_tail, beta_density(a, b, at, beyond), lean)
        factor = exponential(step)
        norm = fma(at, factor, beyond)
        x.set(at * factor / norm)
        y.set(beyond / norm)
        return last

    with builder.if_((~(distance < AT_LINE)).value):
        valid.set(choose(until_converged(a, lambda k: turn(), TURNS), 1.0, math.nan))
    return x.get() * valid.get(), y.get() * valid.get()


def _beta_inverse(a: Lanes, b: Lanes, probability: Lanes, lower: bool) -> Lanes:
    """The quantile of a lower or an upper probability, with its limits."""
    builder = a.builder
    result = Cell(a.constant(math.nan))
    inside = (probability > 0.0) & (probability < 1.0)
    finite = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
    with builder.if_((inside & finite).value):
        small = probability <= 0.5
        tail = choose(small, probability, 1.0 - probability)
        left = small if lower else ~small
        x, y = _beta_quantile(choose(left, a, b), choose(left, b, a), tail)
        result.set(choose(left, x, y))
    with builder.else_():
        # All mass at 0 for b = infinity, at 1 for a = infinity.
        at_zero = (a > 0.0) & (a < math.inf) & b.equals(math.inf)
        at_one = (b > 0.0) & (b < math.inf) & a.equals(math.inf)
        zero = probability.equals(0.0 if lower else 1.0)
        one = probability.equals(1.0 if lower else 0.0)
        positive = (a > 0.0) & (b > 0.0)
        low, high = (positive & zero) | (inside & at_zero), (positive & one) | (inside & at_one)
        result.set(choose(low, 0.0, choose(high, a.constant(1.0), math.nan)))
    return result.get()


def _lower_beta_inverse(a: Lanes, b: Lanes, p: Lanes) -> Lanes:
    """x with I_x(a, b) = p; NaN unless 0 <= p <= 1 and a, b > 0."""
    return _beta_inverse(a, b, p, lower=True)


def _upper_beta_inverse(a: Lanes, b: Lanes, q: Lanes) -> Lanes:
    """x with 1 - I_x(a, b) = q; NaN unless 0 <= q <= 1 and a, b > 0."""
    return _beta_inverse(a, b, q, lower=False)


betaincinv: Final = lane_by_lane("betaincinv", 3, _lower_beta_inverse)
betainccinv: Final = lane_by_lane("betainccinv", 3, _upper_beta_inverse)
