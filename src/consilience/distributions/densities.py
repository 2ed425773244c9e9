"""What follows from the distribution of a random variable: densities, quantiles, moments, draws, checks.

A node of op `RandomVariable` in, graphs without it out. Making variables is `distribution`'s part, values of
draws are `drawing`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience.distributions.constraints import (
    Constraint,
    Counts,
    IntervalConstraint,
    Real,
    RealVector,
    Whole,
    is_infinite,
)
from consilience.distributions.mathematics import floor, greater_equal, less, less_equal, logical_and, where
from consilience.distributions.parameters import checks_parameters, first_outside, is_known, nan_outside
from consilience.distributions.random_variable import RandomVariable, batch_part, distribution_of, fresh_keys
from consilience.distributions.shapes import broadcast, spread, summed_axes, text
from consilience.errors import DtypeError, ShapeError, SupportError
from consilience.ir import FLOATS, Node, Shape, constant_value, rebuild, substitute, topological, with_regions
from consilience.ir.arithmetic import means
from consilience.ir.lengths import sources_of, with_sources
from consilience.ir.side_tables import describe, name_of, without_sources
from consilience.ops.assertion import Require
from consilience.ops.dtypes import widened
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.parameter_check import ParameterCheck
from consilience.ops.random import fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import expand_dims
from consilience.record import replace

if TYPE_CHECKING:
    from consilience.distributions.distribution import Distribution


def _checked(rv: Node, wanted: str) -> Distribution:
    """The distribution with NaN in place of parameters that are not admitted."""
    bound = distribution_of(rv, wanted)
    named = bound.by_name()
    values = [
        nan_outside(declared, value, named) if declared is not None else value
        for declared, value in zip(bound.declared(), bound.values, strict=True)
    ]
    return bound.bound(values, bound.settings, bound.components)


def _value(rv: Node, bound: Distribution, value: TensorLike) -> Node:
    node = as_tensor(value)
    if node.dtype == "key":
        raise DtypeError(f"{bound.title}: a random key is no value.")
    if node.ndim < bound.event_rank:
        raise ShapeError(f"{bound.title}: a value of rank {bound.event_rank} or more was needed, got {describe(node)}.")
    if bound.event_rank:
        _check_event(rv, bound, node)
    if rv.dtype in FLOATS and (node.dtype not in FLOATS or node.dtype == "float16"):
        return cast(node, rv.dtype)
    return cast(node, "int64" if node.dtype == "bool" else widened(node.dtype))


def _check_event(rv: Node, bound: Distribution, value: Node) -> None:
    """That a value has events of the shape that the variable has: formulas of sums take vectors of any length."""
    own, given = (node.static_shape[node.ndim - bound.event_rank :] for node in (rv, value))
    pairs = zip(own, given, strict=True)
    if any(isinstance(a, int) and isinstance(b, int) and a != b and 1 not in (a, b) for a, b in pairs):
        raise ShapeError(
            f"{bound.title}: the value ends with the shape {text(given)}, and one event has the shape {text(own)}; "
            f"got {describe(value)}."
        )


def _over_batch(result: Node, rv: Node, bound: Distribution, value: Node, value_rank: int, formula: str) -> Node:
    batch = batch_part(rv.static_shape, bound)
    shape = broadcast([batch, value.static_shape[: value.ndim - value_rank]], bound.title)
    name = name_of(rv)
    return bound.over_batch(result, shape, formula, f"{bound.title} `{name}`" if name else bound.title)


def density(rv: Node, value: TensorLike) -> Node:
    """Log density at a value known to lie in the support: one number per event, no check of the value.

    Parameters out of range give NaN or -inf.
    """
    bound = _checked(rv, "density")
    node = _value(rv, bound, value)
    return _over_batch(bound.logp(node), rv, bound, node, bound.event_rank, "logp")


def logp(rv: Node, value: TensorLike, warn_rvs: bool | None = None) -> Node:
    """Log density (or log mass) at a value, elementwise; -inf outside the support."""
    del warn_rvs
    return requiring(rv, supported_density(rv, value))


def supported_density(rv: Node, value: TensorLike) -> Node:
    """Log density at any value, -inf outside the support; parameters out of range give NaN or -inf."""
    bound = _checked(rv, "logp")
    node = _value(rv, bound, value)
    formula = _over_batch(bound.logp(node), rv, bound, node, bound.event_rank, "logp")
    support = distribution_of(rv).bound_support
    if isinstance(support, Real | RealVector):
        return formula
    inside = support.holds(node)
    summed = summed_axes(formula, inside.static_shape)
    return where(reduce("all", inside, summed) if summed else inside, formula, -np.inf)


def density_of_data(rv: Node, value: TensorLike) -> Node:
    """Log density at data: -inf outside of a support whose ends are random, as `Uniform(0, highest)` has.

    Where the ends are numbers, data outside are refused when they are given, and nothing is checked here.
    """
    outside = support_violation(rv, value)
    random = any(isinstance(node.op, RandomVariable) for node in topological([outside]))
    return supported_density(rv, value) if random and not between_whole(rv) else density(rv, value)


def logcdf(rv: Node, value: TensorLike, warn_rvs: bool | None = None) -> Node:
    """log P(X <= value), elementwise; MissingRuleError where the distribution has none. As `logp` otherwise."""
    del warn_rvs
    return requiring(rv, log_tail(rv, value, "logcdf"))


def logccdf(rv: Node, value: TensorLike, warn_rvs: bool | None = None) -> Node:
    """log P(X > value), elementwise; MissingRuleError where the distribution has none. As `logp` otherwise."""
    del warn_rvs
    return requiring(rv, log_tail(rv, value, "logccdf"))


def log_tail(rv: Node, value: TensorLike, formula: str) -> Node:
    """`logcdf` or `logccdf` at any value; parameters out of range give NaN."""
    bound = _checked(rv, formula)
    node = _value(rv, bound, value)
    support = distribution_of(rv).bound_support
    whole = isinstance(support, Whole) and node.dtype in FLOATS
    result: Node = getattr(bound, formula)(floor(node) if whole else node)
    before, beyond = (-np.inf, 0.0) if formula == "logcdf" else (0.0, -np.inf)
    if isinstance(support, IntervalConstraint | Whole):
        if node.dtype in FLOATS or not is_infinite(support.upper):
            result = where(greater_equal(node, support.upper), beyond, result)
        if not is_infinite(support.lower):
            # At the end itself formulas have slopes of 0 times infinity, unless there is a mass.
            below = less if support.discrete or bound.has_atoms() else less_equal
            result = where(below(node, support.lower), before, result)
    return _over_batch(_where_valid(rv, result), rv, bound, node, 0, formula)


def _where_valid(rv: Node, result: Node) -> Node:
    """The result where all parameters are admitted, NaN elsewhere; components look after their own."""
    if not checks_parameters():
        return result
    for _, _, valid, _ in _own_validity(distribution_of(rv)):
        result = where(valid, result, np.nan)
    return result


def icdf(rv: Node, q: TensorLike, warn_rvs: bool | None = None) -> Node:
    """The quantile of a probability q, elementwise as float; NaN for q outside [0, 1]. As `logp` otherwise."""
    del warn_rvs
    return requiring(rv, quantile(rv, q))


def quantile(rv: Node, q: TensorLike, formula: str = "icdf") -> Node:
    """As `icdf`, or by "iccdf" the value above which lies the probability q; parameters out of range give NaN."""
    bound = _checked(rv, formula)
    node = as_tensor(q)
    node = node if node.dtype in FLOATS else cast(node, "float64")
    inside = logical_and(greater_equal(node, 0.0), apply("le", node, 1.0))
    result: Node = getattr(bound, formula)(node)
    support = distribution_of(rv).bound_support
    if isinstance(support, IntervalConstraint) and not (support.discrete or bound.has_atoms()):
        # At ends that are numbers formulas have slopes of 0 times infinity.
        ends = (support.lower, support.upper) if formula == "icdf" else (support.upper, support.lower)
        for probability, end in zip((0.0, 1.0), ends, strict=True):
            if isinstance(end, float):  # which a support need not reach for all parameters
                there = logical_and(apply("eq", node, probability), apply("eq", result, end))
                result = where(there, end, result)
    result = where(inside, result, np.nan)
    return _over_batch(_where_valid(rv, result), rv, bound, node, 0, formula)


def support_point(rv: Node) -> Node:
    """A value in the support, of the variable's shape and dtype, from which sampling may start."""
    return cast(spread(distribution_of(rv, "support_point").support_point(), rv.static_shape), rv.dtype)


