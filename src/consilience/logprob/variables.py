"""The base cases: a random variable, and a number that is no random variable."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping

from consilience.distributions.constraints import IntervalConstraint, Whole
from consilience.distributions.densities import log_tail, quantile, supported_density
from consilience.distributions.mathematics import equal, near, where
from consilience.distributions.random_variable import RandomVariable, distribution_of
from consilience.ir import Node
from consilience.logprob.derivation import rule
from consilience.logprob.measure import EVERYWHERE, Ends, Measure, Sources
from consilience.ops.elementwise import as_tensor, cast

# Of random variables that stand for parts, sums or other transforms of the user's: those that they are made of.
_sources: weakref.WeakKeyDictionary[Node, Sources] = weakref.WeakKeyDictionary()


def stand_in(node: Node, sources: Sources) -> Node:
    """Note that a random variable, whose key is used nowhere else, is an expression of others."""
    _sources[node] = sources
    return node


class VariableMeasure(Measure):
    """A random variable by the formulas of its declaration."""

    def __init__(self, node: Node) -> None:
        bound = distribution_of(node)
        super().__init__(
            node,
            _sources.get(node) or {node: None},
            discrete=bound.bound_support.discrete,
            atomic=bound.has_atoms(),
            event_axes=tuple(range(-bound.event_rank, 0)),
            ends=_ends(node),
        )

    def logp(self, value: Node) -> Node:
        return supported_density(self.node, value)

    def logcdf(self, value: Node) -> Node:
        return log_tail(self.node, value, "logcdf")

    def logccdf(self, value: Node) -> Node:
        return log_tail(self.node, value, "logccdf")

    def atoms(self, value: Node) -> Node | None:
        return super().atoms(value) if self.discrete else distribution_of(self.node).atoms(value)

    def snapped(self, value: Node, error: Node) -> Node:
        return super().snapped(value, error) if self.whole else distribution_of(self.node).snapped(value, error)

    def origins(self, value: Node) -> Mapping[Node, Node]:
        return {} if self.node in _sources else {self.node: value}

    def quantile(self, q: Node) -> Node:
        return quantile(self.node, q)


def _ends(node: Node) -> Ends:
    support = distribution_of(node).bound_support
    return (support.lower, support.upper) if isinstance(support, IntervalConstraint | Whole) else EVERYWHERE


class Dirac(Measure):
    """All mass on the value of a node that is not random."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, {}, discrete=True, ends=(node, node))

    def logp(self, value: Node) -> Node:
        return where(equal(value, _comparable(self.node)), 0.0, -math.inf)

    def logcdf(self, value: Node) -> Node:
        return where(value >= _comparable(self.node), 0.0, -math.inf)

    def atoms(self, value: Node) -> Node:
        return equal(value, _comparable(self.node))

    def snapped(self, value: Node, error: Node) -> Node:
        return near(value, cast(self.node, value.dtype), error)

    def quantile(self, q: Node) -> Node:
        return _comparable(self.node) + 0.0 * q


def _comparable(node: Node) -> Node:
    return cast(node, "int64") if node.dtype == "bool" else as_tensor(node)


@rule(RandomVariable)
def variable(node: Node) -> Measure:
    """A random variable."""
    return VariableMeasure(node)
