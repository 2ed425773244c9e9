"""Ordered categories: a hidden continuous variable, cut into intervals."""

from __future__ import annotations

from typing import Any

from consilience.distributions import context
from consilience.distributions.constraints import Whole, natural, ordered, positive, real, whole_numbers
from consilience.distributions.counts import picked
from consilience.distributions.distribution import Discrete, Distribution, derived, parameter
from consilience.distributions.mathematics import (
    equal,
    exp,
    greater,
    log1mexp,
    log_ndtr,
    logical_or,
    logit,
    minimum,
    ndtri,
    softplus,
    square,
    where,
)
from consilience.distributions.multinomial import Multinomial
from consilience.distributions.parameters import truth
from consilience.distributions.random_variable import distribution_of, is_random
from consilience.distributions.tails import log_normal_mass
from consilience.distributions.whole_quantile import corrected
from consilience.ir import Dim, Node, Shape
from consilience.ops.elementwise import cast
from consilience.ops.random import draw
from consilience.ops.reduce import arg_reduce, reduce
from consilience.ops.shape import Iota, expand_dims, length_of


class WithProbabilities(Distribution):
    """A distribution that adds the probabilities of its categories to the model, under the name `<name>_probs`."""

    def __new__(  # type: ignore[misc]  # as in `Distribution`
        cls, name: str, *parameters: Any, compute_p: bool = True, **named: Any
    ) -> Node:
        """A variable of the model whose `with` block this is.

        compute_p: Whether the model keeps the probabilities as well, in a last axis of one element per category.

        Notes
        -----
        Other parameters as for every distribution.
        """
        compute_p = truth(cls.title, "compute_p", compute_p)
        node = super().__new__(cls, name, *parameters, **named)
        if compute_p:
            given = {n: v for n, v in named.items() if n in cls.argument_names()}
            # With missing values the variable is an expression of two, each with some of the rows.
            made = distribution_of(node if is_random(node) else cls.dist(*parameters, **given), cls.title)
            assert isinstance(made, WithProbabilities)
            context.current(cls.title).add_deterministic(f"{name}_probs", made.probabilities())
        return node

    def probabilities(self) -> Node:
        """Probabilities of the categories, in the last axis."""
        self.missing("probabilities")


class OrderedCategories(WithProbabilities, Discrete):
    """Categories 0, 1, …, K - 1 between K - 1 cutpoints; a declaration says how the hidden variable is distributed."""

    eta: Any
    cutpoints: Any

    def log_below(self, cutpoint: Node) -> Node:
        """Log probability that the hidden variable is below a cutpoint."""
        self.missing("log_below")

    def log_above(self, cutpoint: Node) -> Node:
        """Log probability that the hidden variable is above a cutpoint."""
        self.missing("log_above")

    def log_between(self, lower: Node, upper: Node) -> Node:
        """Log probability that the hidden variable is between two cutpoints."""
        self.missing("log_between")

    def hidden(self, u: Node) -> Node:
        """The hidden variable of a uniform number: its quantile."""
        self.missing("hidden")

    @property
    def bound_support(self) -> Whole:
        last = self._last()
        return whole_numbers(0.0, float(last) if isinstance(last, int) else length_of(last))

    def _last(self) -> Dim:
        last: Dim = self.cutpoints.static_shape[-1]
        return last

    def logp(self, value: Node) -> Node:
        lower, upper = picked(self.cutpoints, value - 1), picked(self.cutpoints, value)
        last = self.bound_support.upper
        first, final = equal(value, 0), equal(value, last)
        # No width is left between the cutpoints of the first and of the last category.
        inner = where(logical_or(first, final), 0.0, 1.0)
        between = self.log_between(lower, lower + inner * (upper - lower) + (1.0 - inner))
        return where(first, self.log_below(upper), where(final, self.log_above(lower), between))

    def logcdf(self, value: Node) -> Node:
        return self.log_below(picked(self.cutpoints, value))

    def logccdf(self, value: Node) -> Node:
        return self.log_above(picked(self.cutpoints, value))

    def icdf(self, q: Node) -> Node:
        found = corrected(cast(self._category(self.hidden(q)), "float64"), q, self, 0.0)
        return minimum(found, self.bound_support.upper)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self._category(self.hidden(draw("random_uniform", key, shape)))

    def _category(self, hidden: Node) -> Node:
        return reduce("sum", greater(expand_dims(hidden, -1), self.cutpoints), -1)

    def log_probabilities(self) -> Node:
        """Logarithms of the categories' probabilities, in the last axis."""
        own = zip(self.parameters, self.values, strict=True)
        wide = self.bound([expand_dims(v, v.ndim if not p.event_rank else v.ndim - 1) for p, v in own])
        return wide.logp(Node(Iota(self._last() + 1)))

    def probabilities(self) -> Node:
        return exp(self.log_probabilities())

    def mean(self) -> Node:
        return reduce("sum", self.probabilities() * Node(Iota(self._last() + 1)), -1)

    def variance(self) -> Node:
        distance = Node(Iota(self._last() + 1)) - expand_dims(self.mean(), -1)
        return reduce("sum", self.probabilities() * square(distance), -1)

    def support_point(self) -> Node:
        return arg_reduce("max", self.probabilities(), -1)