def mean(rv: Node) -> Node:
    """Expected value, of the variable's shape; NaN or infinite where it does not exist."""
    return spread(distribution_of(rv, "mean").mean(), rv.static_shape)


def variance(rv: Node) -> Node:
    """Variance of every element, of the variable's shape; NaN or infinite where it does not exist."""
    return spread(distribution_of(rv, "variance").variance(), rv.static_shape)


def drawn(rv: Node, key: Node | None = None, shape: Shape | None = None) -> Node:
    """The variable as a graph of random functions of its key.

    Where a parameter is out of range the draw is NaN, or -1 for whole numbers, which have no NaN.

    `key`: another key. `shape`: another shape, to which the variable's broadcasts: independent draws along every axis.
    """
    bound = distribution_of(rv, "draw")
    shape = rv.static_shape if shape is None else shape
    sample = cast(bound.draw(rv.inputs[0] if key is None else key, shape), rv.dtype)
    named = bound.by_name()
    for declared, value, rank in zip(bound.declared(), bound.values, bound.event_ranks(), strict=True):
        if declared is not None and constant_value(value) is None:
            valid = declared.constraint.bind(named).admits(value)
            for _ in range(rank - declared.event_rank):  # rows of one matrix, say, which are judged one by one
                valid = reduce("all", valid, -1)
            if bound.event_rank:
                valid = expand_dims(valid, tuple(range(valid.ndim, valid.ndim + bound.event_rank)))
            sample = where(valid, sample, np.nan if rv.dtype in FLOATS else -1)
    return spread(sample, shape)


