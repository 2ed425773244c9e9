"""Distributions on the positive half line."""

from __future__ import annotations

import math

import numpy as np

from consilience.distributions.constraints import Constraint, SmallShape, nonnegative, positive, real
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.mathematics import (
    LOG_2,
    LOG_PI,
    LOG_SQRT_2_PI,
    PI,
    SQRT_2,
    absolute,
    arctan2,
    betainccinv,
    betaincinv,
    erfinv,
    exp,
    expm1,
    gammainccinv,
    gammaincinv,
    gammaln,
    greater,
    less,
    log,
    log1mexp,
    log1p,
    log1p_square,
    log_betainc_odds,
    log_gammainc,
    log_gammaincc,
    log_half_step_of_gamma,
    log_ndtr,
    ndtri,
    reciprocal,
    sqrt,
    square,
    tan,
    where,
    xlogy,
)
from consilience.distributions.parameters import known_value
from consilience.distributions.tails import log_erf, log_erfc, log_of_size
from consilience.ir import Node, Shape, constant
from consilience.ops.random import draw, fold_in


class HalfNormal(Continuous):
    """Absolute value of a normal variable of mean 0: 2 exp(-x^2 / (2 sigma^2)) / (sigma sqrt(2 pi)).

    sigma: Standard deviation of the normal variable, > 0, or tau = 1 / sigma^2.
    """

    sigma = parameter(positive, default=1.0, nan_check=False)
    support = nonnegative
    alternatives = (instead_of("sigma", lambda tau: tau**-0.5, tau=positive),)

    def logp(self, value: Node) -> Node:
        return LOG_2 - 0.5 * square(value / self.sigma) - log(self.sigma) - LOG_SQRT_2_PI

    def logcdf(self, value: Node) -> Node:
        z = value / (self.sigma * SQRT_2)
        return log_erf(z)

    def logccdf(self, value: Node) -> Node:
        return log_erfc(value / (self.sigma * SQRT_2))

    def icdf(self, q: Node) -> Node:
        return self.sigma * (SQRT_2 * erfinv(q))

    def iccdf(self, q: Node) -> Node:
        return -self.sigma * ndtri(0.5 * q)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.sigma * absolute(draw("random_normal", key, shape))

    def mean(self) -> Node:
        return self.sigma * math.sqrt(2.0 / PI)

    def variance(self) -> Node:
        return square(self.sigma) * (1.0 - 2.0 / PI)

    def support_point(self) -> Node:
        return self.sigma


class HalfCauchy(Continuous):
    """Absolute value of a Cauchy variable around 0: 2 / (pi beta (1 + (x / beta)^2)); no mean.

    beta: Scale > 0: the median.
    """

    beta = parameter(positive, nan_check=False)
    support = nonnegative

    def logp(self, value: Node) -> Node:
        return LOG_2 - LOG_PI - log(self.beta) - log1p_square(value / self.beta)

    def logcdf(self, value: Node) -> Node:
        z = value / self.beta
        near = log((2.0 / PI) * arctan2(value, self.beta))
        return where(less(z, 1.0), near, log1p((-2.0 / PI) * arctan2(self.beta, value)))

    def logccdf(self, value: Node) -> Node:
        z = value / self.beta
        far = log((2.0 / PI) * arctan2(self.beta, value))
        return where(less(z, 1.0), log1p((-2.0 / PI) * arctan2(value, self.beta)), far)

    def icdf(self, q: Node) -> Node:
        near = tan((0.5 * PI) * q)
        return self.beta * where(less(q, 0.5), near, reciprocal(tan((0.5 * PI) * (1.0 - q))))

    def iccdf(self, q: Node) -> Node:
        near = reciprocal(tan((0.5 * PI) * q))
        return self.beta * where(less(q, 0.5), near, tan((0.5 * PI) * (1.0 - q)))

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.beta * tan((0.5 * PI) * draw("random_uniform", key, shape))

    def support_point(self) -> Node:
        return self.beta


