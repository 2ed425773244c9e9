"""Distributions of whole numbers between two bounds, and of a single number."""

from __future__ import annotations

import numpy as np

from consilience.distributions.constraints import NumberOfAnyKind, Single, Whole, natural, positive, whole_numbers
from consilience.distributions.distribution import Discrete, parameter
from consilience.distributions.gamma_ratios import log_binomial, log_polya, log_rising_rest
from consilience.distributions.mathematics import (
    beta_binomial_quantile,
    beta_binomial_sum,
    equal,
    floor,
    less,
    log,
    log1mexp,
    log1p,
    maximum,
    minimum,
    round_even,
    square,
    where,
)
from consilience.distributions.unit_interval import Beta
from consilience.distributions.whole_quantile import corrected
from consilience.ir import FLOATS, Node, Shape, constant, constant_value
from consilience.ops.elementwise import cast
from consilience.ops.random import draw, fold_in
from consilience.ops.shape import broadcast_to


class DiracDelta(Discrete):
    """A single number that always comes: mass 1 at c.

    c: The number; the variable has its dtype.
    """

    c = parameter(NumberOfAnyKind(), nan_check=False)
    support = Single("c")

    def result_dtype(self) -> str:
        return self.c.dtype

    def logp(self, value: Node) -> Node:
        return where(equal(value, self.c), 0.0, -float("inf"))

    def logcdf(self, value: Node) -> Node:
        return where(less(value, self.c), -float("inf"), 0.0)

    def logccdf(self, value: Node) -> Node:
        return where(less(value, self.c), 0.0, -float("inf"))

    def icdf(self, q: Node) -> Node:
        return cast(self.c, "float64") + 0.0 * q

    def draw(self, key: Node, shape: Shape) -> Node:
        return broadcast_to(self.c, shape)

    def mean(self) -> Node:
        return self.c

    def variance(self) -> Node:
        return 0.0 * cast(self.c, "float64")


class DiscreteUniform(Discrete):
    """Whole numbers of equal probability: mass 1 / (upper - lower + 1).

    lower, upper: Whole numbers, lower <= upper; both belong to the support.
    """

    lower = parameter(Whole())
    upper = parameter(whole_numbers("lower"))
    support = whole_numbers("lower", "upper")

    def logp(self, value: Node) -> Node:
        return -log(self._count())

    def logcdf(self, value: Node) -> Node:
        return where(self._lower_half(value), log(self._share_below(value)), log1p(-self._share_beyond(value)))

    def logccdf(self, value: Node) -> Node:
        return where(self._lower_half(value), log1p(-self._share_below(value)), log(self._share_beyond(value)))

    def icdf(self, q: Node) -> Node:
        position = corrected(-floor(-q * self._count()) - 1.0, q, self._from_zero(), 0.0)
        return _float(self.lower) + minimum(position, self._count() - 1.0)

    def draw(self, key: Node, shape: Shape) -> Node:
        steps = floor(draw("random_uniform", key, shape) * self._count())
        return minimum(cast(self.lower, "int64") + cast(steps, "int64"), cast(self.upper, "int64"))

    def mean(self) -> Node:
        return 0.5 * _float(self.lower) + 0.5 * _float(self.upper)

    def variance(self) -> Node:
        return (square(self._count()) - 1.0) / 12.0

    def support_point(self) -> Node:
        return floor(self.mean())

    def _count(self) -> Node:
        return _float(self.upper) - _float(self.lower) + 1.0

    def _share_below(self, value: Node) -> Node:
        return (_float(value) - _float(self.lower) + 1.0) / self._count()

    def _share_beyond(self, value: Node) -> Node:
        return (_float(self.upper) - _float(value)) / self._count()

    def _lower_half(self, value: Node) -> Node:
        return less(_float(value), self.mean())

    def _from_zero(self) -> DiscreteUniform:
        return DiscreteUniform.bound((0.0 * _float(self.lower), self._count() - 1.0))


class _ByNearerTail:
    """Both tails from the one on a count's own side of the mean."""

    def logcdf(self, value: Node) -> Node:
        lower, tail = self._nearer_tail(value)
        return where(lower, tail, log1mexp(tail))

    def logccdf(self, value: Node) -> Node:
        lower, tail = self._nearer_tail(value)
        return where(lower, log1mexp(tail), tail)

    def _nearer_tail(self, value: Node) -> tuple[Node, Node]:
        """Whether a count is below the mean, and the log probability of its side."""
        raise NotImplementedError


