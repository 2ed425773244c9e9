"""Counts of which some are zero for another reason: a mixture of zero and a distribution of counts."""

from __future__ import annotations

from consilience.distributions.constraints import natural, nonnegative, positive, unit_interval, whole_numbers
from consilience.distributions.counts import Binomial, NegativeBinomial, Poisson
from consilience.distributions.distribution import Discrete, Distribution, DistributionParameter, parameter
from consilience.distributions.mathematics import (
    equal,
    exp,
    greater,
    less,
    less_equal,
    log,
    log1p,
    logaddexp,
    maximum,
    square,
    where,
    zero_of,
)
from consilience.ir import Node, Shape, constant
from consilience.ops.random import draw, fold_in


class ZeroInflated(Discrete):
    """A count with probability psi, otherwise 0; a declaration derives from it and says which counts.

    Parameters
    ----------
    psi
        Share of the counts, in [0, 1]: 1 - psi is the probability of an additional zero.
    """

    psi: DistributionParameter

    def counts(self) -> Distribution:
        """The distribution without additional zeros."""
        self.missing("counts")

    def logp(self, value: Node) -> Node:
        counts = self.counts()
        none = logaddexp(log1p(-self.psi), log(self.psi) + counts.logp(constant(0)))
        return where(equal(value, 0), none, log(self.psi) + counts.logp(value)) + zero_of(*counts.values)

    def logcdf(self, value: Node) -> Node:
        beyond = self.logccdf(value)
        below = logaddexp(log1p(-self.psi), log(self.psi) + self.counts().logcdf(value))
        return where(less(beyond, -1.0), log1p(-exp(beyond)), below)

    def logccdf(self, value: Node) -> Node:
        return log(self.psi) + self.counts().logccdf(value)

    def icdf(self, q: Node) -> Node:
        # Where psi is 0 every q is that of an additional zero.
        psi = where(greater(self.psi, 0.0), self.psi, 1.0)
        rest = where(less(q, 0.5), (q - (1.0 - self.psi)) / psi, 1.0 - (1.0 - q) / psi)
        none = less_equal(q, 1.0 - self.psi)
        return where(none, 0.0, self.counts().icdf(where(none, 0.0, maximum(rest, 0.0))))

    def draw(self, key: Node, shape: Shape) -> Node:
        counted = less(draw("random_uniform", fold_in(key, 0), shape), self.psi)
        return where(counted, self.counts().draw(fold_in(key, 1), shape), 0)

    def mean(self) -> Node:
        return self.psi * self.counts().mean()

    def variance(self) -> Node:
        counts = self.counts()
        return self.psi * (counts.variance() + (1.0 - self.psi) * square(counts.mean()))

    def support_point(self) -> Node:
        return where(less(self.psi, 0.5), 0.0, self.counts().support_point())


class ZeroInflatedPoisson(ZeroInflated):
    """Poisson counts with additional zeros.

    psi: Share of the Poisson counts, in [0, 1].
    mu: Expected number among these, >= 0.
    """

    psi = parameter(unit_interval)
    mu = parameter(nonnegative)

    def counts(self) -> Poisson:
        return Poisson.bound((self.mu,))


class ZeroInflatedBinomial(ZeroInflated):
    """Binomial counts with additional zeros.

    psi: Share of the binomial counts, in [0, 1].
    n: Number of trials, whole, >= 0.
    p: Probability of success.
    """

    psi = parameter(unit_interval)
    n = parameter(natural)
    p = parameter(unit_interval)
    support = whole_numbers(0.0, "n")

    def counts(self) -> Binomial:
        return Binomial.bound((self.n, self.p))


class ZeroInflatedNegativeBinomial(ZeroInflated):
    """Negative binomial counts with additional zeros.

    psi: Share of the negative binomial counts, in [0, 1].
    mu: Expected number among these, >= 0, or p, the probability of success in (0, 1].
    alpha: Shape of the gamma distribution > 0, or n, the number of successes.
    """

    psi = parameter(unit_interval)
    mu = parameter(nonnegative)
    alpha = parameter(positive)
    alternatives = NegativeBinomial.alternatives

    def counts(self) -> NegativeBinomial:
        return NegativeBinomial.bound((self.mu, self.alpha))
