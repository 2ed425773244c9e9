"""Sums of masses of counts over the last mass, their slopes, and quantiles: beta-binomial (and hypergeometric).

In: float64 counts and parameters. Out: sums with a relative error of about 1e-15 times the square root of the number of
terms. The masses are summed relative to that of the count itself, on either side of it, as long as they
matter: about ten standard deviations, lane after lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from consilience.native.vectormath.count_quantile import limits, nearly_normal, search
from consilience.native.vectormath.incomplete import EPSILON, Cell, lane_by_lane, until_converged
from consilience.native.vectormath.notation import Elementary, Lanes, choose

TERMS: Final = 2_000_000_000
"""Of a sum over all counts; it then takes seconds."""


def relative_sum(k: Lanes, step: float, end: Lanes, ratio: Callable[[Lanes], Lanes], unimodal: Lanes) -> Lanes:
    """The masses of k + step, k + 2 step, ..., end over that of k.

    ratio       of a count j: the mass of j + step over that of j
    unimodal    mask: a mass that no longer matters is followed by none that does
    """
    at, term, sum = Cell(k), Cell(k.constant(1.0)), Cell(k.constant(0.0))

    def turn(_: Lanes) -> Lanes:
        factor = choose(at.get().equals(end), 0.0, ratio(at.get()))
        term.set(term.get() * factor)
        at.set(at.get() + step)
        sum.set(sum.get() + term.get())
        little = ~(term.get() > sum.get() * EPSILON) & ~(factor > 1.0) & unimodal
        return little | term.get().equals(0.0) | ~(sum.get() < math.inf)

    return choose(until_converged(k, turn, TERMS), sum.get(), math.nan)


def _urn(a: Lanes, b: Lanes, n: Lanes) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """Masks of valid and of log-concave parameters, and the ends of the support."""
    beta = (a > 0.0) & (b > 0.0) & (a + b < math.inf)
    without = (
        (a <= 0.0) & (b <= 0.0) & (a + b > -math.inf) & (n <= -(a + b)) & a.floor().equals(a) & b.floor().equals(b)
    )
    valid = (beta | without) & (n >= 0.0) & (n <= 2.0**53)
    least = choose(beta | (n + b < 0.0), 0.0, n + b)
    most = choose(beta | (n < -a), n, -a)
    # Two shapes below 1 heap up the masses at both ends.
    return valid, without | (a >= 1.0) | (b >= 1.0), least, most


def _urn_tails(a: Lanes, b: Lanes, n: Lanes, k: Lanes) -> tuple[Cell, Cell]:
    """Cells of P(X <= k) and P(X > k), n and k whole; shapes > 0, or whole ones <= 0 with n <= -a - b."""
    builder = k.builder
    valid, unimodal, least, most = _urn(a, b, n)
    valid = valid & k.equals(k)
    below = Cell(choose(valid, choose(k < least, k.constant(0.0), 1.0), math.nan))
    beyond = Cell(1.0 - below.get())
    with builder.if_((valid & (k >= least) & (k < most)).value):
        lower = 1.0 + relative_sum(
            k, -1.0, least, lambda j: j / (n - j + 1.0) * ((n - j + b) / (j - 1.0 + a)), unimodal
        )
        upper = relative_sum(k, 1.0, most, lambda j: (n - j) / (j + 1.0) * ((j + a) / (n - j - 1.0 + b)), unimodal)
        total = lower + upper
        # Infinite sums on both sides: almost all mass is at the ends, in inverse proportion to the shapes.
        left, right = lower.equals(math.inf), upper.equals(math.inf)
        below.set(choose(left, choose(right, b / (a + b), 1.0), lower / total))
        beyond.set(choose(right, choose(left, a / (a + b), 1.0), upper / total))
    return below, beyond


def _beta_binomial_sum(slope: str) -> Callable[[Lanes, Lanes, Lanes, Lanes], Lanes]:
    def formula(a: Lanes, b: Lanes, trials: Lanes, count: Lanes) -> Lanes:
        """P(X <= k) / P(X = k) of successes among n trials whose probability has a beta distribution, or its slope.

        Negative whole shapes mean draws without replacement: n from -a marked and -b unmarked ones. NaN beyond 2**53.
        """
        n, k = trials.floor(), count.floor()
        valid, unimodal, least, most = _urn(a, b, n)
        result = Cell(choose(valid & (k < least), 0.0, k.constant(math.nan)))
        with k.builder.if_((valid & (k >= least) & (k <= most)).value):
            at, term, sum = Cell(k), Cell(k.constant(1.0)), Cell(k.constant(1.0))
            reciprocals, change = Cell(k.constant(0.0)), Cell(k.constant(0.0))

            def turn(_: Lanes) -> Lanes:
                j = at.get()
                last = j.equals(least)
                factor = choose(last, 0.0, j / (n - j + 1.0) * ((n - j + b) / (j - 1.0 + a)))
                term.set(term.get() * factor)
                sum.set(sum.get() + term.get())
                little = ~(term.get() > sum.get() * EPSILON) & ~(factor > 1.0) & unimodal
                if slope:  # a mass's relative slope is a sum of reciprocals between its count and k
                    step = -1.0 / (j - 1.0 + a) if slope == "a" else 1.0 / (n - j + b)
                    reciprocals.set(reciprocals.get() + choose(last, 0.0, step))
                    part = term.get() * reciprocals.get()
                    change.set(change.get() + part)
                    little = little & ~(abs(part) > abs(change.get()) * EPSILON)
                at.set(j - 1.0)
                return little | term.get().equals(0.0) | ~(sum.get() < math.inf)

            done = until_converged(k, turn, TERMS)
            found = sum.get()
            if slope:
                found = choose(found < math.inf, change.get(), -math.inf if slope == "a" else math.inf)
            result.set(choose(done, found, math.nan))
        return result.get()

    return formula


def _beta_binomial_quantile(a: Lanes, b: Lanes, trials: Lanes, q: Lanes) -> Lanes:
    """The smallest k with P(X <= k) >= q; NaN outside the domain."""
    n = trials.floor()
    valid, _, least, most = _urn(a, b, n)
    spread = most > least

    def run() -> Lanes:
        def tail(k: Lanes, lower: Lanes) -> Lanes:
            below, beyond = _urn_tails(a, b, n, k)
            return choose(lower, below.get(), beyond.get())

        total = a + b
        share = a / total
        variance = n * share * (1.0 - share) * ((total + n) / (total + 1.0))
        usable = (variance > 0.0) & (variance < math.inf)
        start = nearly_normal(q, n * share, choose(usable, variance, 1.0), 0.0)
        return search(q, start, most, tail)

    found = limits(q, valid, most, spread, run)
    return choose(q.equals(0.0) & valid, least, found)


beta_binomial_quantile: Final = lane_by_lane("beta_binomial_quantile", 4, _beta_binomial_quantile)


def named(name: str, arity: int) -> Elementary:
    """The sum by its name in the library, or its slope in the parameter with which the name ends."""
    return lane_by_lane(name, arity, _beta_binomial_sum(name.removeprefix("beta_binomial_sum").removeprefix("_slope_")))
