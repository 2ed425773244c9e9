"""Measures that do not integrate to one: densities for priors that say nothing but the range."""

from __future__ import annotations

from consilience.distributions.constraints import positive, real
from consilience.distributions.distribution import Continuous
from consilience.ir import Node, constant
from consilience.ops.shape import full


class Flat(Continuous):
    """Density 1 on the whole real line; nothing can be drawn from it."""

    support = real

    def logp(self, value: Node) -> Node:
        return full(value.static_shape, 0.0, value.dtype)

    def support_point(self) -> Node:
        return constant(0.0)


class HalfFlat(Continuous):
    """Density 1 on the positive half line; nothing can be drawn from it."""

    support = positive

    def logp(self, value: Node) -> Node:
        return full(value.static_shape, 0.0, value.dtype)

    def support_point(self) -> Node:
        return constant(1.0)
