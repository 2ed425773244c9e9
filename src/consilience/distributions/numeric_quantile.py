"""Quantiles without a closed form, by Newton's method on the logarithm of a tail.

Where the density is log-concave so are both tails, and the steps approach the quantile from one side if they start
beyond it, as seen from the median.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from consilience.distributions.mathematics import equal, exp, greater, less, log, log1p, logical_and, where
from consilience.ir import Node
from consilience.ops.elementwise import StopGradient

STEPS: Final = 8


def numeric_quantile(
    q: Node,
    start: Node,
    tails: Callable[[Node], tuple[Node, Node, Node]],
    ends: tuple[float, float] = (float("-inf"), float("inf")),
    steps: int = STEPS,
) -> Node:
    """x with P(X <= x) = q.

    start   at or beyond the quantile, as seen from the median, or close to it
    tails   of x: logarithms of P(X <= x), of P(X > x), and of the density
    ends    the quantiles of 0 and 1
    """
    inside = logical_and(greater(q, 0.0), less(q, 1.0))
    regular = where(inside, q, 0.5)
    lower = less(regular, 0.5)
    target = where(lower, log(regular), log1p(-regular))
    x = start + 0.0 * regular
    for _ in range(steps):
        x = Node(StopGradient(), x)
        below, above, density = tails(x)
        tail = where(lower, below, above)
        slope = exp(Node(StopGradient(), tail - density))
        x = x + where(lower, target - tail, tail - target) * slope
    return where(inside, x, where(equal(q, 0.0), ends[0], ends[1]))
