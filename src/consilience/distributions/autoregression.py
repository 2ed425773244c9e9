"""Autoregressive series: every value is a combination of the ones before it, and noise.

Coefficients, noise and the distribution of the first values in, a distribution of whole series out.
"""

from __future__ import annotations

from typing import Any, Final

from consilience.distributions.constraints import positive, real_vector
from consilience.distributions.densities import drawn, supported_density
from consilience.distributions.densities import support_point as point_of
from consilience.distributions.distribution import Continuous, component, instead_of, parameter, static
from consilience.distributions.mathematics import LOG_SQRT_2_PI, greater_equal, log, maximum, square, where
from consilience.distributions.parameters import length, named_arguments, whole
from consilience.distributions.random_variable import distribution_of
from consilience.distributions.real_line import Normal
from consilience.distributions.shapes import spread, steps_from
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Dim, Node, Shape
from consilience.ops.elementwise import as_tensor
from consilience.ops.index import getitem
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota, concatenate, expand_dims

# A series whose length is known only when the program runs has at most so many values.
LONGEST: Final = 2**24


def truth(title: str, name: str, given: Any) -> bool:
    """Conversion of a static truth value."""
    if not isinstance(given, bool):
        raise ParameterError(f"{title}: {name} must be True or False, got {given!r}.")
    return given


class AR(Continuous):
    """Autoregressive series of order p: x_t = rho_1 x_(t-1) + … + rho_p x_(t-p) + e_t, e_t normal around 0.

    rho         coefficients, shape (..., p); with `constant` shape (..., p + 1), the first is added to every x_t
    sigma       standard deviation of e_t > 0, or tau = 1 / sigma^2
    init_dist   distribution of the first p values: of numbers, independent, with the p values as last batch axis
                where they differ; or of vectors of length p. Normal(0, 100) if not given
    steps       length of the series less p; may follow from shape, dims or data
    constant    whether rho begins with a constant
    ar_order    p, where it does not follow from the shape of rho
    """

    rho = parameter(real_vector, broadcast=True, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    init_dist = component(optional=True)
    steps: Dim = static(length)
    constant: bool = static(truth, default=False)
    ar_order: int = static(whole(1))
    support = real_vector
    alternatives = (instead_of("sigma", lambda tau: tau**-0.5, tau=positive),)

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        order = ("rho", "sigma", "tau", "init_dist", "steps", "constant", "ar_order")
        given = named_arguments(cls.title, order, parameters, named)
        if "rho" in given and "ar_order" not in given:
            rho = as_tensor(given["rho"])
            number = (rho.static_shape[-1] if rho.ndim else 1) - (1 if given.get("constant", False) is True else 0)
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
        batch, p, rho = shape[:-1], self.ar_order, self._coefficients()
        start = drawn(self.init_dist, fold_in(key, 0), (*batch, p))
        noise = draw("random_normal", fold_in(key, 1), (*batch, shape[-1] - p))
        # The first values are those of a series that was 0 before, with other noise.
        first = start
        for lag, coefficient in enumerate(rho, 1):
            first = first - coefficient * _delayed(start, lag)
        rest = self._constant() + expand_dims(self.sigma, self.sigma.ndim) * noise
        return recurrence(concatenate([first, spread(rest, (*batch, shape[-1] - p))], -1), rho)

    def support_point(self) -> Node:
        point = point_of(self.init_dist)
        return point[..., -1:] if point.ndim else point

    def _constant(self) -> Node:
        return self.rho[..., :1] if self.constant else as_tensor(0.0)

    def _coefficients(self) -> list[Node]:
        """The coefficient of each lag, with an axis of time."""
        first = int(self.constant)
        return [self.rho[..., i : i + 1] for i in range(first, first + self.ar_order)]


def recurrence(noise: Node, coefficients: list[Node]) -> Node:
    """The series x_t = noise_t + sum_k c_k x_(t-k) along the last axis, 0 before its begin.

    With the lag operator L this is x = noise / a(L), a(L) = 1 - sum c_k L^k. Because a(L) a(-L) is a polynomial b of
    L^2 (Graeffe's root squaring), 1 / a(L) is a(-L) / b(L^2), and so on until the lags exceed the length: the number
    of passes over the series is the logarithm of its length.
    """
    number = noise.static_shape[-1]
    a: list[Node] = [as_tensor(1.0), *(-c for c in coefficients)]
    lag = 1
    while lag < (number if isinstance(number, int) else LONGEST):
        mirrored = [c if k % 2 == 0 else -c for k, c in enumerate(a)]
        result = noise
        for k, coefficient in enumerate(mirrored[1:], 1):
            result = result + coefficient * _delayed(noise, k * lag)
        noise = result
        a = [_sum([a[i] * mirrored[2 * m - i] for i in _partners(m, len(a))]) for m in range(len(a))]
        lag *= 2
    return noise


def _partners(m: int, count: int) -> range:
    """The i with 0 <= i, 2 m - i < count."""
    return range(max(0, 2 * m - count + 1), min(count, 2 * m + 1))


def _sum(terms: list[Node]) -> Node:
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def _delayed(series: Node, lag: int) -> Node:
    """The series `lag` places later, with zeros before it."""
    time = Node(Iota(series.static_shape[-1]))
    return where(greater_equal(time, lag), getitem(series, (..., maximum(time - lag, 0))), 0.0)
