"""Order statistics: sorted independent variables of one distribution, and one place of sorted ones of any."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from consilience.distributions.mathematics import equal, exp, greater_equal, less, log, where
from consilience.distributions.tails import log_difference
from consilience.ir import Node, constant
from consilience.logprob.derivation import derive, is_measurable, rule
from consilience.logprob.extremes import identical
from consilience.logprob.measure import EVERYWHERE, Ends, Measure, refusal
from consilience.ops.elementwise import apply, cast
from consilience.ops.index import FULL, At, Gather, Index, getitem
from consilience.ops.order import ArgSort, Sort
from consilience.ops.reduce import reduce
from consilience.ops.shape import concatenate, expand_dims, full

# Different distributions are counted one by one.
MOST: Final = 64


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
        if self.discrete:  # as many orders less as there are of equal ones
            same = equal(getitem(value, (..., slice(None), None)), getitem(value, (..., None, slice(None))))
            among = reduce("sum", where(np.tri(self.length, dtype="bool"), cast(same, "float64"), 0.0), -1)
            density = density - reduce("sum", log(among), -1)
        later, earlier = getitem(value, (..., slice(1, None))), getitem(value, (..., slice(None, -1)))
        return where(reduce("all", greater_equal(later, earlier), -1), density, -math.inf)


class OrderStatistic(Measure):
    """The element with `below` others before it and `above` behind it, of independent ones."""

    def __init__(self, node: Node, argument: Measure, below: int, above: int) -> None:
        super().__init__(
            node, argument.sources, discrete=argument.discrete, whole=argument.whole, ends=_known_ends(argument.ends)
        )
        self.argument, self.below, self.above = argument, below, above

    def reached(self, lower: Node, upper: Node) -> tuple[Node, Node]:
        """Log P that more than `below` elements lie in the lower one of two parts of the line, and that they do not.

        `lower`, `upper`: logarithms of the probabilities of the parts.
        """
        counts = constant(np.zeros(1))
        for i in range(self.below + self.above + 1):
            counts = _with_one_more(counts, lower[..., i : i + 1], upper[..., i : i + 1])
        at = self.below + 1
        return reduce("logsumexp", counts[..., at:], -1), reduce("logsumexp", counts[..., :at], -1)

    def density(self, value: Node) -> Node:
        """Logarithm of the density, by the number of the elements so far that are below, with and without the one."""
        spread_out = self.spread(value)
        here, lower, upper = (
            formula(spread_out) for formula in (self.argument.logp, self.argument.logcdf, self.argument.logccdf)
        )
        counts = constant(np.zeros(1))
        chosen = None
        for i in range(self.below + self.above + 1):
            own = slice(i, i + 1)
            ended = counts + here[..., own]
            if chosen is not None:
                ended = apply("logaddexp", _with_one_more(chosen, lower[..., own], upper[..., own]), ended)
            chosen, counts = ended, _with_one_more(counts, lower[..., own], upper[..., own])
        assert chosen is not None
        return chosen[..., self.below]

    def spread(self, value: Node) -> Node:
        """A value for all elements."""
        return expand_dims(value, value.ndim)

    def _up_to(self, value: Node) -> tuple[Node, Node]:
        spread_out = self.spread(value)
        return self.reached(self.argument.logcdf(spread_out), self.argument.logccdf(spread_out))

    def _before(self, value: Node) -> tuple[Node, Node]:
        spread_out = self.spread(value)
        return self.reached(self.argument.log_below(spread_out), self.argument.log_from(spread_out))

    def logp(self, value: Node) -> Node:
        if not self.discrete:
            return self.density(value)
        (at_most, more), (less_, at_least) = self._up_to(value), self._before(value)
        low = less(at_most, at_least)
        return log_difference(where(low, at_most, at_least), where(low, less_, more))

    def logcdf(self, value: Node) -> Node:
        return self._up_to(value)[0]

    def logccdf(self, value: Node) -> Node:
        return self._up_to(value)[1]

    def log_below(self, value: Node) -> Node:
        return self._before(value)[0]

    def log_from(self, value: Node) -> Node:
        return self._before(value)[1]


class OrderStatisticOfEqualOnes(OrderStatistic):
    """Of one distribution, the measure of which is the argument."""

    def reached(self, lower: Node, upper: Node) -> tuple[Node, Node]:
        first, last = self.below + 1.0, self.above + 1.0
        found = apply("betainc", first, last, exp(lower)), apply("betainc", last, first, exp(upper))
        return log(found[0]), log(found[1])

    def density(self, value: Node) -> Node:
        below, above = self.below, self.above
        density = self.argument.logp(value) + (
            math.lgamma(below + above + 2) - math.lgamma(below + 1) - math.lgamma(above + 1)
        )
        for count, tail in ((below, self.argument.logcdf), (above, self.argument.logccdf)):
            density = density + count * tail(value) if count else density
        return density

    def spread(self, value: Node) -> Node:
        return value

    def quantile(self, q: Node) -> Node:
        return self.argument.quantile(apply("betaincinv", self.below + 1.0, self.above + 1.0, q))


def _with_one_more(counts: Node, lower: Node, upper: Node) -> Node:
    """Logarithms of the probabilities of 0, 1, … elements in the lower part, when one more may be there."""
    stay, go = counts + upper, counts + lower
    nothing = full((*stay.static_shape[:-1], 1), -math.inf)
    return apply("logaddexp", concatenate([stay, nothing], stay.ndim - 1), concatenate([nothing, go], stay.ndim - 1))


def _known_ends(ends: Ends) -> Ends:
    return EVERYWHERE if any(isinstance(end, Node) for end in ends) else ends


def sorted_vector(node: Node) -> Node | None:
    """The random vectors that a node is in ascending order along the last axis; None if it is no such thing."""
    if isinstance(node.op, Sort):
        return node.inputs[0] if node.op.axis == node.ndim - 1 and is_measurable(node.inputs[0]) else None
    if not isinstance(node.op, Index):
        return None
    x, *arrays = node.inputs
    orders = [a for a in arrays if isinstance(a.op, ArgSort) and a.inputs[0] is x]
    others = [a for a in arrays if a not in orders]
    of_axes = all(isinstance(entry, Gather) for entry in node.op.specification) and node.static_shape == x.static_shape
    last = bool(orders) and isinstance(orders[0].op, ArgSort) and orders[0].op.axis == x.ndim - 1
    found = len(orders) == 1 and arrays[-1] is orders[0] and of_axes and last
    return x if found and not any(is_measurable(a) for a in others) and is_measurable(x) else None


@rule(Sort, Index)
def ordered(node: Node) -> Measure | None:
    """`sort` of equal ones along the last axis."""
    x = sorted_vector(node)
    if x is None or not identical(x, (-1,)) or not isinstance(x.static_shape[-1], int):
        return None
    measure = derive(x)
    mixed = measure.atomic and not measure.discrete
    return None if mixed else Sorted(node, measure, x.static_shape[-1])


@rule(Index)
def order_statistic(node: Node) -> Measure | None:
    """One place of a sorted vector."""
    assert isinstance(node.op, Index)
    whole = node.inputs[0]
    x = sorted_vector(whole)
    *lead, last = node.op.specification
    if x is None or not isinstance(last, At) or any(entry != FULL for entry in lead):
        return None
    length, measure = x.static_shape[-1], derive(x)
    if not isinstance(length, int) or measure.event_axes or (measure.atomic and not measure.discrete):
        return None
    place = last.position % length
    if identical(x, (-1,)):
        element = derive(Node(node.op, x))
        return OrderStatisticOfEqualOnes(node, element, place, length - 1 - place)
    if length > MOST:
        raise refusal(node, f"it is a place among more than {MOST} variables of different distributions", "take fewer")
    return OrderStatistic(node, measure, place, length - 1 - place)
