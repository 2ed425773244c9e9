"""Distributions of directions: vectors of length 1 in two dimensions and more."""

from __future__ import annotations

import math

import numpy as np

from consilience.distributions.constraints import nonnegative, unit_vector
from consilience.distributions.distribution import Continuous, parameter, static
from consilience.distributions.mathematics import (
    LOG_2,
    LOG_PI,
    exp,
    greater_equal,
    log,
    log1p,
    softplus,
    sqrt,
    square,
    where,
)
from consilience.distributions.parameters import whole
from consilience.errors import ShapeError
from consilience.ir import Node, Shape, constant
from consilience.ops.elementwise import apply, cast
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import arg_reduce, reduce
from consilience.ops.shape import Iota, expand_dims, full

# Proposals of a draw: each is taken with a probability above 0.65, so that none of them is with one below 1e-14.
_PROPOSALS = 32


class UniformDirection(Continuous):
    """Vectors of length 1 of which no direction is preferred; the density with respect to the area of the sphere.

    n: Number of elements >= 2, known when the variable is made.
    """

    n: int = static(whole(2))
    support = unit_vector

    def event_shape(self) -> Shape:
        return (self.n,)

    def logp(self, value: Node) -> Node:
        return full(value.static_shape[:-1], -log_area(self.n), value.dtype)

    def draw(self, key: Node, shape: Shape) -> Node:
        return _normalised(draw("random_normal", key, shape))

    def mean(self) -> Node:
        return full((self.n,), 0.0)

    def variance(self) -> Node:
        return full((self.n,), 1.0 / self.n)

    def support_point(self) -> Node:
        return full((self.n,), self.n**-0.5)


class VonMisesFisher(Continuous):
    """Vectors of length 1 around a direction: exp(kappa mu' x) / C, with respect to the area of the sphere.

    mu: Preferred direction, shape (..., n), n >= 2, of length 1.
    kappa: Concentration >= 0: 0 for no preference; if large, the angle to mu is of order 1 / sqrt(kappa).
    """

    mu = parameter(unit_vector)
    kappa = parameter(nonnegative)
    support = unit_vector

    def event_shape(self) -> Shape:
        self._length()
        return self.mu.static_shape[-1:]

    def logp(self, value: Node) -> Node:
        # kappa (mu' x - 1), which for vectors of length 1 is a square and loses no digits close to mu.
        exponent = -0.5 * self.kappa * reduce("sum", square(value - self.mu), -1)
        return exponent - log_area(self._length() - 1) - reduce("logsumexp", self._terms()[1], -1)

    def draw(self, key: Node, shape: Shape) -> Node:
        below = expand_dims(self._draw_below(key, shape[:-1]), -1)
        free = draw("random_normal", fold_in(key, 3), shape)
        across = _normalised(free - reduce("sum", free * self.mu, -1, keepdims=True) * self.mu)
        return (1.0 - below) * self.mu + sqrt(below * (2.0 - below)) * across

    def mean(self) -> Node:
        return expand_dims(1.0 - self._expected()[0], -1) * self.mu

    def variance(self) -> Node:
        below, across = (expand_dims(moment, -1) for moment in self._expected())
        along = square(self.mu)
        return along * (below * (2.0 - below) - across) + (1.0 - along) * across / (self._length() - 1.0)

    def support_point(self) -> Node:
        return self.mu

    def _length(self) -> int:
        length = self.mu.static_shape[-1]
        if not isinstance(length, int) or length < 2:
            raise ShapeError(f"{self.title}: mu must have a known number of elements >= 2, got {length!r}.")
        return length

    def _terms(self) -> tuple[Node, Node]:
        """Points s = 1 - mu' x, and the logarithms of their shares of the integral of exp(-kappa s) over the sphere.

        The trapezoidal rule over the log odds y of s / 2, where the integrand is s^a (2 - s)^a exp(-kappa s) / 2 with
        a = (n - 1) / 2: it falls off exponentially on both sides of its greatest value, so that the rule is exact to
        the last digit (Trefethen and Weideman, 2014, SIAM Review 56, 385-458).
        """
        a = 0.5 * (self._length() - 1.0)
        step = min(0.25, 0.7 / math.sqrt(a))
        reach = 40.0 / a + 9.0 / math.sqrt(a)
        offsets = constant(np.arange(-reach, reach, step), self.kappa.dtype)
        y = offsets - expand_dims(log1p(self.kappa / a), -1)
        log_s, log_rest = LOG_2 - softplus(-y), LOG_2 - softplus(y)
        s = exp(log_s)
        return s, a * (log_s + log_rest) - expand_dims(self.kappa, -1) * s + (math.log(step) - LOG_2)

    def _expected(self) -> tuple[Node, Node]:
        """Expectations of s and of s (2 - s)."""
        s, terms = self._terms()
        shares = exp(terms - reduce("logsumexp", terms, -1, keepdims=True))
        return reduce("sum", shares * s, -1), reduce("sum", shares * s * (2.0 - s), -1)

    def _draw_below(self, key: Node, batch: Shape) -> Node:
        """Draws of s = 1 - mu' x, by proposals of which the first that is accepted is taken.

        Source: Wood (1994), Communications in Statistics - Simulation and Computation 23, 157-164, written in s.
        """
        m = self._length() - 1.0
        shape = (*batch, _PROPOSALS)
        kappa = expand_dims(self.kappa, -1)
        b = m / (2.0 * kappa + apply("hypot", 2.0 * kappa, m))
        one, other = (draw("random_gamma", fold_in(key, i), shape, 0.5 * m) for i in range(2))
        s = 2.0 * b * one / (other + b * one)
        at = 2.0 * b / (1.0 + b)
        excess = kappa * (at - s) + m * (log(at + s - at * s) - log(at * (2.0 - at)))
        accepted = greater_equal(excess, -draw("random_exponential", fold_in(key, 2), shape))
        first = expand_dims(arg_reduce("max", cast(accepted, "int64"), -1), -1)
        return reduce("sum", where(apply("eq", Node(Iota(_PROPOSALS)), first), s, 0.0), -1)


def log_area(n: int) -> float:
    """Logarithm of the area of the sphere of vectors of n elements."""
    return LOG_2 + 0.5 * n * LOG_PI - math.lgamma(0.5 * n)


def _normalised(vector: Node) -> Node:
    return vector / sqrt(reduce("sum", square(vector), -1, keepdims=True))
