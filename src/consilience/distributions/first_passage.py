"""First passage times of Brownian motion: with drift (Wald) and without (Levy)."""

from __future__ import annotations

import math

from consilience.distributions.constraints import above, positive, real
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.mathematics import (
    LOG_SQRT_2_PI,
    SQRT_2,
    arcsinh,
    erfcx,
    exp,
    less,
    log,
    log1mexp,
    log_ndtr,
    logaddexp,
    ndtri,
    sqrt,
    square,
    where,
)
from consilience.distributions.numeric_quantile import numeric_quantile
from consilience.distributions.tails import log_erf, log_erfc, log_half_erfcx, two_sided_normal_quantile
from consilience.ir import Node, Shape
from consilience.ops.random import draw, fold_in


class Wald(Continuous):
    """Inverse Gaussian: sqrt(lam / (2 pi t^3)) exp(-lam (t - mu)^2 / (2 mu^2 t)), t = x - alpha.

    mu: Mean of t, > 0.
    lam: Shape > 0, in the unit of x; or phi = lam / mu, in place of lam or of mu.
    alpha: Shift, where the support begins.
    """

    mu = parameter(positive)
    lam = parameter(positive, default=1.0)
    alpha = parameter(real, default=0.0)
    support = above("alpha")
    mapped = positive
    arguments = ("mu", "lam", "phi", "alpha")
    alternatives = (
        instead_of("lam", lambda mu, phi: mu * phi, phi=positive),
        instead_of(("mu", "lam"), lambda lam, phi: (lam / phi, lam), lam=positive, phi=positive),
    )

    def logp(self, value: Node) -> Node:
        return self._log_density(value - self.alpha)

    def logcdf(self, value: Node) -> Node:
        return self._tails(self._deviance(value - self.alpha))[0]

    def logccdf(self, value: Node) -> Node:
        return self._tails(self._deviance(value - self.alpha))[1]

    def icdf(self, q: Node) -> Node:
        a = numeric_quantile(q, ndtri(q), self._tails)
        return self.alpha + self.mu * exp(2.0 * arcsinh(0.5 * a * sqrt(self.mu / self.lam)))

    def draw(self, key: Node, shape: Shape) -> Node:
        # J. R. Michael, W. R. Schucany, R. W. Haas (1976), the smaller root without cancellation.
        k = 0.5 * (self.mu / self.lam) * square(draw("random_normal", fold_in(key, 0), shape))
        share = 1.0 / (1.0 + k + sqrt(k * (2.0 + k)))
        small = less(draw("random_uniform", fold_in(key, 1), shape) * (1.0 + share), 1.0)
        return self.alpha + self.mu * where(small, share, 1.0 / share)

    def mean(self) -> Node:
        return self.mu + self.alpha

    def variance(self) -> Node:
        return square(self.mu) * (self.mu / self.lam)

    def _log_density(self, t: Node) -> Node:
        deviation = (t - self.mu) / self.mu
        exponent = -0.5 * self.lam * deviation * (deviation / t)
        return 0.5 * log(self.lam) - LOG_SQRT_2_PI - 1.5 * log(t) + exponent

    def _deviance(self, t: Node) -> Node:
        """Signed root of -2 times the exponent of the density, in which both tails are almost normal."""
        return sqrt(self.lam / t) * ((t - self.mu) / self.mu)

    def _tails(self, a: Node) -> tuple[Node, Node, Node]:
        """Logarithms of both tails and of the density of the signed root."""
        ratio = 4.0 * self.lam / self.mu
        b = sqrt(square(a) + ratio)
        gaussian = -0.5 * square(a)
        near = less(a, 1.0)
        small = logaddexp(log_ndtr(a), log_half_erfcx(b) + gaussian)
        far = where(near, 1.0, a)
        large = log(0.5 * (erfcx(far / SQRT_2) - erfcx(b / SQRT_2))) + gaussian
        density = gaussian - LOG_SQRT_2_PI + log(where(near, 1.0 - a / b, ratio / (b * (b + far))))
        return where(near, small, log1mexp(large)), where(near, log1mexp(small), large), density


class Levy(Continuous):
    """Passage times without drift: sqrt(c / (2 pi)) exp(-c / (2 t)) / t^(3/2), t = x - mu; neither mean nor variance.

    mu: Where the support begins, in the unit of x.
    c: Scale > 0: c / t is the square of a standard normal variable.
    """

    mu = parameter(real, default=0.0)
    c = parameter(positive, default=1.0)
    support = above("mu")

    def logp(self, value: Node) -> Node:
        t = value - self.mu
        return 0.5 * log(self.c) - LOG_SQRT_2_PI - 1.5 * log(t) - 0.5 * self.c / t

    def logcdf(self, value: Node) -> Node:
        return log_erfc(self._root(value))

    def logccdf(self, value: Node) -> Node:
        return log_erf(self._root(value))

    def icdf(self, q: Node) -> Node:
        return self.mu + self.c / square(two_sided_normal_quantile(q))

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.mu + self.c / square(draw("random_normal", key, shape))

    def mean(self) -> Node:
        return math.inf * self.c

    def variance(self) -> Node:
        return math.inf * self.c

    def support_point(self) -> Node:
        return self.mu + self.c

    def _root(self, value: Node) -> Node:
        return sqrt(0.5 * self.c) / sqrt(value - self.mu)
