"""Series whose standard deviation follows from the values before: generalised autoregressive heteroskedasticity.

Coefficients and the first deviation in, a distribution of whole series out.
"""

from __future__ import annotations

from typing import Any, Self

from consilience.distributions.constraints import nonnegative, positive, real_vector
from consilience.distributions.distribution import Continuous, parameter, static
from consilience.distributions.mathematics import LOG_SQRT_2_PI, log, sqrt, square
from consilience.distributions.parameters import length, named_arguments
from consilience.distributions.real_line import Normal
from consilience.distributions.recursion import along
from consilience.distributions.shapes import broadcast, spread, steps_from
from consilience.ir import Dim, Node, Shape
from consilience.ops.random import draw
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, concatenate, expand_dims


class GARCH11(Continuous):
    """Series x_t = s_t e_t of standard normal e_t, s_t^2 = omega + alpha_1 x_(t-1)^2 + beta_1 s_(t-1)^2.

    Source: Bollerslev (1986), Journal of Econometrics 31.

    omega: > 0, in the squared unit of x.
    alpha_1: >= 0; the variance is stationary where alpha_1 + beta_1 < 1.
    beta_1: >= 0.
    initial_vol: The first standard deviation s_0 >= 0, in the unit of x.
    steps: Length of the series less one; may follow from shape, dims or data.
    """

    omega = parameter(positive, nan_check=False)
    alpha_1 = parameter(nonnegative, nan_check=False)
    beta_1 = parameter(nonnegative, nan_check=False)
    initial_vol = parameter(positive, nan_check=False)
    steps: Dim = static(length)
    support = real_vector

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        given = named_arguments(cls.title, cls.argument_names(), parameters, named)
        given["steps"] = steps_from(cls.title, given.get("steps"), shape, 1)
        return super().dist(**given, shape=shape, size=size)

    def event_shape(self) -> Shape:
        return (self.steps + 1,)

    def logp(self, value: Node) -> Node:
        batch = value.static_shape[:-1]
        first = spread(square(self.initial_vol), batch)

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            following = self._next(states[0], square(heads[0]))
            return [following], [following]

        _, (later,) = along(step, [first], [value[..., :-1]], self.steps)
        variance = concatenate([expand_dims(first, first.ndim), later], -1)
        return reduce("sum", -0.5 * square(value) / variance - 0.5 * log(variance) - LOG_SQRT_2_PI, -1)

    def draw(self, key: Node, shape: Shape) -> Node:
        noise = draw("random_normal", key, shape)
        first = spread(square(self.initial_vol), shape[:-1])
        start = sqrt(first) * noise[..., 0]
        later = self._series(first, square(start), noise[..., 1:], self.steps)
        return concatenate([expand_dims(start, start.ndim), later], -1)

    def _series(self, variance: Node, squared: Node, noise: Node, length: Dim) -> Node:
        """The values behind one of known variance and square, of standard normal noise."""

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            variance = self._next(*states)
            value = sqrt(variance) * heads[0]
            return [variance, square(value)], [value]

        _, (values,) = along(step, [variance, squared], [noise], length)
        return values

    def continued(self, past: Node, later: Self, periods: int) -> Node:
        batch = past.static_shape[:-1]

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            return [self._next(states[0], square(heads[0]))], []

        (variance,), _ = along(step, [spread(square(self.initial_vol), batch)], [past[..., :-1]], self.steps)
        noise = Normal.dist(0.0, 1.0, shape=(*batch, periods))
        return later._series(variance, square(past[..., -1]), noise, periods)

    def mean(self) -> Node:
        return broadcast_to(0.0, (*broadcast(self.batch_shapes(), self.title), self.steps + 1))

    def variance(self) -> Node:
        # The expectation of x_t^2 is s_t^2, whose expectation follows the recursion with x^2 = s^2.
        first = spread(square(self.initial_vol), broadcast(self.batch_shapes(), self.title))

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            following = self._next(states[0], states[0])
            return [following], [following]

        _, (later,) = along(step, [first], [], self.steps)
        return concatenate([expand_dims(first, first.ndim), later], -1)

    def _next(self, variance: Node, squared: Node) -> Node:
        """The variance of the next value, from that of the last and its square."""
        return spread(self.omega + self.alpha_1 * squared + self.beta_1 * variance, variance.static_shape)
