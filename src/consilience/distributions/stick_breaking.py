"""Weights made by breaking a stick: each takes a beta share of what is left."""

from __future__ import annotations

import numpy as np

from consilience.distributions.constraints import positive, simplex
from consilience.distributions.distribution import Continuous, parameter, static
from consilience.distributions.mathematics import exp, expm1, log, log1p, square, xlogy
from consilience.distributions.parameters import whole
from consilience.ir import Node, Shape, constant
from consilience.ops.random import draw
from consilience.ops.reduce import Cumulative, cumulative, reduce
from consilience.ops.shape import concatenate, expand_dims, full


class StickBreakingWeights(Continuous):
    """Probability vectors of K + 1 elements: w_k = v_k prod_{j<k} (1 - v_j) with v_k ~ Beta(1, alpha), and the rest.

    The weights of a Dirichlet process, cut off after K of them. The density is with respect to the first K elements.

    alpha: > 0: the larger, the more weights share the mass.
    K: Number of breaks >= 1, known when the variable is made.
    """

    alpha = parameter(positive)
    K: int = static(whole(1))
    support = simplex

    def event_shape(self) -> Shape:
        return (self.K + 1,)

    def logp(self, value: Node) -> Node:
        left = Node(Cumulative("sum", value.ndim - 1, reverse=True), value)[..., 1:-1]  # 1 before the first break
        return self.K * log(self.alpha) + xlogy(self.alpha - 1.0, value[..., -1]) - reduce("sum", log(left), -1)

    def draw(self, key: Node, shape: Shape) -> Node:
        # -log(1 - v) is an exponential variable: nothing is lost where v is close to 0 or to 1.
        steps = draw("random_exponential", key, (*shape[:-1], self.K)) / expand_dims(self.alpha, -1)
        zero = full((*shape[:-1], 1), 0.0, steps.dtype)
        left = exp(-concatenate([zero, cumulative("sum", steps, -1)], -1))
        return concatenate([left[..., :-1] * -expm1(-steps), left[..., -1:]], -1)

    def mean(self) -> Node:
        alpha = expand_dims(self.alpha, -1)
        return self._moment(-log1p(alpha), -log1p(1.0 / alpha))

    def variance(self) -> Node:
        alpha = expand_dims(self.alpha, -1)
        second = self._moment(log(2.0 / (alpha + 1.0)) - log(alpha + 2.0), -log1p(2.0 / alpha))
        return second - square(self.mean())

    def _moment(self, log_share: Node, log_rest: Node) -> Node:
        """Of each weight: that of its share of the stick, and of the rests before it."""
        breaks = constant(np.minimum(np.arange(self.K + 1.0), self.K), log_rest.dtype)
        taken = constant(np.where(np.arange(self.K + 1) < self.K, 1.0, 0.0), log_share.dtype)
        return exp(breaks * log_rest + log_share * taken)
