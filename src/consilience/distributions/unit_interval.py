"""Distributions on the unit interval."""

from __future__ import annotations

from typing import Final

from consilience.distributions.constraints import open_unit_interval, positive, unit_interval
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.gamma_ratios import log_beta, log_ratio, stirling_rest
from consilience.distributions.mathematics import (
    LOG_SQRT_2_PI,
    betainc,
    betaincinv,
    greater,
    less,
    log,
    log1p,
    maximum,
    minimum,
    sigmoid,
    square,
    where,
    xlog1py,
    xlogy,
)
from consilience.distributions.simplex import log_gamma_draw
from consilience.ir import Node, Shape
from consilience.ops.random import fold_in

# Shapes from here on may have a power that cancels against the beta function in more than two digits.
_LARGE: Final = 100.0


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
        a, b = self.alpha, self.beta
        plain = xlogy(a - 1.0, value) + xlog1py(b - 1.0, -value) - log_beta(a, b)
        # Where both shapes are large the powers are taken of x (a + b) / a and (1 - x) (a + b) / b, which are 1 at the
        # mean, so that nothing large cancels.
        large = greater(minimum(a, b), _LARGE)
        p, q = maximum(a, _LARGE), maximum(b, _LARGE)
        total = p + q
        offset = value * (q / total) - (1.0 - value) * (p / total)
        log_total = log(total)
        ones = log_ratio(offset / (p / total), log(value) + log_total - log(p))
        zeros = log_ratio(-offset / (q / total), log1p(-value) + log_total - log(q))
        peak = 1.5 * log_total - 0.5 * (log(p) + log(q)) - LOG_SQRT_2_PI
        peak = peak + stirling_rest(total) - stirling_rest(p) - stirling_rest(q)
        return where(large, (p - 1.0) * ones + (q - 1.0) * zeros + peak, plain)

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
