"""The op of a random variable, and what follows from its law: densities, quantiles, moments, checks.

A node of op `RandomVariable` in, graphs without it out. Making variables is `declaration`'s part, values of
draws are `drawing`'s.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from consilience.distributions.constraints import Constraint, IntervalConstraint, Real, RealVector, Whole
from consilience.distributions.law import Law
from consilience.distributions.mathematics import floor, greater_equal, less, logical_and, where
from consilience.distributions.parameters import first_outside, guarded
from consilience.distributions.shapes import batch_shape_constraints, broadcast, spread
from consilience.errors import DtypeError, MissingRuleError, ShapeError, SupportError
from consilience.ir import FLOATS, Node, Op, Shape, TensorType, constant_value, rebuild, topological
from consilience.ir.arithmetic import means
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe, name_of, without_sources
from consilience.ops.dtypes import widened
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.parameter_check import ParameterCheck
from consilience.ops.reduce import reduce
from consilience.ops.shape import expand_dims


class RandomVariable(Op):
    """A draw from a distribution; inputs are a random key, then the canonical parameters.

    The key is a fresh input per variable: it makes two variables of equal parameters two nodes. `extras` are
    settings of the distribution that are no tensors.
    """

    distribution: type[Law]
    shape: Shape
    dtype: str
    extras: Hashable = ()

    def result_type(self, *inputs: Node) -> TensorType:
        if not inputs or inputs[0].dtype != "key":
            raise DtypeError(f"a random variable needs a random key first, got {inputs[:1]!r}.")
        return TensorType(self.dtype, self.shape)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        law = self.distribution.bound(inputs[1:], self.extras)
        batch = batch_part(self.shape, law)
        return tuple(
            shape_constraint
            for value, rank in zip(inputs[1:], law.event_ranks(), strict=True)
            for shape_constraint in batch_shape_constraints(batch, value.static_shape[: value.ndim - rank])
        )

    def __repr__(self) -> str:
        return self.distribution.title


@means("is_random")
def is_random(node: Node) -> bool:
    """Whether a node is a random variable."""
    return isinstance(node.op, RandomVariable)


def variable_of(node: Node, wanted: str) -> RandomVariable:
    """The op of a random variable; MissingRuleError for any other node."""
    if not isinstance(node, Node):
        raise TypeError(f"`{wanted}` needs a random variable such as `Normal.dist(0, 1)`, got {node!r}.")
    if not isinstance(node.op, RandomVariable):
        raise MissingRuleError(
            f"`{wanted}` is known for variables of a distribution, not for {describe(node)}; "
            "give the variable itself, or a `CustomDist` with its own `logp`."
        )
    return node.op


def law_of(rv: Node, wanted: str = "law_of") -> Law:
    """The law of a random variable, bound to its parameters."""
    op = variable_of(rv, wanted)
    return op.distribution.bound(rv.inputs[1:], op.extras)


def _checked_law(rv: Node, wanted: str) -> Law:
    """The law with NaN in place of parameters that are not admitted."""
    op = variable_of(rv, wanted)
    law = op.distribution.bound(rv.inputs[1:], op.extras)
    named = law.by_name()
    values = [
        guarded(declared, value, named) if declared is not None else value
        for declared, value in zip(law.declared(), rv.inputs[1:], strict=True)
    ]
    return op.distribution.bound(values, op.extras)


def batch_part(shape: Shape, law: Law) -> Shape:
    """The leading axes of a shape, before those of one event."""
    return shape[: len(shape) - law.event_rank]


def _value(rv: Node, law: Law, value: TensorLike) -> Node:
    node = as_tensor(value)
    if node.dtype == "key":
        raise DtypeError(f"{law.title}: a random key is no value.")
    if node.ndim < law.event_rank:
        raise ShapeError(f"{law.title}: a value of rank {law.event_rank} or more was needed, got {describe(node)}.")
    if rv.dtype in FLOATS and (node.dtype not in FLOATS or node.dtype == "float16"):
        return cast(node, rv.dtype)
    return cast(node, "int64" if node.dtype == "bool" else widened(node.dtype))


def _over_batch(result: Node, rv: Node, law: Law, value: Node, value_rank: int, formula: str) -> Node:
    batch = batch_part(rv.static_shape, law)
    shape = broadcast([batch, value.static_shape[: value.ndim - value_rank]], law.title)
    name = name_of(rv)
    return law.over_batch(result, shape, formula, f"{law.title} `{name}`" if name else law.title)


def density(rv: Node, value: TensorLike) -> Node:
    """Log density at a value known to lie in the support: one number per event, no check of the value.

    Parameters out of range give NaN or -inf.
    """
    law = _checked_law(rv, "density")
    node = _value(rv, law, value)
    return _over_batch(law.logp(node), rv, law, node, law.event_rank, "logp")


def logp(rv: Node, value: TensorLike, warn_rvs: bool | None = None) -> Node:
    """Log density (or log mass) at a value, elementwise; -inf outside the support.

    rv         a random variable; batch shapes of variable and value broadcast
    warn_rvs   of no effect, for PyMC's sake
    returns    one number per event: vectors of a multivariate distribution count as one. To compute it raises
               ParameterError where a parameter is out of range
    """
    del warn_rvs
    return _requiring(rv, supported_density(rv, value))


def supported_density(rv: Node, value: TensorLike) -> Node:
    """Log density at any value, -inf outside the support; parameters out of range give NaN or -inf."""
    law = _checked_law(rv, "logp")
    node = _value(rv, law, value)
    formula = _over_batch(law.logp(node), rv, law, node, law.event_rank, "logp")
    support = law_of(rv).bound_support
    if isinstance(support, Real | RealVector):
        return formula
    inside = support.holds(node)
    if formula.ndim == 0 and inside.ndim:  # one number for the whole variable
        inside = reduce("all", inside)
    return where(inside, formula, -np.inf)


def logcdf(rv: Node, value: TensorLike, warn_rvs: bool | None = None) -> Node:
    """log P(X <= value), elementwise; MissingRuleError where the distribution has none. As `logp` otherwise."""
    del warn_rvs
    law = _checked_law(rv, "logcdf")
    node = _value(rv, law, value)
    support = law_of(rv).bound_support
    if isinstance(support, Whole) and node.dtype in FLOATS:
        node = floor(node)
    result = law.logcdf(node)
    if isinstance(support, IntervalConstraint | Whole):
        if _is_float(node) or not _infinite(support.upper):
            result = where(greater_equal(node, support.upper), 0.0, result)
        if not _infinite(support.lower):
            result = where(less(node, support.lower), -np.inf, result)
    return _requiring(rv, _over_batch(_where_valid(rv, result), rv, law, node, 0, "logcdf"))


def _is_float(node: Node) -> bool:
    return node.dtype in FLOATS


def _infinite(bound: object) -> bool:
    return isinstance(bound, float) and np.isinf(bound).item()


def _where_valid(rv: Node, result: Node) -> Node:
    """The result where all parameters are admitted, NaN elsewhere."""
    for _, _, valid in _validity(rv):
        result = where(valid, result, np.nan)
    return result


def icdf(rv: Node, q: TensorLike, warn_rvs: bool | None = None) -> Node:
    """The quantile of a probability q, elementwise as float; NaN for q outside [0, 1]. As `logp` otherwise."""
    del warn_rvs
    law = _checked_law(rv, "icdf")
    node = as_tensor(q)
    node = node if node.dtype in FLOATS else cast(node, "float64")
    inside = logical_and(greater_equal(node, 0.0), apply("le", node, 1.0))
    result = where(inside, law.icdf(node), np.nan)
    return _requiring(rv, _over_batch(_where_valid(rv, result), rv, law, node, 0, "icdf"))


def support_point(rv: Node) -> Node:
    """A value in the support, of the variable's shape and dtype, from which sampling may start."""
    return cast(spread(law_of(rv, "support_point").support_point(), rv.static_shape), rv.dtype)


