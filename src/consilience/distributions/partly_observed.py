"""Vectors and series of which single elements have data: those elements, and the others, as two variables of one event.

Both draw from the joint variable with one key, so that together they are one draw of it. The joint density belongs to
the elements with data, given the others, which have none of their own.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from consilience.distributions.constraints import (
    Constraint,
    Each,
    real,
    real_vector,
    whole_vector,
)
from consilience.distributions.densities import density, drawn, mean, support_point, variance
from consilience.distributions.distribution import Continuous, component, parameter, static
from consilience.distributions.random_variable import RandomVariable, distribution_of, variable_of
from consilience.ir import Node, Shape, constant
from consilience.ops.elementwise import as_tensor
from consilience.ops.index import getitem
from consilience.ops.shape import concatenate, reshape
from consilience.record import Record

Mask = npt.NDArray[np.bool_]


class Places(Record):
    """Which elements of a variable have no data."""

    shape: tuple[int, ...]
    bits: bytes

    @property
    def mask(self) -> Mask:
        """True where there is none."""
        return np.frombuffer(self.bits, bool).reshape(self.shape)


class _Elements(Continuous):
    """Elements of a joint variable."""

    of: Any = component()
    places: Places = static(lambda title, name, given: given)

    def batch_shapes(self) -> list[Shape]:
        return []

    def chosen(self) -> Mask:
        """Which elements they are."""
        raise NotImplementedError

    def picked(self, whole: Node) -> Node:
        """Their values, along one axis."""
        return getitem(reshape(whole, (-1,)), constant(np.flatnonzero(self.chosen())))

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.picked(drawn(self.of, key))

    def mean(self) -> Node:
        return self.picked(mean(self.of))

    def variance(self) -> Node:
        return self.picked(variance(self.of))

    def support_point(self) -> Node:
        return self.picked(support_point(self.of))


class MissingElements(_Elements):
    """Elements without data; log density 0, as that of all stands with the others."""

    of: Any = component()
    places: Places = static(lambda title, name, given: given)

    @property
    def bound_support(self) -> Constraint:
        support = distribution_of(self.of).bound_support
        return support.element if isinstance(support, Each) else real

    def chosen(self) -> Mask:
        return self.places.mask

    def logp(self, value: Node) -> Node:
        return as_tensor(0.0)


class ObservedElements(_Elements):
    """Elements with data; their log density is that of all, given those without."""

    lacking = parameter(real_vector, nan_check=False)
    of: Any = component()
    places: Places = static(lambda title, name, given: given)
    support: ClassVar[Constraint] = real_vector

    @property
    def bound_support(self) -> Constraint:
        return whole_vector if distribution_of(self.of).bound_support.discrete else real_vector

    def chosen(self) -> Mask:
        return ~self.places.mask

    def event_shape(self) -> Shape:
        return (int(self.chosen().sum()),)

    def logp(self, value: Node) -> Node:
        return density(self.of, joined(value, self.lacking, self.places.mask))


def joined(there: Node, lacking: Node, mask: Mask, shape: tuple[int, ...] | None = None) -> Node:
    """Elements with data and those without in the shape of all; `mask` is true for the latter."""
    order = np.argsort(np.concatenate([np.flatnonzero(~mask), np.flatnonzero(mask)]))
    return reshape(getitem(concatenate([there, lacking]), constant(order)), mask.shape if shape is None else shape)


def is_divisible(rv: Node) -> bool:
    """Whether single elements of a vector, matrix or series can have data: they are real, positive or whole numbers."""
    bound = distribution_of(rv)
    return bound.has("logp") and bound.event_rank > 0 and isinstance(bound.bound_support, Each)


def divided(rv: Node, mask: Mask) -> tuple[Node, Node]:
    """The variable of the elements with data, and that of those without."""
    op, (key, *operands) = variable_of(rv, "divided"), rv.inputs
    places = Places(mask.shape, mask.tobytes())
    count = int(mask.sum())
    lacking = Node(RandomVariable(MissingElements, (count,), rv.dtype, (places,), ((op,),)), key, *operands)
    there = RandomVariable(ObservedElements, (mask.size - count,), rv.dtype, (places,), ((op,),))
    return Node(there, key, lacking, *operands), lacking