class BetaBinomial(_ByNearerTail, Discrete):
    """Successes among n trials whose probability is beta distributed.

    C(n, x) B(x + alpha, n - x + beta) / B(alpha, beta)

    alpha, beta: Shapes of the beta distribution > 0.
    n: Number of trials, whole, >= 0.
    """

    alpha = parameter(positive)
    beta = parameter(positive)
    n = parameter(natural)
    support = whole_numbers(0.0, "n")

    def logp(self, value: Node) -> Node:
        total, others = self.alpha + self.beta, self.n - value
        ways = log_polya(self.alpha, value, total, self.n) + log_polya(self.beta, others, total, self.n)
        return ways - log_rising_rest(total, self.n)

    def icdf(self, q: Node) -> Node:
        return beta_binomial_quantile(self.alpha, self.beta, self.n, q)

    def draw(self, key: Node, shape: Shape) -> Node:
        p = Beta.bound((self.alpha, self.beta)).draw(fold_in(key, 0), shape)
        return draw("random_binomial", fold_in(key, 1), shape, self.n, p)

    def mean(self) -> Node:
        return self.n * (self.alpha / (self.alpha + self.beta))

    def variance(self) -> Node:
        total = self.alpha + self.beta
        return self.n * (self.alpha / total) * (self.beta / total) * ((total + self.n) / (total + 1.0))

    def support_point(self) -> Node:
        return round_even(self.mean())

    def _nearer_tail(self, value: Node) -> tuple[Node, Node]:
        """Whether a count is below the mean, and the log probability of its side: its mass times a sum of ratios."""
        lower, trials = less(value, self.mean()), _float(self.n)
        # Beyond the support, where nobody looks at it, with a slope all the same.
        last = maximum(minimum(where(lower, value, value + 1), self.n), 0)
        mass, count = self.logp(last), where(lower, _float(last), trials - last)
        near, far = where(lower, self.alpha, self.beta), where(lower, self.beta, self.alpha)
        sum = beta_binomial_sum(near, far, trials, count)
        # Two shapes so small that masses between the ends are nothing: those of the ends are as the other shape.
        ends = equal(sum, np.inf)
        tail = where(ends, log(far / (near + far)), mass + log(where(ends, 1.0, sum)))
        return lower, minimum(tail, 0.0)


class HyperGeometric(_ByNearerTail, Discrete):
    """Marked ones among n that are drawn at once from N, k of them marked: C(k, x) C(N - k, n - x) / C(N, n).

    N: How many there are, whole, >= 0.
    k: How many of them are marked, whole, 0 to N.
    n: How many are drawn, whole, 0 to N.
    """

    N = parameter(natural)
    k = parameter(whole_numbers(0.0, "N"))
    n = parameter(whole_numbers(0.0, "N"))

    @property
    def bound_support(self) -> Whole:
        known = [constant_value(value) for value in self.values]
        if all(array is not None for array in known):  # numbers, for messages
            whole, marked, drawn = (np.asarray(array) for array in known)
            return whole_numbers(constant(np.maximum(0, drawn + marked - whole)), constant(np.minimum(marked, drawn)))
        return whole_numbers(maximum(0, self.n + self.k - self.N), minimum(self.k, self.n))

    def logp(self, value: Node) -> Node:
        # Binomial masses of the probability n / N, of which the ratio does not depend on it.
        one = maximum(self.N, 1.0)
        p, q = self.n / one, (self.N - self.n) / one
        marked = log_binomial(value, self.k, p, q)
        return marked + log_binomial(self.n - value, self.N - self.k, p, q) - log_binomial(self.n, self.N, p, q)

    def icdf(self, q: Node) -> Node:
        return beta_binomial_quantile(-_float(self.k), _float(self.k - self.N), self.n, q)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.icdf(draw("random_uniform", key, shape))

    def mean(self) -> Node:
        return self.n * (self.k / maximum(self.N, 1.0))

    def variance(self) -> Node:
        share = self.k / maximum(self.N, 1.0)
        return self.n * share * (1.0 - share) * ((self.N - self.n) / maximum(self.N - 1.0, 1.0))

    def support_point(self) -> Node:
        return round_even(self.mean())

    def _nearer_tail(self, value: Node) -> tuple[Node, Node]:
        """As for a beta-binomial variable whose shapes are the negative numbers of marked and unmarked ones."""
        lower = less(value, self.mean())
        marked, others = -_float(self.k), _float(self.k - self.N)
        near, far = where(lower, marked, others), where(lower, others, marked)
        last = where(lower, value, value + 1)
        sum = beta_binomial_sum(near, far, _float(self.n), _float(where(lower, last, self.n - last)))
        return lower, minimum(self.logp(last) + log(sum), 0.0)


def _float(node: Node) -> Node:
    return node if node.dtype in FLOATS else cast(node, "float64")
