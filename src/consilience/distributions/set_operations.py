"""Sets made of sets: what contains several supports, and what two of them share.

Constraints in, one constraint out. A bound that is known stays a number, so that the usual bijections are found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from consilience.distributions.constraints import (
    Bound,
    Constraint,
    Counts,
    IntervalConstraint,
    Whole,
    is_infinite,
    real,
    real_vector,
)
from consilience.distributions.mathematics import maximum, minimum
from consilience.errors import ParameterError
from consilience.ir import Node, constant_value
from consilience.ops.elementwise import as_tensor
from consilience.ops.reduce import reduce


def hull(title: str, sets: Sequence[Constraint], over_last_axis: bool = False) -> Constraint:
    """The least interval, of real or of whole numbers, that contains all sets; sets of vectors must be equal.

    `title`: of whom a ParameterError speaks. `over_last_axis`: bounds that are tensors have an axis of sets, the last
    one.
    """
    if not any(s.event_rank for s in sets):
        lower, upper, ends = _joined([_interval(s) for s in sets], over_last_axis)
        if sets[0].discrete:
            return Whole(lower, upper)
        return real if is_infinite(lower) and is_infinite(upper) else IntervalConstraint(lower, upper, *ends)
    counts = [s for s in sets if isinstance(s, Counts)]
    if len(counts) == len(sets):
        totals = {known_bound(s.total) if isinstance(s.total, Node) else s.total for s in counts}
        # Totals of components side by side are tensors; each component sees to its own.
        one = len(totals) == 1 and not (over_last_axis and isinstance(next(iter(totals)), Node))
        return Counts(totals.pop() if one else None)
    if all(s == sets[0] for s in sets):
        return sets[0]
    if all(s.event_rank == 1 and not s.discrete for s in sets):
        return real_vector
    rules = "; ".join(dict.fromkeys(s.rule for s in sets))
    raise ParameterError(f"{title}: components of vectors and matrices need one support, got: {rules}.")


def within(support: Constraint, lower: Node, upper: Node) -> Constraint:
    """The part of a set of numbers between two bounds, which belong to it."""
    own = _interval(support)
    bottom, top = _greatest(own.lower, known_bound(lower)), _least(own.upper, known_bound(upper))
    if support.discrete:
        return Whole(bottom, top)
    if is_infinite(bottom) and is_infinite(top):
        return real
    return IntervalConstraint(
        bottom, top, own.lower_included or bottom is not own.lower, own.upper_included or top is not own.upper
    )


def known_bound(bound: Node) -> Bound:
    """The number that a tensor is everywhere, if it is known; else the tensor."""
    known = constant_value(bound)
    if known is None or not known.size or not bool(np.all(known == known.flat[0])):
        return bound
    return float(known.flat[0])


def of_parameters(lower: Bound, upper: Bound) -> IntervalConstraint:
    """An interval whose finite ends are tensors, as parameters are, also where their numbers are known."""
    lower, upper = (known_bound(end) if isinstance(end, Node) else end for end in (lower, upper))
    low, high = (end if is_infinite(end) else as_tensor(end) for end in (lower, upper))
    return IntervalConstraint(low, high)


def ends(support: Constraint) -> tuple[Bound, Bound]:
    """Between which numbers a set lies; infinite for a set of no interval."""
    interval = _interval(support)
    lower, upper = (known_bound(e) if isinstance(e, Node) else e for e in (interval.lower, interval.upper))
    return lower, upper


def _interval(support: Constraint) -> IntervalConstraint:
    """The bounds of a set of numbers; infinite for a set of another kind."""
    if isinstance(support, Whole):
        return IntervalConstraint(support.lower, support.upper)
    return support if isinstance(support, IntervalConstraint) else IntervalConstraint()


def _joined(sets: Sequence[IntervalConstraint], over_last_axis: bool) -> tuple[Bound, Bound, tuple[bool, bool]]:
    """The bounds of a hull, and which of them belong to it: those that belong to one of the sets."""
    lower, upper = sets[0].lower, sets[0].upper
    for other in sets[1:]:
        lower, upper = _least(lower, other.lower), _greatest(upper, other.upper)
    if over_last_axis:
        lower, upper = _over_last_axis("min", lower), _over_last_axis("max", upper)
    return lower, upper, (any(s.lower_included for s in sets), any(s.upper_included for s in sets))


def _over_last_axis(kind: str, bound: Bound) -> Bound:
    if not isinstance(bound, Node):
        return bound
    number = known_bound(bound)
    return reduce(kind, bound, -1) if isinstance(number, Node) and bound.ndim else number


def _least(a: Bound, b: Bound) -> Bound:
    return _extreme(a, b, -math.inf, math.inf)


def _greatest(a: Bound, b: Bound) -> Bound:
    return _extreme(a, b, math.inf, -math.inf)


def _extreme(a: Bound, b: Bound, strongest: float, weakest: float) -> Bound:
    """The lesser bound if -inf is the strongest, the greater one if inf is."""
    a, b = (known_bound(x) if isinstance(x, Node) else x for x in (a, b))
    assert not isinstance(a, str)
    assert not isinstance(b, str)
    if a is b or strongest in (a, b):
        return a if a is b else strongest
    if weakest in (a, b):
        return b if a == weakest else a
    if isinstance(a, Node) or isinstance(b, Node):
        return (minimum if strongest < 0 else maximum)(a, b)
    return min(a, b) if strongest < 0 else max(a, b)
