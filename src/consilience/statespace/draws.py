"""What is hidden in linear Gaussian state spaces: states given a series, and states together with a series.

They are drawn and have no density: the draws of a posterior enter their parameters.
"""

from __future__ import annotations

from typing import Any

from consilience.distributions.constraints import matrix_with_gaps, real_matrix
from consilience.distributions.distribution import Continuous, component, parameter
from consilience.distributions.random_variable import distribution_of
from consilience.distributions.state_space import LinearGaussianStateSpace
from consilience.distributions.states import drawn_states
from consilience.ir import Node, Shape
from consilience.ops.shape import concatenate


def space_of(rv: Node) -> LinearGaussianStateSpace:
    """The bound distribution of a variable."""
    bound = distribution_of(rv)
    assert isinstance(bound, LinearGaussianStateSpace)
    return bound


class _Hidden(Continuous):
    of: Any = component()

    def batch_shapes(self) -> list[Shape]:
        return [self.of.static_shape[:-2]]

    @property
    def space(self) -> LinearGaussianStateSpace:
        """The bound distribution of the series."""
        return space_of(self.of)


class StatesGivenSeries(_Hidden):
    """States of all times given a series, shape (..., times, n)."""

    y = parameter(matrix_with_gaps, nan_check=False)
    of: Any = component()
    support = real_matrix

    def event_shape(self) -> Shape:
        return (self.y.static_shape[-2], self.space.a0.static_shape[-1])

    def draw(self, key: Node, shape: Shape) -> Node:
        return drawn_states(self.space, self.y, key)


class StatesAndSeries(_Hidden):
    """States and then the series of all times, shape (..., times, n + p)."""

    of: Any = component()
    support = real_matrix

    def event_shape(self) -> Shape:
        times, p = self.of.static_shape[-2:]
        return (times, self.space.a0.static_shape[-1] + p)

    def draw(self, key: Node, shape: Shape) -> Node:
        states, errors = self.space.drawn_parts(key, self.of.static_shape)
        return concatenate([states, self.space.seen(states) + errors], -1)
