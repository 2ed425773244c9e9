"""The difference of two Poisson counts."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Final

from consilience.distributions.constraints import Whole, nonnegative
from consilience.distributions.distribution import Discrete, parameter
from consilience.distributions.gamma_ratios import log_ratio
from consilience.distributions.mathematics import (
    LOG_SQRT_2_PI,
    absolute,
    equal,
    floor,
    gammaln,
    greater,
    greater_equal,
    log,
    log1p,
    sqrt,
    square,
    where,
    xlogy,
)
from consilience.ir import Node, Shape, constant
from consilience.ops.elementwise import cast
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota, expand_dims

# Debye's expansion, of so many terms, holds to the last digit from here on; a power series of so many below.
_FAR: Final = 100.0
_TERMS: Final = 7
_SERIES: Final = 160


class Skellam(Discrete):
    """Difference of two Poisson counts: exp(-mu1 - mu2) (mu1 / mu2)^(x / 2) I_|x|(2 sqrt(mu1 mu2)).

    mu1, mu2    expected numbers of the two, >= 0
    """

    mu1 = parameter(nonnegative)
    mu2 = parameter(nonnegative)
    support = Whole()

    def logp(self, value: Node) -> Node:
        right = greater_equal(value, 0)
        more, less = where(right, self.mu1, self.mu2), where(right, self.mu2, self.mu1)
        v = cast(absolute(value), "float64")
        size = sqrt(square(v) + 4.0 * more * less)
        far = greater(size, _FAR)
        return where(far, _expansion(v, more, less, far), _series(v, more, less, far))

    def draw(self, key: Node, shape: Shape) -> Node:
        return draw("random_poisson", fold_in(key, 0), shape, self.mu1) - draw(
            "random_poisson", fold_in(key, 1), shape, self.mu2
        )

    def mean(self) -> Node:
        return self.mu1 - self.mu2

    def variance(self) -> Node:
        return self.mu1 + self.mu2

    def support_point(self) -> Node:
        # Where one of them is 0 the mean is on the side of the support.
        return where(greater(self.mu1, self.mu2), floor(self.mean()), -floor(-self.mean()))


def _series(v: Node, more: Node, less: Node, far: Node) -> Node:
    """The mass of a Poisson count and the powers of mu1 mu2, of which at most 160 matter."""
    k = Node(Iota(_SERIES))
    order = expand_dims(where(far, 0.0, v), -1)
    product = expand_dims(where(far, 1.0, more * less), -1)
    none = equal(product, 0.0)
    steps = k * log(where(none, 1.0, product)) - gammaln(k + 1.0) - (gammaln(order + k + 1.0) - gammaln(order + 1.0))
    powers = where(none[..., 0], 0.0, reduce("logsumexp", steps, -1))
    return xlogy(v, more) - more - less - gammaln(v + 1.0) + powers


def _expansion(v: Node, more: Node, less: Node, far: Node) -> Node:
    """By the counts N1 - N2 = v with N1 N2 = mu1 mu2, of which the mass is largest, without cancellation."""
    a, b, n = where(far, more, _FAR), where(far, less, _FAR), where(far, v, 0.0)
    size = sqrt(square(n) + 4.0 * a * b)
    offset = a - b - n
    relative = 4.0 * (a / (2.0 * a - n + size)) * (offset / (size + n))
    exponent = n * log_ratio(relative, log(a) - log(0.5 * (size + n))) - offset * ((a - b + n) / (a + b + size))
    share = square(n / size)
    series = constant(0.0)
    for coefficients in reversed(_debye()):
        term = constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            term = term * share + coefficient
        series = (series + term) / size
    return exponent - 0.5 * log(size) - LOG_SQRT_2_PI + log1p(series)


@functools.cache
def _debye() -> tuple[tuple[float, ...], ...]:
    """u_k(p) / p^k as polynomials in p^2, k = 1, 2, … (DLMF 10.41.9)."""
    u: dict[int, Fraction] = {0: Fraction(1)}
    found = []
    for k in range(1, _TERMS + 1):
        next: dict[int, Fraction] = {}
        for power, c in u.items():
            for shift, factor in (
                (1, Fraction(power, 2) + Fraction(1, 8 * (power + 1))),
                (3, -Fraction(power, 2) - Fraction(5, 8 * (power + 3))),
            ):
                next[power + shift] = next.get(power + shift, Fraction(0)) + factor * c
        u = next
        found.append(tuple(float(u.get(k + 2 * i, 0)) for i in range(k + 1)))
    return tuple(found)
