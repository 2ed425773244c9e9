"""Whole numbers of real ones: floor, ceil, rounding to the nearest, and cutting off digits."""

from __future__ import annotations

import math
from collections.abc import Callable

from consilience.distributions.constraints import is_infinite
from consilience.distributions.mathematics import equal, floor, greater, less, where
from consilience.ir import FLOATS, INTEGERS, Node
from consilience.logprob.derivation import derive, rule
from consilience.logprob.measure import Ends, Measure, number
from consilience.ops.elementwise import Cast, Elementwise, apply, cast


class Rounded(Measure):
    """The whole number k of an interval that holds X: P(k) is its probability."""

    def __init__(self, node: Node, argument: Measure, kind: str) -> None:
        super().__init__(node, argument.sources, discrete=True, whole=True, ends=_ends(argument, kind))
        self.argument, self.kind = argument, kind

    def logp(self, value: Node) -> Node:
        number = cast(value, "float64") if value.dtype not in FLOATS else value
        whole = floor(number)
        result = self._interval(whole)
        if number is not value:
            return result
        return where(equal(number, whole), result, -math.inf)

    def _interval(self, k: Node) -> Node:
        between = self.argument.log_between
        if self.kind == "floor":
            return between(k, k + 1.0, lower_included=True, upper_included=False)
        if self.kind == "ceil":
            return between(k - 1.0, k, lower_included=False, upper_included=True)
        if self.kind == "round":  # ties go to even numbers
            if self.argument.atoms(k) is None:
                return between(k - 0.5, k + 0.5, lower_included=True, upper_included=True)
            even = equal(apply("mod", k, 2.0), 0.0)
            closed = between(k - 0.5, k + 0.5, lower_included=True, upper_included=True)
            return where(even, closed, between(k - 0.5, k + 0.5, lower_included=False, upper_included=False))
        lower, upper = where(greater(k, 0.0), k, k - 1.0), where(less(k, 0.0), k, k + 1.0)
        if self.argument.atoms(k) is None:
            return between(lower, upper, lower_included=True, upper_included=True)
        positive = between(lower, upper, lower_included=True, upper_included=False)
        negative = between(lower, upper, lower_included=False, upper_included=True)
        around_zero = between(lower, upper, lower_included=False, upper_included=False)
        return where(greater(k, 0.0), positive, where(less(k, 0.0), negative, around_zero))

    def logcdf(self, value: Node) -> Node:
        return self._tail(value, self.argument.logcdf, self.argument.log_below)

    def logccdf(self, value: Node) -> Node:
        return self._tail(value, self.argument.logccdf, self.argument.log_from)

    def _tail(self, value: Node, closed: Callable[[Node], Node], open_: Callable[[Node], Node]) -> Node:
        """The tail of X up to the greatest number whose whole number is at most the value."""
        k = floor(cast(value, "float64") if value.dtype not in FLOATS else value)
        if self.kind == "floor":
            return open_(k + 1.0)
        if self.kind == "ceil":
            return closed(k)
        if self.kind == "round":
            return where(equal(apply("mod", k, 2.0), 0.0), closed(k + 0.5), open_(k + 0.5))
        return where(less(k, 0.0), closed(k), open_(k + 1.0))

    def quantile(self, q: Node) -> Node:
        return apply(self.kind, self.argument.quantile(q))


def _ends(argument: Measure, kind: str) -> Ends:
    lower, upper = (number(end) for end in argument.ends)
    low = lower if is_infinite(lower) else apply(kind, lower)
    high = upper if is_infinite(upper) else apply(kind, upper)
    return low, high


@rule("floor", "ceil", "round", "trunc")
def rounded(node: Node) -> Measure | None:
    """A function of the scalar table."""
    assert isinstance(node.op, Elementwise)
    argument = derive(node.inputs[0])
    return None if argument.event_axes else Rounded(node, argument, node.op.function)


@rule(Cast)
def integer_of_float(node: Node) -> Measure | None:
    """Digits after the point are cut off."""
    (argument,) = node.inputs
    if argument.dtype not in FLOATS or node.dtype not in INTEGERS:
        return None
    measure = derive(argument)
    return None if measure.event_axes else Rounded(node, measure, "trunc")
