"""Sums over long ranges of whole numbers by a bounded number of terms.

The first and the last 64 numbers of a range are taken one by one. Between them the points move apart, smoothly: x is
an analytic function of the number of the point, and the sum of f(x) x' is that of all f, by Poisson's summation, as
long as f varies slowly over the greatest step. The error is then below 1e-13 of the sum.
"""

from __future__ import annotations

from typing import Final

from consilience.distributions.mathematics import equal, less_equal, maximum, sigmoid, softplus, where
from consilience.distributions.quadrature import column
from consilience.ir import Node
from consilience.ops.elementwise import StopGradient
from consilience.ops.shape import Iota

_ENDS: Final = 64.0
_POINTS: Final = 192
# The steps change over so many points; shorter changes leave an error of exp(-2 pi^2 _CHANGE).
_CHANGE: Final = 2.0
_LAST: Final = _POINTS - 1.0
_WIDE: Final = _LAST - 2.0 * _ENDS


def summation_points(first: Node, last: Node) -> tuple[Node, Node, Node]:
    """Points along a new last axis, the weight of each, and whether it belongs to the range.

    `first`, `last`: whole numbers as floats, first <= last; both belong to the range.
    """
    reach = last - first
    step = maximum((reach - 2.0 * _ENDS) / _WIDE, 1.0) - 1.0
    number = Node(Iota(_POINTS)) * 1.0
    start, end = (number - _ENDS) / _CHANGE, (number - (_LAST - _ENDS)) / _CHANGE
    offset = number + column(step) * (_CHANGE * where(equal(number, 0.0), 0.0, softplus(start) - softplus(end)))
    weight = 1.0 + column(step) * (sigmoid(start) - sigmoid(end))
    points = column(first) + offset
    # Half a unit keeps the last point, which is one of rounded numbers.
    inside = less_equal(offset, column(reach) * (1.0 + 1e-12) + 0.5)
    return Node(StopGradient(), points), Node(StopGradient(), weight), inside
