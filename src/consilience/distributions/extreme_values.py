"""Distributions of maxima, minima and exceedances: Gumbel, Weibull, Frechet and their common forms; Pareto."""

from __future__ import annotations

import math

import numpy as np

from consilience.distributions.constraints import (
    Constraint,
    ExtremeValues,
    IntervalConstraint,
    above,
    nonnegative,
    positive,
    real,
)
from consilience.distributions.distribution import Continuous, parameter
from consilience.distributions.mathematics import (
    EULER_GAMMA,
    LOG_2,
    PI,
    absolute,
    exp,
    expm1,
    gammaln,
    greater,
    less,
    log,
    log1mexp,
    log1p,
    logical_and,
    minimum,
    square,
    where,
    xlogy,
)
from consilience.distributions.tails import expm1_quotient, log1mexp_of_exp, log1p_quotient
from consilience.ir import Node, Shape, constant_value
from consilience.ops.random import draw


class Gumbel(Continuous):
    """Greatest of many values with light tails: exp(-z - exp(-z)) / beta, z = (x - mu) / beta.

    mu: Mode, in the unit of x.
    beta: Scale > 0.
    """

    mu = parameter(real, nan_check=False)
    beta = parameter(positive, nan_check=False)
    support = real

    def logp(self, value: Node) -> Node:
        z = (value - self.mu) / self.beta
        return -z - exp(-z) - log(self.beta)

    def logcdf(self, value: Node) -> Node:
        return -exp((self.mu - value) / self.beta)

    def logccdf(self, value: Node) -> Node:
        return log1mexp_of_exp((self.mu - value) / self.beta)

    def icdf(self, q: Node) -> Node:
        return self.mu - self.beta * log(-log(q))

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.mu - self.beta * log(draw("random_exponential", key, shape))

    def mean(self) -> Node:
        return self.mu + EULER_GAMMA * self.beta

    def variance(self) -> Node:
        return square(self.beta) * (PI * PI / 6.0)


class Weibull(Continuous):
    """Waiting times with a rate that is a power of time: alpha x^(alpha-1) / beta^alpha exp(-(x / beta)^alpha).

    alpha: Shape > 0.
    beta: Scale > 0, in the unit of x.
    """

    alpha = parameter(positive)
    beta = parameter(positive)
    support = nonnegative

    def logp(self, value: Node) -> Node:
        t = value / self.beta
        return log(self.alpha) - log(self.beta) + xlogy(self.alpha - 1.0, t) - t**self.alpha

    def logcdf(self, value: Node) -> Node:
        return log1mexp_of_exp(self.alpha * log(value / self.beta))

    def logccdf(self, value: Node) -> Node:
        return -((value / self.beta) ** self.alpha)

    def icdf(self, q: Node) -> Node:
        return self.beta * (-log1p(-q)) ** (1.0 / self.alpha)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.beta * draw("random_exponential", key, shape) ** (1.0 / self.alpha)

    def mean(self) -> Node:
        return self.beta * exp(gammaln(1.0 + 1.0 / self.alpha))

    def variance(self) -> Node:
        return square(self.beta) * _spread(gammaln(1.0 + 1.0 / self.alpha), gammaln(1.0 + 2.0 / self.alpha))

    def support_point(self) -> Node:
        return self.beta


class Frechet(Continuous):
    """Greatest of many values with heavy tails: alpha / sigma (x / sigma)^(-alpha-1) exp(-(x / sigma)^-alpha).

    alpha: Shape > 0; the mean exists above 1, the variance above 2.
    sigma: Scale > 0, in the unit of x.
    """

    alpha = parameter(positive)
    sigma = parameter(positive)
    support = positive

    def logp(self, value: Node) -> Node:
        y = log(value / self.sigma)
        return log(self.alpha) - log(self.sigma) - (self.alpha + 1.0) * y - exp(-self.alpha * y)

    def logcdf(self, value: Node) -> Node:
        return -((value / self.sigma) ** -self.alpha)

    def logccdf(self, value: Node) -> Node:
        return log1mexp_of_exp(-self.alpha * log(value / self.sigma))

    def icdf(self, q: Node) -> Node:
        return self.sigma * (-log(q)) ** (-1.0 / self.alpha)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.sigma * draw("random_exponential", key, shape) ** (-1.0 / self.alpha)

    def mean(self) -> Node:
        exists = greater(self.alpha, 1.0)
        return where(exists, self.sigma * exp(gammaln(1.0 - 1.0 / where(exists, self.alpha, 2.0))), math.inf)

    def variance(self) -> Node:
        exists = greater(self.alpha, 2.0)
        inverse = 1.0 / where(exists, self.alpha, 4.0)
        spread = _spread(gammaln(1.0 - inverse), gammaln(1.0 - 2.0 * inverse))
        return where(exists, square(self.sigma) * spread, math.inf)

    def support_point(self) -> Node:
        return self.sigma


