"""The difference of two Poisson counts."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Final

from consilience.distributions.constraints import Whole, nonnegative
from consilience.distributions.distribution import Discrete, parameter
from consilience.distributions.gamma_ratios import log_ratio
from consilience.distributions.mathematics import (
    LOG_SQRT_2_PI,
    PI,
    absolute,
    cos,
    equal,
    exp,
    expm1,
    floor,
    gammaln,
    greater,
    greater_equal,
    less,
    log,
    log1mexp,
    log1p,
    logical_and,
    logical_or,
    maximum,
    minimum,
    sin,
    sqrt,
    square,
    where,
    xlogy,
)
from consilience.distributions.whole_quantile import by_chords
from consilience.ir import Node, Shape, constant
from consilience.ops.elementwise import cast
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota, expand_dims

# Debye's expansion, of so many terms, holds to the last digit from here on; a power series of so many below.
_FAR: Final = 100.0
_TERMS: Final = 7
_SERIES: Final = 160
# The bell curve of a tail is cut off after so many standard deviations, and summed at so many points.
_REACH: Final = 12.0
_POINTS: Final = 128


class Skellam(Discrete):
    """Difference of two Poisson counts: exp(-mu1 - mu2) (mu1 / mu2)^(x / 2) I_|x|(2 sqrt(mu1 mu2)).

    mu1, mu2: Expected numbers of the two, >= 0.
    """

    mu1 = parameter(nonnegative)
    mu2 = parameter(nonnegative)
    support = Whole()

    def logp(self, value: Node) -> Node:
        right = greater_equal(value, 0)
        ahead, behind = where(right, self.mu1, self.mu2), where(right, self.mu2, self.mu1)
        v = cast(absolute(value), "float64")
        size = sqrt(square(v) + 4.0 * ahead * behind)
        far = greater(size, _FAR)
        return where(far, _expansion(v, ahead, behind, far), _series(v, ahead, behind, far))

    def logcdf(self, value: Node) -> Node:
        below, beyond = self._log_tails(value)
        return where(less(value, self.mean()), below, log1mexp(beyond))

    def logccdf(self, value: Node) -> Node:
        below, beyond = self._log_tails(value)
        return where(less(value, self.mean()), log1mexp(below), beyond)

    def _log_tails(self, value: Node) -> tuple[Node, Node]:
        k = cast(value, "float64")
        least, greatest = equal(k, -math.inf), equal(k, math.inf)
        finite = where(logical_or(least, greatest), 0.0, k)
        below, beyond = _lower_tail(finite, self.mu1, self.mu2), _lower_tail(-finite - 1.0, self.mu2, self.mu1)
        return where(least, -math.inf, below), where(greatest, -math.inf, beyond)

    def icdf(self, q: Node) -> Node:
        least = where(equal(self.mu2, 0.0), 0.0, -math.inf)
        return by_chords(q, self, least, where(equal(self.mu1, 0.0), 0.0, math.inf))

    def draw(self, key: Node, shape: Shape) -> Node:
        return draw("random_poisson", fold_in(key, 0), shape, self.mu1) - draw(
            "random_poisson", fold_in(key, 1), shape, self.mu2
        )

    def mean(self) -> Node:
        return self.mu1 - self.mu2

    def variance(self) -> Node:
        return self.mu1 + self.mu2

    def support_point(self) -> Node:
        # Where one of them is 0 the mean is on the side of the support.
        return where(greater(self.mu1, self.mu2), floor(self.mean()), -floor(-self.mean()))


def _series(v: Node, ahead: Node, behind: Node, far: Node) -> Node:
    """The mass of a Poisson count and the powers of mu1 mu2, of which at most 160 matter."""
    k = Node(Iota(_SERIES))
    order = expand_dims(where(far, 0.0, v), -1)
    product = expand_dims(where(far, 1.0, ahead * behind), -1)
    none = equal(product, 0.0)
    steps = k * log(where(none, 1.0, product)) - gammaln(k + 1.0) - (gammaln(order + k + 1.0) - gammaln(order + 1.0))
    powers = where(none[..., 0], 0.0, reduce("logsumexp", steps, -1))
    return xlogy(v, ahead) - ahead - behind - gammaln(v + 1.0) + powers


def _expansion(v: Node, ahead: Node, behind: Node, far: Node) -> Node:
    """By the counts N1 - N2 = v with N1 N2 = mu1 mu2, of which the mass is largest, without cancellation."""
    a, b, n = where(far, ahead, _FAR), where(far, behind, _FAR), where(far, v, 0.0)
    size = sqrt(square(n) + 4.0 * a * b)
    offset = a - b - n
    relative = 4.0 * (a / (2.0 * a - n + size)) * (offset / (size + n))
    exponent = n * log_ratio(relative, log(a) - log(0.5 * (size + n))) - offset * ((a - b + n) / (a + b + size))
    share = square(n / size)
    series = constant(0.0)
    for coefficients in reversed(_debye()):
        term = constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            term = term * share + coefficient
        series = (series + term) / size
    return exponent - 0.5 * log(size) - LOG_SQRT_2_PI + log1p(series)


def _lower_tail(k: Node, mu1: Node, mu2: Node) -> Node:
    """log P(X <= k), for k not far above the mean: the generating function, integrated around a circle.

    Its radius exp(-tau) is that of the saddle point, or as much less than 1 as keeps the pole at 1 off; there the
    integrand is a bell curve around the real axis, for which equidistant points converge geometrically.
    """
    k, mu1, mu2 = (expand_dims(v, v.ndim) for v in (k, mu1, mu2))  # the points of the circle are the last axis
    size = sqrt(square(k) + 4.0 * mu1 * mu2)
    positive, single = greater(k, 0.0), equal(mu2, 0.0)
    up = log(mu1) - log(where(positive, 0.5 * (size + k), 1.0))
    down = log(where(logical_or(positive, single), 1.0, 0.5 * (size - k))) - log(where(single, 0.0, mu2))
    least = 0.05 * minimum(PI, _REACH / sqrt(maximum(size, 1e-300)))
    tau = minimum(maximum(where(positive, up, down), least), 700.0)
    first, second = mu1 * exp(-tau), mu2 * exp(tau)
    end = minimum(PI, _REACH / sqrt(maximum(first + second, 1e-300)))
    theta = end * ((Node(Iota(_POINTS)) + 0.5) / _POINTS)
    sine, half = sin(theta), square(sin(0.5 * theta))
    phase = (first - second - k) * sine + k * (sine - theta)
    gap, radius = expm1(-tau), exp(-tau)
    real, imaginary = 2.0 * radius * half - gap, radius * sine
    bell = exp(-2.0 * (first + second) * half) / (square(gap) + 4.0 * radius * half)
    total = reduce("sum", bell * (real * cos(phase) - imaginary * sin(phase)), -1, keepdims=True)
    leading = mu1 * expm1(-tau) + mu2 * expm1(tau) + k * tau
    tail = leading + log(total * (end / (PI * _POINTS)))
    return where(logical_and(single, less(k, 0.0)), -math.inf, tail)[..., 0]


@functools.cache
def _debye() -> tuple[tuple[float, ...], ...]:
    """u_k(p) / p^k as polynomials in p^2, k = 1, 2, … (DLMF 10.41.9)."""
    u: dict[int, Fraction] = {0: Fraction(1)}
    found = []
    for k in range(1, _TERMS + 1):
        next: dict[int, Fraction] = {}
        for power, c in u.items():
            for shift, factor in (
                (1, Fraction(power, 2) + Fraction(1, 8 * (power + 1))),
                (3, -Fraction(power, 2) - Fraction(5, 8 * (power + 3))),
            ):
                next[power + shift] = next.get(power + shift, Fraction(0)) + factor * c
        u = next
        found.append(tuple(float(u.get(k + 2 * i, 0)) for i in range(k + 1)))
    return tuple(found)
