"""Stochastic differential equations on a grid of times: dX = f(X) dt + g(X) dW, by the method of Euler and Maruyama.

Functions of drift and diffusion in, a distribution of whole paths out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from consilience.distributions.constraints import real_vector
from consilience.distributions.densities import drawn, supported_density
from consilience.distributions.densities import support_point as point_of
from consilience.distributions.distribution import Continuous, component, static
from consilience.distributions.mathematics import LOG_SQRT_2_PI, log, sqrt, square
from consilience.distributions.parameters import length, named_arguments, whole
from consilience.distributions.random_variable import distribution_of
from consilience.distributions.real_line import Normal
from consilience.distributions.recursion import along
from consilience.distributions.shapes import spread, steps_from
from consilience.distributions.unnamed_parameters import UnnamedParameters
from consilience.errors import ParameterError
from consilience.ir import FLOATS, Dim, Node, Shape
from consilience.ops.elementwise import as_tensor, cast
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import concatenate, expand_dims

Equation = Callable[..., tuple[Any, Any]]


def step_length(title: str, name: str, given: Any) -> float:
    """Conversion of a static number > 0."""
    known = np.asarray(given if isinstance(given, int | float | np.ndarray | np.number) else np.nan)
    if known.ndim or not 0.0 < float(known) < np.inf:
        raise ParameterError(f"{title}: {name} must be a number > 0, got {given!r}.")
    return float(known)


def equation(title: str, name: str, given: Any) -> Equation:
    """Conversion of a static function."""
    if not callable(given):
        raise ParameterError(f"{title}: {name} must be a function of the value and sde_pars, got {given!r}.")
    result: Equation = given
    return result


class EulerMaruyama(UnnamedParameters, Continuous):
    """Path of a stochastic differential equation: x_t = x_(t-1) + dt f + sqrt(dt) g e_t, e_t standard normal.

    dt: Time between two values, > 0, a number.
    sde_fn: Function (x, *sde_pars) -> (f, g), drift and diffusion > 0 at x, as graphs.
    sde_pars: Parameters of the equation: a list of numbers or tensors, whose axes are series.
    init_dist: Distribution of the first value; Normal(0, 100) if not given.
    steps: Number of steps, one less than the length of the path; may follow from shape, dims or data.
    """

    dt: float = static(step_length)
    sde_fn: Equation = static(equation)
    init_dist = component()
    steps: Dim = static(length)
    count: int = static(whole(0))
    support = real_vector
    arguments = ("dt", "sde_fn", "sde_pars", "init_dist", "steps")

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        given = named_arguments(cls.title, cls.arguments, parameters, named)
        if not {"dt", "sde_fn", "sde_pars"} <= given.keys():
            raise TypeError(f"{cls.title} needs dt, sde_fn and sde_pars; got {', '.join(given) or 'none'}.")
        steps = steps_from(cls.title, given.get("steps"), shape, 1)
        values = [as_tensor(p) for p in given["sde_pars"]]
        values = [v if v.dtype in FLOATS else cast(v, "float64") for v in values]
        settings = (
            step_length(cls.title, "dt", given["dt"]),
            equation(cls.title, "sde_fn", given["sde_fn"]),
            length(cls.title, "steps", steps),
            len(values),
        )
        start = given.get("init_dist", Normal.dist(0.0, 100.0))
        (declared,) = cls.component_parameters
        return cls.variable(values, shape, size, settings, [declared.value(cls.title, start)])

    @classmethod
    def parameter_count(cls, settings: Sequence[Any]) -> int:
        count: int = settings[-1]
        return count

    def event_ranks(self) -> tuple[int, ...]:
        return (0,) * len(self.values)

    def event_shape(self) -> Shape:
        if distribution_of(self.init_dist).event_rank:
            raise ParameterError(f"{self.title}: init_dist must be a distribution of numbers.")
        return (self.steps + 1,)

    def logp(self, value: Node) -> Node:
        mean, deviation = self._step(value[..., :-1], [expand_dims(v, v.ndim) for v in self.values])
        steps = -0.5 * square((value[..., 1:] - mean) / deviation) - log(deviation) - LOG_SQRT_2_PI
        return supported_density(self.init_dist, value[..., 0]) + reduce("sum", steps, -1)

    def draw(self, key: Node, shape: Shape) -> Node:
        batch = shape[:-1]
        noise = draw("random_normal", fold_in(key, 1), (*batch, self.steps))
        start = spread(drawn(self.init_dist, fold_in(key, 0), batch), batch)
        return concatenate([expand_dims(start, start.ndim), self._path(start, noise)], -1)

    def continued(self, past: Node, later: Self, periods: int) -> Node:
        batch = past.static_shape[:-1]
        return later._path(past[..., -1], Normal.dist(0.0, 1.0, shape=(*batch, periods)))

    def _path(self, start: Node, noise: Node) -> Node:
        """The values behind a first one, from normal numbers along the last axis."""
        batch, count = start.static_shape, noise.static_shape[-1]

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            mean, deviation = self._step(states[0], list(self.values))
            following = spread(mean + deviation * heads[0], batch)
            return [following], [following]

        _, (later,) = along(step, [start], [noise], count)
        return later

    def support_point(self) -> Node:
        return expand_dims(point_of(self.init_dist), self.init_dist.ndim)

    def _step(self, value: Node, parameters: list[Node]) -> tuple[Node, Node]:
        """Mean and standard deviation of the next value."""
        made = self.sde_fn(value, *parameters)
        if not isinstance(made, tuple | list) or len(made) != 2:
            raise ParameterError(f"{self.title}: sde_fn must give two tensors, drift and diffusion, got {made!r}.")
        drift, diffusion = made
        return value + self.dt * as_tensor(drift), sqrt(as_tensor(self.dt)) * as_tensor(diffusion)
