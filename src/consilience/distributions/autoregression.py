"""Autoregressive series: every value is a combination of the ones before it, and noise.

Coefficients, noise and the distribution of the first values in, a distribution of whole series out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Self

from consilience.distributions.constraints import positive, real_vector
from consilience.distributions.densities import drawn, mean, supported_density, variance
from consilience.distributions.densities import support_point as point_of
from consilience.distributions.distribution import Continuous, component, instead_of, parameter, static
from consilience.distributions.mathematics import LOG_SQRT_2_PI, equal, greater_equal, log, maximum, square, where
from consilience.distributions.parameters import as_parameter, length, named_arguments, truth, whole
from consilience.distributions.random_variable import distribution_of
from consilience.distributions.real_line import Normal
from consilience.distributions.shapes import broadcast, spread, steps_from
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Dim, Node, Shape
from consilience.ops.elementwise import as_tensor
from consilience.ops.index import getitem
from consilience.ops.linalg import matmul, matrix_transpose
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import Iota, broadcast_arrays, broadcast_to, concatenate, expand_dims, eye, stack

# A series whose length is known only when the program runs has at most so many values.
LONGEST: Final = 2**24


class AR(Continuous):
    """Autoregressive series of order p: x_t = rho_1 x_(t-1) + … + rho_p x_(t-p) + e_t, e_t normal around 0.

    rho: Coefficients, shape (..., p); with `constant` shape (..., p + 1), the first is added to every x_t.
    sigma: Standard deviation of e_t > 0, or tau = 1 / sigma^2.
    init_dist: Distribution of the first p values: of numbers, independent, with the p values as last batch axis where
        they differ; or of vectors of length p. Normal(0, 100) if not given.
    steps: Length of the series less p; may follow from shape, dims or data.
    constant: Whether rho begins with a constant.
    ar_order: `p`, where it does not follow from the shape of rho.
    """

    rho = parameter(real_vector, broadcast=True, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    init_dist = component(optional=True)
    steps: Dim = static(length)
    constant: bool = static(truth, default=False)
    ar_order: int = static(whole(1))
    support = real_vector
    arguments = ("rho", "sigma", "tau", "init_dist", "steps", "constant", "ar_order")
    alternatives = (instead_of("sigma", lambda tau: tau**-0.5, tau=positive),)

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        given = named_arguments(cls.title, cls.arguments, parameters, named)
        if "rho" in given and "ar_order" not in given:
            rho = as_parameter(cls.title, "rho", given["rho"])
            constant = truth(cls.title, "constant", given.get("constant", False))
            number = (rho.static_shape[-1] if rho.ndim else 1) - constant
            if not isinstance(number, int):
                raise ParameterError(f"{cls.title}: ar_order is needed, because the length of rho is not known.")
            given["ar_order"] = number
        given.setdefault("init_dist", Normal.dist(0.0, 100.0))
        if "ar_order" in given:
            initial = whole(1)(cls.title, "ar_order", given["ar_order"])
            given["steps"] = steps_from(cls.title, given.get("steps"), shape, initial)
        return super().dist(**given, shape=shape, size=size)

    def event_shape(self) -> Shape:
        coefficients = self.rho.static_shape[-1]
        if isinstance(coefficients, int) and coefficients != self.ar_order + self.constant:
            raise ShapeError(
                f"{self.title}: rho needs {self.ar_order + self.constant} elements for ar_order={self.ar_order} "
                f"{'with' if self.constant else 'without'} a constant, got {coefficients}."
            )
        start = distribution_of(self.init_dist)
        lags = self.init_dist.static_shape[-1] if self.init_dist.ndim else 1
        allowed = (self.ar_order,) if start.event_rank else (1, self.ar_order)
        if start.event_rank > 1 or (isinstance(lags, int) and lags not in allowed):
            raise ShapeError(
                f"{self.title}: init_dist must have a last axis of length {self.ar_order}, one value for each before "
                f"the first step, got {start.title} of shape {self.init_dist.static_shape}."
            )
        return (self.steps + self.ar_order,)

    def component_axes(self) -> tuple[int, ...]:
        return (0 if distribution_of(self.init_dist).event_rank else 1,)

    def logp(self, value: Node) -> Node:
        p = self.ar_order
        expected = self._constant()
        for lag, coefficient in enumerate(self._coefficients(), 1):
            expected = expected + coefficient * value[..., p - lag : -lag]
        sigma = expand_dims(self.sigma, self.sigma.ndim)
        steps = -0.5 * square((value[..., p:] - expected) / sigma) - log(sigma) - LOG_SQRT_2_PI
        start = supported_density(self.init_dist, value[..., :p])
        if not distribution_of(self.init_dist).event_rank:
            start = reduce("sum", start, -1)
        return start + reduce("sum", steps, -1)

    def draw(self, key: Node, shape: Shape) -> Node:
        batch, p = shape[:-1], self.ar_order
        start = drawn(self.init_dist, fold_in(key, 0), (*batch, p))
        return self.series(start, draw("random_normal", fold_in(key, 1), (*batch, shape[-1] - p)))

    def series(self, start: Node, noise: Node) -> Node:
        """The series of its first p values and of standard normal noise, time as last axis of both."""
        rest = self._constant() + expand_dims(self.sigma, self.sigma.ndim) * noise
        return self._recursion(start, spread(rest, noise.static_shape))

    def continued(self, past: Node, later: Self, periods: int) -> Node:
        p = self.ar_order
        noise = Normal.dist(0.0, 1.0, shape=(*past.static_shape[:-1], periods))
        return later.series(past[..., -p:], noise)[..., p:]

    def mean(self) -> Node:
        start = self._of_start(mean)
        later = broadcast_to(self._constant(), (*self._batch(), self.steps))
        return self._recursion(start, later)

    def variance(self) -> Node:
        # Squares of the responses to the first values and to the noise, each with its variance.
        if distribution_of(self.init_dist).event_rank:
            self.missing("variance")
        p, batch = self.ar_order, self._batch()
        start, silence = self._of_start(variance), broadcast_to(0.0, (*batch, self.steps))
        total = broadcast_to(0.0, (*batch, self.steps + p))
        for i in range(p):
            unit = where(equal(Node(Iota(p)), i), 1.0, broadcast_to(0.0, (*batch, p)))
            total = total + start[..., i : i + 1] * square(self._recursion(unit, silence))
        impulse = where(equal(Node(Iota(self.steps + p)), p), 1.0, broadcast_to(0.0, (*batch, self.steps + p)))
        response = recurrence(impulse, self._lags())
        return total + expand_dims(square(self.sigma), self.sigma.ndim) * cumulative("sum", square(response), -1)

    def has(self, formula: str) -> bool:
        return super().has(formula) and (formula != "variance" or not distribution_of(self.init_dist).event_rank)

    def _batch(self) -> Shape:
        return broadcast(self.batch_shapes(), self.title)

    def _of_start(self, moment: Callable[[Node], Node]) -> Node:
        """A moment of the first values, of which one distribution may stand for all."""
        return broadcast_to(moment(self.init_dist), (*self._batch(), self.ar_order))

    def _recursion(self, start: Node, rest: Node) -> Node:
        """The series of given first values and of what enters later, both (..., length)."""
        # The first values are those of a series that was 0 before, with other noise.
        before = [
            start[..., i] - sum(rho[..., 0] * start[..., i - k] for k, rho in enumerate(self._coefficients()[:i], 1))
            for i in range(self.ar_order)
        ]
        first = stack(broadcast_arrays(*before), -1)
        return recurrence(concatenate([first, rest], -1), self._lags())

    def support_point(self) -> Node:
        point = point_of(self.init_dist)
        return point[..., -1:] if point.ndim else point

    def _constant(self) -> Node:
        return self.rho[..., :1] if self.constant else as_tensor(0.0)

    def _lags(self) -> Node:
        return self.rho[..., int(self.constant) :]

    def _coefficients(self) -> list[Node]:
        """The coefficient of each lag, with an axis of time."""
        first = int(self.constant)
        return [self.rho[..., i : i + 1] for i in range(first, first + self.ar_order)]


def recurrence(noise: Node, coefficients: Node) -> Node:
    """The series x_t = noise_t + sum_k c_k x_(t-k) along the last axis, 0 before its begin.

    The last p values are a vector X_t = A X_(t-1) + E_t with the companion matrix A, so that X is the sum of
    A^i E_(t-i). Twice as many terms are S_t + A^n S_(t-n) of n: the number of passes over the series is the
    logarithm of its length.

    `noise`: shape (..., T). `coefficients`: shape (..., p).
    """
    p, number = coefficients.static_shape[-1], noise.static_shape[-1]
    later = broadcast_to(eye(p - 1, p, dtype=coefficients.dtype), (*coefficients.static_shape[:-1], p - 1, p))
    power = matrix_transpose(concatenate([expand_dims(coefficients, coefficients.ndim - 1), later], -2))
    first = where(equal(Node(Iota(p)), 0), expand_dims(noise, noise.ndim), 0.0)
    state, lag = first, 1
    while lag < (number if isinstance(number, int) else LONGEST):
        state = state + _delayed(matmul(state, power), lag)
        power = matmul(power, power)
        lag *= 2
    return state[..., 0]


def _delayed(series: Node, lag: int) -> Node:
    """The series of vectors `lag` places later, with zeros before it."""
    time = Node(Iota(series.static_shape[-2]))
    moved = getitem(series, (..., maximum(time - lag, 0), slice(None)))
    return where(expand_dims(greater_equal(time, lag), 1), moved, 0.0)
