"""Distributions of whole numbers."""

from __future__ import annotations

import math

from consilience.distributions.constraints import (
    Whole,
    binary,
    natural,
    nonnegative,
    positive,
    positive_probability,
    real,
    real_vector,
    simplex,
    unit_interval,
    whole_numbers,
)
from consilience.distributions.distribution import Discrete, derived, instead_of, parameter
from consilience.distributions.gamma_ratios import log_ratio, log_rising_rest
from consilience.distributions.mathematics import (
    binomial_quantile,
    equal,
    exp,
    floor,
    greater,
    less,
    less_equal,
    log,
    log1p,
    log_betainc_odds,
    log_factorial,
    log_gammainc,
    log_gammaincc,
    maximum,
    minimum,
    negative_binomial_quantile,
    poisson_quantile,
    round_even,
    sigmoid,
    softplus,
    square,
    where,
    xlog1py,
    xlogy,
)
from consilience.distributions.shapes import broadcast
from consilience.distributions.tails import log_odds, log_of_size
from consilience.ir import INTEGERS, Dim, Node, Shape
from consilience.ops.elementwise import cast
from consilience.ops.index import getitem
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import arg_reduce, cumulative, reduce, softmax
from consilience.ops.shape import Iota, broadcast_to, expand_dims, length_of


class Bernoulli(Discrete):
    """Success (1) or failure (0): p^x (1 - p)^(1-x).

    p: Probability of success, or logit_p = log(p / (1 - p)).
    """

    p = parameter(unit_interval)
    support = binary

    def logp(self, value: Node) -> Node:
        return xlogy(value, self.p) + xlog1py(1 - value, -self.p)

    def logcdf(self, value: Node) -> Node:
        return where(less(value, 1), log1p(-self.p), 0.0)

    def icdf(self, q: Node) -> Node:
        return cast(greater(q, 1.0 - self.p), "float64")

    def draw(self, key: Node, shape: Shape) -> Node:
        return cast(less(draw("random_uniform", key, shape), self.p), "int64")

    def mean(self) -> Node:
        return self.p

    def variance(self) -> Node:
        return self.p * (1.0 - self.p)

    def support_point(self) -> Node:
        return where(less(self.p, 0.5), 0, 1)


class LogitBernoulli(Bernoulli, parameterization=True):
    """Bernoulli by the log odds, which keep their digits where p rounds to 0 or 1."""

    logit_p = parameter(real, nan_check=False)
    p = derived(lambda of: sigmoid(of.logit_p))

    def logp(self, value: Node) -> Node:
        return value * self.logit_p - softplus(self.logit_p)

    def logcdf(self, value: Node) -> Node:
        return where(less(value, 1), -softplus(self.logit_p), 0.0)


class Binomial(Discrete):
    """Successes among n independent trials: C(n, x) p^x (1 - p)^(n-x).

    n: Number of trials, whole, >= 0.
    p: Probability of success, or logit_p = log(p / (1 - p)).
    """

    n = parameter(natural)
    p = parameter(unit_interval)
    support = whole_numbers(0.0, "n")

    def logp(self, value: Node) -> Node:
        return self._log_ways(value) + xlogy(value, self.p) + xlog1py(self.n - value, -self.p)

    def _log_ways(self, value: Node) -> Node:
        return log_factorial(self.n) - log_factorial(value) - log_factorial(self.n - value)

    def logcdf(self, value: Node) -> Node:
        return log_betainc_odds(self.n - value, value + 1.0, -self._log_odds())

    def logccdf(self, value: Node) -> Node:
        return log_betainc_odds(value + 1.0, self.n - value, self._log_odds())

    def _log_odds(self) -> Node:
        return log_odds(self.p)

    def icdf(self, q: Node) -> Node:
        return binomial_quantile(self.n, self.p, q)

    def draw(self, key: Node, shape: Shape) -> Node:
        return draw("random_binomial", key, shape, self.n, self.p)

    def mean(self) -> Node:
        return self.n * self.p

    def variance(self) -> Node:
        return self.n * self.p * (1.0 - self.p)

    def support_point(self) -> Node:
        return round_even(self.mean())