def mean(rv: Node) -> Node:
    """Expected value, of the variable's shape; NaN or infinite where it does not exist."""
    return spread(law_of(rv, "mean").mean(), rv.static_shape)


def variance(rv: Node) -> Node:
    """Variance of every element, of the variable's shape; NaN or infinite where it does not exist."""
    return spread(law_of(rv, "variance").variance(), rv.static_shape)


def drawn(rv: Node, key: Node | None = None) -> Node:
    """The variable as a graph of random functions of its key (or of another key).

    Where a parameter is out of range the draw is NaN, or -1 for whole numbers, which have no NaN.
    """
    law = law_of(rv, "draw")
    sample = cast(law.draw(rv.inputs[0] if key is None else key, rv.static_shape), rv.dtype)
    named = law.by_name()
    for declared, value in zip(law.declared(), rv.inputs[1:], strict=True):
        if declared is not None and constant_value(value) is None:
            valid = declared.constraint.bind(named).admits(value)
            if law.event_rank:
                valid = expand_dims(valid, tuple(range(valid.ndim, valid.ndim + law.event_rank)))
            sample = where(valid, sample, np.nan if rv.dtype in FLOATS else -1)
    return spread(sample, rv.static_shape)


def support_of(rv: Node) -> Constraint:
    """The support, with the parameters that bound it."""
    return law_of(rv, "support_of").bound_support


