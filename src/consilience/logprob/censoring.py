"""Maximum and minimum with a number: values beyond the bound become the bound, an atom."""

from __future__ import annotations

import math

from consilience.distributions.mathematics import equal, greater, less, near, where
from consilience.ir import FLOATS, Node
from consilience.logprob.derivation import derive, require_not_repeated, rule, sole_random
from consilience.logprob.measure import Measure
from consilience.ops.elementwise import Elementwise, apply, cast


class CensoredMeasure(Measure):
    """`max(X, c)`, or `min(X, c)`."""

    def __init__(self, node: Node, argument: Measure, bound: Node, from_below: bool) -> None:
        lower, upper = argument.ends
        super().__init__(
            node,
            argument.sources,
            discrete=argument.discrete,
            atomic=True,
            ends=(bound, upper) if from_below else (lower, bound),
        )
        self.argument, self.bound, self.from_below = argument, bound, from_below

    def logp(self, value: Node) -> Node:
        argument, bound = self.argument, self.bound
        at_bound = argument.logcdf(bound) if self.from_below else argument.log_from(bound)
        outside = less(value, bound) if self.from_below else greater(value, bound)
        return where(equal(value, bound), at_bound, where(outside, -math.inf, argument.logp(value)))

    def logcdf(self, value: Node) -> Node:
        inner = self.argument.logcdf(value)
        if self.from_below:
            return where(less(value, self.bound), -math.inf, inner)
        return where(less(value, self.bound), inner, 0.0)

    def logccdf(self, value: Node) -> Node:
        inner = self.argument.logccdf(value)
        if self.from_below:
            return where(less(value, self.bound), 0.0, inner)
        return where(less(value, self.bound), inner, -math.inf)

    def quantile(self, q: Node) -> Node:
        return apply("maximum" if self.from_below else "minimum", self.argument.quantile(q), self.bound)

    def snapped(self, value: Node, error: Node) -> Node:
        return near(self.argument.snapped(value, error), cast(self.bound, value.dtype), error)

    def atoms(self, value: Node) -> Node | None:
        if self.discrete:
            return super().atoms(value)
        inner, at_bound = self.argument.atoms(value), equal(value, self.bound)
        return at_bound if inner is None else apply("logical_or", inner, at_bound)


@rule("maximum", "minimum", "fmax", "fmin")
def censored(node: Node) -> Measure | None:
    """A random operand and one that is not."""
    place = sole_random(node)
    assert isinstance(node.op, Elementwise)
    if place is None or node.dtype == "bool":
        return None
    argument = node.inputs[place]
    require_not_repeated(node, argument)
    measure = derive(argument)
    if measure.event_axes or node.dtype not in (*FLOATS, argument.dtype):
        return None
    return CensoredMeasure(node, measure, node.inputs[1 - place], node.op.function in ("maximum", "fmax"))