def _spread(first: Node, second: Node) -> Node:
    """exp(second) - exp(first)^2: a variance from the logarithms of the first two moments."""
    return exp(2.0 * first) * expm1(second - 2.0 * first)


class GeneralizedExtremeValue(Continuous):
    """Greatest of many values: t^(xi+1) exp(-t) / sigma, t = (1 + xi z)^(-1/xi), z = (x - mu) / sigma.

    Gumbel at xi = 0 (t = exp(-z)), of Frechet's kind above, of reversed Weibull's kind below. The support is
    1 + xi z > 0.

    mu: Location, in the unit of x.
    sigma: Scale > 0.
    xi: Shape; the mean exists below 1, the variance below 1/2.
    """

    mu = parameter(real, default=0.0, nan_check=False)
    sigma = parameter(positive, default=1.0, nan_check=False)
    xi = parameter(real, default=0.0)
    support = real

    @property
    def bound_support(self) -> Constraint:
        sign, end = _sign(self.xi), self.mu - self.sigma / self.xi
        if sign is None:
            return ExtremeValues(self.mu, self.sigma, self.xi)
        return above(end) if sign > 0 else IntervalConstraint(upper=end, upper_included=False) if sign < 0 else real

    def logp(self, value: Node) -> Node:
        inside, w = self._log_t(value)
        finite = where(inside, w, 0.0)
        return where(inside, (self.xi + 1.0) * finite - exp(finite) - log(self.sigma), -math.inf)

    def logcdf(self, value: Node) -> Node:
        return -exp(self._log_t(value)[1])

    def logccdf(self, value: Node) -> Node:
        return log1mexp_of_exp(self._log_t(value)[1])

    def icdf(self, q: Node) -> Node:
        return self.mu + self.sigma * expm1_quotient(self.xi, -log(-log(q)))

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.mu + self.sigma * expm1_quotient(self.xi, -log(draw("random_exponential", key, shape)))

    def mean(self) -> Node:
        exists = less(self.xi, 1.0)
        xi = where(exists, self.xi, 0.5)
        return where(exists, self.mu + self.sigma * expm1_quotient(xi, _log_gamma_slope(xi)), math.inf)

    def variance(self) -> Node:
        # sigma^2 (Gamma(1 - 2 xi) - Gamma(1 - xi)^2) / xi^2 = sigma^2 Gamma(1 - xi)^2 (exp(xi c) - 1) / xi^2, where
        # xi c = log Gamma(1 - 2 xi) - 2 log Gamma(1 - xi) is itself of the size of xi^2.
        exists = less(self.xi, 0.5)
        xi = where(exists, self.xi, 0.25)
        near = less(absolute(xi), _NEAR)
        small, apart = where(near, xi, 0.0), where(near, 1.0, xi)
        once, twice = gammaln(1.0 - xi), gammaln(1.0 - 2.0 * xi)
        series = _series(small, [(2.0**k - 2.0) * zeta / k for k, zeta in enumerate(_ZETA, 2)])
        central = expm1_quotient(square(small), series)
        spread = where(near, central, expm1(twice - 2.0 * once) / square(apart))
        return where(exists, square(self.sigma) * exp(2.0 * once) * spread, math.inf)

    def support_point(self) -> Node:
        return self.mu

    def _log_t(self, value: Node) -> tuple[Node, Node]:
        """Whether the value lies inside the support, and log t; infinite beyond an end."""
        z = (value - self.mu) / self.sigma
        inside = greater(self.xi * z, -1.0)
        end = where(greater(self.xi, 0.0), math.inf, -math.inf).astype(z.dtype)
        return inside, where(inside, -log1p_quotient(self.xi, where(inside, z, 0.0)), end)


# zeta(2), zeta(3), ...: log Gamma(1 - x) = EULER_GAMMA x + sum of zeta(k) x^k / k.
_ZETA = (
    1.6449340668482264, 1.2020569031595942, 1.0823232337111382, 1.0369277551433699, 1.0173430619844491,
    1.0083492773819228, 1.0040773561979443, 1.0020083928260822,
)  # fmt: skip
_NEAR = 0.01


def _series(x: Node, coefficients: list[float]) -> Node:
    total = x * 0.0
    for coefficient in reversed(coefficients):
        total = coefficient + x * total
    return total


