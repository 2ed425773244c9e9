"""Distributions on the real line."""

from __future__ import annotations

import math

from consilience.distributions.constraints import above, interval, positive, real
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.mathematics import (
    LOG_2,
    LOG_PI,
    LOG_SQRT_2_PI,
    PI,
    absolute,
    arctan2,
    betainc,
    betainccinv,
    betaincinv,
    equal,
    exp,
    gammaln,
    greater,
    less,
    log,
    log1p,
    log1p_square,
    log_betainc_odds,
    log_half_step_of_gamma,
    log_ndtr,
    logit,
    minimum,
    ndtri,
    reciprocal,
    softplus,
    sqrt,
    square,
    tan,
    where,
)
from consilience.ir import Node, Shape
from consilience.ops.random import draw, fold_in


class Normal(Continuous):
    """Bell curve: exp(-(x - mu)^2 / (2 sigma^2)) / (sigma sqrt(2 pi)).

    mu: Mean, in the unit of x.
    sigma: Standard deviation > 0, or tau = 1 / sigma^2, the precision.
    """

    mu = parameter(real, default=0.0, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    support = real
    alternatives = (instead_of("sigma", lambda tau: tau**-0.5, tau=positive),)

    def logp(self, value: Node) -> Node:
        return -0.5 * square((value - self.mu) / self.sigma) - log(self.sigma) - LOG_SQRT_2_PI

    def logcdf(self, value: Node) -> Node:
        return log_ndtr((value - self.mu) / self.sigma)

    def logccdf(self, value: Node) -> Node:
        return log_ndtr((self.mu - value) / self.sigma)

    def icdf(self, q: Node) -> Node:
        return self.mu + self.sigma * ndtri(q)

    def iccdf(self, q: Node) -> Node:
        return self.mu - self.sigma * ndtri(q)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.mu + self.sigma * draw("random_normal", key, shape)

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        return square(self.sigma)


class StudentT(Continuous):
    """Bell curve with heavy tails, (1 + z^2 / nu)^(-(nu+1)/2) up to a constant, z = (x - mu) / sigma.

    nu: Degrees of freedom > 0; the mean exists above 1, the variance above 2.
    mu: Location, in the unit of x.
    sigma: Scale > 0, not the standard deviation; or lam = 1 / sigma^2.
    """

    nu = parameter(positive, nan_check=False)
    mu = parameter(real, default=0.0, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    support = real
    alternatives = (instead_of("sigma", lambda lam: lam**-0.5, lam=positive),)

    def logp(self, value: Node) -> Node:
        z = (value - self.mu) / self.sigma
        normaliser = log_half_step_of_gamma(0.5 * self.nu) - 0.5 * log(self.nu) - 0.5 * LOG_PI - log(self.sigma)
        return normaliser - 0.5 * (self.nu + 1.0) * log1p_square(z / sqrt(self.nu))

    def logcdf(self, value: Node) -> Node:
        return log_student_tail(self.nu, (value - self.mu) / self.sigma)

    def logccdf(self, value: Node) -> Node:
        return log_student_tail(self.nu, (self.mu - value) / self.sigma)

    def icdf(self, q: Node) -> Node:
        # z^2 / nu is the odds of a beta variable; both parts are quantiles, so that neither tail loses digits.
        # Close to the median they meet in a square root of nothing, and z is (q - 1/2) over the density.
        close = less(absolute(q - 0.5), 1e-9)
        beyond = where(close, 0.25, q)
        both = 2.0 * minimum(beyond, 1.0 - beyond)
        inner, outer = betaincinv(0.5 * self.nu, 0.5, both), betainccinv(0.5, 0.5 * self.nu, both)
        z = sqrt(self.nu * outer / inner)
        spread = exp(0.5 * LOG_PI + gammaln(0.5 * self.nu) - gammaln(0.5 * (self.nu + 1.0))) * sqrt(self.nu)
        return self.mu + self.sigma * where(close, (q - 0.5) * spread, where(less(q, 0.5), -z, z))

    def iccdf(self, q: Node) -> Node:
        return 2.0 * self.mu - self.icdf(q)

    def draw(self, key: Node, shape: Shape) -> Node:
        mixing = draw("random_gamma", fold_in(key, 1), shape, 0.5 * self.nu) / (0.5 * self.nu)
        return self.mu + self.sigma * draw("random_normal", fold_in(key, 0), shape) / sqrt(mixing)

    def mean(self) -> Node:
        return where(greater(self.nu, 1.0), self.mu, math.nan)

    def variance(self) -> Node:
        finite = square(self.sigma) * self.nu / (self.nu - 2.0)
        return where(greater(self.nu, 2.0), finite, where(greater(self.nu, 1.0), math.inf, math.nan))

    def support_point(self) -> Node:
        return self.mu


def log_student_tail(nu: Node, z: Node) -> Node:
    """log P(T <= z) of Student's variable T with nu degrees of freedom."""
    size = absolute(z)
    beyond = log_betainc_odds(0.5 * nu, 0.5, log(nu) - 2.0 * log(where(equal(z, 0.0), 1.0, size)))
    # Near the middle the argument of the tail form rounds to 1; this one keeps small z, but has no slope at 0.
    near, median = less(size, 1.0), equal(z, 0.0)
    power = square(where(near, where(median, 0.5, z), 0.5))
    straight = z * exp(log_half_step_of_gamma(0.5 * nu) - 0.5 * LOG_PI) / sqrt(nu)
    middle = where(median, straight, 0.5 * betainc(0.5, 0.5 * nu, power / (nu + power)))
    centre = log(where(less(z, 0.0), 0.5 - middle, 0.5 + middle))
    return where(near, centre, where(less(z, 0.0), beyond - LOG_2, log1p(-0.5 * exp(beyond))))


class Cauchy(Continuous):
    """Ratio of two normal variables: 1 / (pi beta (1 + ((x - alpha) / beta)^2)); neither mean nor variance.

    alpha: Median, in the unit of x.
    beta: Scale > 0: half the distance between the quartiles.
    """

    alpha = parameter(real, nan_check=False)
    beta = parameter(positive, nan_check=False)
    support = real

    def logp(self, value: Node) -> Node:
        return -LOG_PI - log(self.beta) - log1p_square((value - self.alpha) / self.beta)

    def logcdf(self, value: Node) -> Node:
        z = (value - self.alpha) / self.beta
        below = log(arctan2(1.0, -z)) - LOG_PI
        return where(less(z, 0.0), below, log1p(arctan2(1.0, z) / -PI))

    def logccdf(self, value: Node) -> Node:
        z = (value - self.alpha) / self.beta
        above = log(arctan2(1.0, z)) - LOG_PI
        return where(greater(z, 0.0), above, log1p(arctan2(1.0, -z) / -PI))

    def icdf(self, q: Node) -> Node:
        near, far = -reciprocal(tan(PI * q)), reciprocal(tan(PI * (1.0 - q)))
        middle = tan(PI * (q - 0.5))
        outside = where(less(q, 0.5), near, far)
        return self.alpha + self.beta * where(less(absolute(q - 0.5), 0.25), middle, outside)

    def iccdf(self, q: Node) -> Node:
        return 2.0 * self.alpha - self.icdf(q)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.alpha + self.beta * tan(PI * (draw("random_uniform", key, shape) - 0.5))

    def support_point(self) -> Node:
        return self.alpha


class Laplace(Continuous):
    """Two exponential tails back to back: exp(-|x - mu| / b) / (2 b).

    mu: Mean and median, in the unit of x.
    b: Scale > 0: the mean distance from mu.
    """

    mu = parameter(real, default=0.0, nan_check=False)
    b = parameter(positive, default=1.0, nan_check=False)
    support = real

    def logp(self, value: Node) -> Node:
        return -absolute(value - self.mu) / self.b - log(self.b) - LOG_2

    def logcdf(self, value: Node) -> Node:
        z = (value - self.mu) / self.b
        return where(less(z, 0.0), z - LOG_2, log1p(-0.5 * exp(where(less(z, 0.0), 0.0, -z))))

    def logccdf(self, value: Node) -> Node:
        z = (value - self.mu) / self.b
        return where(greater(z, 0.0), -z - LOG_2, log1p(-0.5 * exp(where(greater(z, 0.0), 0.0, z))))

    def icdf(self, q: Node) -> Node:
        return self.mu + self.b * where(less(q, 0.5), log(2.0 * q), -log(2.0 * (1.0 - q)))

    def iccdf(self, q: Node) -> Node:
        return 2.0 * self.mu - self.icdf(q)

    def draw(self, key: Node, shape: Shape) -> Node:
        up, down = (draw("random_exponential", fold_in(key, i), shape) for i in range(2))
        return self.mu + self.b * (up - down)

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        return 2.0 * square(self.b)


class Logistic(Continuous):
    """Bell curve with exponential tails: exp(-z) / (s (1 + exp(-z))^2), z = (x - mu) / s.

    mu: Mean, in the unit of x.
    s: Scale > 0; the standard deviation is s pi / sqrt(3).
    """

    mu = parameter(real, default=0.0, nan_check=False)
    s = parameter(positive, default=1.0, nan_check=False)
    support = real

    def logp(self, value: Node) -> Node:
        z = absolute(value - self.mu) / self.s
        return -z - 2.0 * log1p(exp(-z)) - log(self.s)

    def logcdf(self, value: Node) -> Node:
        return -softplus((self.mu - value) / self.s)

    def logccdf(self, value: Node) -> Node:
        return -softplus((value - self.mu) / self.s)

    def icdf(self, q: Node) -> Node:
        return self.mu + self.s * logit(q)

    def iccdf(self, q: Node) -> Node:
        return 2.0 * self.mu - self.icdf(q)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.mu + self.s * logit(draw("random_uniform", key, shape))

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        return square(self.s) * (PI * PI / 3.0)


class Uniform(Continuous):
    """Constant density 1 / (upper - lower) between two bounds.

    lower, upper: Bounds in the unit of x, lower < upper; both belong to the support.
    """

    lower = parameter(real, default=0.0, nan_check=False)
    upper = parameter(above("lower"), default=1.0)
    support = interval("lower", "upper")

    def logp(self, value: Node) -> Node:
        return -log(self.upper - self.lower)

    def logcdf(self, value: Node) -> Node:
        return log(value - self.lower) - log(self.upper - self.lower)

    def logccdf(self, value: Node) -> Node:
        return log(self.upper - value) - log(self.upper - self.lower)

    def icdf(self, q: Node) -> Node:
        return self.lower + (self.upper - self.lower) * q

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.lower + (self.upper - self.lower) * draw("random_uniform", key, shape)

    def mean(self) -> Node:
        return 0.5 * (self.lower + self.upper)

    def variance(self) -> Node:
        return square(self.upper - self.lower) / 12.0
