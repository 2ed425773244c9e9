"""Distributions made of normal variables: skewed by another one, delayed by an exponential, lengths of pairs."""

from __future__ import annotations

import math

from consilience.distributions.constraints import nonnegative, positive, real
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.mathematics import (
    LOG_2,
    LOG_SQRT_2_PI,
    PI,
    SQRT_2,
    absolute,
    erf,
    erfcx,
    exp,
    greater,
    greater_equal,
    hypot,
    i0e,
    i1e,
    less,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    logaddexp,
    maximum,
    minimum,
    ndtri,
    reciprocal,
    sqrt,
    square,
    where,
)
from consilience.distributions.numeric_quantile import numeric_quantile
from consilience.distributions.quadrature import column, depth_of_fall, log_integral
from consilience.distributions.tails import log_half_erfcx, log_i0e
from consilience.ir import Node, Shape
from consilience.ops.random import draw, fold_in

# The least curvature of log ndtr below its median: 2 / pi.
_CURVATURE = 2.0 / PI


def _hazard(w: Node) -> Node:
    """Density over distribution function of a standard normal variable."""
    return math.sqrt(2.0 / PI) / erfcx(w / -SQRT_2)


class SkewNormal(Continuous):
    """Normal bell curve with one half pressed down: 2 phi(z) Phi(alpha z) / sigma, z = (x - mu) / sigma.

    alpha: Skewness, any number; 0 is the normal distribution.
    mu: Location, in the unit of x.
    sigma: Scale > 0, or tau = 1 / sigma^2.
    """

    alpha = parameter(real, default=1.0)
    mu = parameter(real, default=0.0, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    support = real
    alternatives = (instead_of("sigma", lambda tau: tau**-0.5, tau=positive),)

    def logp(self, value: Node) -> Node:
        return self._log_density((value - self.mu) / self.sigma) - log(self.sigma)

    def logcdf(self, value: Node) -> Node:
        return self._tails((value - self.mu) / self.sigma)[0]

    def logccdf(self, value: Node) -> Node:
        return self._tails((value - self.mu) / self.sigma)[1]

    def icdf(self, q: Node) -> Node:
        # Twice a normal tail bounds a tail from above; the thin one, on the other side of 0, is below Phi(-|alpha z|).
        low = maximum(ndtri(0.5 * q), self._thin_bound(q, self.alpha))
        high = minimum(-ndtri(0.5 * (1.0 - q)), -self._thin_bound(1.0 - q, -self.alpha))
        return self.mu + self.sigma * numeric_quantile(q, where(less(q, 0.5), low, high), self._with_density)

    def draw(self, key: Node, shape: Shape) -> Node:
        common, own = (draw("random_normal", fold_in(key, i), shape) for i in range(2))
        length = hypot(1.0, self.alpha)
        return self.mu + self.sigma * (self.alpha * absolute(common) + own) / length

    def mean(self) -> Node:
        return self.mu + self.sigma * (math.sqrt(2.0 / PI) * self.alpha / hypot(1.0, self.alpha))

    def variance(self) -> Node:
        return square(self.sigma) * (1.0 - (2.0 / PI) * square(self.alpha / hypot(1.0, self.alpha)))

    def _log_density(self, z: Node) -> Node:
        return LOG_2 - LOG_SQRT_2_PI - 0.5 * square(z) + log_ndtr(self.alpha * z)

    def _with_density(self, z: Node) -> tuple[Node, Node, Node]:
        return (*self._tails(z), self._log_density(z))

    def _thin_bound(self, q: Node, alpha: Node) -> Node:
        bound = ndtri(q) / where(greater(alpha, 1.0), alpha, 1.0)
        return where(greater(alpha, 1.0), minimum(bound, 0.0), -math.inf)

    def _tails(self, z: Node) -> tuple[Node, Node]:
        # With h = |z|, a = |alpha| and A = P(Z_a <= -h) all four tails are sums of positive terms: A,
        # 1 - A, erf(h / sqrt(2)) + A, and 2 Phi(-h) - A >= Phi(-h).
        h, a = absolute(z), absolute(self.alpha)
        width = depth_of_fall(h + a * _hazard(-a * h), 1.0 + _CURVATURE * square(a))
        constant = LOG_2 - LOG_SQRT_2_PI
        steep = column(a)
        thin = log_integral(lambda t: constant - 0.5 * square(t) + log_ndtr(steep * t), -h - width, -h)
        outside = LOG_2 + log_ndtr(-h)
        inside = log(erf(h / SQRT_2) + exp(thin))
        fat = outside + log1p(-exp(thin - outside))
        fat_inside = where(less(fat, -1.0), log1p(-exp(fat)), inside)
        ahead = greater_equal(z, 0.0)
        thin_below = greater_equal(self.alpha, 0.0)
        rest = log1mexp(thin)
        below = where(thin_below, where(ahead, fat_inside, thin), where(ahead, rest, fat))
        above = where(thin_below, where(ahead, fat, rest), where(ahead, thin, fat_inside))
        return below, above


class ExGaussian(Continuous):
    """Sum of a normal and an exponential variable: exp((mu - x) / nu + sigma^2 / (2 nu^2)) Phi(z - sigma / nu) / nu.

    mu: Mean of the normal variable, in the unit of x.
    sigma: Its standard deviation > 0; z = (x - mu) / sigma.
    nu: Mean of the exponential variable, > 0.
    """

    mu = parameter(real, default=0.0, nan_check=False)
    sigma = parameter(positive, default=1.0)
    nu = parameter(positive)
    support = real

    def logp(self, value: Node) -> Node:
        return self._log_excess((value - self.mu) / self.sigma, self.sigma / self.nu) - log(self.nu)

    def logcdf(self, value: Node) -> Node:
        return self._tails((value - self.mu) / self.sigma)[0]

    def logccdf(self, value: Node) -> Node:
        return self._tails((value - self.mu) / self.sigma)[1]

    def icdf(self, q: Node) -> Node:
        # The normal quantile bounds a low one from below, half of the tail in each summand a high one from above.
        rest = 0.5 * (1.0 - q)
        high = -ndtri(rest) - log(rest) * (self.nu / self.sigma)
        return self.mu + self.sigma * numeric_quantile(q, where(less(q, 0.5), ndtri(q), high), self._tails)

    def draw(self, key: Node, shape: Shape) -> Node:
        normal = self.sigma * draw("random_normal", fold_in(key, 0), shape)
        return self.mu + normal + self.nu * draw("random_exponential", fold_in(key, 1), shape)

    def mean(self) -> Node:
        return self.mu + self.nu

    def variance(self) -> Node:
        return square(self.sigma) + square(self.nu)

    def _log_excess(self, z: Node, rate: Node) -> Node:
        """log(nu f(x)): what P(X > x) exceeds the normal tail by."""
        below = less(z, rate)
        far = log_half_erfcx(where(below, rate - z, 0.0)) - 0.5 * square(z)
        return where(below, far, -rate * (z - 0.5 * rate) + log_ndtr(where(below, 0.0, z - rate)))

    def _tails(self, z: Node) -> tuple[Node, Node, Node]:
        rate = self.sigma / self.nu
        excess = self._log_excess(z, rate)
        log_rate = log(self.sigma) - log(self.nu)
        # The difference of the normal tail and the excess cancels where z is not well above 0.
        low = less(z, 3.0)
        end = where(low, z, 3.0)
        width = depth_of_fall(maximum(_hazard(end - rate) - rate, 0.0), _CURVATURE)
        wide = column(rate)
        small = log_rate + log_integral(lambda t: self._log_excess(t, wide), end - width, end)
        normal = log_ndtr(z)
        large = normal + log1mexp(where(low, -1.0, excess - normal))
        return where(low, small, large), logaddexp(log_ndtr(-z), excess), excess + log_rate


class Rice(Continuous):
    """Length of a vector of two normal coordinates: x / sigma^2 exp(-(x^2 + nu^2) / (2 sigma^2)) I_0(x nu / sigma^2).

    nu: Distance of the centre, >= 0, in the unit of x; or b = nu / sigma.
    sigma: Standard deviation > 0 of each coordinate.
    """

    nu = parameter(nonnegative)
    sigma = parameter(positive, default=1.0, nan_check=False)
    support = nonnegative
    alternatives = (instead_of("nu", lambda b, sigma: b * sigma, b=nonnegative),)

    def logp(self, value: Node) -> Node:
        y, n = value / self.sigma, self.nu / self.sigma
        return log(value) - 2.0 * log(self.sigma) - 0.5 * square(y - n) + log_i0e(y * n)

    def logcdf(self, value: Node) -> Node:
        return self._tails(value / self.sigma)[0]

    def logccdf(self, value: Node) -> Node:
        return self._tails(value / self.sigma)[1]

    def icdf(self, q: Node) -> Node:
        # The length is at least that of a centred vector and the first coordinate, at most nu and a centred length.
        n, centred = self.nu / self.sigma, sqrt(-2.0 * log1p(-q))
        start = where(less(q, 0.5), maximum(centred, n + ndtri(q)), n + centred)
        return self.sigma * numeric_quantile(q, start, self._tails, (0.0, math.inf))

    def draw(self, key: Node, shape: Shape) -> Node:
        first, second = (self.sigma * draw("random_normal", fold_in(key, i), shape) for i in range(2))
        return hypot(self.nu + first, second)

    def mean(self) -> Node:
        # sqrt(pi / 2) times a Laguerre function of order 1/2 of -n^2 / 2.
        n = self.nu / self.sigma
        far = greater(n, _FAR_CENTRE)
        quarter = 0.25 * square(where(far, 0.0, n))
        near = (1.0 + 2.0 * quarter) * i0e(quarter) + 2.0 * quarter * i1e(quarter)
        inverse = square(reciprocal(where(far, n, _FAR_CENTRE)))
        series = n * (1.0 + inverse * (0.5 + inverse * (0.125 + 0.1875 * inverse)))
        return self.sigma * where(far, series, math.sqrt(0.5 * PI) * near)

    def variance(self) -> Node:
        n = self.nu / self.sigma
        far = greater(n, _FAR_CENTRE)
        near = 2.0 + square(where(far, 0.0, n)) - square(where(far, 0.0, self.mean() / self.sigma))
        inverse = square(reciprocal(where(far, n, _FAR_CENTRE)))
        series = 1.0 - inverse * (0.5 + inverse * (0.5 + 1.6875 * inverse))
        return square(self.sigma) * where(far, series, near)

    def _log_density(self, y: Node, n: Node) -> Node:
        return log(y) - 0.5 * square(y - n) + log_i0e(y * n)

    def _tails(self, y: Node) -> tuple[Node, Node, Node]:
        n = self.nu / self.sigma
        slope = reciprocal(y) - y + n * (i1e(y * n) / i0e(y * n))
        rising = greater(slope, 0.0)
        width = depth_of_fall(absolute(slope), 1.0)
        low, high = where(rising, y - minimum(y, width), y), where(rising, y, y + width)
        centre = column(n)
        tail = log_integral(lambda t: self._log_density(t, centre), low, high)
        other = log1mexp(tail)
        return where(rising, tail, other), where(rising, other, tail), self._log_density(y, n)


# From here on the asymptotic series of the moments hold to the last digit.
_FAR_CENTRE = 60.0