class OrderedLogistic(OrderedCategories):
    """Ordered categories of a logistic variable: P(X <= k) = 1 / (1 + exp(eta - cutpoints[k])).

    eta: Location of the hidden variable.
    cutpoints: Increasing numbers, shape (..., K - 1) for K categories.
    """

    eta = parameter(real, nan_check=False)
    cutpoints = parameter(ordered)

    def log_below(self, cutpoint: Node) -> Node:
        return -softplus(self.eta - cutpoint)

    def log_above(self, cutpoint: Node) -> Node:
        return -softplus(cutpoint - self.eta)

    def log_between(self, lower: Node, upper: Node) -> Node:
        return self.log_below(upper) + self.log_above(lower) + log1mexp(lower - upper)

    def hidden(self, u: Node) -> Node:
        return self.eta + logit(u)


class OrderedProbit(OrderedCategories):
    """Ordered categories of a normal variable: P(X <= k) = Phi((cutpoints[k] - eta) / sigma).

    eta: Mean of the hidden variable.
    cutpoints: Increasing numbers, shape (..., K - 1) for K categories.
    sigma: Standard deviation of the hidden variable > 0.
    """

    eta = parameter(real, nan_check=False)
    cutpoints = parameter(ordered)
    sigma = parameter(positive, default=1.0)

    def log_below(self, cutpoint: Node) -> Node:
        return log_ndtr((cutpoint - self.eta) / self.sigma)

    def log_above(self, cutpoint: Node) -> Node:
        return log_ndtr((self.eta - cutpoint) / self.sigma)

    def log_between(self, lower: Node, upper: Node) -> Node:
        a, b = (lower - self.eta) / self.sigma, (upper - self.eta) / self.sigma
        return log_normal_mass(a, b, (upper - lower) / self.sigma)

    def hidden(self, u: Node) -> Node:
        return self.eta + self.sigma * ndtri(u)


class OrderedMultinomial(WithProbabilities, Multinomial):
    """Counts of ordered categories among n draws, with the probabilities of `OrderedLogistic`.

    eta: Location of the hidden variable.
    cutpoints: Increasing numbers, shape (..., K - 1) for K categories.
    n: Number of draws, whole, >= 0.
    """

    eta = parameter(real, nan_check=False)
    cutpoints = parameter(ordered)
    n = parameter(natural)
    p = derived(lambda of: of.probabilities())

    def logp(self, value: Node) -> Node:
        return self.by_logarithms(value, OrderedLogistic.bound((self.eta, self.cutpoints)).log_probabilities())

    def probabilities(self) -> Node:
        return OrderedLogistic.bound((self.eta, self.cutpoints)).probabilities()
