"""The distribution of Conway, Maxwell and Poisson: counts that vary more or less than Poisson's."""

from __future__ import annotations

import math
from typing import Final

from consilience.distributions.constraints import natural, positive
from consilience.distributions.distribution import Discrete, derived, parameter
from consilience.distributions.gamma_ratios import deviance, log_factorial_rest
from consilience.distributions.mathematics import (
    exp,
    floor,
    greater,
    less,
    log,
    log1mexp,
    log1p,
    log_factorial,
    maximum,
    minimum,
    sqrt,
    square,
    where,
)
from consilience.distributions.quadrature import DEPTH, column, depth_of_fall
from consilience.distributions.smooth_sums import summation_points
from consilience.distributions.whole_quantile import by_chords
from consilience.ir import Node, Shape
from consilience.ops.elementwise import StopGradient, as_tensor, cast
from consilience.ops.random import draw
from consilience.ops.reduce import reduce, softmax
from consilience.ops.shape import expand_dims

# Draws are int64; what is longer ends here.
_LONGEST: Final = 2.0**62
_GREATEST: Final = 1e300
_STEPS: Final = 8


class ConwayMaxwellPoisson(Discrete):
    """Counts with a dispersion of their own: lam^x / (x!)^nu / Z, Z the sum of lam^k / (k!)^nu over k = 0, 1, 2, ….

    R. W. Conway and W. L. Maxwell (1962); G. Shmueli and others (2005). For nu = 1 Poisson, below 1 more dispersed (for
    nu near 0 geometric), above 1 less (for great nu 0 or 1).

    lam: Rate > 0; or mu = lam^(1 / nu), the count next to which the mass is largest.
    nu: Power > 0 of the factorials.
    """

    lam = parameter(positive)
    nu = parameter(positive)
    support = natural

    def logp(self, value: Node) -> Node:
        return self._log_term(cast(value, "float64")) - self._log_sum(as_tensor(0.0), as_tensor(_GREATEST))

    def logcdf(self, value: Node) -> Node:
        below, beyond = self._log_tails(value)
        return where(less(value, self._center()), below, log1mexp(minimum(beyond, 0.0)))

    def logccdf(self, value: Node) -> Node:
        below, beyond = self._log_tails(value)
        return where(less(value, self._center()), log1mexp(minimum(below, 0.0)), beyond)

    def icdf(self, q: Node) -> Node:
        return by_chords(q, self, as_tensor(0.0), as_tensor(math.inf))

    def draw(self, key: Node, shape: Shape) -> Node:
        return draw("random_conway_maxwell_poisson", key, shape, self._log_rate(), self.nu)

    def mean(self) -> Node:
        first, points, shares = self._shares()
        return first + reduce("sum", shares * (points - column(first)), -1)

    def variance(self) -> Node:
        _, points, shares = self._shares()
        return reduce("sum", shares * square(points - column(self.mean())), -1)

    def support_point(self) -> Node:
        return minimum(floor(self._center()), _LONGEST)

    def _log_rate(self) -> Node:
        return log(self.lam)

    def _center(self) -> Node:
        """lam^(1 / nu): masses increase up to there."""
        return exp(self._log_rate() / self.nu)

    def _log_term(self, x: Node, axes: int = 0) -> Node:
        """log(lam^x / (x!)^nu), from a center above 2 on less nu times the center; `axes` more than the parameters."""
        places = tuple(range(-axes, 0))
        log_rate, nu, center = (expand_dims(v, places) if axes else v for v in self._scales())
        far = greater(center, 2.0)
        near = x * log_rate - nu * log_factorial(x)
        mean = where(far, center, 2.0)
        return where(far, -nu * (deviance(x, mean) + log_factorial_rest(x)), near)

    def _scales(self) -> tuple[Node, Node, Node]:
        return self._log_rate(), self.nu, self._center()

    def _log_sum(self, first: Node, last: Node) -> Node:
        """Logarithm of the sum of terms between two numbers that belong to it."""
        points, weights, inside = summation_points(*self._range(first, last))
        return reduce("logsumexp", where(inside, self._log_term(points, 1) + log(weights), -math.inf), -1)

    def _shares(self) -> tuple[Node, Node, Node]:
        """The first count with a mass, points of summation and the probability that each stands for."""
        first, last = self._range(as_tensor(0.0), as_tensor(_GREATEST))
        points, weights, inside = summation_points(first, last)
        terms = where(inside, self._log_term(points, 1) + log(weights), -math.inf)
        return first, points, softmax(terms, -1)

    def _log_tails(self, value: Node) -> tuple[Node, Node]:
        k = cast(value, "float64")
        total = self._log_sum(as_tensor(0.0), as_tensor(_GREATEST))
        return self._log_sum(as_tensor(0.0), k) - total, self._log_sum(k + 1.0, as_tensor(_GREATEST)) - total

    def _range(self, first: Node, last: Node) -> tuple[Node, Node]:
        """The part of a range outside which terms are less than exp(-40) times its greatest."""
        log_rate, nu, center = (Node(StopGradient(), v) for v in self._scales())
        peak = maximum(minimum(maximum(floor(center), first), last), 1.0)
        slope = nu * log(peak) - log_rate  # how steeply terms fall at the peak; negative where they rise up to it
        falling = maximum(slope, 0.0)
        # nu ((p + d) log(1 + d / p) - d) >= nu d^2 / (2 (p + d / 3)) (Bennett): from there Newton's method falls to d.
        bennett = (2.0 * DEPTH / 3.0 + sqrt(square(2.0 * DEPTH / 3.0) + 8.0 * DEPTH * nu * peak)) / (2.0 * nu)
        above = minimum(minimum(DEPTH / falling, bennett), _GREATEST)
        for _ in range(_STEPS):
            steep = nu * log1p(above / peak)
            excess = falling * above + steep * (peak + above) - nu * above - DEPTH
            above = above - excess / (falling + steep)
        # Terms are those of x + 1/2, which moves the peak by half a unit, rounded here to one on each side.
        below = depth_of_fall(maximum(-slope, 0.0), nu / peak)
        least = maximum(floor(peak - below) - 3.0, first)
        return least, maximum(minimum(floor(peak + above) + 3.0, last), least)


class ConwayMaxwellPoissonByCenter(ConwayMaxwellPoisson, parameterization=True):
    """The same by mu = lam^(1 / nu), of which lam may be a power out of range."""

    mu = parameter(positive)
    nu = parameter(positive)
    lam = derived(lambda of: of.mu**of.nu)

    def _log_rate(self) -> Node:
        return self.nu * log(self.mu)

    def _center(self) -> Node:
        return self.mu
