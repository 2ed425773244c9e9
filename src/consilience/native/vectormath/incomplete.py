"""Incomplete gamma and beta functions, regularised: gammainc, gammaincc, betainc.

In: float64 parameters and arguments. Out: probabilities with a relative error of about 1e-13 (1e-12 where the
exponent is in the hundreds). Series and continued fractions run as scalar loops, lane after lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from consilience.native.loops import Builder
from consilience.native.program import Type, Value, Variable, f64, i64
from consilience.native.vectormath.coefficients import LOG_ODD, STIRLING, TEMME
from consilience.native.vectormath.error_function import complement_of_positive
from consilience.native.vectormath.exponential import exponential, exponential_less_one
from consilience.native.vectormath.gamma import gammaln, gammaln_of_one_plus, gammaln_of_positive
from consilience.native.vectormath.logarithm import logarithm, logarithm_of_sum
from consilience.native.vectormath.notation import (
    Elementary,
    Lanes,
    choose,
    fma,
    polynomial,
    product,
    total,
)

EPSILON: Final = 2.0**-54
TERMS: Final = 1_000_000  # beyond that a series counts as not converging: the result is NaN
ASYMPTOTIC_FROM: Final = 200.0
ASYMPTOTIC_WITHIN: Final = 0.3
STIRLING_FROM: Final = 10.0
LARGE: Final = 2.0**400  # beyond it convergents of a fraction are scaled


def lane_by_lane(name: str, arity: int, formula: Callable[..., Lanes]) -> Elementary:
    """A scalar formula with loops as a function of vectors: defined once per module, called for each lane."""

    def write(builder: Builder, *arguments: Value, fused: bool = False) -> Value:
        scalar = f"consilience_{name}_scalar"
        if scalar not in builder.module.functions:
            names = [(f"x{k}", f64) for k in range(arity)]
            body = builder.module.function(scalar, names, f64, export=False, contract=False, pure=True)
            body.ret(formula(*(Lanes(body, p, fused) for p in body.parameters)).value)
        type = arguments[0].type
        if type.lanes == 1:
            return builder.call(scalar, f64, *arguments)
        memory = [builder.stack(f64, type.lanes) for _ in range(arity + 1)]
        for argument, place in zip(arguments, memory, strict=False):
            builder.store(argument, place)
        with builder.for_(0, type.lanes) as lane:
            each = [builder.load(f64, builder.offset(place, lane, f64)) for place in memory[:-1]]
            builder.store(builder.call(scalar, f64, *each), builder.offset(memory[-1], lane, f64))
        return builder.load(type, memory[-1])

    write.__name__ = write.__qualname__ = name
    write.__doc__ = formula.__doc__
    return write


class Cell:
    """A variable of the loop program, read and written as `Lanes`."""

    __slots__ = ("lanes", "variable")

    def __init__(self, initial: Lanes) -> None:
        self.lanes = initial
        self.variable: Variable = initial.builder.variable(initial.value)

    def get(self) -> Lanes:
        """Its value now."""
        return self.lanes.of(self.lanes.builder.get(self.variable))

    def set(self, value: Lanes | float) -> None:
        """Give it another value."""
        stored = value if isinstance(value, Lanes) else self.lanes.constant(value)
        self.lanes.builder.set(self.variable, stored.value)


def until_converged(start: Lanes, turn: Callable[[Lanes], Lanes], limit: int = TERMS) -> Lanes:
    """Run turn(k), k = 0, 1, ..., until the mask it returns holds. Gives whether it did before turn(limit)."""
    builder = start.builder
    done = builder.variable(builder.const(Type("i1"), 0))
    count = builder.variable(builder.const(i64, 0))
    with builder.while_() as loop:
        unfinished = builder.not_(builder.get(done))
        loop.check(builder.and_(unfinished, builder.cmp("lt", builder.get(count), builder.const(i64, limit))))
        k = builder.get(count)
        builder.set(done, turn(start.of(builder.cast(k, f64))).value)
        builder.set(count, builder.add(k, builder.const(i64, 1)))
    return start.of(builder.get(done))


def excess_over_logarithm(x: Lanes, ratio: Lanes) -> Lanes:
    """x - log(ratio) for ratio = 1 + x > 0, each given to full accuracy.

    Without cancellation near 0: with s = x / (2 + x) it is x s - 2/3 s**3 - 2/5 s**5 - ...
    """
    s = x / (x + 2.0)
    z = s * s
    cubic = s * z * fma(z, polynomial(z, LOG_ODD), 2 / 3)
    return choose(abs(s) < 0.17, x * s - cubic, x - logarithm(ratio))


def stirling_rest(x: Lanes) -> Lanes:
    """log(gamma(x)) less Stirling's leading terms, x >= 6.5."""
    inverse = 1.0 / x
    return inverse * polynomial(inverse * inverse, STIRLING)