class LogitBinomial(Binomial, parameterization=True):
    """Binomial by the log odds, which keep their digits where p rounds to 0 or 1."""

    n = parameter(natural)
    logit_p = parameter(real, nan_check=False)
    p = derived(lambda of: sigmoid(of.logit_p))

    def logp(self, value: Node) -> Node:
        return self._log_ways(value) + value * self.logit_p - self.n * softplus(self.logit_p)

    def _log_odds(self) -> Node:
        return self.logit_p


class Poisson(Discrete):
    """Number of independent events: mu^x exp(-mu) / x!.

    mu: Expected number, >= 0.
    """

    mu = parameter(nonnegative)
    support = natural

    def logp(self, value: Node) -> Node:
        return xlogy(value, self.mu) - self.mu - log_factorial(value)

    def logcdf(self, value: Node) -> Node:
        return log_gammaincc(value + 1.0, self.mu)

    def logccdf(self, value: Node) -> Node:
        return log_gammainc(value + 1.0, self.mu)

    def icdf(self, q: Node) -> Node:
        return poisson_quantile(self.mu, q)

    def draw(self, key: Node, shape: Shape) -> Node:
        return draw("random_poisson", key, shape, self.mu)

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        return self.mu

    def support_point(self) -> Node:
        return floor(self.mu)


class NegativeBinomial(Discrete):
    """Poisson counts whose rate is gamma distributed; failures before the n-th success.

    C(x + alpha - 1, x) (alpha / (mu + alpha))^alpha (mu / (mu + alpha))^x

    mu: Expected number, >= 0, or p, the probability of success in (0, 1].
    alpha: Shape of the gamma distribution > 0, or n, the number of successes (the same number).
    """

    mu = parameter(nonnegative)
    alpha = parameter(positive)
    support = natural
    alternatives = (
        instead_of(("mu", "alpha"), lambda p, n: (n * (1.0 - p) / p, n), p=positive_probability, n=positive),
        instead_of("mu", lambda p, alpha: alpha * (1.0 - p) / p, p=positive_probability),
        instead_of("alpha", lambda n: n, n=positive),
    )

    def logp(self, value: Node) -> Node:
        # With n = mu + alpha and s = x + alpha the mass is (mu s / (n x))^x (s / n)^alpha and a slow factor; both
        # ratios are 1 at x = mu, and their logarithms times x and alpha sum up without cancellation.
        x = maximum(value, 1.0)
        n, s = self.mu + self.alpha, value + self.alpha
        scale = log(s) - log(n)
        gammas = self.alpha * log_ratio((value - self.mu) / n, scale)
        counts = x * log_ratio(self.alpha / n * ((self.mu - x) / x), log(self.mu) + scale - log(x))
        return gammas + where(equal(value, 0), 0.0, counts) + log_rising_rest(self.alpha, value)

    def logcdf(self, value: Node) -> Node:
        nearly, alpha = self._nearly_poisson(value)
        own = log_betainc_odds(alpha, value + 1.0, log(alpha) - log_of_size(self.mu))
        return where(nearly, log_gammaincc(value + 1.0, self.mu), own)

    def logccdf(self, value: Node) -> Node:
        nearly, alpha = self._nearly_poisson(value)
        own = log_betainc_odds(value + 1.0, alpha, log_of_size(self.mu) - log(alpha))
        return where(nearly, log_gammainc(value + 1.0, self.mu), own)

    def _nearly_poisson(self, value: Node) -> tuple[Node, Node]:
        """Whether the rate varies so little that no tail of float64 tells; alpha, and 1 there."""
        nearly = greater(self.alpha, 1e12 * square(1.0 + self.mu + value))
        return nearly, where(nearly, 1.0, self.alpha)

    def icdf(self, q: Node) -> Node:
        # So little does the rate vary that no quantile of float64 tells.
        nearly = greater(self.alpha, 1e12 * square(1.0 + self.mu))
        quantile = negative_binomial_quantile(self.mu, where(nearly, 1.0, self.alpha), q)
        return where(nearly, poisson_quantile(self.mu, q), quantile)

    def draw(self, key: Node, shape: Shape) -> Node:
        rate = draw("random_gamma", fold_in(key, 0), shape, self.alpha) * (self.mu / self.alpha)
        return draw("random_poisson", fold_in(key, 1), shape, rate)

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        return self.mu + square(self.mu) / self.alpha

    def support_point(self) -> Node:
        return floor(self.mu)


