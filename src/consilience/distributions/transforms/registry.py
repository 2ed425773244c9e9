"""Which bijection maps a support to unconstrained space: one row per kind of constraint."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from consilience.distributions import constraints, matrix_constraints, transforms
from consilience.distributions.constraints import Bound, Constraint
from consilience.distributions.context import DEFAULT
from consilience.distributions.random_variable import batch_part, distribution_of
from consilience.distributions.transforms.elementwise import (
    ExtremeValueLogarithm,
    Interval,
    LogExpM1OfRate,
    PartialInterval,
    circular,
    log_odds,
    log_transform,
)
from consilience.distributions.transforms.transform import Transform, chain, of_variable
from consilience.errors import MissingRuleError
from consilience.ir import Node, constant, constant_value

BIJECTIONS: dict[type[Constraint], Callable[[Any], Transform | None]] = {
    constraints.CholeskyFactor: lambda of: chain(transforms.lower_triangular, transforms.cholesky_cov_packed),
    constraints.CircleConstraint: lambda of: circular,
    constraints.ExtremeValues: lambda of: ExtremeValueLogarithm(of.location, of.scale, of.shape),
    constraints.OrderedConstraint: lambda of: transforms.ordered,
    constraints.PositiveDefinite: lambda of: transforms.cholesky_cov,
    constraints.PositiveVector: lambda of: log_transform,
    constraints.Real: lambda of: None,
    constraints.RealVector: lambda of: None,
    constraints.RealMatrix: lambda of: None,
    constraints.MatrixWithGaps: lambda of: None,
    constraints.SimplexConstraint: lambda of: transforms.simplex,
    constraints.UnitVectorConstraint: lambda of: transforms.unit_vector,
    constraints.ZeroSumConstraint: lambda of: transforms.ZeroSumTransform(range(-of.axes, 0)),
    matrix_constraints.CorrelationFactor: lambda of: transforms.cholesky_corr,
    matrix_constraints.CorrelationMatrix: lambda of: chain(transforms.correlation_cholesky, transforms.cholesky_corr),
    matrix_constraints.PackedCholeskyFactor: lambda of: transforms.cholesky_cov_packed,
}

# Where samplers move along other coordinates than the table's, which are PyMC's: those of better geometry.
FOR_SAMPLERS: dict[type[Constraint], Callable[[Any], Transform]] = {
    constraints.SmallShape: lambda of: LogExpM1OfRate(of.rate, of.reciprocal),
    matrix_constraints.CorrelationFactor: lambda of: transforms.correlation_partials,
    matrix_constraints.CorrelationMatrix: lambda of: chain(
        transforms.correlation_cholesky, transforms.correlation_partials
    ),
    matrix_constraints.PackedCholeskyFactor: lambda of: transforms.covariance_partial,
}


def to_unconstrained(constraint: Constraint) -> Transform | None:
    """The bijection for a constraint; None where nothing is to be done (real or discrete).

    constraint: Set whose map to the line is wanted.
    Returns (Transform or None): None where nothing is to be done.
    Raises MissingRuleError: For a kind of constraint without a row in BIJECTIONS.
    See default_transform: That of a variable.
    >>> import consilience as pm
    >>> import consilience.distributions.transforms as tr
    >>> type(tr.to_unconstrained(pm.Exponential.support)).__name__
    'Log'
    """
    if constraint.discrete:
        return None
    row = BIJECTIONS.get(type(constraint))
    if row is None:
        raise MissingRuleError(
            f"there is no transform for values that are {constraint.rule}; "
            f"add a row for {type(constraint).__name__} to BIJECTIONS, or give `transform=`."
        )
    return row(constraint)


# Distributions of which more than the support tells the map: a function of the variable, None where the support does.
OF_DISTRIBUTIONS: dict[type[Any], Callable[[Node], Callable[[], Transform | None] | None]] = {}


def default_transform(rv: Node) -> Transform | None:
    """The map of a random variable that its value variable tells of, PyMC's; its bounds are nodes of its parameters.

    rv : ...
    Returns (Transform or None): None for variables that need none.
    See support_of: The values that a variable can have, which the transform maps to the real line.
    >>> import consilience as pm
    >>> import consilience.distributions.transforms as tr
    >>> type(tr.default_transform(pm.Exponential.dist(1.0))).__name__
    'Log'
    """
    bound = distribution_of(rv, "default_transform")
    own = _registered(rv)
    return to_unconstrained(bound.mapped_support) if own is None else own()


def _registered(rv: Node) -> Callable[[], Transform | None] | None:
    find = OF_DISTRIBUTIONS.get(type(distribution_of(rv)))
    return None if find is None else find(rv)


def sampled_transform(rv: Node) -> Transform | None:
    """The map along whose coordinates samplers move a random variable unless the user asks for another.

    rv : ...
    Returns (Transform or None): None for variables that need none.
    See default_transform: The one of value variables.
    >>> import consilience as pm
    >>> import consilience.distributions.transforms as tr
    >>> type(tr.sampled_transform(pm.Exponential.dist(1.0))).__name__
    'Log'
    """
    support = distribution_of(rv, "sampled_transform").sampled_support
    own = _registered(rv)
    if own is not None:
        return own()
    row = FOR_SAMPLERS.get(type(support))
    return to_unconstrained(support) if row is None else row(support)


def inputs_of(node: Node) -> tuple[Node | None, ...]:
    """Generator, size where it is known, and parameters of a variable, as PyMC's transforms take them."""
    size = [length for length in batch_part(node.static_shape, distribution_of(node)) if isinstance(length, int)]
    known = constant(np.array(size, int)) if len(size) == node.ndim - distribution_of(node).event_rank else None
    return (node.inputs[0], known, *node.inputs[1:])


def requested_transform(node: Node, given: Any, default: Any) -> Any:
    """What the model gets: DEFAULT, None, or the transform that the user's arguments mean."""
    if default is DEFAULT and (given is DEFAULT or given is None):
        return given
    inputs = inputs_of(node)
    given = given if given is DEFAULT or given is None else of_variable(given, inputs)
    base = default_transform(node) if default is DEFAULT else default
    base = base if base is None else of_variable(base, inputs)
    if given is DEFAULT or given is None:
        return base if given is DEFAULT else None
    return given if base is None else chain(base, given)


def _interval(of: constraints.IntervalConstraint) -> Transform | None:
    lower, upper = _end(of.lower), _end(of.upper)
    if lower is None and upper is None:
        return None
    if _partly_infinite(lower) or _partly_infinite(upper):
        return PartialInterval(-math.inf if lower is None else lower, math.inf if upper is None else upper)
    # Bounds that are parameters give an interval, whatever their values, and so a name that does not depend on them.
    if lower == 0.0 and upper is None:
        return log_transform
    return log_odds if lower == 0.0 and upper == 1.0 else Interval(lower, upper)


def _end(bound: Bound) -> float | Node | None:
    if isinstance(bound, str):
        raise TypeError(f"the bound `{bound}` names a parameter; bind the constraint first.")
    return None if isinstance(bound, float) and math.isinf(bound) else bound


def _partly_infinite(bound: float | Node | None) -> bool:
    known = constant_value(bound) if isinstance(bound, Node) else None
    return known is not None and bool(np.isinf(known).any())


BIJECTIONS[constraints.IntervalConstraint] = _interval
