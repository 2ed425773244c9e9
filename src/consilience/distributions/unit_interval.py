"""Distributions on the unit interval."""

from __future__ import annotations

from consilience.distributions.constraints import open_unit_interval, positive, unit_interval
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.mathematics import (
    betainc,
    betaincinv,
    gammaln,
    less,
    log,
    log1p,
    sigmoid,
    square,
    where,
    xlog1py,
    xlogy,
)
from consilience.distributions.simplex import log_gamma_draw
from consilience.ir import Node, Shape
from consilience.ops.random import fold_in


class Beta(Continuous):
    """Distribution of proportions: x^(alpha-1) (1-x)^(beta-1) / B(alpha, beta).

    alpha, beta   shapes > 0; or mu and sigma, mean and standard deviation; or mu and nu = alpha + beta
    """

    alpha = parameter(positive)
    beta = parameter(positive)
    support = unit_interval
    alternatives = (
        instead_of(
            ("alpha", "beta"),
            lambda mu, sigma: _shapes(mu, mu * (1.0 - mu) / square(sigma) - 1.0),
            mu=open_unit_interval,
            sigma=positive,
        ),
        instead_of(("alpha", "beta"), lambda mu, nu: _shapes(mu, nu), mu=open_unit_interval, nu=positive),
    )

    def logp(self, value: Node) -> Node:
        log_beta = gammaln(self.alpha) + gammaln(self.beta) - gammaln(self.alpha + self.beta)
        return xlogy(self.alpha - 1.0, value) + xlog1py(self.beta - 1.0, -value) - log_beta

    def logcdf(self, value: Node) -> Node:
        below, above = betainc(self.alpha, self.beta, value), betainc(self.beta, self.alpha, 1.0 - value)
        return where(less(value, self.mean()), log(below), log1p(-above))

    def icdf(self, q: Node) -> Node:
        return betaincinv(self.alpha, self.beta, q)

    def draw(self, key: Node, shape: Shape) -> Node:
        ones, zeros = (
            log_gamma_draw(fold_in(key, 0), shape, self.alpha),
            log_gamma_draw(fold_in(key, 1), shape, self.beta),
        )
        return sigmoid(ones - zeros)

    def mean(self) -> Node:
        return self.alpha / (self.alpha + self.beta)

    def variance(self) -> Node:
        total = self.alpha + self.beta
        return self.alpha * self.beta / (square(total) * (total + 1.0))


def _shapes(mu: Node, total: Node) -> tuple[Node, Node]:
    return mu * total, (1.0 - mu) * total
