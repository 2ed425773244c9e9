"""Distributions of probability vectors."""

from __future__ import annotations

from consilience.distributions.constraints import positive_vector, simplex
from consilience.distributions.distribution import Continuous, parameter
from consilience.distributions.mathematics import gammaln, log, xlogy
from consilience.ir import Node, Shape
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import reduce, softmax


class Dirichlet(Continuous):
    """Distribution of probability vectors: prod x_i^(a_i - 1) / B(a), with respect to all elements but one.

    a: Concentrations > 0, shape (..., n).
    """

    a = parameter(positive_vector)
    support = simplex

    def event_shape(self) -> Shape:
        return self.a.static_shape[-1:]

    def logp(self, value: Node) -> Node:
        log_beta = reduce("sum", gammaln(self.a), -1) - gammaln(reduce("sum", self.a, -1))
        return reduce("sum", xlogy(self.a - 1.0, value), -1) - log_beta

    def draw(self, key: Node, shape: Shape) -> Node:
        z = log_gamma_draw(key, shape, self.a)
        return softmax(z, -1)

    def mean(self) -> Node:
        return self.a / reduce("sum", self.a, -1, keepdims=True)

    def variance(self) -> Node:
        m = self.mean()
        return m * (1.0 - m) / (reduce("sum", self.a, -1, keepdims=True) + 1.0)


def log_gamma_draw(key: Node, shape: Shape, alpha: Node) -> Node:
    """Logarithms of gamma draws of scale 1; finite where the draws themselves would underflow.

    Gamma(alpha) is Gamma(alpha + 1) times the power 1 / alpha of a uniform number.
    """
    raised = draw("random_gamma", fold_in(key, 0), shape, alpha + 1.0)
    return log(raised) - draw("random_exponential", fold_in(key, 1), shape) / alpha
