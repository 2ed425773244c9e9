"""The Polya-gamma distribution, which turns logistic likelihoods into normal ones."""

from __future__ import annotations

import math

import numpy as np

from consilience.distributions.constraints import positive, real
from consilience.distributions.distribution import Continuous, parameter
from consilience.distributions.mathematics import (
    LOG_2,
    LOG_PI,
    PI,
    absolute,
    arctan2,
    cos,
    equal,
    exp,
    expm1,
    greater,
    hypot,
    less,
    log,
    log1mexp,
    logical_and,
    maximum,
    minimum,
    sin,
    softplus,
    sqrt,
    square,
    tanh,
    where,
)
from consilience.distributions.numeric_quantile import enclosed_quantile
from consilience.distributions.quadrature import DEPTH, column
from consilience.ir import Node, Shape, constant
from consilience.ops.elementwise import StopGradient
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import reduce

POLE = 0.5 * PI * PI  # where the Laplace transform of h > 0, z = 0 has its first singularity, to the left of 0
STEPS = 256
TERMS = 32
NEWTON = 2
LONGEST = 760.0  # no probability has a logarithm below


class PolyaGamma(Continuous):
    """Sum of g_k / ((k - 1/2)^2 + z^2 / (4 pi^2)) over 2 pi^2, k = 1, 2, ..., the g_k gamma variables of shape h.

    Its Laplace transform is (cosh(z / 2) / cosh(sqrt(z^2 / 4 + s / 2)))^h (N. G. Polson, J. G. Scott, J. Windle 2013).
    Density and tails are its inverse by the trapezoidal rule along a parabola through the saddle point: twelve digits
    of the density for h from 0.05 on and of the tails from 0.3 on, nine at 0.1, seven at 0.02.

    h: Shape > 0.
    z: Tilt, any number.
    """

    h = parameter(positive, default=1.0)
    z = parameter(real, default=0.0)
    support = positive

    def logp(self, value: Node) -> Node:
        return self._inverse_transform(value, _saddle(4.0 * value / self.h), None)

    def logcdf(self, value: Node) -> Node:
        below, tail = self._tail(value)
        return where(below, tail, log1mexp(where(below, -1.0, minimum(tail, 0.0))))

    def logccdf(self, value: Node) -> Node:
        below, tail = self._tail(value)
        return where(below, log1mexp(where(below, minimum(tail, 0.0), -1.0)), tail)

    def icdf(self, q: Node) -> Node:
        # By the logarithm y of x. The tails are at most about 2^h exp(h |z| / 2 - h^2 / (8 x)) and, beyond those of a
        # normal variable, exp(-(pi^2 + z^2) x / 2).
        inside = logical_and(greater(q, 0.0), less(q, 1.0))
        normal = sqrt(2.0 * LONGEST * self.variance())
        least = square(self.h) / (8.0 * (LONGEST + self.h * (LOG_2 + 0.5 * absolute(self.z))))
        low = log(maximum(least, self.mean() - normal))
        high = log(self.mean() + normal + 2.0 * LONGEST / (PI * PI + square(self.z)))

        def tails(y: Node) -> tuple[Node, Node]:
            return self.logcdf(exp(y)), self.logccdf(exp(y))

        y = enclosed_quantile(where(inside, q, 0.5), low, high, tails, lambda y: self.logp(exp(y)) + y, 8)
        return where(inside, exp(y), where(equal(q, 0.0), 0.0, math.inf))

    def draw(self, key: Node, shape: Shape) -> Node:
        # The first terms of the sum; the others together as one gamma variable of their mean and variance, whose
        # third moment is wrong by less than 1e-9 of the whole.
        levels = square(constant(np.arange(TERMS) + 0.5)) + column(square(self.z / (2.0 * PI)))
        weights = 1.0 / (2.0 * PI * PI * levels)
        terms = draw("random_gamma", fold_in(key, 0), (*shape, TERMS), column(self.h))
        mean = self.mean() - self.h * reduce("sum", weights, -1)
        variance = self.variance() - self.h * reduce("sum", square(weights), -1)
        rest = draw("random_gamma", fold_in(key, 1), shape, square(mean) / variance) * (variance / mean)
        return reduce("sum", weights * terms, -1) + rest

    def mean(self) -> Node:
        y = 0.5 * self.z
        near = less(absolute(y), 1e-4)
        apart = where(near, 1.0, y)
        return 0.25 * self.h * where(near, 1.0 - square(y) / 3.0, tanh(apart) / apart)

    def variance(self) -> Node:
        y = 0.5 * self.z
        near = less(absolute(y), 0.03)
        small, apart = square(where(near, y, 0.0)), where(near, 1.0, absolute(y))
        series = 2.0 / 3.0 - small * (8.0 / 15.0 - small * (34.0 / 105.0 - small * (496.0 / 2835.0)))
        slope = tanh(apart)
        direct = (slope - apart * (1.0 - slope) * (1.0 + slope)) / (square(apart) * apart)
        return 0.0625 * self.h * where(near, series, direct)

    def _tail(self, x: Node) -> tuple[Node, Node]:
        """Whether x is below the mean, and the logarithm of the probability of that side of x.

        The transform over s has a pole at 0, that is at z^2 / 2 before the tilt: a parabola to its right gives the
        lower tail, one to its left the upper one. It is kept away from the pole by the scale of the saddle.
        """
        below = less(x, self.mean())
        pole = POLE + 0.5 * square(self.z)
        room = 0.7 / sqrt(self.variance())
        saddle = _saddle(4.0 * x / self.h)
        m = where(below, maximum(saddle, pole + room), minimum(saddle, pole - minimum(room, 0.5 * pole)))
        return below, self._inverse_transform(x, m, where(below, 1.0, x * 0.0 - 1.0))

    def _inverse_transform(self, x: Node, vertex: Node, side: Node | None) -> Node:
        """Logarithm of the integral of exp(s x) cosh(sqrt(s / 2))^-h over s on s = m (1 + i t)^2 - POLE, tilted by z.

        Every m > 0 gives the same; that of the saddle point leaves nothing that cancels.

        `side`: None for the density; else the sign of a factor 1 / (s - z^2 / 2).
        """
        m = Node(StopGradient(), vertex)
        step = Node(StopGradient(), sqrt(DEPTH / (x * m)) / STEPS)
        t = column(step) * constant(np.arange(STEPS + 1.0))
        curve, at, shape = column(m), column(x), column(self.h)
        # w = a + i b, the root of s / 2; its smaller part from the product of both.
        real_part, product = 0.5 * (curve * (1.0 - t) * (1.0 + t) - POLE), curve * t
        size = hypot(real_part, product)
        larger = sqrt(0.5 * (size + absolute(real_part)))
        smaller = 0.5 * product / maximum(larger, 1e-300)
        right = greater(real_part, 0.0)
        a, b = where(right, larger, smaller), where(right, smaller, larger)
        # cosh(w) = exp(w) (1 + exp(-2 w)) / 2, whose second factor stays in the right half plane.
        decay = exp(-2.0 * a)
        log_size = a - LOG_2 + 0.5 * log(square(expm1(-2.0 * a)) + 4.0 * decay * square(cos(b)))
        angle = b + arctan2(-decay * sin(2.0 * b), 2.0 * square(cos(b)) + expm1(-2.0 * a) * cos(2.0 * b))
        exponent = 2.0 * real_part * at - shape * log_size
        phase = 2.0 * product * at - shape * angle
        top = Node(StopGradient(), exponent[..., :1])
        wave = exp(exponent - top) * self._projection(t, real_part, product, phase, side)
        total = reduce("sum", wave, -1) - 0.5 * wave[..., 0]
        half = 0.5 * absolute(self.z)
        tilt = self.h * (half + softplus(-2.0 * half) - LOG_2) - 2.0 * square(half) * x
        return top[..., 0] + log(total) + log(step * m) + LOG_2 - LOG_PI + tilt

    def _projection(self, t: Node, real_part: Node, product: Node, phase: Node, side: Node | None) -> Node:
        """Real part of exp(i phase) (1 + i t), over s - z^2 / 2 where a side is given."""
        if side is None:
            return cos(phase) - t * sin(phase)
        c, d = 2.0 * real_part - column(0.5 * square(self.z)), 2.0 * product
        return column(side) * ((c + t * d) * cos(phase) - (t * c - d) * sin(phase)) / (square(c) + square(d))


