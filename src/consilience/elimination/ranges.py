"""Which whole numbers a discrete variable may be, given what others may be: from a least one on, to an end or not.

Variables in, ranges out. Ends that depend on other variables are bounded by the ranges of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from consilience.distributions.constraints import Whole
from consilience.distributions.densities import support_of
from consilience.distributions.parameters import known_value
from consilience.distributions.random_variable import RandomVariable
from consilience.elimination import NamedVariable
from consilience.errors import ModelError
from consilience.ir import Dim, Node, topological
from consilience.ops.shape import LengthOf, length_of
from consilience.record import Record
from consilience.rewrite.bounds import UNKNOWN, Bounds, bounds_of

# How many values are summed of a variable without end, unless more are asked for.
VALUES: Final = 32


class Range(Record):
    """Whole numbers from `least` on, `count` of them, which a length of data may be; `endless`: there are more, and
    these were chosen.
    """

    least: int
    count: Dim
    endless: bool = False


# By node of the variable; an error for those that are none of whole numbers, or not bounded below.
Ranges: TypeAlias = Mapping[Node, "Range | ModelError"]


def ranges_of(variables: Sequence[NamedVariable], values: Mapping[str, int]) -> Ranges:
    """The range of each variable, given those of the others among them.

    `values`: how many to sum of variables without end, by name.
    """
    found: dict[Node, Range | ModelError] = {}
    order = {node: place for place, node in enumerate(topological([v.node for v in variables]))}
    for variable in sorted(variables, key=lambda v: order[v.node]):
        try:
            found[variable.node] = _range(variable, found, values.get(variable.name, VALUES))
        except ModelError as error:
            found[variable.node] = error
    return found


def range_of(variable: NamedVariable) -> tuple[int, int]:
    """Smallest and greatest value; ModelError where they are not known numbers."""
    known = _range(variable, {}, 0)
    if not isinstance(known.count, int):
        raise _not_constant(variable, length_of(known.count))
    if known.endless:
        raise ModelError(f"`{variable.name}` ({variable.node.op!r}) has infinitely many values.")
    return known.least, known.least + known.count - 1


def _range(variable: NamedVariable, others: Ranges, values: int) -> Range:
    support = support_of(variable.node)
    if not isinstance(support, Whole):
        raise ModelError(
            f"`{variable.name}` ({variable.node.op!r}) is not a discrete variable of numbers; only such ones can be "
            "marginalized."
        )
    if isinstance(support.upper, Node) and isinstance(support.upper.op, LengthOf) and support.lower == 0:
        return Range(0, support.upper.op.length + 1)
    least, greatest = (_end(variable, bound, end, others) for bound, end in ((support.lower, 0), (support.upper, 1)))
    if not math.isfinite(least):
        raise ModelError(
            f"`{variable.name}` ({variable.node.op!r}) has no least value, so it cannot be summed out; only discrete "
            "variables with one can, such as Bernoulli, Categorical, Binomial, Poisson and NegativeBinomial."
        )
    if not math.isfinite(greatest):
        return Range(int(least), values, True)
    return Range(int(least), int(greatest) - int(least) + 1)


def _end(variable: NamedVariable, bound: Any, upper: int, others: Ranges) -> float:
    """The least of all lower ends, or the greatest of all upper ones."""
    known = known_value(bound) if isinstance(bound, Node) else np.asarray(bound)
    if known is not None:
        return float(np.max(known) if upper else np.min(known))
    inside = _bounds(bound, others)
    end = math.floor(inside.high) if upper and inside.high < math.inf else inside.high
    end = end if upper else (math.ceil(inside.low) if inside.low > -math.inf else inside.low)
    if not math.isfinite(end):
        raise _not_constant(variable, bound)
    return float(end)


def _not_constant(variable: NamedVariable, bound: Any) -> ModelError:
    return ModelError(
        f"`{variable.name}` ({variable.node.op!r}) is bounded by {bound!r}, which is no constant; give numbers to "
        "marginalize it, or marginalize what the bound depends on together with it; lengths that data decide are "
        "fixed by `pm.freeze_dims_and_data`."
    )


def _bounds(graph: Node, others: Ranges) -> Bounds:
    """Bounds of an expression of variables with known ranges."""
    known: dict[Node, Bounds] = {}
    for node in topological([graph], stop=lambda node: isinstance(node.op, RandomVariable)):
        own = others.get(node)
        if isinstance(own, Range) and isinstance(own.count, int):
            known[node] = Bounds(
                float(own.least), float(own.least + own.count - 1), finite=True, not_nan=True, whole=True
            )
        elif isinstance(node.op, RandomVariable):
            known[node] = UNKNOWN
        else:
            known[node] = bounds_of(node, known)
    return known[graph]
