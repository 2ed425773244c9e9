"""Distributions between two bounds: what lies outside is impossible (truncated) or moved to the bound (censored).

A distribution of numbers and two bounds in, another distribution out. Probabilities are taken as logarithms on the
side where they are small, so that bounds far out in a tail keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from consilience.distributions.bounded import TruncatedNormal
from consilience.distributions.constraints import (
    Bound,
    Constraint,
    ExtendedReal,
    IntervalConstraint,
    Whole,
    extended_real,
    real,
)
from consilience.distributions.densities import drawn, log_tail, mean, quantile, supported_density, variance
from consilience.distributions.densities import support_point as point_of
from consilience.distributions.distribution import Distribution, component, parameter, static
from consilience.distributions.mathematics import (
    equal,
    exp,
    floor,
    greater,
    greater_equal,
    isfinite,
    less,
    less_equal,
    log1mexp,
    logaddexp,
    logical_and,
    logical_or,
    maximum,
    minimum,
    near,
    square,
    where,
)
from consilience.distributions.parameters import known_value, whole
from consilience.distributions.quadrature import probability_points
from consilience.distributions.random_variable import distribution_of
from consilience.distributions.real_line import Normal
from consilience.distributions.set_operations import ends, known_bound, of_parameters, within
from consilience.distributions.tails import log_difference
from consilience.errors import ParameterError
from consilience.ir import FLOATS, Node, Shape, constant
from consilience.ops.elementwise import as_tensor, cast
from consilience.ops.parameter_check import ParameterCheck
from consilience.ops.random import draw
from consilience.ops.reduce import arg_reduce, reduce
from consilience.ops.shape import Iota, expand_dims


class _Between(Distribution):
    """What truncated and censored distributions share: a component `of`, `lower` and `upper`."""

    of: Node
    lower: Node
    upper: Node

    @property
    def bound_support(self) -> Constraint:
        return within(distribution_of(self.of).bound_support, self.lower, self.upper)

    def atoms(self, value: Node) -> Node | None:
        found = distribution_of(self.of).atoms(value)
        return None if found is None else logical_and(found, greater(self.logp(value), -math.inf))

    def snapped(self, value: Node, error: Node) -> Node:
        return distribution_of(self.of).snapped(value, error)

    @property
    def _discrete(self) -> bool:
        return distribution_of(self.of).bound_support.discrete

    def event_shape(self) -> Shape:
        inner = distribution_of(self.of)
        if inner.event_rank:
            raise ParameterError(
                f"{self.title}: dist must be a distribution of numbers, got {inner.title}, whose events have rank "
                f"{inner.event_rank}."
            )
        if self._discrete and not isinstance(inner.bound_support, Whole):
            raise ParameterError(
                f"{self.title}: dist must be a distribution of whole numbers or of numbers with a density; the masses "
                f"of {inner.title} may lie at other numbers. Truncate or censor the variables that it is made of."
            )
        return ()

    def result_dtype(self) -> str:
        return self.of.dtype

    def has(self, formula: str) -> bool:
        return super().has(formula) and (formula != "icdf" or distribution_of(self.of).has("icdf"))

    def _before(self, value: Node) -> Node:
        """The greatest whole number less than the value; for continuous distributions the value itself."""
        number = known_bound(value)
        if not self._discrete or (isinstance(number, float) and math.isinf(number)):
            return value
        return -floor(-value) - 1.0 if value.dtype in FLOATS else value - 1

    def _tail_before(self, value: Node, formula: str) -> Node:
        """log P(X < value) of the component, or log P(X >= value), by the name of the formula that this resembles."""
        beyond, mass = self._tail(self._before(value), formula), None
        if not self._discrete:
            mass = distribution_of(self.of).atoms(value)
        if mass is None:
            return beyond
        mass = where(mass, supported_density(self.of, value), -math.inf)
        if formula == "logccdf":
            return logaddexp(beyond, mass)
        none = equal(beyond, -math.inf)
        return where(none, -math.inf, beyond + log1mexp(minimum(mass - where(none, 0.0, beyond), 0.0)))

    def _tail(self, value: Node, formula: str) -> Node:
        """`logcdf` or `logccdf` of the component, at infinite values and at the ends of its support too.

        Its formula is asked for values inside the support only: at an end its derivatives are not finite.
        """
        below, above = (-math.inf, 0.0) if formula == "logcdf" else (0.0, -math.inf)
        low, high = ends(distribution_of(self.of).bound_support)
        number = known_bound(value)
        massive = self._discrete or distribution_of(self.of).has_atoms()
        if isinstance(number, float) and isinstance(low, float) and isinstance(high, float):
            if number < low or (number == low and not (massive and math.isfinite(low))):
                return as_tensor(below)
            return as_tensor(above) if number >= high else log_tail(self.of, value, formula)
        before = less(value, low) if massive else less_equal(value, low)
        if value.dtype in FLOATS:
            before = logical_or(before, equal(value, -math.inf))
        beyond = greater_equal(value, high)
        inside = where(logical_or(before, beyond), cast(point_of(self.of), value.dtype), value)
        return where(before, below, where(beyond, above, log_tail(self.of, inside, formula)))

    def _log_probability(self, low: Node, high: Node, *, included: bool = True) -> Node:
        """log P(low <= X <= high) of the component, or of low < X where the low end is not included."""
        tail = self._tail_before if included else self._tail
        below, above = tail(low, "logcdf"), tail(low, "logccdf")
        by_cdf = self._tail(high, "logcdf")
        by_cdf = by_cdf + log1mexp(below - by_cdf)
        by_ccdf = above + log1mexp(self._tail(high, "logccdf") - above)
        return where(less(below, above), by_cdf, by_ccdf)


class Truncated(_Between):
    """A distribution restricted to an interval: p(x) / P(lower <= X <= upper), and 0 outside.

    dist: Distribution of numbers that has a `logcdf`, such as `Gamma.dist(2, 1)`.
    lower, upper: Bounds in the unit of x, which belong to the interval; -inf and inf are no bounds.
    max_n_steps: How often a value is drawn at most until one lies between the bounds, where `dist` has no `icdf`; all
        trials are made at once. To draw raises ParameterError if none does.

    Notes
    -----
    A truncated Normal is a `TruncatedNormal`. Of other distributions, draws further out than the quantiles of `dist`
    reach (most know the tail above a bound as well) are NaN.
    """

    of = component(name="dist")
    lower = parameter(extended_real, default=-math.inf)
    upper = parameter(ExtendedReal("lower"), default=math.inf)
    max_n_steps = static(whole(1), default=1000)

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; ParameterError where constant bounds leave no probability."""
        rv = super().dist(*parameters, shape=shape, size=size, **named)
        own = distribution_of(rv)
        assert isinstance(own, Truncated)
        mass = known_value(own._log_mass())
        if mass is not None and np.isnan(mass).any():
            raise ParameterError(
                f"{cls.title}: {distribution_of(own.of).title} has no probability between lower and upper; "
                "move the bounds to where its density is not 0."
            )
        if cls is Truncated and type(distribution_of(own.of)) is Normal:  # its formulas reach further into the tails
            mu, sigma = distribution_of(own.of).values
            return TruncatedNormal.dist(mu, sigma, lower=own.lower, upper=own.upper, shape=rv.static_shape)
        return rv

    @property
    def mapped_support(self) -> Constraint:
        if self._discrete:
            return self.bound_support
        return of_parameters(self.lower, self.upper)

    def logp(self, value: Node) -> Node:
        return supported_density(self.of, value) - self._log_mass()

    def logcdf(self, value: Node) -> Node:
        return self._log_probability(self.lower, value) - self._log_mass()

    def logccdf(self, value: Node) -> Node:
        return self._log_probability(value, self.upper, included=False) - self._log_mass()

    def icdf(self, q: Node) -> Node:
        return self._quantile(1.0 - q, q)

    def iccdf(self, q: Node) -> Node:
        return self._quantile(q, 1.0 - q)

    def _quantile(self, above: Node, below: Node) -> Node:
        """The value below which lies the second of two probabilities whose sum is 1."""
        by_cdf, by_ccdf = (
            above * exp(self._tail_before(self.lower, formula)) + below * exp(self._tail(self.upper, formula))
            for formula in ("logcdf", "logccdf")
        )
        left = less(by_cdf, 0.5)
        # The side that is not used gets a probability whose quantile is a number.
        found = where(
            left,
            quantile(self.of, where(left, by_cdf, 0.5)),
            quantile(self.of, where(left, 0.5, by_ccdf), "iccdf"),
        )
        first = -floor(-self.lower) if self._discrete else self.lower
        possible = greater(exp(self._log_mass()), 0.0)
        return where(possible, minimum(maximum(found, first), self.upper), math.nan)

    def draw(self, key: Node, shape: Shape) -> Node:
        if self.has("icdf"):
            made = self.icdf(draw("random_uniform", key, shape))
            # Infinite is the quantile of a probability so close to 1 that it rounds to it.
            return where(isfinite(made), made, -1.0 if self._discrete else math.nan)
        trials = drawn(self.of, key, (self.max_n_steps, *shape))
        accepted = logical_and(greater_equal(trials, self.lower), less_equal(trials, self.upper))
        number = Node(Iota(self.max_n_steps))
        first = equal(expand_dims(number, tuple(range(1, trials.ndim))), arg_reduce("max", accepted, 0))
        found = reduce("any", accepted, 0)
        result = where(found, reduce("sum", where(first, trials, cast(0, trials.dtype)), 0), self._none())
        rule = (
            f"a distribution of which one of {self.max_n_steps} draws lies between lower and upper; "
            "move the bounds or give a greater max_n_steps"
        )
        return Node(ParameterCheck(self.title, "dist", rule, 0), result, found, result)

    def mean(self) -> Node:
        return self._expected(lambda x: x, mean)

    def variance(self) -> Node:
        return self._expected(lambda x: square(x - self.mean()), variance)

    def has(self, formula: str) -> bool:
        counts = formula in ("mean", "variance") and (self._discrete or not self.has("icdf"))
        return super().has(formula) and not counts

    def _expected(self, function: Callable[[Node], Node], moment: Callable[[Node], Node]) -> Node:
        """The mean of a function of the value, by quantiles; the component needs the moment if an end is infinite."""
        if not self.has("mean"):
            self.missing(moment.__name__)
        p, weights = probability_points()
        axes = max(len(shape) for shape in self.batch_shapes())
        share, weight = (constant(v.reshape(-1, *(1,) * axes)) for v in (p, weights))
        total = constant(0.0)
        for x in (self.icdf(share), self.iccdf(share)):
            known = isfinite(x)  # next to an infinite end lies a probability that rounds to 0
            total = total + reduce("sum", where(known, weight * function(where(known, x, 0.0)), 0.0), 0)
        low, high = (as_tensor(end) for end in ends(self.bound_support))
        bounded = logical_and(greater(low, -math.inf), less(high, math.inf))
        of = moment(self.of) if distribution_of(self.of).has(moment.__name__) else constant(math.nan)
        return where(logical_and(isfinite(self._log_mass()), logical_or(bounded, isfinite(of))), total, of)

    def support_point(self) -> Node:
        """The component's, if it lies inside, else between the bounds or next to the only one."""
        support = self.bound_support
        if isinstance(support, Whole):
            return _clipped(point_of(self.of), _upwards(support.lower), support.upper)
        if not isinstance(support, IntervalConstraint):
            return point_of(self.of)
        point, low, high = point_of(self.of), as_tensor(support.lower), as_tensor(support.upper)
        inside = logical_and(greater(point, low), less(point, high))
        alone = where(equal(high, math.inf), low + 1.0, high - 1.0)
        bounded = logical_and(greater(low, -math.inf), less(high, math.inf))
        return where(inside, point, where(bounded, 0.5 * low + 0.5 * high, alone))

    def _log_mass(self) -> Node:
        """log P(lower <= X <= upper), NaN for 0."""
        mass = self._log_probability(self.lower, self.upper)
        return where(greater(mass, -math.inf), mass, math.nan)

    def _none(self) -> Node:
        return cast(math.nan, self.of.dtype) if self.of.dtype in FLOATS else cast(-1, self.of.dtype)


