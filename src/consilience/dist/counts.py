"""Distributions of whole numbers."""

from __future__ import annotations

from consilience.dist.constraints import binary, real, unit_interval
from consilience.dist.declaration import Discrete, derived, parameter
from consilience.dist.mathematics import equal, greater, less, log1p, sigmoid, softplus, where, xlog1py, xlogy
from consilience.ir import Node, Shape
from consilience.ops.elementwise import cast
from consilience.ops.random import draw


class Bernoulli(Discrete):
    """Success (1) or failure (0): p^x (1 - p)^(1-x).

    p       probability of success, or logit_p = log(p / (1 - p))
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


class LogitBernoulli(Bernoulli, form=True):
    """Bernoulli by the log odds, which keep their digits where p rounds to 0 or 1."""

    logit_p = parameter(real, guarded=False)
    p = derived(lambda of: sigmoid(of.logit_p))

    def logp(self, value: Node) -> Node:
        return value * self.logit_p - softplus(self.logit_p)

    def logcdf(self, value: Node) -> Node:
        return where(less(value, 1), -softplus(self.logit_p), 0.0)
