"""Mixtures: a component is chosen by its weight, and the value is a draw from it.

Weights and distributions in, one distribution out. Components may be of different families; their events have one
shape, and are all continuous or all discrete.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from consilience.distributions.constraints import Constraint, IntervalConstraint, real, simplex
from consilience.distributions.densities import drawn, log_tail, mean, quantile, supported_density, variance
from consilience.distributions.densities import support_point as point_of
from consilience.distributions.distribution import Distribution, components, parameter
from consilience.distributions.mathematics import equal, greater, less, log, logical_and, square, where
from consilience.distributions.numeric_quantile import enclosed_quantile
from consilience.distributions.parameters import named_arguments
from consilience.distributions.random_variable import batch_part, distribution_of
from consilience.distributions.real_line import Normal
from consilience.distributions.set_operations import hull, of_parameters
from consilience.distributions.shapes import broadcast, same_shape, spread, text
from consilience.distributions.whole_quantile import between
from consilience.errors import ParameterError, ShapeError
from consilience.ir import FLOATS, Node, Shape
from consilience.ops.elementwise import apply, as_tensor, cast
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import arg_reduce, cumulative, reduce
from consilience.ops.shape import Iota, broadcast_arrays, expand_dims, moveaxis, stack

# Sections of the interval between the components' quantiles, each into 16.
_ROUNDS: Final = 12


class Mixture(Distribution):
    """Weighted mean of densities: sum_k w_k p_k(x).

    w: Weights >= 0 that sum to 1, shape (..., K).
    comp_dists: K distributions of equal events, `[Normal.dist(0, 1), StudentT.dist(3)]`; or one whose last batch axis
        is that of the components, `Normal.dist([0, 1], 1)`.

    Notes
    -----
    Supports of components may differ; a value outside the support of each has the density 0.
    """

    w = parameter(simplex)
    comp_dists = components()

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        rv = super().dist(*parameters, shape=shape, size=size, **named)
        own = distribution_of(rv)
        assert isinstance(own, Mixture)
        count = own.w.static_shape[-1]
        if not own._one_batch or own.event_rank or not isinstance(count, int):
            return rv
        found = (distribution_of(own.comp_dists[0]).elements((..., k)) for k in range(count))
        listed = [component for component in found if component is not None]
        if len(listed) < count:
            return rv
        return Mixture.variable(own.values, rv.static_shape, None, own.settings, [listed])

    # ---- what the components are

    @property
    def _one_batch(self) -> bool:
        """Whether the components are the last batch axis of one variable."""
        return len(self.comp_dists) == 1

    @property
    def event_rank(self) -> int:
        return distribution_of(self.comp_dists[0]).event_rank

    def event_shape(self) -> Shape:
        shapes = [c.static_shape[len(batch_part(c.static_shape, distribution_of(c))) :] for c in self.comp_dists]
        for shape in shapes[1:]:
            if not same_shape(shape, shapes[0]):
                raise ShapeError(
                    f"{self.title}: the components in comp_dists have events of the shapes "
                    f"{', '.join(map(text, shapes))}; they must be equal."
                )
        if len({distribution_of(c).bound_support.discrete for c in self.comp_dists}) > 1:
            raise ParameterError(
                f"{self.title}: the components in comp_dists must be all continuous or all discrete. Masses at numbers "
                "beside a density are written as a choice: `pm.CustomDist(name, w, a, dist=lambda w, a, size: "
                "pt.switch(pm.Bernoulli.dist(w, size=size), 0.0, pm.Gamma.dist(a, 1.0, size=size)))`, or as a hurdle."
            )
        batch = batch_part(self.comp_dists[0].static_shape, distribution_of(self.comp_dists[0]))
        if self._one_batch and not batch:
            raise ShapeError(
                f"{self.title}: comp_dists is one distribution without a batch axis; give a list of distributions, "
                "or one with a parameter per component."
            )
        event: Shape = shapes[0]
        weights, count = self.w.static_shape[-1], batch[-1] if self._one_batch else len(self.comp_dists)
        if not same_shape((weights,), (count,)):
            raise ShapeError(f"{self.title}: w has {weights} weights for {count} components.")
        return event

    def component_axes(self) -> tuple[int, ...]:
        return (1 if self._one_batch else 0,)

    @property
    def bound_support(self) -> Constraint:
        return hull(self.title, [distribution_of(c).bound_support for c in self.comp_dists], self._one_batch)

    @property
    def mapped_support(self) -> Constraint:
        own, first = self.bound_support, distribution_of(self.comp_dists[0]).mapped_support
        if not isinstance(own, IntervalConstraint) or not isinstance(first, IntervalConstraint):
            return first if isinstance(own, IntervalConstraint) else own
        for component in self.comp_dists[1:]:
            other = distribution_of(component).mapped_support
            if not isinstance(other, IntervalConstraint) or (other.lower, other.upper) != (first.lower, first.upper):
                return real
        named = isinstance(first.lower, Node) or isinstance(first.upper, Node)
        return of_parameters(own.lower, own.upper) if named else first

    def result_dtype(self) -> str:
        dtypes = {c.dtype for c in self.comp_dists}
        return dtypes.pop() if len(dtypes) == 1 else "float64" if dtypes <= set(FLOATS) else "int64"

    def _each(self, moment: Callable[[Node], Node]) -> Node:
        """A moment of every component, on the axis before those of an event."""
        if self._one_batch:
            return moment(self.comp_dists[0])
        return stack(broadcast_arrays(*(moment(c) for c in self.comp_dists)), -1 - self.event_rank)

    def _log_mean(self, formula: Callable[[Node, Node], Node], value: Node, left_out: Node | None = None) -> Node:
        """log sum_k w_k exp(f_k(value)); where a component is left out, it does not count."""
        values = self._of_components(formula, value)
        if left_out is not None:
            values = where(left_out, -math.inf, values)
        return reduce("logsumexp", _last_axis_first(log(self.w), 0, values.ndim) + values, 0)

    def _of_components(self, formula: Callable[[Node, Node], Node], value: Node) -> Node:
        """A formula of every component. They are the first axis, so that inner loops run along values."""
        if self._one_batch:
            component = self.comp_dists[0]
            batch = batch_part(component.static_shape, distribution_of(component))
            return formula(_components_first(component, max(value.ndim - self.event_rank, len(batch) - 1)), value)
        return stack(broadcast_arrays(*(formula(c, value) for c in self.comp_dists)))

    def _weights(self) -> Node:
        """The weights with an axis of length 1 for each of an event."""
        return expand_dims(self.w, tuple(range(self.w.ndim, self.w.ndim + self.event_rank)))

    def _weighted_mean(self, values: Node) -> Node:
        return reduce("sum", self._weights() * values, -1 - self.event_rank)

    def _picked(self, values: Node, chosen: Node) -> Node:
        """Of values of each component those of the chosen ones."""
        mask = equal(Node(Iota(self.w.static_shape[-1])), expand_dims(chosen, -1))
        mask = expand_dims(mask, tuple(range(mask.ndim, mask.ndim + self.event_rank)))
        return reduce("sum", where(mask, values, cast(0, values.dtype)), -1 - self.event_rank)

    # ---- formulas

    def logp(self, value: Node) -> Node:
        if self.bound_support.discrete or not self.has_atoms():
            return self._log_mean(supported_density, value)
        # Where a component has a mass, the densities of the others do not count.
        masses = self._masses(value)
        elsewhere = logical_and(reduce("any", masses, 0), apply("logical_not", masses))
        return self._log_mean(supported_density, value, elsewhere)

    def _masses(self, value: Node) -> Node:
        """Where each component has a mass at a value; they are the first axis."""
        found = self._of_components(_mass_at, value)
        return logical_and(found, greater(_last_axis_first(self.w, 0, found.ndim), 0.0))

    def atoms(self, value: Node) -> Node | None:
        return reduce("any", self._masses(value), 0) if self.has_atoms() else None

    def snapped(self, value: Node, error: Node) -> Node:
        for component in self.comp_dists:
            value = distribution_of(component).snapped(value, error)
        return value

    def logcdf(self, value: Node) -> Node:
        return self._log_mean(lambda c, x: log_tail(c, x, "logcdf"), value)

    def logccdf(self, value: Node) -> Node:
        return self._log_mean(lambda c, x: log_tail(c, x, "logccdf"), value)

    def icdf(self, q: Node) -> Node:
        # It lies between the quantiles of the components; those of 0 and 1 are ends of the support.
        inside = logical_and(greater(q, 0.0), less(q, 1.0))
        regular = where(inside, q, 0.5)
        parts, ends = self._of_components(quantile, regular), self._of_components(quantile, q)
        low, high = reduce("min", parts, 0), reduce("max", parts, 0)
        if self.bound_support.discrete:
            found = between(low - 1.0, high, regular, self)
        else:
            found = enclosed_quantile(regular, low, high, self._both_tails, self.logp, _ROUNDS)
        return where(inside, found, where(equal(q, 0.0), reduce("min", ends, 0), reduce("max", ends, 0)))

    def _both_tails(self, value: Node) -> tuple[Node, Node]:
        return self.logcdf(value), self.logccdf(value)

    def has(self, formula: str) -> bool:
        return super().has(formula) and (
            formula != "icdf" or (self.event_rank == 0 and all(distribution_of(c).has("icdf") for c in self.comp_dists))
        )

    def draw(self, key: Node, shape: Shape) -> Node:
        batch = shape[: len(shape) - self.event_rank]
        level = draw("random_uniform", fold_in(key, 0), batch)
        bounds = cumulative("sum", self.w, -1)[..., :-1]
        chosen = reduce("sum", less(bounds, expand_dims(level, -1)), -1)
        number = self.w.static_shape[-1]
        if self._one_batch:
            event = shape[len(batch) :]
            made = drawn(self.comp_dists[0], fold_in(key, 1), (*batch, number, *event))
        else:
            made = stack(
                [drawn(c, fold_in(key, 1 + k), shape) for k, c in enumerate(self.comp_dists)], -1 - self.event_rank
            )
        return self._picked(made, chosen)

    def mean(self) -> Node:
        return self._weighted_mean(self._each(mean))

    def variance(self) -> Node:
        distance = self._each(mean) - expand_dims(self.mean(), -1 - self.event_rank)
        return self._weighted_mean(self._each(variance) + square(distance))

    def support_point(self) -> Node:
        # Between components there may be nothing.
        return self._picked(self._each(point_of), arg_reduce("max", self.w, -1))


def _mass_at(rv: Node, value: Node) -> Node:
    """Where a value has a mass, if not everywhere."""
    found = distribution_of(rv).atoms(value)
    return spread(as_tensor(False) if found is None else found, broadcast([rv.static_shape, value.static_shape], "x"))


def _components_first(rv: Node, batch_rank: int, behind: int = 0) -> Node:
    """The variable with its last batch axis, or the last but `behind`, before `batch_rank` others."""
    bound = distribution_of(rv)
    batch = batch_part(rv.static_shape, bound)
    if len(batch) <= behind:
        return rv
    *others, count = batch[: len(batch) - behind]
    values = [
        value if value.ndim <= rank + behind else _last_axis_first(value, rank + behind, batch_rank + 1)
        for value, rank in zip(bound.values, bound.event_ranks(), strict=True)
    ]
    nested = [
        [_components_first(node, batch_rank, behind + axes) for node in group]
        for axes, group in zip(bound.component_axes(), bound.components, strict=True)
    ]
    size = (count, *(1,) * (batch_rank - len(others)), *others, *batch[len(batch) - behind :])
    return bound.variable(values, None, size, bound.settings, nested)


def _last_axis_first(value: Node, event_rank: int, batch_rank: int) -> Node:
    """The last axis before those of one event moved to the front; axes of length 1 behind it fill up the batch."""
    own = value.ndim - event_rank
    return expand_dims(moveaxis(value, own - 1, 0), tuple(range(1, 1 + batch_rank - own)))


class NormalMixture(Mixture):
    """Mixture of normal distributions: sum_k w_k N(x; mu_k, sigma_k).

    w (TensorLike): Weights >= 0 that sum to 1, shape (..., K).
    mu (TensorLike, optional): Means, shape (..., K) or a number, in the unit of x.
    sigma (TensorLike, optional): Standard deviations > 0, as mu; or tau = 1 / sigma^2.
    tau (TensorLike, optional): Precision, 1 / sigma^2, in place of `sigma`.
    """

    arguments = ("w", "mu", "sigma", "tau")

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; its components are normal distributions side by side."""
        given = named_arguments(cls.title, cls.arguments, parameters, named)
        if not {"w", "mu"} <= given.keys():
            raise TypeError(f"{cls.title} needs w and mu, and may have sigma or tau; got {', '.join(given) or 'none'}.")
        return Mixture.dist(given.pop("w"), Normal.dist(**given), shape=shape, size=size)