def _saddle(ratio: Node) -> Node:
    """s + POLE where tanh(v) / v = ratio at s = 2 v^2; ratio = 4 x / h.

    It has to be near: an integral at a distance d from its saddle cancels to a share exp(-variance d^2 / 2), and the
    variance grows as h.
    """
    light = less(ratio, 1.0)
    below, above = where(light, ratio, 0.5), where(light, 2.0, ratio)
    before = POLE + 2.0 * (1.0 - below) * (1.0 + 2.0 * below) / square(below)
    m = where(light, before, POLE / (1.0 + (above - 1.0) * (12.0 / (PI * PI))))
    for _ in range(NEWTON):
        u = 0.5 * (m - POLE)  # v^2
        near, v = less(absolute(u), 1e-3), sqrt(absolute(u))
        apart = where(near, 1.0, v)
        quotient = where(less(u, 0.0), sin(apart) / cos(apart), tanh(apart)) / apart
        quotient = where(near, 1.0 - u / 3.0 + 2.0 * square(u) / 15.0, quotient)
        slope = (1.0 - u * square(quotient) - quotient) / (2.0 * where(near, 1.0, u))
        slope = where(near, -1.0 / 3.0 + 4.0 * u / 15.0, slope)
        # Of the functions that are almost linear: the reciprocal next to the pole, its square far to the right.
        power = where(light, 2.0, 1.0)
        step = (1.0 - (quotient / ratio) ** power) * quotient / (power * slope)
        m = maximum(m + 2.0 * step, 0.1 * m)
    return m