def support_violation(rv: Node, value: TensorLike) -> Node:
    """Per event, whether the value lies outside the support (NaN does)."""
    law = law_of(rv, "support_violation")
    return apply("logical_not", law.bound_support.holds(_value(rv, law, value)))


def support_error(rv: Node, name: str, value: npt.ArrayLike, outside: npt.NDArray[np.bool_]) -> SupportError:
    """The error for observed values outside the support.

    outside   value of `support_violation`, at least one element true
    """
    op = variable_of(rv, "support_error")
    rule = support_of(rv).rule
    return SupportError(
        f"{name}: values of {op.distribution.title} must be {rule}, "
        f"got {first_outside(np.asarray(value), np.asarray(outside))}."
    )


def _validity(rv: Node) -> list[tuple[str, Constraint, Node]]:
    law = law_of(rv, "parameter_violation")
    named = law.by_name()
    found = []
    for declared, value in zip(law.declared(), rv.inputs[1:], strict=True):
        if declared is not None:
            valid = declared.constraint.bind(named).holds(value)
            found.append((declared.name, declared.constraint, valid))
    return found


def _requiring(rv: Node, result: Node) -> Node:
    """The result, whose computation fails for parameters out of range; constants were checked before."""
    title = variable_of(rv, "logp").distribution.title
    named = law_of(rv).by_name()
    for name, constraint, valid in _validity(rv):
        if constant_value(named[name]) is None:
            result = Node(
                ParameterCheck(title, name, constraint.rule, constraint.event_rank), result, valid, named[name]
            )
    return result


def parameter_violation(rv: Node) -> list[tuple[str, Constraint, Node]]:
    """Per parameter its name, its constraint, and a bool scalar: all its values are valid."""
    return [(name, constraint, reduce("all", valid)) for name, constraint, valid in _validity(rv)]


def random_variables(outputs: Sequence[Node]) -> list[Node]:
    """The random variables on which a graph depends, parents first."""
    return [node for node in topological(outputs) if isinstance(node.op, RandomVariable)]


def realise(outputs: Sequence[Node], keys: Mapping[Node, Node] | None = None) -> list[Node]:
    """The graph with every random variable replaced by its draw, given the draws of its parents.

    keys      new keys for random variables (by variable); a variable not listed keeps its own key, which is
              an input of the resulting graph
    """
    keys = keys or {}
    made: dict[Node, Node] = {}
    with without_sources():
        for node in topological(outputs):
            current = rebuild(node, tuple(made[operand] for operand in node.inputs))
            if isinstance(node.op, RandomVariable):
                current = drawn(current, keys.get(node))
            made[node] = current
    return [made[output] for output in outputs]
