"""Functions of gamma variables: chi-squared distributions and their reciprocals, logarithms, powers on both sides."""

from __future__ import annotations

from consilience.distributions.constraints import positive, real
from consilience.distributions.distribution import Continuous, derived, parameter
from consilience.distributions.mathematics import (
    LOG_2,
    absolute,
    digamma,
    equal,
    exp,
    gammainc,
    gammainccinv,
    gammaincinv,
    gammaln,
    greater,
    less,
    log,
    log1p,
    log_gammainc,
    log_gammaincc,
    logical_or,
    minimum,
    square,
    trigamma,
    where,
)
from consilience.distributions.positive import Gamma, InverseGamma
from consilience.distributions.simplex import log_gamma_draw
from consilience.ir import Node, Shape
from consilience.ops.random import draw, fold_in


class ChiSquared(Gamma):
    """Sum of squares of nu standard normal variables: x^(nu/2-1) exp(-x/2) / (2^(nu/2) Gamma(nu/2)).

    nu: Degrees of freedom > 0.
    """

    nu = parameter(positive)
    alpha = derived(lambda of: 0.5 * of.nu)
    beta = derived(lambda of: 0.0 * of.nu + 0.5)


class InverseChiSquared(InverseGamma):
    """Reciprocal of a chi-squared variable: x^(-nu/2-1) exp(-1/(2x)) / (2^(nu/2) Gamma(nu/2)).

    nu: Degrees of freedom > 0; the mean exists above 2, the variance above 4.
    """

    nu = parameter(positive)
    alpha = derived(lambda of: 0.5 * of.nu)
    beta = derived(lambda of: 0.0 * of.nu + 0.5)


class ScaledInverseChiSquared(InverseGamma):
    """Scaled reciprocal of a chi-squared variable: x^(-nu/2-1) exp(-nu sigma^2 / (2x)) up to a constant.

    nu: Degrees of freedom > 0; the mean exists above 2, the variance above 4.
    sigma: Scale > 0: the square root of a typical x.
    """

    nu = parameter(positive)
    sigma = parameter(positive)
    alpha = derived(lambda of: 0.5 * of.nu)
    beta = derived(lambda of: 0.5 * of.nu * square(of.sigma))


class LogGamma(Continuous):
    """Logarithm of a gamma variable: beta^alpha exp(alpha x - beta exp(x)) / Gamma(alpha).

    alpha, beta: Shape and rate > 0 of exp(x).
    """

    alpha = parameter(positive)
    beta = parameter(positive)
    support = real

    def logp(self, value: Node) -> Node:
        y = value + log(self.beta)
        return self.alpha * y - exp(y) - gammaln(self.alpha)

    def logcdf(self, value: Node) -> Node:
        y = value + log(self.beta)
        low = less(y, -40.0)
        near = log_gammainc(self.alpha, exp(where(low, 0.0, y)))
        return where(low, self.alpha * y - gammaln(self.alpha + 1.0), near)

    def logccdf(self, value: Node) -> Node:
        return log_gammaincc(self.alpha, exp(value + log(self.beta)))

    def icdf(self, q: Node) -> Node:
        return log(gammaincinv(self.alpha, q)) - log(self.beta)

    def draw(self, key: Node, shape: Shape) -> Node:
        return log_gamma_draw(key, shape, self.alpha) - log(self.beta)

    def mean(self) -> Node:
        return digamma(self.alpha) - log(self.beta)

    def variance(self) -> Node:
        return trigamma(self.alpha)


class GeneralizedNormal(Continuous):
    """Bell curve of any tail: beta exp(-|z|^beta) / (2 alpha Gamma(1 / beta)), z = (x - mu) / alpha.

    Laplace at beta = 1, normal at beta = 2 with standard deviation alpha / sqrt(2), towards uniform above.

    mu: Mean, in the unit of x.
    alpha: Scale > 0.
    beta: Shape > 0.
    """

    mu = parameter(real, default=0.0, nan_check=False)
    alpha = parameter(positive, default=1.0, nan_check=False)
    beta = parameter(positive, default=2.0)
    support = real

    def logp(self, value: Node) -> Node:
        distance = absolute(value - self.mu) / self.alpha
        return log(self.beta) - LOG_2 - log(self.alpha) - gammaln(1.0 / self.beta) - distance**self.beta

    def logcdf(self, value: Node) -> Node:
        return self._log_below((value - self.mu) / self.alpha)

    def logccdf(self, value: Node) -> Node:
        return self._log_below((self.mu - value) / self.alpha)

    def icdf(self, q: Node) -> Node:
        # Between the quartiles by the inner probability, whose digits are exact there; linear at the median.
        median = equal(q, 0.5)
        inner = absolute(2.0 * q - 1.0)
        shape = 1.0 / self.beta
        rare = less(minimum(q, 1.0 - q), 0.25)
        outer = gammainccinv(shape, where(rare, 2.0 * minimum(q, 1.0 - q), 0.5))
        power = where(rare, outer, gammaincinv(shape, where(rare, 0.5, where(median, 0.5, inner))))
        z = power**shape
        straight = (q - 0.5) * (2.0 * exp(gammaln(shape)) * shape)
        return self.mu + self.alpha * where(median, straight, where(less(q, 0.5), -z, z))

    def draw(self, key: Node, shape: Shape) -> Node:
        size = exp(log_gamma_draw(fold_in(key, 0), shape, 1.0 / self.beta) / self.beta)
        side = draw("random_uniform", fold_in(key, 1), shape)
        return self.mu + self.alpha * where(less(side, 0.5), -size, size)

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        return square(self.alpha) * exp(gammaln(3.0 / self.beta) - gammaln(1.0 / self.beta))

    def _log_below(self, z: Node) -> Node:
        shape = 1.0 / self.beta
        middle = equal(z, 0.0)  # where neither tail has a slope of its own
        power = where(middle, 1.0, absolute(z)) ** self.beta
        beyond = log_gammaincc(shape, power) - LOG_2
        inner = where(middle, z * exp(-gammaln(shape)) / (2.0 * shape), -0.5 * gammainc(shape, power))
        close = logical_or(middle, less(power, shape))
        return where(greater(z, 0.0), log1p(-exp(beyond)), where(close, log(0.5 + inner), beyond))