def support_of(rv: Node) -> Constraint:
    """The support, with the parameters that bound it."""
    return distribution_of(rv, "support_of").bound_support


def undefined(node: Node, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which values of a random variable stand for no draw, as its parameters leave their range: NaN, -1 for counts."""
    if not isinstance(node.op, RandomVariable) or values.dtype.kind not in "fi":
        return np.zeros(values.shape, bool)
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values), bool)
    support = support_of(node)
    natural = isinstance(support, Whole) and isinstance(support.lower, float) and support.lower >= 0
    marked = natural or isinstance(support, Counts)
    return np.asarray(values == -1, bool) if marked else np.zeros(values.shape, bool)


def support_violation(rv: Node, value: TensorLike) -> Node:
    """Per event, whether the value lies outside the support (NaN does).

    Of a variable that takes floats in place of whole numbers, values between two of its numbers lie inside.
    """
    bound = distribution_of(rv, "support_violation")
    node, support = _value(rv, bound, value), bound.bound_support
    if between_whole(rv):
        between = logical_and(support.holds(floor(node)), support.holds(apply("ceil", node)))
        return apply("logical_not", apply("logical_or", support.holds(node), between))
    return apply("logical_not", support.holds(node))


def between_whole(rv: Node) -> bool:
    """Whether a variable of whole numbers takes other floats, too, as under `check_bounds=False`."""
    return rv.dtype in FLOATS and distribution_of(rv).bound_support.discrete


def support_error(rv: Node, name: str, value: npt.ArrayLike, outside: npt.NDArray[np.bool_]) -> SupportError:
    """The error for observed values outside the support.

    `outside`: value of `support_violation`, at least one element true.
    """
    bound = distribution_of(rv, "support_error")
    rule = bound.bound_support.rule
    return SupportError(
        f"{name}: values of {bound.title} must be {rule}, got {first_outside(np.asarray(value), np.asarray(outside))}."
    )


def support_refusal(rv: Node, name: str, value: npt.ArrayLike) -> SupportError | None:
    """The error for observed values that lie outside the support in a way that `support_violation` cannot see."""
    bound = distribution_of(rv, "support_refusal")
    reason = bound.bound_support.refusal(np.asarray(value))
    if reason is None:
        return None
    return SupportError(f"{name}: values of {bound.title} must be {bound.bound_support.rule}, but {reason}.")


def _own_validity(bound: Distribution) -> list[tuple[str, Constraint, Node, Node]]:
    """Per parameter: its name, its constraint, where it holds, and its value."""
    named = bound.by_name()
    return [
        (declared.name, declared.constraint, (own := declared.constraint.bind(named)).holds(own.settled(value)), value)
        for declared, value in zip(bound.declared(), bound.values, strict=True)
        if declared is not None
    ]


def _validity(bound: Distribution) -> list[tuple[str, Constraint, Node, Node]]:
    """As `_own_validity`, with the parameters of components."""
    found = _own_validity(bound)
    for part, group in zip(bound.component_parameters, bound.components, strict=True):
        for node in group:
            nested = _validity(distribution_of(node))
            found += [(f"{part.name}.{name}", constraint, valid, value) for name, constraint, valid, value in nested]
    return found


def requiring(rv: Node, result: Node) -> Node:
    """The result, whose computation fails for parameters out of range; constants were checked before."""
    bound = distribution_of(rv)
    for name, constraint, valid, value in _validity(bound):
        if constant_value(value) is None or not is_known(valid):
            check = ParameterCheck(bound.title, name, constraint.rule, constraint.event_rank)
            result = Node(check, result, valid, value)
    return result


def parameter_violation(rv: Node) -> list[tuple[str, Constraint, Node]]:
    """Per parameter its name, its constraint, and a bool scalar: all its values are valid."""
    return [
        (name, constraint, reduce("all", valid))
        for name, constraint, valid, _ in _validity(distribution_of(rv, "parameter_violation"))
    ]


def with_shape(rv: Node, shape: Shape) -> Node:
    """A new variable of the same distribution, of a shape to which the variable's broadcasts."""
    bound = distribution_of(rv, "with_shape")
    return bound.variable(bound.values, shape, None, bound.settings, bound.components)


def realise(outputs: Sequence[Node], keys: Mapping[Node, Node] | None = None) -> list[Node]:
    """The graph with every random variable replaced by its draw, given the draws of its parents.

    `keys`: new keys for random variables (by variable); a variable not listed keeps its own key, which is an input of
    the resulting graph.
    """
    keys = keys or {}
    made: dict[Node, Node] = {}
    with without_sources():
        for node in topological([*outputs, *sources_of(outputs)]):
            current = rebuild(node, tuple(made[operand] for operand in node.inputs))
            if isinstance(node.op, RandomVariable):
                current = drawn(_with_shapes_checked(current, node), keys.get(node))
            else:
                op = with_regions(node.op, realise)
                current = current if op is node.op else Node(op, *current.inputs)
            made[node] = current
        return with_sources([made[output] for output in outputs], made)


def _with_shapes_checked(variable: Node, written: Node) -> Node:
    """The variable, whose parameters say themselves that their lengths fit, before a formula of its draws does."""
    owed = tuple(replace(c, where=describe(written)) for c in variable.op.shape_constraints(*variable.inputs))
    if not owed:
        return variable
    key, *parameters = variable.inputs
    return Node(variable.op, key, *(Node(Require(owed), p) if p.type != key.type else p for p in parameters))


@means("realised_with")
def realised_with(outputs: Sequence[Node], key: Node | None = None, given: Sequence[Node] = ()) -> list[Node]:
    """As `realise`, with `fold_in(key, i)` in place of fresh key number i, those of variables before others.

    `given`: fresh keys that stay.
    """
    if key is None:
        return realise(outputs)
    fresh = [own for own in fresh_keys(outputs) if own not in given]
    return realise(substitute(outputs, {own: fold_in(key, i) for i, own in enumerate(fresh)}))
