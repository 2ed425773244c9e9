"""Discrete waiting times: the number of trials until the first success, and of steps until a failure."""

from __future__ import annotations

from consilience.distributions.constraints import open_unit_interval, positive, positive_probability, whole_numbers
from consilience.distributions.distribution import Discrete, parameter
from consilience.distributions.mathematics import (
    LOG_2,
    equal,
    exp,
    expm1,
    floor,
    gammaincc,
    gammaln,
    log,
    log1mexp,
    log1p,
    maximum,
    minimum,
    reciprocal,
    square,
    where,
    xlog1py,
    zero_of,
)
from consilience.distributions.quadrature import column
from consilience.distributions.whole_quantile import corrected
from consilience.ir import Node, Shape
from consilience.ops.random import draw
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota

# Draws are int64; what is longer ends here.
_LONGEST = 2.0**62
# So many terms of a sum are added one by one.
_TERMS = 128


class Geometric(Discrete):
    """Number of trials up to and with the first success: p (1 - p)^(x-1), x = 1, 2, ….

    p: Probability of success in (0, 1].
    """

    p = parameter(positive_probability)
    support = whole_numbers(1.0)

    def logp(self, value: Node) -> Node:
        return log(self.p) + xlog1py(value - 1, -self.p)

    def logcdf(self, value: Node) -> Node:
        return log1mexp(self.logccdf(value))

    def logccdf(self, value: Node) -> Node:
        return xlog1py(value, -self.p)

    def icdf(self, q: Node) -> Node:
        return corrected(-floor(-self._waited(log1p(-q))), q, self, 1.0)

    def draw(self, key: Node, shape: Shape) -> Node:
        return 1.0 + minimum(floor(self._waited(-draw("random_exponential", key, shape))), _LONGEST)

    def mean(self) -> Node:
        return reciprocal(self.p)

    def variance(self) -> Node:
        return (1.0 - self.p) / square(self.p)

    def support_point(self) -> Node:
        return minimum(floor(self.mean()), _LONGEST)

    def _waited(self, logarithm: Node) -> Node:
        """Where the logarithm of the probability to wait longer has come to this; 0 if p is 1."""
        certain = equal(self.p, 1.0)
        return where(certain, 0.0, logarithm / log1p(-where(certain, 0.5, self.p)))


class DiscreteWeibull(Discrete):
    """Number of steps survived, P(X >= x) = q^(x^beta): mass q^(x^beta) - q^((x+1)^beta).

    Nakagawa and Osaki: The discrete Weibull distribution (1975). Mean and variance are sums of P(X >= x), far out by
    Euler and Maclaurin's formula.

    q: Probability to survive the first step, in (0, 1).
    beta: Shape > 0: above 1 the risk of failure increases with x.
    """

    q = parameter(open_unit_interval)
    beta = parameter(positive)

    def logp(self, value: Node) -> Node:
        first = equal(value, 0)
        x = where(first, 1.0, value)
        power = x**self.beta
        step = where(first, 1.0, power * expm1(self.beta * log1p(reciprocal(x))))
        return where(first, 0.0, power * log(self.q)) + log1mexp(step * log(self.q)) + zero_of(self.beta)

    def logcdf(self, value: Node) -> Node:
        return log1mexp(self.logccdf(value))

    def logccdf(self, value: Node) -> Node:
        return (value + 1.0) ** self.beta * log(self.q)

    def icdf(self, q: Node) -> Node:
        return corrected(-floor(-(self._survived(log1p(-q)) - 1.0)), q, self, 0.0)

    def draw(self, key: Node, shape: Shape) -> Node:
        survived = self._survived(-draw("random_exponential", key, shape))
        return minimum(maximum(-floor(-(survived - 1.0)), 0.0), _LONGEST)

    def support_point(self) -> Node:
        return minimum(floor(self._survived(-LOG_2 + zero_of(self.q))), _LONGEST)

    def _survived(self, logarithm: Node) -> Node:
        """Where the logarithm of the probability to survive has come to this."""
        return (logarithm / log(self.q)) ** reciprocal(self.beta)

    def mean(self) -> Node:
        return self._raw_moments()[0]

    def variance(self) -> Node:
        first, second = self._raw_moments()
        return second - square(first)

    def _raw_moments(self) -> tuple[Node, Node]:
        """E X, the sum of S(x) = P(X >= x), and E X^2, that of (2 x - 1) S(x), x = 1, 2, …."""
        rate, beta = -log(self.q), self.beta
        x = Node(Iota(_TERMS)) + 1.0
        near = exp(-column(rate) * x ** column(beta))
        # From the end on an incomplete gamma function, and the derivatives of the midpoint rule.
        end = _TERMS + 0.5
        hazard = rate * end**beta
        here, order = exp(-hazard), reciprocal(beta)
        s0 = beta * hazard / end
        s1 = s0 * (beta - 1.0) / end
        s2 = s1 * (beta - 2.0) / end
        d1, d2, d3 = -s0 * here, (square(s0) - s1) * here, -(s0 * square(s0) - 3.0 * s0 * s1 + s2) * here

        def beyond(power: float) -> Node:
            """The integral of x^(power - 1) S(x)."""
            a = power * order
            return exp(gammaln(a) - a * log(rate)) * gammaincc(a, hazard) * order

        first = reduce("sum", near, -1) + beyond(1.0) + d1 / 24.0 - 7.0 / 5760.0 * d3
        width = 2.0 * end - 1.0
        slopes = (width * d1 + 2.0 * here) / 24.0 - 7.0 / 5760.0 * (width * d3 + 6.0 * d2)
        second = reduce("sum", (2.0 * x - 1.0) * near, -1) + 2.0 * beyond(2.0) - beyond(1.0) + slopes
        return first, second
