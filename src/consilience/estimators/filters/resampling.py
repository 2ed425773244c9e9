"""Which particles go on, and how often: ancestors in proportion to weights, as graphs.

Logs of weights and a random key in; one ancestor for each particle out, in ascending order. Sources: R. Douc,
O. Cappe, E. Moulines (2005), "Comparison of resampling schemes for particle filtering".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from consilience.distributions.mathematics import exp, floor, where
from consilience.ir import Node
from consilience.ops.elementwise import apply, cast
from consilience.ops.order import searchsorted
from consilience.ops.random import draw
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import Iota

BELOW_ONE: Final = 1 - 2.0**-52


def places(weights: Node, shares: Node) -> Node:
    """The particles at given shares, in [0, 1), of the sum of all weights; never one of weight 0."""
    sums = cumulative("sum", weights, 0)
    ends = apply("minimum", shares, BELOW_ONE) * sums[-1]
    return apply("minimum", searchsorted(sums, ends, side="right"), len_of(weights) - 1)


def len_of(weights: Node) -> int:
    """How many particles there are."""
    (count,) = weights.static_shape
    assert isinstance(count, int)
    return count


def systematic(weights: Node, key: Node) -> Node:
    """One uniform number for shares that lie at equal distances."""
    return places(weights, (_counting(weights) + draw("random_uniform", key, ())) / len_of(weights))


def stratified(weights: Node, key: Node) -> Node:
    """A uniform share of each of equal intervals."""
    count = len_of(weights)
    return places(weights, (_counting(weights) + draw("random_uniform", key, (count,))) / count)


def multinomial(weights: Node, key: Node) -> Node:
    """Independent shares, in ascending order: partial sums of exponential times over the whole sum."""
    times = cumulative("sum", -apply("log1p", -draw("random_uniform", key, (len_of(weights) + 1,))), 0)
    return places(weights, times[:-1] / times[-1])


def residual(weights: Node, key: Node) -> Node:
    """As many copies of each particle as its weight has whole numbers of, and multinomial ones for what is left."""
    count = len_of(weights)
    expected = weights * (count / reduce("sum", weights))
    whole = floor(expected)
    copies = cumulative("sum", whole, 0)
    counted = _counting(weights)
    certain = apply("minimum", searchsorted(copies, counted, side="right"), count - 1)
    left = expected - whole
    times = cumulative("sum", -apply("log1p", -draw("random_uniform", key, (count + 1,))), 0)
    # Sums of exponential times past the certain copies are ordered shares of their own.
    before = where(apply("gt", copies[-1], 0.0), _at(times, copies[-1] - 1), 0.0)
    random = places(left, apply("maximum", (times[:-1] - before) / (times[-1] - before), 0.0))
    return where(apply("lt", counted, copies[-1]), certain, random)


def _at(values: Node, place: Node) -> Node:
    return values[apply("maximum", cast(place, "int64"), 0)]


def _counting(weights: Node) -> Node:
    return cast(Node(Iota(len_of(weights))), "float64")


SCHEMES: Final[Mapping[str, Callable[[Node, Node], Node]]] = {
    "systematic": systematic,
    "stratified": stratified,
    "residual": residual,
    "multinomial": multinomial,
}


def relative(logs: Node) -> Node:
    """Weights whose greatest is 1; where all are 0, all are 1."""
    highest = reduce("max", logs)
    return where(apply("gt", highest, -np.inf), exp(logs - highest), 1.0)


def effective_size(weights: Node) -> Node:
    """Kish's number of particles of equal weight that tell as much."""
    return reduce("sum", weights) * reduce("sum", weights) / reduce("sum", weights * weights)
