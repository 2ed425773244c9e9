"""Cumulative sums and products: the terms are differences, or quotients, of neighbours."""

from __future__ import annotations

from consilience.distributions.mathematics import absolute, log
from consilience.ir import Node
from consilience.logprob.derivation import derive, rule
from consilience.logprob.measure import Measure, refusal
from consilience.ops.index import getitem
from consilience.ops.reduce import Cumulative, reduce
from consilience.ops.shape import concatenate


class Accumulated(Measure):
    """Running sums or products along an axis, one event."""

    def __init__(self, node: Node, argument: Measure) -> None:
        assert isinstance(node.op, Cumulative)
        self.argument, self.axis = argument, node.op.axis - node.ndim
        axes = tuple(sorted({*argument.event_axes, self.axis}))
        super().__init__(node, argument.sources, discrete=argument.discrete, event_axes=axes)

    def logp(self, value: Node) -> Node:
        op = self.node.op
        assert isinstance(op, Cumulative)
        before = [slice(None)] * (value.ndim + self.axis)
        first, rest, previous = (
            (slice(-1, None), slice(None, -1), slice(1, None))
            if op.reverse
            else (slice(None, 1), slice(1, None), slice(None, -1))
        )
        start, later, earlier = (getitem(value, (*before, part)) for part in (first, rest, previous))
        steps = later - earlier if op.kind == "sum" else later / earlier
        parts = [steps, start] if op.reverse else [start, steps]
        density = self.argument.logp(concatenate(parts, value.ndim + self.axis))
        if self.axis not in self.argument.event_axes:
            axis = self.axis + sum(1 for own in self.argument.event_axes if own > self.axis)
            density = reduce("sum", density, axis)
        if op.kind == "sum" or self.discrete:
            return density
        return density - reduce("sum", log(absolute(earlier)), self.event_axes)


@rule(Cumulative)
def accumulated(node: Node) -> Measure:
    """`cumsum` and `cumprod`."""
    assert isinstance(node.op, Cumulative)
    argument = derive(node.inputs[0])
    zero = node.inputs[0] * 0.0
    if not argument.discrete and not argument.event_axes and argument.atoms(zero) is not None:
        raise refusal(node, "its terms have points of positive mass", "sum before censoring")
    if argument.discrete and node.op.kind == "prod":
        raise refusal(node, "products of whole numbers do not tell their factors where one is 0", "use the factors")
    return Accumulated(node, argument)
