"""Distributions of vectors of counts with a given sum."""

from __future__ import annotations

from consilience.distributions.constraints import Counts, natural, positive_vector, simplex
from consilience.distributions.distribution import Discrete, parameter
from consilience.distributions.gamma_ratios import log_factorial_rest, log_polya, log_rising_rest
from consilience.distributions.mathematics import equal, greater, log, maximum, minimum, round_even, where, xlogy
from consilience.distributions.simplex import Dirichlet
from consilience.errors import MissingRuleError
from consilience.ir import Node, Shape
from consilience.ops import Softmax
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, reshape, stack


class Multinomial(Discrete):
    """Counts of the categories among n independent draws: n! prod p_i^x_i / x_i!.

    n: Number of draws, whole, >= 0.
    p: Probabilities of the categories, shape (..., k), sum 1.
    """

    n = parameter(natural)
    p = parameter(simplex)
    support = Counts("n")

    def event_shape(self) -> Shape:
        return self.p.static_shape[-1:]

    def logp(self, value: Node) -> Node:
        if isinstance(self.p.op, Softmax):
            return self.by_logarithms(value, log(self.p))
        return self._of_terms(value, xlogy(value, self.p * self._share(value)))

    def by_logarithms(self, value: Node, log_p: Node) -> Node:
        """Log mass by the logarithms of probabilities, which are finite where these underflow."""
        return self._of_terms(value, where(equal(value, 0.0), 0.0, value * (log_p + log(self._share(value)))))

    def _share(self, value: Node) -> Node:
        # Every probability is taken relative to the share of its counts, so that nothing large cancels.
        return expand_dims(maximum(self.n, 1.0), -1) / maximum(value, 1.0)

    def _of_terms(self, value: Node, terms: Node) -> Node:
        return log_factorial_rest(self.n) + reduce("sum", terms - log_factorial_rest(value), -1)

    def draw(self, key: Node, shape: Shape) -> Node:
        return multinomial_draw(key, shape, self.n, broadcast_to(self.p, (*shape[:-1], self.p.static_shape[-1])))

    def mean(self) -> Node:
        return expand_dims(self.n, -1) * self.p

    def variance(self) -> Node:
        return self.mean() * (1.0 - self.p)

    def support_point(self) -> Node:
        return _rounded(self.mean())


class DirichletMultinomial(Discrete):
    """Counts of the categories among n draws whose probabilities are Dirichlet distributed.

    n! Gamma(A) / Gamma(n + A) prod Gamma(x_i + a_i) / (x_i! Gamma(a_i)), A = sum a_i

    n: Number of draws, whole, >= 0.
    a: Concentrations > 0, shape (..., k).
    """

    n = parameter(natural)
    a = parameter(positive_vector)
    support = Counts("n")

    def event_shape(self) -> Shape:
        return self.a.static_shape[-1:]

    def logp(self, value: Node) -> Node:
        total, n = reduce("sum", self.a, -1), self.n
        ways = log_polya(self.a, value, expand_dims(total, -1), expand_dims(n, -1))
        return reduce("sum", ways, -1) - log_rising_rest(total, n)

    def draw(self, key: Node, shape: Shape) -> Node:
        p = Dirichlet.bound((self.a,)).draw(fold_in(key, 1), (*shape[:-1], self.a.static_shape[-1]))
        return multinomial_draw(fold_in(key, 0), shape, self.n, p)

    def mean(self) -> Node:
        return expand_dims(self.n, -1) * Dirichlet.bound((self.a,)).mean()

    def variance(self) -> Node:
        share, total = Dirichlet.bound((self.a,)).mean(), reduce("sum", self.a, -1)
        wider = self.n * ((self.n + total) / (1.0 + total))
        return expand_dims(wider, -1) * share * (1.0 - share)

    def support_point(self) -> Node:
        return _rounded(self.mean())


def multinomial_draw(key: Node, shape: Shape, n: Node, p: Node) -> Node:
    """Counts of the categories among n draws; the categories are halved again and again, each time by a binomial draw.

    `shape`: that of the result and of p: batches, and the number of categories last.
    """
    *batch, categories = shape
    known = p.static_shape[-1]
    categories = known if isinstance(known, int) else categories
    if not isinstance(categories, int):
        raise MissingRuleError(
            f"counts of categories are drawn where the number of categories is known beforehand, got {categories!r}; "
            "give probabilities of a fixed length."
        )
    levels = (categories - 1).bit_length()
    size = 2**levels
    padded = concatenate([p, broadcast_to(0.0, (*batch, size - categories))], -1) if size > categories else p
    counts = broadcast_to(expand_dims(n, -1), (*batch, 1))
    for level in range(levels):
        halves = reduce("sum", reshape(padded, (*batch, 2**level, 2, size >> (level + 1))), -1)
        both = reduce("sum", halves, -1)
        share = minimum(halves[..., 0] / where(greater(both, 0.0), both, 1.0), 1.0)
        first = draw("random_binomial", fold_in(key, level), (*batch, 2**level), counts, share)
        counts = reshape(stack([first, counts - first], -1), (*batch, 2 ** (level + 1)))
    return counts[..., :categories]


def _rounded(mean: Node) -> Node:
    """Whole numbers next to the expected ones, of the same sum."""
    sums = round_even(cumulative("sum", mean, -1))
    return sums - concatenate([0.0 * sums[..., :1], sums[..., :-1]], -1)
