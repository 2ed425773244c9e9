"""Reductions and normalisations over axes under NumPy's and PyTensor's names."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike
from consilience.ops.reduce import reduce
from consilience.ops.reduce import softmax as normalised

Axis = int | Sequence[int] | None


def sum(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Sum over `axis` (all axes for None); 0 when empty."""
    return reduce("sum", x, axis, keepdims)


def prod(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Product over `axis`; 1 when empty."""
    return reduce("prod", x, axis, keepdims)


def max(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Greatest element over `axis`; NaN when one is NaN; an empty axis is a ShapeError."""
    return reduce("max", x, axis, keepdims)


def min(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Least element over `axis`; NaN when one is NaN; an empty axis is a ShapeError."""
    return reduce("min", x, axis, keepdims)


def any(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Whether some element is true (not zero); False when empty."""
    return reduce("any", x, axis, keepdims)


def all(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """Whether every element is true (not zero); True when empty."""
    return reduce("all", x, axis, keepdims)


def logsumexp(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Node:
    """log(sum(exp(x))) over `axis` without overflow; -inf when empty."""
    return reduce("logsumexp", x, axis, keepdims)


def softmax(x: TensorLike, axis: Axis = None) -> Node:
    """exp(x) divided by its sum over `axis` (all axes for None), without overflow."""
    return normalised(x, axis)


def log_softmax(x: TensorLike, axis: Axis = None) -> Node:
    """x - logsumexp(x) over `axis` (all axes for None), without overflow or cancellation."""
    return normalised(x, axis, logarithm=True)
