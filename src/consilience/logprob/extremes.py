"""Maximum and minimum of independent random numbers: products of distribution functions, or of survival functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from consilience.distributions.mathematics import equal, exp, expm1, greater, log, log1mexp, minimum, where
from consilience.distributions.random_variable import RandomVariable, distribution_of
from consilience.distributions.tails import log_difference
from consilience.ir import Node
from consilience.ir.dimension import product
from consilience.logprob.derivation import derive, independent, is_measurable, not_repeated, rule
from consilience.logprob.measure import Ends, Measure, Sources
from consilience.logprob.truth import TruthValue
from consilience.ops.elementwise import Elementwise, apply, as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.reduce import Reduce, reduce
from consilience.ops.shape import expand_dims, length_of

# A formula of each of the numbers, at one value for all.
Formula: TypeAlias = Callable[[Measure, Node], Node]


class Group:
    """Independent numbers; `axes` are those of the measure that the result does not have."""

    def __init__(self, measure: Measure, axes: tuple[int, ...] = ()) -> None:
        self.measure = measure
        self.axes = tuple(axis - len(measure.shape) for axis in axes)
        self.count: Node | None = None
        if axes and identical(measure.node, self.axes):
            length = product(tuple(measure.shape[axis] for axis in axes))
            place = tuple(0 if i in axes else slice(None) for i in range(len(measure.shape)))
            self.count = cast(length_of(length), "float64")
            self.measure = derive(getitem(measure.node, place))

    def _of(self, formula: Formula, value: Node) -> Node:
        return formula(self.measure, self._stretched(value))

    def _stretched(self, value: Node) -> Node:
        if self.count is not None or not self.axes:
            return value
        rank = len(self.measure.shape) - len(self.axes)
        padded = expand_dims(value, tuple(range(rank - value.ndim))) if value.ndim < rank else value
        return expand_dims(padded, self.axes)

    def atoms(self, value: Node) -> Node | None:
        """Where a value is an atom of one of the numbers."""
        stretched = self._stretched(value)
        found = self.measure.has_mass(stretched)
        over_axes = self.axes and self.count is None and found is not None and found.ndim
        return reduce("any", found, self.axes) if over_axes and found is not None else found

    def snapped(self, value: Node, error: Node) -> Node:
        """An atom of one of the numbers in place of a value near it."""
        stretched = self._stretched(value)
        moved = self.measure.snapped(stretched, self._stretched(error))
        if moved is stretched:
            return value
        if self.count is not None or not self.axes:
            return moved
        nearest = reduce("max", where(equal(moved, stretched), -math.inf, moved), self.axes)
        return where(equal(nearest, -math.inf), value, nearest)

    def sum(self, formula: Formula, value: Node) -> Node:
        """Sum over the numbers."""
        terms = self._of(formula, value)
        if self.count is not None:
            # No number to the power of 0 is needed: a group has an element.
            return self.count * terms
        return reduce("sum", terms, self.axes) if self.axes else terms

    def log_sum(self, formula: Formula, value: Node) -> Node:
        """Logarithm of the sum of exponentials over the numbers."""
        terms = self._of(formula, value)
        if self.count is not None:
            return log(self.count) + terms
        return reduce("logsumexp", terms, self.axes) if self.axes else terms


def identical(node: Node, axes: tuple[int, ...]) -> bool:
    """Whether the elements along axes, counted from the end, have the same distribution."""
    if isinstance(node.op, RandomVariable):
        bound = distribution_of(node)
        if bound.event_rank or bound.components or bound.declared() == (None,) * len(bound.values):
            return False
        parameters = zip(bound.values, bound.event_ranks(), strict=True)
        return all(_same_along(v.static_shape[: v.ndim - rank], axes) for v, rank in parameters)
    if not isinstance(node.op, Elementwise):
        return False
    return all(
        identical(operand, axes) if is_measurable(operand) else _same_along(operand.static_shape, axes)
        for operand in node.inputs
    )


def _same_along(shape: tuple[object, ...], axes: tuple[int, ...]) -> bool:
    return all(len(shape) < -axis or shape[axis] == 1 for axis in axes)


class Extreme(Measure):
    """The greatest, or the least, of independent numbers."""

    def __init__(self, node: Node, groups: list[Group], sources: Sources, greatest: bool) -> None:
        super().__init__(
            node,
            sources,
            discrete=all(group.measure.discrete for group in groups),
            atomic=any(group.measure.atomic for group in groups),
            ends=groups[0].measure.ends if len(groups) == 1 and groups[0].count is not None else _ends(groups),
        )
        self.groups, self.greatest = groups, greatest

    def _sum(self, formula: Formula, value: Node) -> Node:
        total = self.groups[0].sum(formula, value)
        for group in self.groups[1:]:
            total = total + group.sum(formula, value)
        return total

    def _log_sum(self, formula: Formula, value: Node) -> Node:
        total = self.groups[0].log_sum(formula, value)
        for group in self.groups[1:]:
            total = apply("logaddexp", total, group.log_sum(formula, value))
        return total

    def _log_any(self, tail: Formula, value: Node) -> Node:
        """Logarithm of the probability that one number or more lies in a tail."""
        none = self._sum(_logccdf if tail is _logcdf else _logcdf, value)
        # Where the tails are as small as this, that two numbers lie there counts for nothing.
        small = greater(none, -1e-17)
        return where(small, self._log_sum(tail, value), log1mexp(where(small, -1.0, minimum(none, 0.0))))

    def logp(self, value: Node) -> Node:
        atoms = self.atoms(value)
        mass = None if atoms is None else self._mass(value)
        if mass is not None and self.discrete:
            return mass
        density = self._density(value)
        return density if atoms is None or mass is None else where(atoms, mass, density)

    def _mass(self, value: Node) -> Node:
        if self.greatest:
            return log_difference(self._sum(_logcdf, value), self._sum(_log_below, value))
        return log_difference(self._sum(_log_from, value), self._sum(_logccdf, value))

    def _density(self, value: Node) -> Node:
        tail = _logcdf if self.greatest else _logccdf

        def hazard(measure: Measure, at: Node) -> Node:
            reached = tail(measure, at)
            nothing = equal(reached, -math.inf)
            return where(nothing, -math.inf, measure.logp(at) - where(nothing, 0.0, reached))

        total = self._log_sum(hazard, value)
        beyond = equal(total, -math.inf)
        return where(beyond, -math.inf, self._sum(tail, value) + where(beyond, 0.0, total))

    def logcdf(self, value: Node) -> Node:
        if self.greatest:
            return self._sum(_logcdf, value)
        return self._log_any(_logcdf, value)

    def logccdf(self, value: Node) -> Node:
        if self.greatest:
            return self._log_any(_logccdf, value)
        return self._sum(_logccdf, value)

    def quantile(self, q: Node) -> Node:
        (group, *others) = self.groups
        if others or group.count is None:
            self.missing("icdf")
        if self.greatest:
            return group.measure.quantile(exp(log(q) / group.count))
        return group.measure.quantile(-expm1(apply("log1p", -q) / group.count))

    def snapped(self, value: Node, error: Node) -> Node:
        for group in self.groups:
            value = group.snapped(value, error)
        return value

    def atoms(self, value: Node) -> Node | None:
        if self.discrete:
            return super().atoms(value)
        found = None
        for group in self.groups:
            inner = group.atoms(value)
            if inner is not None:
                found = inner if found is None else apply("logical_or", found, inner)
        return found


def _ends(groups: list[Group]) -> Ends:
    first = groups[0].measure.ends
    known = all(group.measure.ends == first and not any(isinstance(e, Node) for e in first) for group in groups)
    return first if known else (-math.inf, math.inf)


def _logcdf(measure: Measure, value: Node) -> Node:
    return measure.logcdf(value)


def _logccdf(measure: Measure, value: Node) -> Node:
    return measure.logccdf(value)


def _log_below(measure: Measure, value: Node) -> Node:
    return measure.log_below(value)


def _log_from(measure: Measure, value: Node) -> Node:
    return measure.log_from(value)


@rule(Reduce)
def reduced(node: Node) -> Measure | None:
    """Reductions `max` and `min`, and `any` and `all` of truth values."""
    assert isinstance(node.op, Reduce)
    if node.op.kind not in ("max", "min", "any", "all"):
        return None
    argument = derive(node.inputs[0])
    if argument.event_axes:
        return None
    group = Group(argument, node.op.axes)
    extreme = Extreme(node, [group], argument.sources, node.op.kind in ("max", "any"))
    return _truth(node, extreme) if node.dtype == "bool" else extreme


def _truth(node: Node, measure: Measure) -> TruthValue:
    return TruthValue(node, measure.sources, measure.logp(as_tensor(1)), measure.logp(as_tensor(0)))


@rule("maximum", "minimum")
def of_two(node: Node) -> Measure | None:
    """The greater or the lesser of two independent random numbers."""
    assert isinstance(node.op, Elementwise)
    if not all(is_measurable(operand) and not_repeated(node, operand) for operand in node.inputs):
        return None
    parts = [derive(operand) for operand in node.inputs]
    if any(part.event_axes for part in parts):
        return None
    sources = independent(node, [part.sources for part in parts])
    return Extreme(node, [Group(part) for part in parts], sources, node.op.function == "maximum")
