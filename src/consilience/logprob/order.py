"""Order statistics: sorted independent variables of one distribution, all of them or one place."""

from __future__ import annotations

import math

from consilience.distributions.mathematics import greater_equal, where
from consilience.ir import Node
from consilience.logprob.derivation import derive, is_measurable, rule
from consilience.logprob.extremes import identical
from consilience.logprob.measure import Measure
from consilience.ops.elementwise import apply
from consilience.ops.index import FULL, At, Gather, Index, getitem
from consilience.ops.reduce import ArgSort, reduce


class Sorted(Measure):
    """Independent variables of one distribution in ascending order along the last axis, one event."""

    def __init__(self, node: Node, argument: Measure, length: int) -> None:
        super().__init__(
            node,
            argument.sources,
            discrete=argument.discrete,
            whole=argument.whole,
            event_axes=(-1,),
            ends=argument.ends,
        )
        self.argument, self.length = argument, length

    def logp(self, value: Node) -> Node:
        density = reduce("sum", self.argument.logp(value), -1) + math.lgamma(self.length + 1)
        later, earlier = getitem(value, (..., slice(1, None))), getitem(value, (..., slice(None, -1)))
        return where(reduce("all", greater_equal(later, earlier), -1), density, -math.inf)


class OrderStatistic(Measure):
    """The element with `below` others before it and `above` behind it."""

    def __init__(self, node: Node, argument: Measure, element: Measure, below: int, above: int) -> None:
        super().__init__(node, argument.sources, ends=argument.ends)
        self.element, self.below, self.above = element, below, above
        self.ways = math.lgamma(below + above + 2) - math.lgamma(below + 1) - math.lgamma(above + 1)

    def logp(self, value: Node) -> Node:
        density = self.element.logp(value) + self.ways
        for count, tail in ((self.below, self.element.logcdf), (self.above, self.element.logccdf)):
            density = density + count * tail(value) if count else density
        return density

    def logcdf(self, value: Node) -> Node:
        return apply(
            "log", apply("betainc", self.below + 1.0, self.above + 1.0, apply("exp", self.element.logcdf(value)))
        )

    def logccdf(self, value: Node) -> Node:
        return apply(
            "log", apply("betainc", self.above + 1.0, self.below + 1.0, apply("exp", self.element.logccdf(value)))
        )

    def quantile(self, q: Node) -> Node:
        return self.element.quantile(apply("betaincinv", self.below + 1.0, self.above + 1.0, q))


def sorted_vector(node: Node) -> Node | None:
    """The random vectors that a node is in ascending order along the last axis; None if it is no such thing."""
    if not isinstance(node.op, Index):
        return None
    x, *arrays = node.inputs
    orders = [a for a in arrays if isinstance(a.op, ArgSort) and a.inputs[0] is x]
    others = [a for a in arrays if a not in orders]
    of_axes = all(isinstance(entry, Gather) for entry in node.op.specification) and node.static_shape == x.static_shape
    last = bool(orders) and isinstance(orders[0].op, ArgSort) and orders[0].op.axis == x.ndim - 1
    found = len(orders) == 1 and arrays[-1] is orders[0] and of_axes and last
    return x if found and not any(is_measurable(a) for a in others) and is_measurable(x) else None


@rule(Index)
def ordered(node: Node) -> Measure | None:
    """`sort` of equal ones along the last axis."""
    x = sorted_vector(node)
    if x is None or not identical(x, (-1,)) or not isinstance(x.static_shape[-1], int):
        return None
    measure = derive(x)
    # Ties of masses are as many orders as there are different ones.
    return None if measure.discrete or measure.atoms(x) is not None else Sorted(node, measure, x.static_shape[-1])


@rule(Index)
def order_statistic(node: Node) -> Measure | None:
    """One place of a sorted vector."""
    assert isinstance(node.op, Index)
    whole = node.inputs[0]
    x = sorted_vector(whole)
    *lead, last = node.op.specification
    if x is None or not isinstance(last, At) or any(entry != FULL for entry in lead):
        return None
    measure = derive(whole)
    if not isinstance(measure, Sorted):
        return None
    place = last.position % measure.length
    element = derive(Node(node.op, x))
    return OrderStatistic(node, measure, element, place, measure.length - 1 - place)
