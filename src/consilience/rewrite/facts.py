"""What is known of values before they exist: signs, bounds, finiteness, structure of matrices and indices.

A node in, three-valued answers out (True, False, None for unknown). Facts speak of exact arithmetic on
the inputs: rounding, overflow and underflow are left aside, NaN and infinity in the inputs are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from consilience.errors import GraphError
from consilience.ir import Node, TensorType, constant_value, topological
from consilience.ops import Assume
from consilience.record import replace
from consilience.rewrite.bounds import UNKNOWN, Bounds, bounds_of
from consilience.rewrite.structure import STRUCTURES, assumed_structures, has_structure

_BOUNDS: dict[str, Callable[[Bounds], Bounds]] = {
    "positive": lambda b: replace(b, low=max(b.low, 0.0), nonzero=True, not_nan=True),
    "non_negative": lambda b: replace(b, low=max(b.low, 0.0), not_nan=True),
    "negative": lambda b: replace(b, high=min(b.high, 0.0), nonzero=True, not_nan=True),
    "non_positive": lambda b: replace(b, high=min(b.high, 0.0), not_nan=True),
    "nonzero": lambda b: replace(b, nonzero=True),
    "finite": lambda b: replace(b, finite=True, not_nan=True),
    "not_nan": lambda b: replace(b, not_nan=True),
    "whole": lambda b: replace(b, whole=True),
    "probability": lambda b: replace(b, low=max(b.low, 0.0), high=min(b.high, 1.0), finite=True, not_nan=True),
}

_LIMITS: dict[str, Callable[[Bounds, float], Bounds]] = {
    "at_least": lambda b, limit: replace(b, low=max(b.low, limit)),
    "at_most": lambda b, limit: replace(b, high=min(b.high, limit)),
}


def assume(x: Node, **facts: bool | float) -> Node:
    """The value with facts about it that rewriting may rely on, wherever this result is used.

    Scalar facts: positive, non_negative, negative, non_positive, nonzero, finite, not_nan, whole,
    probability (between 0 and 1); at_least and at_most take a number. Matrix facts: lower, upper,
    diagonal, symmetric, positive_definite, positive_semidefinite, positive_diagonal, orthogonal. Index facts: unique,
    increasing. A false assertion gives wrong results.
    """
    if isinstance(x.op, Assume):
        facts = {**dict(x.op.facts), **facts}
        (x,) = x.inputs
    for name, holds in facts.items():
        if name in _LIMITS:
            float(holds)
        elif holds is not True:
            raise GraphError(f"only what holds can be assumed; leave `{name}` out instead of giving {holds!r}.")
        elif name not in _BOUNDS and name not in STRUCTURES:
            raise GraphError(f"`{name}` is no fact; known are {', '.join((*_BOUNDS, *_LIMITS, *STRUCTURES))}.")
    return Node(Assume(tuple(sorted(facts.items()))), x) if facts and constant_value(x) is None else x


def _assumed_bounds(op: Assume) -> Bounds:
    found = UNKNOWN
    for name, value in op.facts:
        if name in _LIMITS:
            found = _LIMITS[name](found, float(value))
        elif name in _BOUNDS:
            found = _BOUNDS[name](found)
    return found


class Facts:
    """Answers about nodes, computed on first question and kept for one run of rewriting.

    `open_nodes`: sums and products with a single reader of their kind, which takes them apart. `shared_nodes`: sums and
    products that are read more than once and stay whole.
    """

    def __init__(self) -> None:
        self.open_nodes: set[Node] = set()
        self.shared_nodes: set[Node] = set()
        self._bounds: dict[Node, Bounds] = {}
        self._structures: dict[tuple[Node, str], float] = {}

    def bounds(self, x: Node) -> Bounds:
        """Bounds, finiteness and integrality of every element of x."""
        known = self._bounds.get(x)
        if known is not None:
            return known
        for node in topological([x], stop=self._bounds.__contains__):
            if node in self._bounds:
                continue
            found = UNKNOWN
            if isinstance(node.type, TensorType):
                found = bounds_of(node, self._bounds)
            self._bounds[node] = found.and_also(_assumed_bounds(node.op)) if isinstance(node.op, Assume) else found
        return self._bounds[x]

    def same(self, new: Node, old: Node) -> None:
        """`new` stands for `old` in this run: it has the same bounds."""
        self._bounds[new] = self.bounds(old)

    def positive(self, x: Node) -> bool | None:
        """x > 0 wherever x is not NaN."""
        b = self.bounds(x)
        return True if b.low > 0 or (b.low == 0 and b.nonzero) else False if b.high <= 0 else None

    def non_negative(self, x: Node) -> bool | None:
        """x >= 0 wherever x is not NaN."""
        b = self.bounds(x)
        return True if b.low >= 0 else False if b.high < 0 or (b.high == 0 and b.nonzero) else None

    def negative(self, x: Node) -> bool | None:
        """x < 0 wherever x is not NaN."""
        b = self.bounds(x)
        return True if b.high < 0 or (b.high == 0 and b.nonzero) else False if b.low >= 0 else None

    def non_positive(self, x: Node) -> bool | None:
        """x <= 0 wherever x is not NaN."""
        b = self.bounds(x)
        return True if b.high <= 0 else False if b.low > 0 or (b.low == 0 and b.nonzero) else None

    def nonzero(self, x: Node) -> bool | None:
        """x is never 0."""
        b = self.bounds(x)
        return True if b.nonzero or b.low > 0 or b.high < 0 else False if b.low == b.high == 0 else None

    def minus_zero(self, x: Node) -> bool | None:
        """An element of x is -0."""
        return False if self.bounds(x).without_minus_zero else None

    def finite(self, x: Node) -> bool | None:
        """x is a real number: neither infinite nor NaN."""
        return True if self.bounds(x).finite else None

    def not_nan(self, x: Node) -> bool | None:
        """x is never NaN."""
        b = self.bounds(x)
        return True if b.finite or b.not_nan else None

    def whole(self, x: Node) -> bool | None:
        """x holds integers, whatever its dtype."""
        return True if self.bounds(x).whole else None

    def probability(self, x: Node) -> bool | None:
        """0 <= x <= 1 wherever x is not NaN."""
        b = self.bounds(x)
        return True if b.low >= 0 and b.high <= 1 else False if b.high < 0 or b.low > 1 else None

    def at_least(self, x: Node, bound: float) -> bool | None:
        """x >= bound wherever x is not NaN."""
        b = self.bounds(x)
        return True if b.low >= bound else False if b.high < bound else None

    def at_most(self, x: Node, bound: float) -> bool | None:
        """x <= bound wherever x is not NaN."""
        b = self.bounds(x)
        return True if b.high <= bound else False if b.low > bound else None

    def structure(self, x: Node, name: str) -> bool:
        """Whether x is known to have one of STRUCTURES, such as lower or positive_definite."""
        return has_structure(x, name, self._structures, assumed_structures, self.positive)

    def constant(self, x: Node) -> np.ndarray[Any, np.dtype[Any]] | None:
        """The array of a constant node."""
        return constant_value(x)
