"""Distributions on an interval of the real line: truncated normal, triangular, interpolated between points."""

from __future__ import annotations

import math

from consilience.distributions.constraints import (
    ExtendedReal,
    IntervalConstraint,
    above,
    extended_real,
    interval,
    nonnegative_vector,
    ordered,
    positive,
    real,
)
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.mathematics import (
    LOG_2,
    LOG_SQRT_2_PI,
    absolute,
    equal,
    exp,
    greater,
    greater_equal,
    isfinite,
    less,
    less_equal,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    logaddexp,
    logical_and,
    logical_or,
    maximum,
    minimum,
    sqrt,
    square,
    where,
)
from consilience.distributions.quadrature import depth_of_fall, nodes
from consilience.distributions.set_operations import known_bound, of_parameters
from consilience.distributions.tails import log_normal_mass, ndtri_exp
from consilience.errors import ShapeError
from consilience.ir import Node, Shape
from consilience.ops.elementwise import StopGradient
from consilience.ops.random import draw
from consilience.ops.reduce import cumulative, reduce, softmax
from consilience.ops.shape import concatenate, expand_dims


class TruncatedNormal(Continuous):
    """Normal variable known to lie between two bounds: the normal density over the mass between them.

    mu: Mean of the normal variable, in the unit of x.
    sigma: Its standard deviation > 0, or tau = 1 / sigma^2.
    lower, upper: Bounds, lower < upper; infinite, or None, for no bound.
    """

    mu = parameter(real, default=0.0, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    lower = parameter(extended_real, default=-math.inf, nan_check=False)
    upper = parameter(ExtendedReal("lower", lower_included=False), default=math.inf)
    support = interval("lower", "upper")
    alternatives = (instead_of("sigma", lambda tau: tau**-0.5, tau=positive),)

    @property
    def bound_support(self) -> IntervalConstraint:
        return IntervalConstraint(known_bound(self.lower), known_bound(self.upper))

    @property
    def mapped_support(self) -> IntervalConstraint:
        return of_parameters(self.lower, self.upper)

    def logp(self, value: Node) -> Node:
        z = (value - self.mu) / self.sigma
        return -0.5 * square(z) - LOG_SQRT_2_PI - log(self.sigma) - self._log_mass()

    def logcdf(self, value: Node) -> Node:
        return log_normal_mass(self._scaled(self.lower), self._scaled(value)) - self._log_mass()

    def logccdf(self, value: Node) -> Node:
        return log_normal_mass(self._scaled(value), self._scaled(self.upper)) - self._log_mass()

    def icdf(self, q: Node) -> Node:
        # Both tails of the untruncated variable are sums of positive terms; the smaller one has the digits.
        mass = self._log_mass()
        below = logaddexp(log_ndtr(self._scaled(self.lower)), log(q) + mass)
        above = logaddexp(log_ndtr(-self._scaled(self.upper)), log1p(-q) + mass)
        z = where(less(below, above), ndtri_exp(below), -ndtri_exp(above))
        return minimum(maximum(self.mu + self.sigma * z, self.lower), self.upper)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.icdf(draw("random_uniform", key, shape))

    def mean(self) -> Node:
        return self.mu + self.sigma * self._moments()[0]

    def variance(self) -> Node:
        return square(self.sigma) * self._moments()[1]

    def _scaled(self, value: Node) -> Node:
        finite = isfinite(value)
        return where(finite, (where(finite, value, self.mu) - self.mu) / self.sigma, Node(StopGradient(), value))

    def _log_mass(self) -> Node:
        return log_normal_mass(self._scaled(self.lower), self._scaled(self.upper))

    def _moments(self) -> tuple[Node, Node]:
        """Mean and variance on the scale of a standard normal, by quadrature around the mode."""
        low, high = self._scaled(self.lower), self._scaled(self.upper)
        mode = minimum(maximum(low, 0.0), high)
        width = depth_of_fall(absolute(mode), 1.0)
        offset, log_weights = nodes(maximum(low - mode, -width), minimum(high - mode, width))
        middle = expand_dims(mode, -1)
        share = softmax(log_weights - offset * (middle + 0.5 * offset), -1)
        mean = reduce("sum", share * offset, -1)
        return mode + mean, reduce("sum", share * square(offset - expand_dims(mean, -1)), -1)


class Triangular(Continuous):
    """Density that rises linearly to the mode and falls linearly from there: 2 / (upper - lower) at the mode.

    lower, upper: Bounds in the unit of x, lower < upper.
    c: Mode, lower <= c <= upper.
    """

    lower = parameter(real, default=0.0, nan_check=False)
    upper = parameter(above("lower"), default=1.0)
    c = parameter(interval("lower", "upper"), default=0.5)
    support = interval("lower", "upper")

    def logp(self, value: Node) -> Node:
        rising = less(value, self.c)
        near = log(value - self.lower) - log(self.c - self.lower)
        far = log(self.upper - value) - log(self.upper - self.c)
        return LOG_2 - log(self.upper - self.lower) + where(rising, near, where(equal(value, self.c), 0.0, far))

    def logcdf(self, value: Node) -> Node:
        rising = less_equal(value, self.c)
        return where(rising, self._log_below(value, rising), log1p(-exp(self._log_above(value, rising))))

    def logccdf(self, value: Node) -> Node:
        rising = less_equal(value, self.c)
        return where(rising, log1p(-exp(self._log_below(value, rising))), self._log_above(value, rising))

    def icdf(self, q: Node) -> Node:
        width, left, right = self.upper - self.lower, self.c - self.lower, self.upper - self.c
        low = self.lower + sqrt(q * width) * sqrt(left)
        return where(less(q * width, left), low, self.upper - sqrt((1.0 - q) * width) * sqrt(right))

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.icdf(draw("random_uniform", key, shape))

    def mean(self) -> Node:
        return (self.lower + self.upper + self.c) / 3.0

    def variance(self) -> Node:
        left, right = self.c - self.lower, self.upper - self.c
        return (square(left) + left * right + square(right)) / 18.0

    def _log_below(self, value: Node, rising: Node) -> Node:
        at = where(rising, value, self.c)
        start = logical_and(rising, less_equal(self.c, self.lower))  # the mode is the lower bound
        part = log(where(start, 1.0, at - self.lower)) - log(where(start, 1.0, self.c - self.lower))
        return where(start, -math.inf, log(at - self.lower) - log(self.upper - self.lower) + part)

    def _log_above(self, value: Node, rising: Node) -> Node:
        at = where(rising, self.c, value)
        part = log(self.upper - at) - log(where(rising, self.upper - self.lower, self.upper - self.c))
        return log(self.upper - at) - log(self.upper - self.lower) + part


class Interpolated(Continuous):
    """Density that is linear between given points and 0 outside, divided by its integral.

    x_points: Increasing places, at least 2, in the unit of x.
    pdf_points: Heights >= 0 of the density there, up to a common factor; not all 0.
    """

    x_points = parameter(ordered)
    pdf_points = parameter(nonnegative_vector)
    support = real

    @property
    def bound_support(self) -> IntervalConstraint:
        return interval(self.x_points[..., 0], self.x_points[..., -1])

    def batch_shapes(self) -> list[Shape]:
        places, heights = self.x_points.static_shape[-1], self.pdf_points.static_shape[-1]
        if isinstance(places, int) and isinstance(heights, int) and (places != heights or places < 2):
            raise ShapeError(
                f"{self.title}: x_points and pdf_points need one length of at least 2, got {places} and {heights}."
            )
        return super().batch_shapes()

    def logp(self, value: Node) -> Node:
        inside, t = self._place(value)
        height = self._left + self._rise * t
        return log(reduce("sum", where(inside, height, 0.0), -1)) - log(self._total())

    def logcdf(self, value: Node) -> Node:
        lower, below, beyond = self._log_tails(value)
        return where(lower, below, log1mexp(where(lower, -1.0, beyond)))

    def logccdf(self, value: Node) -> Node:
        lower, below, beyond = self._log_tails(value)
        return where(lower, log1mexp(where(lower, below, -1.0)), beyond)

    def icdf(self, q: Node) -> Node:
        level = expand_dims(q * self._total(), -1)
        before = self._masses_before()
        inside = logical_and(greater_equal(level, before), less(level, before + self._masses))
        # t widths (left + rise t / 2) = rest, by the form of the quadratic root that does not cancel.
        rest = where(inside, level - before, 0.0) / self._widths
        root = sqrt(maximum(square(self._left) + 2.0 * self._rise * rest, 0.0))
        slope = self._left + root
        t = 2.0 * rest / where(greater(slope, 0.0), slope, 1.0)
        start = self.x_points[..., :-1]
        found = reduce("sum", where(inside, start + self._widths * minimum(t, 1.0), 0.0), -1)
        return where(reduce("any", inside, -1), found, self.x_points[..., -1])

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.icdf(draw("random_uniform", key, shape))

    def mean(self) -> Node:
        first = self._masses * self.x_points[..., :-1] + square(self._widths) * (self._left + 2.0 * self._right) / 6.0
        return reduce("sum", first, -1) / self._total()

    def variance(self) -> Node:
        start = self.x_points[..., :-1] - expand_dims(self.mean(), -1)
        linear = square(self._widths) * (self._left + 2.0 * self._right) / 3.0
        square_of_width = self._widths * square(self._widths) * (self._left + 3.0 * self._right) / 12.0
        second = self._masses * square(start) + linear * start + square_of_width
        return reduce("sum", second, -1) / self._total()

    @property
    def _widths(self) -> Node:
        return self.x_points[..., 1:] - self.x_points[..., :-1]

    @property
    def _left(self) -> Node:
        return self.pdf_points[..., :-1]

    @property
    def _right(self) -> Node:
        return self.pdf_points[..., 1:]

    @property
    def _rise(self) -> Node:
        return self._right - self._left

    @property
    def _masses(self) -> Node:
        return 0.5 * self._widths * (self._left + self._right)

    def _masses_before(self) -> Node:
        sums = cumulative("sum", self._masses, -1)
        return concatenate([sums[..., :1] * 0.0, sums[..., :-1]], -1)

    def _masses_after(self) -> Node:
        sums = cumulative("sum", self._masses[..., ::-1], -1)[..., ::-1]
        return concatenate([sums[..., 1:], sums[..., :1] * 0.0], -1)

    def _total(self) -> Node:
        return reduce("sum", self._masses, -1)

    def _log_tails(self, value: Node) -> tuple[Node, Node, Node]:
        """Whether a value is in the lower half, and the log probabilities on both sides of it."""
        inside, t = self._place(value)
        total = log(self._total())

        def tail(others: Node, t: Node, end: Node, rise: Node) -> Node:
            # Of masses that underflow, as next to an end of no height, the factors have logarithms.
            more, width = (reduce("sum", where(inside, part, 0.0), -1) for part in (others, self._widths * t))
            height = reduce("sum", where(inside, end + 0.5 * rise * t, 0.0), -1)
            only = equal(more, 0.0)
            own = log(where(only, width, 1.0)) + log(where(only, height, 1.0))
            return where(only, own, log(where(only, 1.0, more + width * height))) - total

        below = tail(self._masses_before(), t, self._left, self._rise)
        beyond = tail(self._masses_after(), 1.0 - t, self._right, -self._rise)
        return less(below, beyond), below, beyond

    def _place(self, value: Node) -> tuple[Node, Node]:
        """Which of the segments a value lies in, and how far along it, from 0 to 1."""
        at, start, end = expand_dims(value, -1), self.x_points[..., :-1], self.x_points[..., 1:]
        last = greater_equal(end, expand_dims(self.x_points[..., -1], -1))
        before_end = logical_or(less(at, end), logical_and(last, less_equal(at, end)))
        inside = logical_and(greater_equal(at, start), before_end)
        return inside, (where(inside, at, start) - start) / self._widths
