"""Distributions on the real line."""

from __future__ import annotations

from consilience.dist.constraints import positive, real
from consilience.dist.declaration import Continuous, instead_of, parameter
from consilience.dist.mathematics import (
    LOG_2,
    LOG_PI,
    LOG_SQRT_2_PI,
    absolute,
    arctan2,
    betainc,
    exp,
    gammaln,
    less,
    log,
    log1p,
    log_ndtr,
    ndtri,
    square,
    sqrt,
    tan,
    where,
)
from consilience.ir import Node, Shape
from consilience.ops.elementwise import apply
from consilience.ops.random import draw, fold_in


class Normal(Continuous):
    """Bell curve: exp(-(x - mu)^2 / (2 sigma^2)) / (sigma sqrt(2 pi)).

    mu      mean, in the unit of x
    sigma   standard deviation > 0, or tau = 1 / sigma^2, the precision
    """

    mu = parameter(real, default=0.0, guarded=False)
    sigma = parameter(positive, default=1.0, guarded=False)
    support = real
    alternatives = (instead_of("sigma", lambda tau: tau**-0.5, tau=positive),)

    def logp(self, value: Node) -> Node:
        return -0.5 * square((value - self.mu) / self.sigma) - log(self.sigma) - LOG_SQRT_2_PI

    def logcdf(self, value: Node) -> Node:
        return log_ndtr((value - self.mu) / self.sigma)

    def icdf(self, q: Node) -> Node:
        return self.mu + self.sigma * ndtri(q)

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.mu + self.sigma * draw("random_normal", key, shape)

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        return square(self.sigma)
