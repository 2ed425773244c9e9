"""Skewed distributions on the real line: of Laplace, of Student, of Moyal."""

from __future__ import annotations

import math

from consilience.distributions.constraints import open_unit_interval, positive, real
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.gamma_ratios import log_beta
from consilience.distributions.mathematics import (
    EULER_GAMMA,
    LOG_2,
    LOG_SQRT_2_PI,
    PI,
    SQRT_2,
    arcsinh,
    betainccinv,
    betaincinv,
    exp,
    greater,
    less,
    log,
    log1mexp,
    log1p,
    log_betainc_odds,
    log_half_step_of_gamma,
    logical_and,
    sinh,
    softplus,
    sqrt,
    square,
    where,
)
from consilience.distributions.simplex import log_gamma_draw
from consilience.distributions.tails import log_erf, log_erfc, two_sided_normal_quantile
from consilience.ir import Node, Shape
from consilience.ops.random import draw, fold_in


class AsymmetricLaplace(Continuous):
    """Two exponential tails: b / (kappa + 1 / kappa) exp(-b |x - mu| kappa^s), s the sign of x - mu.

    kappa: Asymmetry > 0, or q = kappa^2 / (1 + kappa^2), the probability of values below mu.
    mu: Mode, in the unit of x.
    b: Rate > 0, one over the unit of x.
    """

    kappa = parameter(positive, nan_check=False)
    mu = parameter(real, nan_check=False)
    b = parameter(positive, nan_check=False)
    support = real
    alternatives = (instead_of("kappa", lambda q: sqrt(q / (1.0 - q)), q=open_unit_interval),)

    def logp(self, value: Node) -> Node:
        return log(self.b) - self._log_weight() - self._depth(value)

    def logcdf(self, value: Node) -> Node:
        log_share = -softplus(-2.0 * log(self.kappa))
        beyond = -softplus(2.0 * log(self.kappa)) - self._depth(value)
        return where(less(value, self.mu), log_share - self._depth(value), log1mexp(beyond))

    def logccdf(self, value: Node) -> Node:
        below = -softplus(-2.0 * log(self.kappa)) - self._depth(value)
        log_share = -softplus(2.0 * log(self.kappa))
        return where(less(value, self.mu), log1mexp(below), log_share - self._depth(value))

    def icdf(self, q: Node) -> Node:
        low = self.kappa * (log(q) + softplus(-2.0 * log(self.kappa)))
        high = (log1p(-q) + softplus(2.0 * log(self.kappa))) / self.kappa
        return self.mu + where(less(low, 0.0), low, -high) / self.b

    def draw(self, key: Node, shape: Shape) -> Node:
        up, down = (draw("random_exponential", fold_in(key, i), shape) for i in range(2))
        return self.mu + (up / self.kappa - down * self.kappa) / self.b

    def mean(self) -> Node:
        return self.mu + (1.0 / self.kappa - self.kappa) / self.b

    def variance(self) -> Node:
        return square(self.kappa / self.b) + square(1.0 / (self.kappa * self.b))

    def support_point(self) -> Node:
        return self.mu

    def _log_weight(self) -> Node:
        """log(kappa + 1 / kappa)."""
        y = log(self.kappa)
        return softplus(2.0 * y) - y

    def _depth(self, value: Node) -> Node:
        """Minus the logarithm of the density over that at the mode."""
        z = (value - self.mu) * self.b
        return where(less(z, 0.0), -z / self.kappa, z * self.kappa)