def log_probability(rv: Node, low: Node, high: Node) -> Node:
    """log P(low < X <= high) of a continuous variable from the nearer tail; -inf, with finite slopes, where it is 0."""
    own = Truncated.bound([low, high], (1,), [(rv,)])
    below, above = own._tail(low, "logcdf"), own._tail(low, "logccdf")
    by_cdf = log_difference(own._tail(high, "logcdf"), below)
    return where(less(below, above), by_cdf, log_difference(above, own._tail(high, "logccdf")))


class WholeOrEnd(Whole):
    """Whole numbers between two ends, and these themselves, as which what lies beyond is recorded."""

    @property
    def rule(self) -> str:
        return f"{super().rule}, or a bound"

    def holds(self, value: Node) -> Node:
        found = super().holds(value)
        if value.dtype not in FLOATS:
            return found
        return logical_or(found, logical_or(equal(value, as_tensor(self.lower)), equal(value, as_tensor(self.upper))))


class Censored(_Between):
    """A distribution whose values beyond a bound are recorded as the bound.

    The density of `dist` between the bounds, P(X <= lower) at lower, P(X >= upper) at upper, and 0 outside.

    dist: Distribution of numbers that has a `logcdf`, such as `LogNormal.dist(0, 1)`.
    lower, upper: Bounds in the unit of x; -inf and inf are no bounds.
    """

    mapped = real
    of = component(name="dist")
    lower = parameter(extended_real, default=-math.inf)
    upper = parameter(ExtendedReal("lower"), default=math.inf)

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; ParameterError for constant bounds of counts that are no whole numbers."""
        rv = super().dist(*parameters, shape=shape, size=size, **named)
        own = distribution_of(rv)
        assert isinstance(own, Censored)
        for name, bound in (("lower", own.lower), ("upper", own.upper)):
            known = known_value(bound) if own._discrete else None
            if known is not None and (np.isfinite(known) & (known != np.floor(known))).any():
                raise ParameterError(
                    f"{cls.title}: {name} must be a whole number for {distribution_of(own.of).title}, whose values are "
                    f"counts recorded as the bound; got {known[()]}."
                )
        return rv

    @property
    def bound_support(self) -> Constraint:
        support = distribution_of(self.of).bound_support
        if not support.discrete:
            return within(IntervalConstraint(), self.lower, self.upper)
        found = within(Whole(), self.lower, self.upper)
        assert isinstance(found, Whole)
        known = not isinstance(found.lower, Node) and not isinstance(found.upper, Node)
        return found if known else WholeOrEnd(found.lower, found.upper)

    def has_atoms(self) -> bool:
        return not self.bound_support.discrete

    def atoms(self, value: Node) -> Node | None:
        if not self.has_atoms():
            return None
        found, inner = logical_or(equal(value, self.lower), equal(value, self.upper)), super().atoms(value)
        found = logical_and(found, greater(self.logp(value), -math.inf))
        return found if inner is None else logical_or(found, inner)

    def snapped(self, value: Node, error: Node) -> Node:
        value = super().snapped(value, error)
        return near(near(value, self.lower, error), self.upper, error) if self.has_atoms() else value

    def logp(self, value: Node) -> Node:
        at_lower = self._tail(self.lower, "logcdf")
        at_upper = self._tail_before(self.upper, "logccdf")
        below_upper = where(less(value, self.upper), supported_density(self.of, value), at_upper)
        return where(less_equal(value, self.lower), at_lower, below_upper)

    def logcdf(self, value: Node) -> Node:
        return self._tail(value, "logcdf")

    def logccdf(self, value: Node) -> Node:
        return self._tail(value, "logccdf")

    def draw(self, key: Node, shape: Shape) -> Node:
        made = _clipped(drawn(self.of, key, shape), self.lower, self.upper)
        if made.dtype not in FLOATS or self.of.dtype in FLOATS:
            return made
        # A variable of counts has no values between whole numbers, so a bound is not recorded as another number.
        check = ParameterCheck(self.title, "bound", "a whole number, as a count is recorded at it", 0)
        return Node(check, made, equal(made, floor(made)), made)

    def icdf(self, q: Node) -> Node:
        return _clipped(quantile(self.of, q), self.lower, self.upper)

    def mean(self) -> Node:
        below, between, above, inner = self._parts()
        ends = _weighted(self.lower, below) + _weighted(self.upper, above)
        return ends + _weighted(inner.mean(), between)

    def variance(self) -> Node:
        below, between, above, inner = self._parts()
        mean = self.mean()
        ends = _weighted(square(self.lower - mean), below) + _weighted(square(self.upper - mean), above)
        return ends + _weighted(inner.variance() + square(inner.mean() - mean), between)

    def has(self, formula: str) -> bool:
        return super().has(formula) and (formula not in ("mean", "variance") or self._inner().has(formula))

    def _inner(self) -> Truncated:
        """What is between the bounds."""
        return Truncated.bound((self.lower, self.upper), (1,), ((self.of,),))

    def _parts(self) -> tuple[Node, Node, Node, Truncated]:
        """The probabilities of values up to the lower bound, between both and beyond, and what is between."""
        inner = self._inner()
        if not inner.has("mean"):
            self.missing("mean")
        below, above = exp(self._tail_before(self.lower, "logcdf")), exp(self._tail(self.upper, "logccdf"))
        return below, exp(self._log_probability(self.lower, self.upper)), above, inner

    def support_point(self) -> Node:
        return _clipped(point_of(self.of), self.lower, self.upper)


def _weighted(value: Node, probability: Node) -> Node:
    """A value, of which nothing is left if its probability is 0."""
    possible = greater(probability, 0.0)
    return where(possible, where(possible, value, 0.0) * probability, 0.0)


def _clipped(value: Node, lower: Bound, upper: Bound) -> Node:
    return minimum(maximum(value, as_tensor(lower)), as_tensor(upper))


def _upwards(bound: Bound) -> Node:
    return -floor(-as_tensor(bound))