class Categorical(Discrete):
    """Number of one of n categories, 0 to n - 1: mass p[x].

    p: Probabilities, shape (..., n), sum 1; or logit_p, their logarithms up to a constant.
    """

    p = parameter(simplex)
    support = natural

    @property
    def bound_support(self) -> Whole:
        last = self._categories() - 1
        return whole_numbers(0.0, float(last) if isinstance(last, int) else length_of(last))

    def logp(self, value: Node) -> Node:
        return log(picked(self.p, value))

    def logcdf(self, value: Node) -> Node:
        return self._log_sum(less_equal(Node(Iota(self._categories())), expand_dims(value, -1)))

    def logccdf(self, value: Node) -> Node:
        return self._log_sum(greater(Node(Iota(self._categories())), expand_dims(value, -1)))

    def _log_sum(self, of: Node) -> Node:
        """Logarithm of the probability of a set of categories."""
        return log(reduce("sum", where(of, self.p, 0.0), -1))

    def icdf(self, q: Node) -> Node:
        return cast(category_at(self.p, q), "float64")

    def draw(self, key: Node, shape: Shape) -> Node:
        return category_at(self.p, draw("random_uniform", key, shape))

    def mean(self) -> Node:
        return reduce("sum", self.p * Node(Iota(self._categories())), -1)

    def variance(self) -> Node:
        distance = Node(Iota(self._categories())) - expand_dims(self.mean(), -1)
        return reduce("sum", self.p * square(distance), -1)

    def support_point(self) -> Node:
        return arg_reduce("max", self.p, -1)

    def _categories(self) -> Dim:
        return self.values[0].static_shape[-1]


class LogitCategorical(Categorical, parameterization=True):
    """Categorical by unnormalised logarithms of the probabilities."""

    logit_p = parameter(real_vector, nan_check=False)
    p = derived(lambda of: exp(of._log_p()))

    def logp(self, value: Node) -> Node:
        return picked(self._log_p(), value)

    def _log_sum(self, of: Node) -> Node:
        return reduce("logsumexp", where(of, self._log_p(), -math.inf), -1)

    def _log_p(self) -> Node:
        return softmax(self.logit_p, -1, logarithm=True)


def picked(table: Node, value: Node) -> Node:
    """Element `value` of the last axis of a table, for every batch; positions beyond an end are the end."""
    length = table.static_shape[-1]
    last = length - 1 if isinstance(length, int) else length_of(length - 1)
    whole = value if value.dtype in INTEGERS else cast(value, "int64")
    position = minimum(maximum(whole, 0), last)
    if table.ndim == 1:
        return getitem(table, (position,))
    batch = broadcast([table.static_shape[:-1], position.static_shape], "Categorical")
    rank = len(batch)
    axes = [expand_dims(Node(Iota(n)), tuple(i for i in range(rank) if i != axis)) for axis, n in enumerate(batch)]
    return getitem(broadcast_to(table, (*batch, length)), (*axes, broadcast_to(position, batch)))


def category_at(p: Node, q: Node) -> Node:
    """The category at which the running sum of probabilities reaches q."""
    sums = cumulative("sum", p, -1)[..., :-1]
    return reduce("sum", less(sums, expand_dims(q, -1)), -1)