class HalfStudentT(Continuous):
    """Absolute value of Student's variable around 0: (1 + z^2 / nu)^(-(nu+1)/2) up to a constant, z = x / sigma.

    nu: Degrees of freedom > 0; the mean exists above 1, the variance above 2.
    sigma: Scale > 0, or lam = 1 / sigma^2.
    """

    nu = parameter(positive, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    support = nonnegative
    alternatives = (instead_of("sigma", lambda lam: lam**-0.5, lam=positive),)

    def logp(self, value: Node) -> Node:
        z = value / self.sigma
        normaliser = log_half_step_of_gamma(0.5 * self.nu) - 0.5 * log(self.nu) - 0.5 * LOG_PI - log(self.sigma)
        return LOG_2 + normaliser - 0.5 * (self.nu + 1.0) * log1p_square(z / sqrt(self.nu))

    def logcdf(self, value: Node) -> Node:
        return log_betainc_odds(0.5, 0.5 * self.nu, self._log_odds(value))

    def logccdf(self, value: Node) -> Node:
        return log_betainc_odds(0.5 * self.nu, 0.5, -self._log_odds(value))

    def _log_odds(self, value: Node) -> Node:
        """Of z^2 / (nu + z^2), a beta variable."""
        return 2.0 * (log_of_size(value) - log(self.sigma)) - log(self.nu)

    def icdf(self, q: Node) -> Node:
        # z^2 / nu is the odds of a beta variable, both of whose parts keep their digits.
        inner, outer = betaincinv(0.5, 0.5 * self.nu, q), betainccinv(0.5 * self.nu, 0.5, q)
        return self.sigma * sqrt(self.nu * inner / outer)

    def iccdf(self, q: Node) -> Node:
        inner, outer = betainccinv(0.5, 0.5 * self.nu, q), betaincinv(0.5 * self.nu, 0.5, q)
        return self.sigma * sqrt(self.nu * inner / outer)

    def draw(self, key: Node, shape: Shape) -> Node:
        mixing = draw("random_gamma", fold_in(key, 1), shape, 0.5 * self.nu) / (0.5 * self.nu)
        return self.sigma * absolute(draw("random_normal", fold_in(key, 0), shape)) / sqrt(mixing)

    def mean(self) -> Node:
        ratio = 2.0 * sqrt(self.nu / PI) * exp(log_half_step_of_gamma(0.5 * self.nu))
        return where(greater(self.nu, 1.0), self.sigma * ratio / (self.nu - 1.0), math.inf)

    def variance(self) -> Node:
        exists = greater(self.nu, 2.0)
        finite = square(self.sigma) * self.nu / (self.nu - 2.0) - square(where(exists, self.mean(), 0.0))
        return where(exists, finite, math.inf)

    def support_point(self) -> Node:
        return self.sigma


class LogNormal(Continuous):
    """Exponential of a normal variable: exp(-(log x - mu)^2 / (2 sigma^2)) / (x sigma sqrt(2 pi)).

    mu, sigma: Mean and standard deviation > 0 of log x; or tau = 1 / sigma^2.
    """

    mu = parameter(real, default=0.0, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    support = positive
    alternatives = (instead_of("sigma", lambda tau: tau**-0.5, tau=positive),)

    def logp(self, value: Node) -> Node:
        y = log(value)
        return -0.5 * square((y - self.mu) / self.sigma) - log(self.sigma) - LOG_SQRT_2_PI - y

    def logcdf(self, value: Node) -> Node:
        return log_ndtr((log(value) - self.mu) / self.sigma)

    def logccdf(self, value: Node) -> Node:
        return log_ndtr((self.mu - log(value)) / self.sigma)

    def icdf(self, q: Node) -> Node:
        return exp(self.mu + self.sigma * ndtri(q))

    def iccdf(self, q: Node) -> Node:
        return exp(self.mu - self.sigma * ndtri(q))

    def draw(self, key: Node, shape: Shape) -> Node:
        return exp(self.mu + self.sigma * draw("random_normal", key, shape))

    def mean(self) -> Node:
        return exp(self.mu + 0.5 * square(self.sigma))

    def support_point(self) -> Node:
        return exp(self.mu)  # the median: the mean of a wide distribution may overflow

    def variance(self) -> Node:
        return expm1(square(self.sigma)) * exp(2.0 * self.mu + square(self.sigma))


class Exponential(Continuous):
    """Waiting times without memory: lam exp(-lam x).

    lam: Rate > 0, or scale = 1 / lam, the mean.
    """

    lam = parameter(positive, default=1.0, nan_check=False)
    support = nonnegative
    alternatives = (instead_of("lam", lambda scale: 1.0 / scale, scale=positive),)

    def logp(self, value: Node) -> Node:
        return log(self.lam) - self.lam * value

    def logcdf(self, value: Node) -> Node:
        return log1mexp(-self.lam * value)

    def logccdf(self, value: Node) -> Node:
        return -self.lam * value

    def icdf(self, q: Node) -> Node:
        return -log1p(-q) / self.lam

    def iccdf(self, q: Node) -> Node:
        return -log(q) / self.lam

    def draw(self, key: Node, shape: Shape) -> Node:
        return draw("random_exponential", key, shape) / self.lam

    def mean(self) -> Node:
        return reciprocal(self.lam)

    def variance(self) -> Node:
        return reciprocal(square(self.lam))


def _with_tails(support: Constraint, shape: Node, rate: Node, reciprocal: bool) -> Constraint:
    """The support, with the rate of its tail where shapes below 1 are known.

    Far below 0.05 a variable is often less than the least float64, and only its logarithm can tell where it is.
    """
    known, rates = known_value(shape), known_value(rate)
    if known is None or rates is None or not np.all((known >= 0.05) & (known < 1.0)):
        return support
    return SmallShape(constant(rates), reciprocal)


class Gamma(Continuous):
    """Sums of waiting times: beta^alpha x^(alpha-1) exp(-beta x) / Gamma(alpha).

    alpha, beta: Shape and rate > 0, or mu and sigma, mean and standard deviation.
    """

    alpha = parameter(positive)
    beta = parameter(positive, nan_check=False)
    support = nonnegative
    alternatives = (
        instead_of(
            ("alpha", "beta"),
            lambda mu, sigma: (mu / sigma * (mu / absolute(sigma)), mu / square(sigma)),  # sigma < 0 gives alpha < 0
            mu=positive,
            sigma=positive,
        ),
    )

    @property
    def sampled_support(self) -> Constraint:
        return _with_tails(self.bound_support, self.alpha, self.beta, False)

    def logp(self, value: Node) -> Node:
        scaled = self.alpha * log(self.beta) - self.beta * value
        return scaled + xlogy(self.alpha - 1.0, value) - gammaln(self.alpha)

    def logcdf(self, value: Node) -> Node:
        return log_gammainc(self.alpha, self.beta * value)

    def logccdf(self, value: Node) -> Node:
        return log_gammaincc(self.alpha, self.beta * value)

    def icdf(self, q: Node) -> Node:
        return gammaincinv(self.alpha, q) / self.beta

    def iccdf(self, q: Node) -> Node:
        return gammainccinv(self.alpha, q) / self.beta

    def draw(self, key: Node, shape: Shape) -> Node:
        return draw("random_gamma", key, shape, self.alpha) / self.beta

    def mean(self) -> Node:
        return self.alpha / self.beta

    def variance(self) -> Node:
        return self.alpha / square(self.beta)


class InverseGamma(Continuous):
    """Reciprocal of a gamma variable: beta^alpha x^(-alpha-1) exp(-beta / x) / Gamma(alpha).

    alpha, beta: Shape and scale > 0, or mu and sigma, mean and standard deviation (then alpha > 2).
    """

    alpha = parameter(positive)
    beta = parameter(positive, nan_check=False)
    support = positive
    alternatives = (
        instead_of(
            ("alpha", "beta"),
            lambda mu, sigma: (
                square(mu / sigma) + 2.0,
                mu / absolute(sigma) * (sigma + square(mu) / sigma),  # sigma < 0 gives beta < 0
            ),
            mu=positive,
            sigma=positive,
        ),
    )

    @property
    def sampled_support(self) -> Constraint:
        return _with_tails(self.bound_support, self.alpha, self.beta, True)

    def logp(self, value: Node) -> Node:
        scaled = self.alpha * log(self.beta) - self.beta / value
        return scaled - (self.alpha + 1.0) * log(value) - gammaln(self.alpha)

    def logcdf(self, value: Node) -> Node:
        return log_gammaincc(self.alpha, self.beta / value)

    def logccdf(self, value: Node) -> Node:
        return log_gammainc(self.alpha, self.beta / value)

    def icdf(self, q: Node) -> Node:
        return self.beta / gammainccinv(self.alpha, q)

    def iccdf(self, q: Node) -> Node:
        return self.beta / gammaincinv(self.alpha, q)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.beta / draw("random_gamma", key, shape, self.alpha)

    def mean(self) -> Node:
        return where(greater(self.alpha, 1.0), self.beta / (self.alpha - 1.0), math.inf)

    def variance(self) -> Node:
        finite = square(self.beta / (self.alpha - 1.0)) / (self.alpha - 2.0)
        return where(greater(self.alpha, 2.0), finite, math.inf)

    def support_point(self) -> Node:
        return self.beta / where(greater(self.alpha, 1.0), self.alpha - 1.0, self.alpha + 1.0)
