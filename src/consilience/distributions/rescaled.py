"""Variables in units of a scale around a location: (x - location) / scale.

A distribution of numbers or arrays, a location and a scale in, the distribution of the quotient out. Its precision has
the pattern that x has.
"""

from __future__ import annotations

from consilience.distributions.constraints import Constraint, positive, real
from consilience.distributions.densities import density, drawn
from consilience.distributions.densities import support_point as point_of
from consilience.distributions.distribution import Continuous, component, parameter
from consilience.distributions.mathematics import log
from consilience.distributions.random_variable import batch_part, distribution_of
from consilience.ir import Node, Shape
from consilience.ir.dimension import product
from consilience.ops.elementwise import cast
from consilience.ops.reduce import reduce
from consilience.ops.shape import length_of


class Rescaled(Continuous):
    """What (x - location) / scale is for x of a distribution, on all real numbers or arrays.

    `of`: the distribution. `location`: of the shape of x. `scale`: > 0, of the rank of x, with length 1 along each axis
    of an event or the length of x.
    """

    of = component()
    location = parameter(real)
    scale = parameter(positive)

    @property
    def event_rank(self) -> int:
        return distribution_of(self.of).event_rank

    def event_ranks(self) -> tuple[int, ...]:
        return (self.event_rank,) * 2

    def declared(self) -> tuple[None, None]:
        return (None, None)  # the distribution looks after the scale, which is its own

    def event_shape(self) -> Shape:
        shape: Shape = self.of.static_shape
        return shape[len(batch_part(shape, distribution_of(self.of))) :]

    @property
    def bound_support(self) -> Constraint:
        return distribution_of(self.of).bound_support

    def restored(self, value: Node) -> Node:
        """The variable x of a value."""
        return self.location + self.scale * value

    def quotient(self, x: Node) -> Node:
        """The value of a variable x."""
        return (x - self.location) / self.scale

    def logp(self, value: Node) -> Node:
        return density(self.of, self.restored(value)) + self._log_volume(value.dtype)

    def _log_volume(self, dtype: str) -> Node:
        """Of one event, that x has where the quotient has 1."""
        rank, lengths = self.event_rank, self.event_shape()
        own = self.scale.static_shape[self.scale.ndim - rank :]
        repeated = [n for n, one in zip(lengths, own, strict=True) if one == 1]
        total = reduce("sum", log(self.scale), tuple(range(-rank, 0))) if rank else log(self.scale)
        return cast(length_of(product(tuple(repeated))), dtype) * total

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.quotient(drawn(self.of, key, shape))

    def support_point(self) -> Node:
        return self.quotient(point_of(self.of))
