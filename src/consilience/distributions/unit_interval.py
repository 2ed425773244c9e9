"""Distributions on the unit interval, and of odds."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from consilience.distributions.constraints import nonnegative, open_unit_interval, positive, real, unit_interval
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.gamma_ratios import log_beta
from consilience.distributions.mathematics import (
    LOG_2,
    LOG_SQRT_2_PI,
    PI,
    absolute,
    betainccinv,
    betaincinv,
    exp,
    expm1,
    gammaln,
    greater,
    less,
    log,
    log1mexp,
    log1p,
    log_betainc_odds,
    log_ndtr,
    logit,
    maximum,
    minimum,
    ndtri,
    sigmoid,
    sin,
    softplus,
    square,
    where,
    xlog1py,
    xlogy,
)
from consilience.distributions.quadrature import DEPTH, column, nodes
from consilience.distributions.simplex import log_gamma_draw
from consilience.distributions.tails import log1mexp_of_exp, log_odds, log_of_size
from consilience.ir import Node, Shape, constant
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import reduce

# Moments of logit-normal variables of a sigma up to this are sums over these values of a normal variable.
_WIDE: Final = 4.0
_NORMAL: Final = np.linspace(-8.6, 8.6, 129)
_WEIGHTS: Final = np.exp(-0.5 * _NORMAL**2) / np.exp(-0.5 * _NORMAL**2).sum()


class Beta(Continuous):
    """Distribution of proportions: x^(alpha-1) (1-x)^(beta-1) / B(alpha, beta).

    alpha, beta: Shapes > 0; or mu and sigma, mean and standard deviation; or mu and nu = alpha + beta.
    """

    alpha = parameter(positive)
    beta = parameter(positive)
    support = unit_interval
    alternatives = (
        instead_of(
            ("alpha", "beta"),
            lambda mu, sigma: _shapes(mu, mu * (1.0 - mu) / (sigma * absolute(sigma)) - 1.0),
            mu=open_unit_interval,
            sigma=positive,
        ),
        instead_of(("alpha", "beta"), lambda mu, nu: _shapes(mu, nu), mu=open_unit_interval, nu=positive),
    )

    def logp(self, value: Node) -> Node:
        powers = xlogy(self.alpha - 1.0, value) + xlog1py(self.beta - 1.0, -value)
        return powers + gammaln(self.alpha + self.beta) - gammaln(self.alpha) - gammaln(self.beta)

    def logcdf(self, value: Node) -> Node:
        return log_betainc_odds(self.alpha, self.beta, log_odds(value))

    def logccdf(self, value: Node) -> Node:
        return log_betainc_odds(self.beta, self.alpha, -log_odds(value))

    def icdf(self, q: Node) -> Node:
        return betaincinv(self.alpha, self.beta, q)

    def draw(self, key: Node, shape: Shape) -> Node:
        ones, zeros = (
            log_gamma_draw(fold_in(key, 0), shape, self.alpha),
            log_gamma_draw(fold_in(key, 1), shape, self.beta),
        )
        return sigmoid(ones - zeros)

    def mean(self) -> Node:
        return self.alpha / (self.alpha + self.beta)

    def variance(self) -> Node:
        total = self.alpha + self.beta
        return self.alpha * self.beta / (square(total) * (total + 1.0))


def _shapes(mu: Node, total: Node) -> tuple[Node, Node]:
    return mu * total, (1.0 - mu) * total


class Kumaraswamy(Continuous):
    """Proportions with a distribution function in closed form: a b x^(a-1) (1 - x^a)^(b-1).

    a, b: Shapes > 0.
    """

    a = parameter(positive)
    b = parameter(positive)
    support = unit_interval

    def logp(self, value: Node) -> Node:
        # 1 - x^a is 1 - x, which a transform knows where x rounds to 1, times a ratio that is a at x = 1.
        t = log(value)
        close = greater(minimum(self.a * t, t), -1e-8)
        s = where(close, -1.0, t)
        ratio = where(close, self.a * (1.0 + 0.5 * (self.a - 1.0) * where(close, t, 0.0)), expm1(self.a * s) / expm1(s))
        powers = xlogy(self.a - 1.0, value) + xlog1py(self.b - 1.0, -value)
        return log(self.a) + log(self.b) + powers + (self.b - 1.0) * log(ratio)

    def logcdf(self, value: Node) -> Node:
        power = self.a * log(value)
        low = less(power, -40.0)
        near = log1mexp(self.b * log1mexp(where(low, -1.0, power)))
        return where(low, log1mexp_of_exp(log(self.b) + power), near)

    def logccdf(self, value: Node) -> Node:
        return self.b * log1mexp(self.a * log(value))

    def icdf(self, q: Node) -> Node:
        return exp(log1mexp(log1p(-q) / self.b) / self.a)

    def draw(self, key: Node, shape: Shape) -> Node:
        return exp(log1mexp(draw("random_exponential", key, shape) / -self.b) / self.a)

    def mean(self) -> Node:
        return exp(self._log_moment(1.0))

    def variance(self) -> Node:
        first = self._log_moment(1.0)
        return exp(2.0 * first) * expm1(self._log_moment(2.0) - 2.0 * first)

    def _log_moment(self, order: float) -> Node:
        return log(self.b) + log_beta(1.0 + order / self.a, self.b)


class LogitNormal(Continuous):
    """Logistic function of a normal variable: exp(-(logit(x) - mu)^2 / (2 sigma^2)) / (sigma x (1 - x) sqrt(2 pi)).

    mu, sigma: Mean and standard deviation > 0 of logit(x); or tau = 1 / sigma^2.
    """

    mu = parameter(real, default=0.0, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    support = open_unit_interval
    alternatives = (instead_of("sigma", lambda tau: tau**-0.5, tau=positive),)

    def logp(self, value: Node) -> Node:
        z = (logit(value) - self.mu) / self.sigma
        return -0.5 * square(z) - log(self.sigma) - LOG_SQRT_2_PI - log(value) - log1p(-value)

    def logcdf(self, value: Node) -> Node:
        return log_ndtr((logit(value) - self.mu) / self.sigma)

    def logccdf(self, value: Node) -> Node:
        return log_ndtr((self.mu - logit(value)) / self.sigma)

    def icdf(self, q: Node) -> Node:
        return sigmoid(self.mu + self.sigma * ndtri(q))

    def draw(self, key: Node, shape: Shape) -> Node:
        return sigmoid(self.mu + self.sigma * draw("random_normal", key, shape))

    def mean(self) -> Node:
        return self._moments()[0]

    def variance(self) -> Node:
        return self._moments()[1]

    def _moments(self) -> tuple[Node, Node]:
        """For small sigma by equidistant points of the normal variable, for large ones by the distance from a step.

        The points resolve the poles of the logistic function, at a distance of pi / sigma, up to sigma = 4; the other
        integral, over the logits within 40 of 0, a normal density as wide as that.
        """
        wide = greater(self.sigma, _WIDE)
        z = constant(_NORMAL)
        weight = constant(_WEIGHTS)
        y = sigmoid(column(self.mu) + column(where(wide, _WIDE, self.sigma)) * z)
        mean = reduce("sum", weight * y, -1)
        variance = reduce("sum", weight * square(y - column(mean)), -1)
        sigma = column(where(wide, self.sigma, _WIDE))
        at, log_weight = nodes(0.0 * self.mu, 0.0 * self.mu + DEPTH)
        right, left = (square((at - sign * column(self.mu)) / sigma) for sign in (1.0, -1.0))
        scale = exp(log_weight - LOG_SQRT_2_PI) * sigmoid(-at) / sigma
        far = exp(log_ndtr(self.mu / sigma[..., 0])) + reduce("sum", scale * (exp(-0.5 * left) - exp(-0.5 * right)), -1)
        inner = reduce("sum", scale * sigmoid(at) * (exp(-0.5 * left) + exp(-0.5 * right)), -1)
        return where(wide, far, mean), where(wide, far * (1.0 - far) - inner, variance)

    def support_point(self) -> Node:
        return sigmoid(minimum(maximum(self.mu, -30.0), 30.0))  # beyond it is an end of the interval


class BetaPrime(Continuous):
    """Odds x = p / (1 - p) of a beta variable p: x^(alpha-1) (1 + x)^(-alpha-beta) / B(alpha, beta).

    alpha, beta: Shapes > 0; the mean exists for beta > 1, the variance for beta > 2.
    """

    alpha = parameter(positive)
    beta = parameter(positive)
    support = nonnegative

    def logp(self, value: Node) -> Node:
        powers = xlogy(self.alpha - 1.0, value) - (self.alpha + self.beta) * log1p(value)
        return powers - log_beta(self.alpha, self.beta)

    def logcdf(self, value: Node) -> Node:
        return log_betainc_odds(self.alpha, self.beta, log_of_size(value))

    def logccdf(self, value: Node) -> Node:
        return log_betainc_odds(self.beta, self.alpha, -log_of_size(value))

    def icdf(self, q: Node) -> Node:
        return betaincinv(self.alpha, self.beta, q) / betainccinv(self.beta, self.alpha, q)

    def draw(self, key: Node, shape: Shape) -> Node:
        ones, zeros = (
            log_gamma_draw(fold_in(key, 0), shape, self.alpha),
            log_gamma_draw(fold_in(key, 1), shape, self.beta),
        )
        return exp(ones - zeros)

    def mean(self) -> Node:
        return where(greater(self.beta, 1.0), self.alpha / (self.beta - 1.0), math.inf)

    def variance(self) -> Node:
        finite = self.alpha * (self.alpha + self.beta - 1.0) / (square(self.beta - 1.0) * (self.beta - 2.0))
        return where(greater(self.beta, 2.0), finite, math.inf)

    def support_point(self) -> Node:
        return self.alpha / (self.beta + 1.0)


class Dagum(Continuous):
    """Incomes: a p x^(a p - 1) / (b^(a p) (1 + (x / b)^a)^(p+1)), whose distribution function is (1 + (b / x)^a)^-p.

    p, a: Shapes > 0; the mean exists for a > 1, the variance for a > 2.
    b: Scale > 0, in the unit of x.
    """

    p = parameter(positive)
    a = parameter(positive)
    b = parameter(positive)
    support = positive

    def logp(self, value: Node) -> Node:
        value = where(greater(value, 0.0), value, self.b)  # two branches share the logarithm
        y = self._power(value)
        power = self.a * self.p
        rising = (power - 1.0) * log(value) - power * log(self.b) - (self.p + 1.0) * softplus(y)
        falling = -self.p * softplus(-y) - softplus(y) - log(value)
        return log(self.a) + log(self.p) + where(less(y, 0.0), rising, falling)

    def logcdf(self, value: Node) -> Node:
        return -self.p * softplus(-self._power(value))

    def logccdf(self, value: Node) -> Node:
        y = self._power(value)
        high = greater(y, 40.0)
        return where(high, log1mexp_of_exp(log(self.p) - y), log1mexp(-self.p * softplus(where(high, 0.0, -y))))

    def icdf(self, q: Node) -> Node:
        return self._exceeding(-log(q))

    def draw(self, key: Node, shape: Shape) -> Node:
        return self._exceeding(draw("random_exponential", key, shape))

    def mean(self) -> Node:
        exists = greater(self.a, 1.0)
        return where(exists, self.b * exp(self._log_moment(1.0, where(exists, self.a, 4.0))), math.inf)

    def variance(self) -> Node:
        exists = greater(self.a, 2.0)
        a = where(exists, self.a, 4.0)
        first = self._log_moment(1.0, a)
        finite = square(self.b) * exp(2.0 * first) * expm1(self._log_moment(2.0, a) - 2.0 * first)
        return where(exists, finite, math.inf)

    def support_point(self) -> Node:
        return self._exceeding(self.p * 0.0 + LOG_2)

    def _power(self, value: Node) -> Node:
        return self.a * (log(value) - log(self.b))

    def _exceeding(self, level: Node) -> Node:
        """x with P(X <= x) = exp(-level)."""
        step = level / self.p
        return self.b * exp((step + log1mexp(-step)) / -self.a)

    def _log_moment(self, order: float, a: Node) -> Node:
        share = order / a
        return gammaln(self.p + share) + gammaln(1.0 - share) - gammaln(self.p)


class LogLogistic(Continuous):
    """Durations whose logarithm is logistic: beta / x u / (1 + u)^2, u = (x / alpha)^beta; of odds x, alpha = beta = 1.

    alpha: Median > 0, in the unit of x.
    beta: Shape > 0; the mean exists above 1, the variance above 2.
    """

    alpha = parameter(positive)
    beta = parameter(positive)
    support = positive

    def logp(self, value: Node) -> Node:
        value = where(greater(value, 0.0), value, self.alpha)  # two branches share the logarithm
        z = self._log_odds(value)
        rising = (self.beta - 1.0) * log(value) - self.beta * log(self.alpha) - 2.0 * softplus(z)
        return log(self.beta) + where(less(z, 0.0), rising, -z - 2.0 * softplus(-z) - log(value))

    def logcdf(self, value: Node) -> Node:
        return -softplus(-self._log_odds(value))

    def logccdf(self, value: Node) -> Node:
        return -softplus(self._log_odds(value))

    def icdf(self, q: Node) -> Node:
        return self.alpha * exp(logit(q) / self.beta)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.icdf(draw("random_uniform", key, shape))

    def mean(self) -> Node:
        exists = greater(self.beta, 1.0)
        angle = PI / where(exists, self.beta, 2.0)
        return where(exists, self.alpha * angle / sin(angle), math.inf)

    def variance(self) -> Node:
        exists = greater(self.beta, 2.0)
        angle = PI / where(exists, self.beta, 4.0)
        spread = 2.0 * angle / sin(2.0 * angle) - square(angle / sin(angle))
        return where(exists, square(self.alpha) * spread, math.inf)

    def support_point(self) -> Node:
        return self.alpha

    def _log_odds(self, value: Node) -> Node:
        """Of a duration up to the value."""
        return self.beta * (log(value) - log(self.alpha))