def _log_gamma_slope(xi: Node) -> Node:
    """log(Gamma(1 - xi)) / xi, xi < 1."""
    near = less(absolute(xi), _NEAR)
    series = _series(where(near, xi, 0.0), [EULER_GAMMA, *(zeta / k for k, zeta in enumerate(_ZETA, 2))])
    return where(near, series, gammaln(1.0 - xi) / where(near, 1.0, xi))


def _sign(xi: Node) -> int | None:
    """Sign of a shape that is known and equal for all elements."""
    known = constant_value(xi)
    signs = np.unique(np.sign(known)) if known is not None else np.empty(0)
    return int(signs[0]) if signs.size == 1 else None


class GeneralizedPareto(Continuous):
    """Exceedances over a threshold: (1 + xi z)^(-1/xi-1) / sigma, z = (x - mu) / sigma >= 0.

    Exponential at xi = 0. Below 0 the support ends at mu - sigma / xi.

    mu: Threshold, in the unit of x.
    sigma: Scale > 0.
    xi: Shape; the mean exists below 1, the variance below 1/2.
    """

    mu = parameter(real, default=0.0)
    sigma = parameter(positive, default=1.0, nan_check=False)
    xi = parameter(real, default=0.0)
    support = IntervalConstraint("mu")

    @property
    def bound_support(self) -> IntervalConstraint:
        return IntervalConstraint(self.mu, self.mu - self.sigma / self.xi if _sign(self.xi) == -1 else math.inf)

    def logp(self, value: Node) -> Node:
        inside, y = self._steps(value)
        return where(inside, -log(self.sigma) - (1.0 + self.xi) * where(inside, y, 0.0), -math.inf)

    def logcdf(self, value: Node) -> Node:
        return log1mexp(-self._steps(value)[1])

    def logccdf(self, value: Node) -> Node:
        return -self._steps(value)[1]

    def icdf(self, q: Node) -> Node:
        return self.mu + self.sigma * expm1_quotient(self.xi, -log1p(-q))

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.mu + self.sigma * expm1_quotient(self.xi, draw("random_exponential", key, shape))

    def mean(self) -> Node:
        return where(less(self.xi, 1.0), self.mu + self.sigma / (1.0 - self.xi), math.inf)

    def variance(self) -> Node:
        finite = square(self.sigma / (1.0 - self.xi)) / (1.0 - 2.0 * self.xi)
        return where(less(self.xi, 0.5), finite, math.inf)

    def support_point(self) -> Node:
        return self.mu + self.sigma * expm1_quotient(self.xi, self.xi * 0.0 + LOG_2)

    def _steps(self, value: Node) -> tuple[Node, Node]:
        """Whether the value lies below the upper end, and minus the logarithm of the probability beyond it."""
        z = (value - self.mu) / self.sigma
        inside = greater(self.xi * z, -1.0)
        return inside, where(inside, log1p_quotient(self.xi, where(inside, z, 0.0)), math.inf)


class Pareto(Continuous):
    """Power law above a threshold: alpha m^alpha / x^(alpha+1).

    alpha: Exponent > 0; the mean exists above 1, the variance above 2.
    m: Threshold > 0, in the unit of x.
    """

    alpha = parameter(positive)
    m = parameter(positive)
    support = IntervalConstraint("m")

    def logp(self, value: Node) -> Node:
        density = log(self.alpha) - log(value) - self.alpha * self._log_ratio(value)
        return where(less(value, self.m), -math.inf, density)

    def logcdf(self, value: Node) -> Node:
        return log1mexp(-self.alpha * self._log_ratio(value))

    def logccdf(self, value: Node) -> Node:
        return -self.alpha * self._log_ratio(value)

    def icdf(self, q: Node) -> Node:
        return self.m * exp(-log1p(-q) / self.alpha)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.m * exp(draw("random_exponential", key, shape) / self.alpha)

    def mean(self) -> Node:
        return where(greater(self.alpha, 1.0), self.alpha * self.m / (self.alpha - 1.0), math.inf)

    def variance(self) -> Node:
        finite = square(self.m / (self.alpha - 1.0)) * self.alpha / (self.alpha - 2.0)
        return where(greater(self.alpha, 2.0), finite, math.inf)

    def support_point(self) -> Node:
        return self.m * exp(minimum(LOG_2 / self.alpha, LOG_2))

    def _log_ratio(self, value: Node) -> Node:
        """log(x / m), to full accuracy next to the threshold, without overflow far from it."""
        near = logical_and(greater(value, 0.5 * self.m), less(value, 2.0 * self.m))
        return where(near, log1p((where(near, value, self.m) - self.m) / self.m), log(value) - log(self.m))
