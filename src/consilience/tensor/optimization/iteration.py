"""What methods of search share: a loop with named values and a status, and a linear solve that reports failure.

Every step of a loop evaluates the user's expression at one place of the graph, so that it is compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from consilience.ir import Node
from consilience.ops import linalg
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.reductions import all as _all
from consilience.ops.reductions import max as _max
from consilience.ops.reductions import sum as _sum
from consilience.ops.shape import concatenate, expand_dims, eye, full
from consilience.tensor.loops import while_loop

RUNNING: Final = 0
CONVERGED: Final = 1
FAILED: Final = 2

Function = Callable[[Node], Any]


def iterate(step: Callable[[Any], Mapping[str, TensorLike]], /, **start: TensorLike) -> Any:
    """The last values of a loop that runs while its value `status` is `RUNNING`.

    `step`: of the values as attributes; gives those that change. `**start`: the first values; each keeps its type.
    """
    begin = {"status": as_tensor(RUNNING), **{name: as_tensor(value) for name, value in start.items()}}

    def body(*leaves: Node) -> list[Node]:
        now = dict(zip(begin, leaves, strict=True))
        after = step(SimpleNamespace(**now))
        return [cast(as_tensor(after.get(name, leaf)), leaf.dtype) for name, leaf in now.items()]

    last = while_loop(lambda *leaves: eq(leaves[0], RUNNING), body, list(begin.values()))
    return SimpleNamespace(**dict(zip(begin, last, strict=True)))


def status(converged: TensorLike, failed: TensorLike) -> Node:
    """The status of a loop after a step; what converged has not failed."""
    return where(converged, CONVERGED, where(failed, FAILED, RUNNING))


def where(condition: TensorLike, then: TensorLike, otherwise: TensorLike) -> Node:
    """Element by element one of two."""
    return apply("where", condition, then, otherwise)


def eq(left: TensorLike, right: TensorLike) -> Node:
    """Whether numbers are equal."""
    return apply("eq", left, right)


def both(*conditions: Node) -> Node:
    """Whether all conditions hold."""
    found, *others = conditions
    for other in others:
        found = apply("logical_and", found, other)
    return found


def either(*conditions: Node) -> Node:
    """Whether any condition holds."""
    found, *others = conditions
    for other in others:
        found = apply("logical_or", found, other)
    return found


def negated(condition: Node) -> Node:
    """Whether a condition does not hold."""
    return apply("logical_not", condition)


def finite(*values: Node) -> Node:
    """Whether all elements are finite numbers."""
    # A sum of absolute values could overflow; a product with zero is NaN exactly where an element is not finite.
    return both(*(eq(_sum(value * 0.0), 0.0) for value in values))


def norm(vector: Node) -> Node:
    """Euclidean length, without overflow of squares."""
    top = largest(vector)
    scale = where(both(top > 0, eq(top * 0.0, 0.0)), top, 1.0)
    return scale * apply("sqrt", _sum(apply("square", vector / scale)))


def largest(vector: Node) -> Node:
    """The greatest absolute value; 0 of an empty vector."""
    length = vector.static_shape[0]
    if not isinstance(length, int) or not length:
        vector = concatenate([vector, full((1,), 0.0, vector.dtype)])
    return _max(apply("abs", vector))


def every(condition: Node) -> Node:
    """Whether a condition holds for all elements."""
    return _all(condition)


def total(value: Node) -> Node:
    """Sum of all elements."""
    return _sum(value)


def outer(left: Node, right: Node) -> Node:
    """Products of all pairs of elements of two vectors."""
    return expand_dims(left, 1) * expand_dims(right, 0)


def identity(vector: Node) -> Node:
    """The unit matrix of a vector's length and dtype."""
    return eye(vector.static_shape[0], dtype=vector.dtype)


def solved(matrix: Node, right: Node) -> tuple[Node, Node]:
    """y with matrix @ y = right, NaN for a singular matrix, and whether the matrix is regular."""
    sign, logarithm = linalg.slogdet(matrix)
    regular = both(apply("neq", sign, 0.0), eq(logarithm * 0.0, 0.0))
    safe = linalg.solve(where(regular, matrix, identity(right)), right)
    return where(regular, safe, float("nan")), regular


def precision(like: Node) -> float:
    """The relative distance of neighbouring numbers of a tensor's dtype."""
    return float(np.finfo(like.dtype).eps)
