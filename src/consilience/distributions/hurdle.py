"""Hurdles: zero, or else a positive number of a distribution, counts without their zeros or a continuous one."""

from __future__ import annotations

from typing import Any

from consilience.distributions.constraints import nonnegative, positive, real, unit_interval
from consilience.distributions.counts import NegativeBinomial, Poisson
from consilience.distributions.distribution import (
    Continuous,
    Discrete,
    Distribution,
    DistributionParameter,
    parameter,
)
from consilience.distributions.gamma_ratios import log1p_ratio
from consilience.distributions.mathematics import (
    equal,
    exp,
    greater,
    less,
    less_equal,
    log,
    log1mexp,
    log1p,
    logical_and,
    maximum,
    minimum,
    near,
    square,
    where,
    zero_of,
)
from consilience.distributions.parameters import whole
from consilience.distributions.positive import Gamma, LogNormal
from consilience.ir import Node, Shape
from consilience.ops.elementwise import as_tensor
from consilience.ops.random import draw, fold_in


class Hurdle(Distribution):
    """Zero with probability 1 - psi, otherwise a positive number; a declaration derives from it and says which.

    The mass of zero and a density elsewhere make the density of a continuous one.

    Attributes
    ----------
    psi : DistributionParameter
        Probability of a positive number, in [0, 1].
    """

    psi: DistributionParameter

    @classmethod
    def dist(
        cls, *parameters: Any, max_n_steps: int | None = None, shape: Any = None, size: Any = None, **named: Any
    ) -> Node:
        """A variable outside any model; draws need no trials, so PyMC's limit `max_n_steps` for these has no effect."""
        if max_n_steps is not None:
            whole(1)(cls.title, "max_n_steps", max_n_steps)
        return super().dist(*parameters, shape=shape, size=size, **named)

    def numbers(self) -> Distribution:
        """The distribution whose positive numbers these are."""
        self.missing("numbers")

    def has_atoms(self) -> bool:
        return not self.bound_support.discrete

    def atoms(self, value: Node) -> Node | None:
        return logical_and(equal(value, 0.0), less(self.psi, 1.0)) if self.has_atoms() else None

    def snapped(self, value: Node, error: Node) -> Node:
        return near(value, as_tensor(0.0), error) if self.has_atoms() else value

    def log_positive(self) -> Node:
        """Log probability that a number of it is positive."""
        return as_tensor(0.0)

    def logp(self, value: Node) -> Node:
        zero = equal(value, 0)
        # A density may be infinite or NaN at 0, and is not that of the hurdle.
        beyond = log(self.psi) + self.numbers().logp(where(zero, 1, value)) - self.log_positive()
        return where(zero, log1p(-self.psi), beyond) + zero_of(*self.numbers().values)

    def logcdf(self, value: Node) -> Node:
        return where(equal(value, 0), log1p(-self.psi), log1mexp(self.logccdf(value)))

    def logccdf(self, value: Node) -> Node:
        zero = equal(value, 0)
        beyond = self.numbers().logccdf(where(zero, 1, value)) - self.log_positive()
        return log(self.psi) + where(zero, 0.0, beyond)

    def icdf(self, q: Node) -> Node:
        none = less_equal(q, 1.0 - self.psi)
        # Where psi is 0 every q is that of a zero.
        psi = where(greater(self.psi, 0.0), self.psi, 1.0)
        return where(none, 0.0, self.positive_quantile(where(none, 0.5, (1.0 - q) / psi)))

    def positive_quantile(self, rest: Node) -> Node:
        """The number beyond which a positive number lies with a probability in [0, 1)."""
        return self.numbers().icdf(1.0 - rest)

    def draw(self, key: Node, shape: Shape) -> Node:
        counted = less(draw("random_uniform", fold_in(key, 0), shape), self.psi)
        return where(counted, self.positive_draw(fold_in(key, 1), shape), 0)

    def positive_draw(self, key: Node, shape: Shape) -> Node:
        """Draws of positive numbers."""
        return self.numbers().draw(key, shape)

    def mean(self) -> Node:
        return self.psi * self.numbers().mean() * exp(-self.log_positive())

    def variance(self) -> Node:
        numbers, weight = self.numbers(), self.psi * exp(-self.log_positive())
        return weight * (numbers.variance() + square(numbers.mean()) * (1.0 - weight))

    def support_point(self) -> Node:
        return where(less(self.psi, 0.5), 0.0, self.numbers().support_point())


class HurdleCounts(Hurdle, Discrete):
    """A hurdle before counts."""

    def positive_quantile(self, rest: Node) -> Node:
        return maximum(self.numbers().icdf(1.0 - rest * exp(self.log_positive())), 1.0)

    def positive_draw(self, key: Node, shape: Shape) -> Node:
        rest = draw("random_uniform", key, shape) * exp(self.log_positive())
        return maximum(self.numbers().icdf(minimum(1.0 - rest, 1.0 - 2.0**-53)), 1.0)

    def support_point(self) -> Node:
        return where(less(self.psi, 0.5), 0.0, maximum(self.numbers().support_point(), 1.0))


class HurdlePoisson(HurdleCounts):
    """Zero, or else a Poisson count without its zeros: psi mu^x exp(-mu) / (x! (1 - exp(-mu))).

    psi: Probability of a positive count, in [0, 1].
    mu: Expected number of the Poisson distribution > 0.
    """

    psi = parameter(unit_interval)
    mu = parameter(positive)

    def numbers(self) -> Poisson:
        return Poisson.bound((self.mu,))

    def log_positive(self) -> Node:
        return log1mexp(-self.mu)


class HurdleNegativeBinomial(HurdleCounts):
    """Zero, or else a negative binomial count without its zeros.

    psi: Probability of a positive count, in [0, 1].
    mu: Expected number of the negative binomial distribution > 0, or p, the probability of success.
    alpha: Shape of the gamma distribution > 0, or n, the number of successes.
    """

    psi = parameter(unit_interval)
    mu = parameter(positive)
    alpha = parameter(positive)
    alternatives = NegativeBinomial.alternatives

    def numbers(self) -> NegativeBinomial:
        return NegativeBinomial.bound((self.mu, self.alpha))

    def log_positive(self) -> Node:
        few = less(self.mu, 1e-16 * self.alpha)  # so that the ratio may underflow
        return log1mexp(-where(few, self.mu, self.alpha * log1p_ratio(self.mu, self.alpha)))


class HurdleGamma(Hurdle, Continuous):
    """Zero, or else a gamma variable.

    psi: Probability of a positive number, in [0, 1].
    alpha, beta: Shape and rate > 0, or mu and sigma, mean and standard deviation of the positive numbers.
    """

    psi = parameter(unit_interval)
    alpha = parameter(positive)
    beta = parameter(positive)
    support = nonnegative
    mapped = real
    alternatives = Gamma.alternatives

    def numbers(self) -> Gamma:
        return Gamma.bound((self.alpha, self.beta))


class HurdleLogNormal(Hurdle, Continuous):
    """Zero, or else the exponential of a normal variable.

    psi: Probability of a positive number, in [0, 1].
    mu: Mean of the logarithm of the positive numbers.
    sigma: Its standard deviation > 0, or tau = 1 / sigma^2.
    """

    psi = parameter(unit_interval)
    mu = parameter(real, default=0.0)
    sigma = parameter(positive, default=1.0)
    support = nonnegative
    mapped = real
    alternatives = LogNormal.alternatives

    def numbers(self) -> LogNormal:
        return LogNormal.bound((self.mu, self.sigma))
