"""Quantiles of counts: poisson_quantile, binomial_quantile, negative_binomial_quantile.

In: float64 parameters and a probability q. Out: the smallest whole number k with P(X <= k) >= q, as float64.
A continuous approximation gives a start; a search among whole numbers by the incomplete gamma or beta function
makes it exact, lane after lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from consilience.native.vectormath.incomplete import Cell, incomplete_gamma, lane_by_lane, regular_beta, until_converged
from consilience.native.vectormath.inverse_incomplete import gamma_quantile
from consilience.native.vectormath.normal import quantile
from consilience.native.vectormath.notation import Lanes, choose, fma

ROUNDING: Final = 2.0**-42
"""A probability closer than this to q, relatively, has reached q: q may be the result of the same function."""
HALF_UNIT: Final = 2.0**-54
"""The rounding of numbers below 1: a probability that rounds to q has reached it."""
TURNS: Final = 4000  # doubled steps from 1 to the largest float64, and as many halvings back


def nearly_normal(q: Lanes, mean: Lanes, variance: Lanes, asymmetry: Lanes | float) -> Lanes:
    """The quantile by the first terms of Cornish and Fisher; asymmetry: third central moment over variance."""
    z = quantile(q - 0.5, choose(q <= 0.5, q, 1.0 - q))
    return fma(variance.sqrt(), z, fma(fma(z, z, -1.0), asymmetry / 6.0, mean))


def search(q: Lanes, start: Lanes, top: Lanes | float, tail: Callable[[Lanes, Lanes], Lanes]) -> Lanes:
    """The smallest k in 0, 1, ..., top with P(X <= k) >= q, 0 < q < 1, searched from `start` on.

    tail    of (k, lower): P(X <= k) where the mask `lower` holds, else P(X > k); 0 <= k < top
    """
    lower = q <= 0.5
    rest = 1.0 - q
    low, high = Cell(q.constant(-1.0)), Cell(top if isinstance(top, Lanes) else q.constant(top))
    last = high.get() - 1.0
    k = Cell(choose(start >= 1.0, choose(start < last, start, last), 0.0).floor())
    step = Cell(q.constant(1.0))
    known = Cell(q.constant(1.0))

    def turn(_: Lanes) -> Lanes:
        at = k.get()
        probability = tail(at, lower)
        enough = probability >= fma(q, -ROUNDING, q)
        little = probability <= fma(rest, ROUNDING, rest) + HALF_UNIT
        reached = (lower & enough) | (~lower & little)
        known.set(choose(probability.equals(probability), known.get(), math.nan))
        low.set(choose(reached, low.get(), at))
        high.set(choose(reached, at, high.get()))
        next = choose(reached, high.get() - step.get(), low.get() + step.get())
        step.set(step.get() + step.get())
        middle = (0.5 * low.get() + 0.5 * high.get()).floor()
        inside = (next > low.get()) & (next < high.get())
        k.set(choose(inside, next, middle))
        # Also where whole numbers are no longer neighbours in float64, and for NaN.
        return ~((k.get() > low.get()) & (k.get() < high.get()) & known.get().equals(1.0))

    done = until_converged(q, turn, TURNS)
    return choose(done, high.get() * known.get(), math.nan)


def limits(q: Lanes, valid: Lanes, top: Lanes, regular: Lanes, found: Callable[[], Lanes]) -> Lanes:
    """The search where the distribution is spread out and 0 < q < 1; else 0 or `top`, NaN where not valid."""
    builder = q.builder
    result = Cell(q.constant(math.nan))
    with builder.if_((valid & regular & (q > 0.0) & (q < 1.0)).value):
        result.set(found())
    with builder.else_():
        inside = valid & (q >= 0.0) & (q <= 1.0)
        result.set(choose(inside, choose(q.equals(0.0), 0.0, top), math.nan))
    return result.get()


def _poisson(mu: Lanes, q: Lanes) -> Lanes:
    """Of a Poisson variable with mean mu >= 0; infinite at q = 1, NaN outside the domain."""

    def found() -> Lanes:
        def tail(k: Lanes, lower: Lanes) -> Lanes:
            beyond, below = incomplete_gamma(k + 1.0, mu)
            return choose(lower, below.get(), beyond.get())

        return search(q, nearly_normal(q, mu, mu, 1.0), math.inf, tail)

    spread = mu > 0.0
    top = choose(spread, mu.constant(math.inf), 0.0)
    return limits(q, (mu >= 0.0) & (mu < math.inf), top, spread, found)


def _binomial(n: Lanes, p: Lanes, q: Lanes) -> Lanes:
    """Of the successes among n >= 0 trials with probability p; NaN outside the domain.

    For an n that is not whole it means the same incomplete beta function, rising to 1 at k >= n.
    """
    top = -((-n).floor())

    def found() -> Lanes:
        failure = 1.0 - p

        def tail(k: Lanes, lower: Lanes) -> Lanes:
            first, second = n - k, k + 1.0
            return regular_beta(
                choose(lower, first, second),
                choose(lower, second, first),
                choose(lower, failure, p),
                choose(lower, p, failure),
            )

        mean = n * p
        return search(q, nearly_normal(q, mean, mean * failure, failure - p), top, tail)

    spread = (n > 0.0) & (p > 0.0) & (p < 1.0)
    end = choose(p.equals(0.0), 0.0, top)
    return limits(q, (n >= 0.0) & (n < math.inf) & (p >= 0.0) & (p <= 1.0), end, spread, found)


def _negative_binomial(mu: Lanes, alpha: Lanes, q: Lanes) -> Lanes:
    """Of Poisson counts whose rate is gamma distributed, mean mu >= 0 and shape alpha > 0; infinite at q = 1."""

    def found() -> Lanes:
        n = mu + alpha
        success, failure = alpha / n, mu / n

        def tail(k: Lanes, lower: Lanes) -> Lanes:
            other = k + 1.0
            return regular_beta(
                choose(lower, alpha, other),
                choose(lower, other, alpha),
                choose(lower, success, failure),
                choose(lower, failure, success),
            )

        ratio = mu / alpha
        start = Cell(nearly_normal(q, mu, fma(mu, ratio, mu), fma(ratio, 2.0, 1.0)))
        with mu.builder.if_((ratio > 1.0).value):  # most of the spread is that of the rate
            lower = q <= 0.5
            start.set(ratio * gamma_quantile(alpha, choose(lower, q, 1.0 - q), lower))
        return search(q, start.get(), math.inf, tail)

    spread = mu > 0.0
    top = choose(spread, mu.constant(math.inf), 0.0)
    valid = (mu >= 0.0) & (mu < math.inf) & (alpha > 0.0) & (alpha < math.inf)
    return limits(q, valid, top, spread, found)


poisson_quantile: Final = lane_by_lane("poisson_quantile", 2, _poisson)
binomial_quantile: Final = lane_by_lane("binomial_quantile", 3, _binomial)
negative_binomial_quantile: Final = lane_by_lane("negative_binomial_quantile", 3, _negative_binomial)