def gamma_density(a: Lanes, x: Lanes) -> Lanes:
    """x**a exp(-x) / gamma(a + 1), a and x positive and finite."""
    large = a >= STIRLING_FROM
    big = choose(large, a, STIRLING_FROM)
    at = choose(large, x, big)
    deviation = excess_over_logarithm((at - big) / big, at / big)
    far = fma(-big, deviation, -stirling_rest(big))
    near = fma(a, logarithm(x), -x) - gammaln_of_positive(choose(large, 1.0, a) + 1.0)
    return exponential(choose(large, far, near)) / choose(large, (2 * math.pi * big).sqrt(), 1.0)


def _at_most_one(probability: Lanes) -> Lanes:
    """A probability whose rounding is not to pass 1: its logarithm and that of its complement are finite or -inf."""
    return choose(probability > 1.0, 1.0, probability)


def _series(a: Lanes, x: Lanes) -> Lanes:
    """1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ..., NaN without convergence."""
    term, sum = Cell(x.constant(1.0)), Cell(x.constant(1.0))

    def turn(k: Lanes) -> Lanes:
        term.set(term.get() * (x / (a + (k + 1.0))))
        sum.set(sum.get() + term.get())
        return ~(term.get() > sum.get() * EPSILON)

    return choose(until_converged(x, turn), sum.get(), math.nan)


def _fraction(a: Lanes, x: Lanes) -> Lanes:
    """The continued fraction of Q exp(x) x**-a gamma(a) (DLMF 8.9.2, contracted), from its convergents.

    Their numerators and denominators follow by two products each; Lentz's method divides in a chain.
    """
    first = x - a + 1.0
    above, above_before = Cell(x.constant(1.0)), Cell(x.constant(0.0))
    below, below_before = Cell(first), Cell(x.constant(1.0))
    value = Cell(1.0 / first)

    def turn(k: Lanes) -> Lanes:
        i = k + 1.0
        numerator = i * (a - i)
        denominator = first + (i + i)
        for now, before in ((above, above_before), (below, below_before)):
            following = fma(denominator, now.get(), numerator * before.get())
            before.set(now.get())
            now.set(following)
        with x.builder.if_((below.get() > LARGE).value):
            for cell in (above, above_before, below, below_before):
                cell.set(cell.get() * (1.0 / LARGE))
        last = value.get()
        value.set(above.get() / below.get())
        return ~(abs(value.get() - last) > value.get() * (EPSILON * 4))

    converged = until_converged(x, turn)
    # Products of larger numbers overflow, and there the density is 0.
    return choose(x > LARGE, 1.0 / first, choose(converged, value.get(), math.nan))


def complement_for_small(a: Lanes, x: Lanes) -> Lanes:
    """Q for a <= 1 and x <= 1.5, where P is close to 1 (Gautschi 1979): -expm1(L) - exp(L) a S."""
    log_leading = a * logarithm(x) - gammaln_of_one_plus(a)
    term, sum = Cell(x.constant(1.0)), Cell(x.constant(0.0))

    def turn(k: Lanes) -> Lanes:
        i = k + 1.0
        term.set(-term.get() * x / i)
        part = term.get() / (a + i)
        sum.set(sum.get() + part)
        return ~(abs(part) > abs(sum.get()) * EPSILON)

    converged = until_converged(x, turn)
    q = -exponential_less_one(log_leading) - exponential(log_leading) * a * sum.get()
    return choose(converged, q, math.nan)


def _asymptotic(a: Lanes, x: Lanes) -> tuple[Lanes, Lanes]:
    """P and Q for large a and x near a (Temme 1979): half an erfc, and a double series in eta and 1 / a."""
    mu = (x - a) / a
    half_square = excess_over_logarithm(mu, x / a)
    eta = (half_square + half_square).sqrt().with_sign(mu)
    exponent = a * half_square
    inverse = 1.0 / a
    rows = [polynomial(eta, row) for row in TEMME]
    sum = rows[-1]
    for row in reversed(rows[:-1]):
        sum = fma(sum, inverse, row)
    rest = exponential(-exponent) / (2 * math.pi * a).sqrt() * sum
    tail = 0.5 * complement_of_positive(exponent.sqrt())
    above = eta >= 0.0
    smaller = tail + choose(above, rest, -rest)
    return choose(above, 1.0 - smaller, smaller), choose(above, smaller, 1.0 - smaller)


