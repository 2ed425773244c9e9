"""Quantiles without a closed form, by Newton's method on the logarithm of a tail.

Where the density is log-concave so are both tails, and the steps approach the quantile from one side if they start
beyond it, as seen from the median. Of other densities the quantile is first enclosed between two numbers.

Derivatives pass through the last two steps, and not through their slopes. Beside the quantile a step divides what is
missing in the parameters by a slope that is off by the first order, so that each gives one order of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from consilience.distributions.mathematics import (
    equal,
    exp,
    greater,
    isfinite,
    less,
    log,
    log1p,
    logical_and,
    maximum,
    minimum,
    where,
)
from consilience.ir import Node
from consilience.ops.elementwise import StopGradient
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota, expand_dims

STEPS: Final = 8
_SECTIONS: Final = 16
_ENCLOSED_STEPS: Final = 3


def numeric_quantile(
    q: Node,
    start: Node,
    tails: Callable[[Node], tuple[Node, Node, Node]],
    ends: tuple[float, float] = (float("-inf"), float("inf")),
    steps: int = STEPS,
) -> Node:
    """`x` with P(X <= x) = q.

    `start`: at or beyond the quantile, as seen from the median, or close to it. `tails`: of x: logarithms of P(X <= x),
    of P(X > x), and of the density. `ends`: the quantiles of 0 and 1.
    """
    inside = logical_and(greater(q, 0.0), less(q, 1.0))
    regular = where(inside, q, 0.5)
    lower = less(regular, 0.5)
    target = where(lower, log(regular), log1p(-regular))
    x = start + 0.0 * regular
    for step in range(steps):
        x = x if step == steps - 1 else Node(StopGradient(), x)
        below, above, density = tails(x)
        tail = where(lower, below, above)
        slope = exp(Node(StopGradient(), tail - density))
        x = x + where(lower, target - tail, tail - target) * slope
    return where(inside, x, where(equal(q, 0.0), ends[0], ends[1]))


def enclosed_quantile(
    q: Node,
    low: Node,
    high: Node,
    tails: Callable[[Node], tuple[Node, Node]],
    log_density: Callable[[Node], Node],
    rounds: int,
) -> Node:
    """`x` with P(X <= x) = q for 0 < q < 1, low <= x <= high.

    `tails`: of x, whose shape may have one axis more in front: logarithms of P(X <= x) and of P(X > x). `rounds`: in
    each the interval becomes 16 times shorter; then follow three of Newton's steps inside it.
    """
    lower = less(q, 0.5)
    target = where(lower, log(q), log1p(-q))
    low, high = (Node(StopGradient(), end + 0.0 * q) for end in (low, high))
    for _ in range(rounds):
        x = sections(low, high)
        below, above = tails(x)
        before = where(lower, less(below, target), greater(above, target))
        low, high = (
            maximum(low, reduce("max", where(before, x, low), 0)),
            minimum(high, reduce("min", where(before, high, x), 0)),
        )
    x = 0.5 * low + 0.5 * high
    for step in range(_ENCLOSED_STEPS):
        x = x if step == _ENCLOSED_STEPS - 1 else Node(StopGradient(), x)
        below, above = tails(x)
        tail = where(lower, below, above)
        slope = exp(Node(StopGradient(), tail - log_density(x)))
        missing = where(lower, target - tail, tail - target)
        reached = isfinite(missing * slope)  # an end of the support may be the number next to the quantile
        x = x + where(reached, missing * where(reached, slope, 0.0), 0.0)
        # Rounding may leave a quantile at an end of its interval; it has the derivatives of a quantile there, too.
        x = x + Node(StopGradient(), minimum(maximum(x, low), high) - x)
    return x


def sections(low: Node, high: Node) -> Node:
    """Points that divide an interval into equal parts, along a new first axis."""
    share = (Node(Iota(_SECTIONS - 1)) + 1.0) / _SECTIONS
    return low + expand_dims(share, tuple(range(1, 1 + low.ndim))) * (high - low)