class Moyal(Continuous):
    """Energy losses of fast particles: exp(-(z + exp(-z)) / 2) / (sigma sqrt(2 pi)), z = (x - mu) / sigma.

    mu: Mode, in the unit of x.
    sigma: Scale > 0.

    Notes
    -----
    exp(-z / 2) is the size of a standard normal variable.
    """

    mu = parameter(real, default=0.0, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    support = real

    def logp(self, value: Node) -> Node:
        z = (value - self.mu) / self.sigma
        return -0.5 * (z + exp(-z)) - log(self.sigma) - LOG_SQRT_2_PI

    def logcdf(self, value: Node) -> Node:
        z = (value - self.mu) / self.sigma
        return log_erfc(exp(-0.5 * z) / SQRT_2)

    def logccdf(self, value: Node) -> Node:
        z = (value - self.mu) / self.sigma
        far = greater(z, 80.0)
        return where(far, LOG_2 - LOG_SQRT_2_PI - 0.5 * z, log_erf(exp(-0.5 * where(far, 0.0, z)) / SQRT_2))

    def icdf(self, q: Node) -> Node:
        return self.mu - 2.0 * self.sigma * log(two_sided_normal_quantile(q))

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.mu - self.sigma * log(square(draw("random_normal", key, shape)))

    def mean(self) -> Node:
        return self.mu + (EULER_GAMMA + LOG_2) * self.sigma

    def variance(self) -> Node:
        return square(self.sigma) * (0.5 * PI * PI)


class SkewStudentT(Continuous):
    """Student's bell curve with two tails of their own (M. C. Jones, M. J. Faddy 2003).

    (1 + t / r)^(a+1/2) (1 - t / r)^(b+1/2) up to a constant, t = (x - mu) / sigma, r = sqrt(a + b + t^2); half of
    1 + t / r is a beta variable. At a = b it is Student's with 2 a degrees of freedom.

    a, b: Shapes > 0; the mean exists above 1/2, the variance above 1.
    mu: Location, in the unit of x.
    sigma: Scale > 0, or lam = 1 / sigma^2.
    """

    a = parameter(positive)
    b = parameter(positive)
    mu = parameter(real, default=0.0, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    support = real
    alternatives = (instead_of("sigma", lambda lam: lam**-0.5, lam=positive),)

    def logp(self, value: Node) -> Node:
        w = self._log_odds(value)
        powers = (self.a + 0.5) * softplus(-w) + (self.b + 0.5) * softplus(w)
        return 2.0 * LOG_2 - powers - log_beta(self.a, self.b) - 0.5 * log(self.a + self.b) - log(self.sigma)

    def logcdf(self, value: Node) -> Node:
        return log_betainc_odds(self.a, self.b, self._log_odds(value))

    def logccdf(self, value: Node) -> Node:
        return log_betainc_odds(self.b, self.a, -self._log_odds(value))

    def icdf(self, q: Node) -> Node:
        below, above = betaincinv(self.a, self.b, q), betainccinv(self.b, self.a, q)
        return self._at_log_odds(log(below) - log(above))

    def draw(self, key: Node, shape: Shape) -> Node:
        ones, zeros = (
            log_gamma_draw(fold_in(key, 0), shape, self.a),
            log_gamma_draw(fold_in(key, 1), shape, self.b),
        )
        return self._at_log_odds(ones - zeros)

    def mean(self) -> Node:
        return self.mu + self.sigma * self._first()

    def variance(self) -> Node:
        exists = logical_and(greater(self.a, 1.0), greater(self.b, 1.0))
        a, b = where(exists, self.a, 2.0), where(exists, self.b, 2.0)
        second = 0.25 * (a + b) * (square(a - b) + a + b - 2.0) / ((a - 1.0) * (b - 1.0))
        return where(exists, square(self.sigma) * (second - square(where(exists, self._first(), 0.0))), math.inf)

    def support_point(self) -> Node:
        return self.mu

    def _first(self) -> Node:
        exists = logical_and(greater(self.a, 0.5), greater(self.b, 0.5))
        a, b = where(exists, self.a, 2.0) - 0.5, where(exists, self.b, 2.0) - 0.5
        ratio = exp(-log_half_step_of_gamma(a) - log_half_step_of_gamma(b))
        return where(exists, 0.5 * (a - b) * sqrt(a + b + 1.0) * ratio, math.nan)

    def _log_odds(self, value: Node) -> Node:
        return 2.0 * arcsinh((value - self.mu) / self.sigma / sqrt(self.a + self.b))

    def _at_log_odds(self, w: Node) -> Node:
        return self.mu + self.sigma * sqrt(self.a + self.b) * sinh(0.5 * w)