def incomplete_gamma(a: Lanes, x: Lanes) -> tuple[Cell, Cell]:
    """Cells of P(a, x) and Q(a, x)."""
    builder = x.builder
    p, q = Cell(x.constant(math.nan)), Cell(x.constant(math.nan))
    regular = (a > 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
    with builder.if_(regular.value):
        central = (a >= ASYMPTOTIC_FROM) & (abs(x - a) < a * ASYMPTOTIC_WITHIN)
        with builder.if_(central.value):
            lower, upper = _asymptotic(a, x)
            p.set(lower)
            q.set(upper)
        with builder.else_():
            below = (x < a + 1.0) | (x <= 1.5)
            with builder.if_(below.value):
                p.set(_at_most_one(gamma_density(a, x) * _series(a, x)))
                q.set(1.0 - p.get())
                with builder.if_(((a <= 1.0) & (x <= 1.5)).value):
                    q.set(complement_for_small(a, x))
            with builder.else_():
                q.set(_at_most_one(gamma_density(a, x) * a * _fraction(a, x)))
                p.set(1.0 - q.get())
    with builder.else_():
        # Limits: all mass at 0 for a = 0, at infinity for a = infinity.
        nothing = ((x.equals(0.0) & (a > 0.0)) | (a.equals(math.inf) & (x >= 0.0) & (x < math.inf))).value
        with builder.if_(nothing):
            p.set(0.0)
            q.set(1.0)
        everything = ((a.equals(0.0) & (x > 0.0)) | (x.equals(math.inf) & (a >= 0.0) & (a < math.inf))).value
        with builder.if_(everything):
            p.set(1.0)
            q.set(0.0)
    return p, q


def _lower(a: Lanes, x: Lanes) -> Lanes:
    """P(a, x), the probability that a gamma variable of shape a is below x; NaN for negative arguments."""
    return incomplete_gamma(a, x)[0].get()


def _upper(a: Lanes, x: Lanes) -> Lanes:
    """Q(a, x) = 1 - P(a, x), accurate in the upper tail; NaN for negative arguments."""
    return incomplete_gamma(a, x)[1].get()


def _log_gamma_ratio(a: Lanes, b: Lanes) -> Lanes:
    """log(gamma(a + b) / gamma(b)), a > 0, b >= 10."""
    sum = a + b
    return fma(b - 0.5, logarithm_of_sum(a / b), a * (logarithm(sum) - 1.0)) + stirling_rest(sum) - stirling_rest(b)


def log_small_beta(small: Lanes, large: Lanes) -> Lanes:
    """log(small B(small, large)), 0 < small <= large."""
    stirling = large >= STIRLING_FROM
    ratio = choose(
        stirling,
        _log_gamma_ratio(small, choose(stirling, large, STIRLING_FROM)),
        gammaln_of_positive(small + large) - gammaln_of_positive(large),
    )
    return gammaln_of_positive(small + 1.0) - ratio


def _log_beta(a: Lanes, b: Lanes) -> Lanes:
    """log|gamma(a) gamma(b) / gamma(a + b)|, without cancellation for a, b > 0; infinite at one pole, NaN at two."""
    small, large = choose(a < b, a, b), choose(a < b, b, a)
    result = Cell(a.constant(-math.inf))
    with a.builder.if_(((small > 0.0) & (a + b < math.inf)).value):
        result.set(log_small_beta(small, large) - logarithm(small))
    with a.builder.else_():
        first, second, sum = (x.of(gammaln(x.builder, x.value, fused=x.fused)) for x in (a, b, a + b))
        both = a.equals(0.0) & b.equals(0.0)
        negative = choose(both, math.inf, first + second - sum)
        result.set(choose((small > 0.0) & (a + b).equals(math.inf) & (small < math.inf), -math.inf, negative))
    return result.get()


def excess_over_mean(a: Lanes, b: Lanes, x: Lanes, y: Lanes) -> Lanes:
    """(a + b) x - a with its rounding errors, x + y = 1; x and y may be rounded, the smaller one is exact."""
    smaller_first = x <= y
    n, n_low = total(a, b)
    share, exact = choose(smaller_first, a, b), choose(smaller_first, x, y)
    leading, error = product(exact, n)
    signed = (leading - share) + fma(exact, n_low, error)
    return choose(smaller_first, signed, -signed)


def beta_density(a: Lanes, b: Lanes, x: Lanes, y: Lanes) -> Lanes:
    """x**a y**b / B(a, b), x + y = 1; x and y may be rounded, the smaller one is exact."""
    builder = x.builder
    result = Cell(x.constant(0.0))
    both_large = (a >= STIRLING_FROM) & (b >= STIRLING_FROM)
    with builder.if_(both_large.value):
        # The exponents' excess over their maximum at x = a / (a + b).
        n, offset = a + b, excess_over_mean(a, b, x, y)
        first = excess_over_logarithm(offset / a, x * (n / a))
        second = excess_over_logarithm(-offset / b, y * (n / b))
        exponent = -(a * first) - b * second
        exponent = exponent + ((stirling_rest(n) - stirling_rest(a)) - stirling_rest(b))
        result.set((a * (b / n) * (1 / (2 * math.pi))).sqrt() * exponential(exponent))
    with builder.else_():
        small, large = choose(a < b, a, b), choose(a < b, b, a)
        log_beta = log_small_beta(small, large)
        log_x = choose(x <= y, logarithm(x), logarithm_of_sum(-y))
        log_y = choose(x <= y, logarithm_of_sum(-x), logarithm(y))
        result.set(small * exponential(fma(a, log_x, fma(b, log_y, -log_beta))))
    return result.get()


def _beta_fraction(a: Lanes, b: Lanes, x: Lanes) -> Lanes:
    """The continued fraction of a I_x(a, b) B(a, b) x**-a (1 - x)**-b (DLMF 8.17.22), by Lentz's method."""
    sum = a + b
    tiny = 1e-300
    start = 1.0 / (1.0 - sum * x / (a + 1.0))
    c, d, value = Cell(x.constant(1.0)), Cell(start), Cell(start)

    def step(coefficient: Lanes) -> Lanes:
        below = fma(coefficient, d.get(), 1.0)
        above = 1.0 + coefficient / c.get()
        d.set(1.0 / choose(below.equals(0.0), tiny, below))
        c.set(choose(above.equals(0.0), tiny, above))
        change = c.get() * d.get()
        value.set(value.get() * change)
        return change

    def turn(k: Lanes) -> Lanes:
        m = k + 1.0
        even = a + (m + m)
        step(m * (b - m) * x / ((even - 1.0) * even))
        change = step(-(a + m) * (sum + m) * x / (even * (even + 1.0)))
        return ~(abs(change - 1.0) > EPSILON * 4)

    return choose(until_converged(x, turn), value.get(), math.nan)


def regular_beta(a: Lanes, b: Lanes, x: Lanes, y: Lanes) -> Lanes:
    """I_x(a, b), all positive and finite, x + y = 1; x and y may be rounded, the smaller one is exact."""
    mirrored = x * (a + b + 2.0) > a + 1.0
    first, second = choose(mirrored, b, a), choose(mirrored, a, b)
    at, rest = choose(mirrored, y, x), choose(mirrored, x, y)
    value = _at_most_one(beta_density(first, second, at, rest) * _beta_fraction(first, second, at) / first)
    return choose(mirrored, 1.0 - value, value)


def _beta(a: Lanes, b: Lanes, x: Lanes) -> Lanes:
    """I_x(a, b), the probability that a beta variable is below x; NaN unless a, b >= 0 and 0 <= x <= 1.

    The continued fraction takes about sqrt(a + b) turns near the mean; beyond a + b = 1e11 it gives NaN
    there.
    """
    builder = x.builder
    result = Cell(x.constant(math.nan))
    finite = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
    with builder.if_((finite & (x > 0.0) & (x < 1.0)).value):
        result.set(regular_beta(a, b, x, 1.0 - x))
    with builder.else_():
        # Limits: all mass at 0 for a = 0 or b = infinity, at 1 for b = 0 or a = infinity.
        at_zero = (a.equals(0.0) & (b > 0.0)) | ((a >= 0.0) & (a < math.inf) & b.equals(math.inf))
        at_one = (b.equals(0.0) & (a > 0.0)) | ((b >= 0.0) & (b < math.inf) & a.equals(math.inf))
        inside = (x >= 0.0) & (x <= 1.0) & (finite | at_zero | at_one)
        zero = x.equals(0.0) | (at_one & (x < 1.0))
        with builder.if_(inside.value):
            result.set(choose(zero, 0.0, choose(x.equals(1.0) | at_zero, 1.0, x)))
    return result.get()


gammainc: Final = lane_by_lane("gammainc", 2, _lower)
gammaincc: Final = lane_by_lane("gammaincc", 2, _upper)
betaln: Final = lane_by_lane("betaln", 2, _log_beta)
betainc: Final = lane_by_lane("betainc", 3, _beta)
