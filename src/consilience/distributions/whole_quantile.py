"""Quantiles of whole numbers: from a candidate, by chords of log-concave tails, or between two numbers.

The smallest number whose probability reaches q comes out. A probability has reached q if it comes within
2**-42 of it relatively, in the smaller tail, or rounds to it: q may itself be a computed probability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from consilience.distributions.mathematics import (
    equal,
    exp,
    floor,
    greater,
    greater_equal,
    isfinite,
    less,
    less_equal,
    log,
    log1mexp,
    log1p,
    logical_and,
    maximum,
    minimum,
    ndtri,
    round_even,
    softplus,
    sqrt,
    where,
)
from consilience.distributions.numeric_quantile import sections
from consilience.ir import Node
from consilience.ops.reduce import reduce

if TYPE_CHECKING:
    from consilience.distributions.distribution import Distribution

_NEARLY: Final = 2.0**-42
_HALF_UNIT: Final = 2.0**-54
_STEPS: Final = 8
# Next to it a ratio of masses is lost in rounding.
_STEEPEST: Final = 36.0
# So many sections reach every number below 2^53.
_ROUNDS: Final = 14


def corrected(candidate: Node, q: Node, bound: Distribution, least: Node | float) -> Node:
    """The quantile of q, where the candidate is at most 1 off; `least` is the smallest number of the support."""
    start = maximum(candidate, least)
    before = maximum(start - 1.0, least)
    return where(_reached(before, q, bound), before, where(_reached(start, q, bound), start, start + 1.0))


def by_chords(q: Node, bound: Distribution, least: Node, most: Node) -> Node:
    """The quantile of q for log-concave masses between two numbers, or infinite ones, by mean, variance and tails.

    Newton's method with chords in place of tangents. Both tails are log-concave: a step outwards ends at or beyond the
    quantile, from where steps inwards approach it.
    """
    inside = where(logical_and(greater(q, 0.0), less(q, 1.0)), q, 0.5)
    lower = less(inside, 0.5)
    target = where(lower, log(inside), log1p(-inside))
    k = minimum(maximum(floor(bound.mean() + sqrt(bound.variance()) * ndtri(inside)), least), most)
    for _ in range(_STEPS):
        tail, sign = where(lower, bound.logcdf(k), bound.logccdf(k)), where(lower, 1.0, -1.0)
        inwards = less(tail, target)
        crossed = bound.logp(where(equal(lower, inwards), k + 1.0, k)) - tail
        slope = where(inwards, softplus(crossed), minimum(-log1mexp(minimum(crossed, 0.0)), _STEEPEST))
        step = sign * (target - tail) / slope
        k = minimum(maximum(round_even(k + where(isfinite(step), step, 0.0)), least), most)  # none from the last number
    found = minimum(corrected(k, inside, bound, least), most)
    return where(equal(q, 0.0), least, where(equal(q, 1.0), most, found))


def between(low: Node, high: Node, q: Node, bound: Distribution) -> Node:
    """The quantile of q, which lies above `low` and is at most `high`."""
    for _ in range(_ROUNDS):
        k = floor(sections(low, high))
        enough = _reached(k, q, bound)
        low, high = (
            maximum(low, reduce("max", where(enough, low, k), 0)),
            minimum(high, reduce("min", where(enough, k, high), 0)),
        )
    return high


def _reached(k: Node, q: Node, bound: Distribution) -> Node:
    enough = greater_equal(exp(bound.logcdf(k)), q * (1.0 - _NEARLY))
    little = less_equal(exp(bound.logccdf(k)), (1.0 - q) * (1.0 + _NEARLY) + _HALF_UNIT)
    return where(less_equal(q, 0.5), enough, little)
