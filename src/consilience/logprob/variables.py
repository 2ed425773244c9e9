"""The base cases: a random variable, and a number that is no random variable."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from consilience.distributions.constraints import IntervalConstraint, Whole
from consilience.distributions.densities import log_tail, quantile, supported_density
from consilience.distributions.mathematics import equal, near, where
from consilience.distributions.random_variable import RandomVariable, distribution_of
from consilience.ir import Node, constant
from consilience.ir.dimension import product
from consilience.logprob.derivation import rule
from consilience.logprob.measure import EVERYWHERE, Ends, Measure, Sources
from consilience.ops.elementwise import as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.shape import reshape

# Of random variables that stand for parts, sums or other transforms of the user's: those that they are made of.
_sources: weakref.WeakKeyDictionary[Node, Sources] = weakref.WeakKeyDictionary()


# Of those that stand for elements of one variable: it, and the flat positions of the elements.
_elements: weakref.WeakKeyDictionary[Node, tuple[Node, npt.NDArray[np.int64]]] = weakref.WeakKeyDictionary()


def stand_in(node: Node, sources: Sources) -> Node:
    """Note that a random variable, whose key is used nowhere else, is an expression of others."""
    _sources[node] = sources
    return node


def elements_of(node: Node, rv: Node, places: npt.NDArray[np.int64] | None) -> Node:
    """Note that a random variable, whose key is used nowhere else, has elements of another one, and where."""
    if places is not None:
        _elements[node] = (rv, places)
    return stand_in(node, {rv: None if places is None else places.ravel()})


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
        if self.node not in _sources:
            return {self.node: value}
        rv, places = _elements.get(self.node, (self.node, None))
        if places is None or places.size != product(rv.static_shape) or value.ndim != places.ndim:
            return {}
        return {rv: reshape(getitem(reshape(value, (-1,)), constant(np.argsort(places.ravel()))), rv.static_shape)}

    def quantile(self, q: Node) -> Node:
        return quantile(self.node, q)

    def continues(self) -> bool:
        return self.node not in _sources and distribution_of(self.node).has("continued")

    def continued(self, past: Node, later: Measure, periods: int) -> Node:
        return distribution_of(self.node).continued(past, distribution_of(later.node), periods)


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
