"""Distributions of angles."""

from __future__ import annotations

import itertools
import math

from consilience.distributions.constraints import circle, positive, real
from consilience.distributions.distribution import Continuous, parameter
from consilience.distributions.mathematics import (
    LOG_2,
    LOG_PI,
    PI,
    absolute,
    arcsin,
    equal,
    greater,
    less,
    log1mexp,
    logaddexp,
    logical_and,
    maximum,
    minimum,
    round_even,
    sin,
    sqrt,
    square,
    where,
)
from consilience.distributions.numeric_quantile import enclosed_quantile
from consilience.distributions.quadrature import DEPTH, column, log_integral
from consilience.distributions.tails import log_i0e
from consilience.ir import Node, Shape
from consilience.ops.elementwise import StopGradient
from consilience.ops.random import draw


class VonMises(Continuous):
    """Normal variable's counterpart on the circle: exp(kappa cos(x - mu)) / (2 pi I_0(kappa)), -pi <= x <= pi.

    mu: Mean direction in radians, any number; it counts modulo 2 pi.
    kappa: Concentration > 0: far above 1 almost normal, of variance 1 / kappa.
    """

    mu = parameter(real, default=0.0, nan_check=False)
    kappa = parameter(positive, default=1.0)
    support = circle

    def logp(self, value: Node) -> Node:
        return -self.kappa * _height(value - self.mu) - log_i0e(self.kappa) - LOG_2 - LOG_PI

    def logcdf(self, value: Node) -> Node:
        below, above = self._tails(value)
        return where(less(below, -LOG_2), below, log1mexp(above))

    def logccdf(self, value: Node) -> Node:
        below, above = self._tails(value)
        return where(less(below, -LOG_2), log1mexp(below), above)

    def icdf(self, q: Node) -> Node:
        # 45 standard deviations about the direction, unless they reach beyond an end.
        direction, width = self._direction(), 45.0 / sqrt(self.kappa)
        whole = greater(absolute(direction) + width, PI)
        low, high = where(whole, -PI, direction - width), where(whole, PI, direction + width)
        inside = logical_and(greater(q, 0.0), less(q, 1.0))
        found = enclosed_quantile(where(inside, q, 0.5), low, high, self._both, self.logp, 8)
        return where(inside, found, where(equal(q, 0.0), -PI, PI))

    def draw(self, key: Node, shape: Shape) -> Node:
        return _wrapped(self._direction() + draw("random_von_mises", key, shape, self.kappa))

    def support_point(self) -> Node:
        return self._direction()

    def _direction(self) -> Node:
        """mu between -pi and pi."""
        return _wrapped(self.mu)

    def _both(self, value: Node) -> tuple[Node, Node]:
        return self.logcdf(value), self.logccdf(value)

    def _tails(self, value: Node) -> tuple[Node, Node]:
        # Between -pi and pi the density has one peak and one trough: three pieces in which it rises or falls.
        peak = self._direction()
        trough = where(less(peak, 0.0), peak + PI, peak - PI)
        first, second = minimum(peak, trough), maximum(peak, trough)
        start, end = value * 0.0 - PI, value * 0.0 + PI
        below = self._mass([start, minimum(value, first), minimum(value, second), value])
        above = self._mass([value, maximum(value, first), maximum(value, second), end])
        return below, above

    def _mass(self, ends: list[Node]) -> Node:
        """Logarithm of the probability of consecutive pieces in each of which the density is monotone."""
        pieces = [self._piece(low, high) for low, high in itertools.pairwise(ends)]
        return logaddexp(logaddexp(pieces[0], pieces[1]), pieces[2])

    def _piece(self, low: Node, high: Node) -> Node:
        # From the end of the greater density as far as it takes the density to fall to nothing.
        left, right = _height(low - self.mu), _height(high - self.mu)
        top = minimum(left, right)
        bottom = top + DEPTH / self.kappa
        cut = less(bottom, 2.0)
        fall = 2.0 * (arcsin(sqrt(0.5 * where(cut, bottom, 2.0))) - arcsin(sqrt(0.5 * top)))
        width = Node(StopGradient(), where(cut, fall, 2.0 * PI))
        rising = less(right, left)
        start, end = where(rising, maximum(low, high - width), low), where(rising, high, minimum(high, low + width))
        filled = less(start, end)  # an empty piece has no slope
        centre, steepness = column(self.mu), column(self.kappa)
        mass = log_integral(lambda t: -steepness * _height(t - centre), start, where(filled, end, start + 1.0))
        return where(filled, mass - log_i0e(self.kappa) - LOG_2 - LOG_PI, -math.inf)


def _height(angle: Node) -> Node:
    """1 - cos(angle), to full accuracy next to 0."""
    return 2.0 * square(sin(0.5 * angle))


def _wrapped(angle: Node) -> Node:
    """The same direction between -pi and pi."""
    turned = angle - (2.0 * math.pi) * round_even(angle / (2.0 * math.pi))
    return minimum(maximum(turned, -PI), PI)
