"""Softmax of random vectors: log ratios to one coordinate are differences, as of the logistic normal distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping

from consilience.distributions.constraints import simplex
from consilience.distributions.mathematics import exp, log, where
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.logprob.derivation import derive, is_measurable, rule
from consilience.logprob.gaussian import linear_map
from consilience.logprob.measure import Measure, refusal
from consilience.ops.index import getitem
from consilience.ops.reduce import Softmax, reduce
from consilience.ops.shape import Concatenate, concatenate


class LogRatios(Measure):
    """`exp(z) / sum(exp(z))` along the last axis, or its logarithm; the density is that of all coordinates but one.

    `differences`: measure of z without one coordinate, minus that coordinate.

    References
    ----------
    Place of that coordinate.
    """

    def __init__(self, node: Node, differences: Measure, reference: int) -> None:
        assert isinstance(node.op, Softmax)
        super().__init__(
            node, differences.sources, event_axes=(-1,), ends=(-math.inf if node.op.logarithm else 0.0, 1.0)
        )
        self.differences, self.reference, self.logarithm = differences, reference, node.op.logarithm

    def _ratios(self, logs: Node) -> tuple[Node, Node]:
        """Differences of logarithms to that of the coordinate, and the latter."""
        at = self.reference
        first, last = getitem(logs, (..., slice(None, at))), getitem(logs, (..., slice(at + 1, None)))
        own = getitem(logs, (..., slice(at, at + 1)))
        return concatenate([first, last], logs.ndim - 1) - own, own

    def logp(self, value: Node) -> Node:
        inside = simplex.holds(exp(value) if self.logarithm else value)
        regular = where(inside[..., None], value, -1.0 if self.logarithm else 0.5)
        logs = regular if self.logarithm else log(regular)
        ratios, own = self._ratios(logs)
        density = self.differences.logp(ratios)
        if not self.differences.event_axes:
            density = reduce("sum", density, -1)
        slope = reduce("sum", own if self.logarithm else logs, -1)
        return where(inside, density - slope, -math.inf)

    def origins(self, value: Node) -> Mapping[Node, Node]:
        return self.differences.origins(self._ratios(value if self.logarithm else log(value))[0])


@rule(Softmax)
def softmax_of_vector(node: Node) -> Measure | None:
    """A vector with one coordinate that is not random, or one of which the differences have a measure."""
    assert isinstance(node.op, Softmax)
    (z,) = node.inputs
    length = z.static_shape[-1] if z.ndim else None
    if node.op.axes != (z.ndim - 1,) or not isinstance(length, int):
        return None
    found = _with_one_fixed(z)
    if found is None:
        differences = getitem(z, (..., slice(None, -1))) - getitem(z, (..., slice(-1, None)))
        reference, measure = length - 1, linear_map(differences) if _all_random(z) else None
    else:
        reference, measure = found[0], derive(found[1])
    if measure is None or measure.event_axes not in ((), (-1,)) or measure.atomic:
        raise refusal(
            node,
            f"it has a density only if all coordinates of {describe(z)} are normal, or exactly one is no random number",
            "fix a coordinate, as in `pt.concatenate([x, [0.0]])`",
        )
    return LogRatios(node, measure, reference)


def _all_random(z: Node) -> bool:
    return not isinstance(z.op, Concatenate) or all(map(is_measurable, z.inputs))


def _with_one_fixed(z: Node) -> tuple[int, Node] | None:
    """The place of the only coordinate that is not random, and the others minus it."""
    if not isinstance(z.op, Concatenate) or z.op.axis != z.ndim - 1:
        return None
    fixed = [i for i, part in enumerate(z.inputs) if not is_measurable(part)]
    lengths = [part.static_shape[-1] for part in z.inputs]
    if len(fixed) != 1 or lengths[fixed[0]] != 1 or not all(isinstance(n, int) for n in lengths):
        return None
    (at,) = fixed
    rest = [part for i, part in enumerate(z.inputs) if i != at]
    joined = rest[0] if len(rest) == 1 else concatenate(rest, z.ndim - 1)
    return sum(int(n) for n in lengths[:at]), joined - z.inputs[at]
