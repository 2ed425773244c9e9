"""Axes, orders and numbers of times that a graph is written with.

In: one whole number or several, Python's, NumPy's or constant tensors; axes count from either end. Out: Python's
integers, axes from the front. Lengths, which may be known at run time only, are of `ops.shape`.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import SupportsIndex, TypeAlias, TypeGuard

from consilience.errors import ArgumentError, AxisError, ShapeError
from consilience.ir import Dimension, Node, Shape, constant_value
from consilience.ir.side_tables import describe

Axis: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None


def is_integer(given: object) -> TypeGuard[SupportsIndex]:
    """Whether something is a whole number of Python or NumPy, not a symbolic length."""
    return hasattr(given, "__index__") and not isinstance(given, Dimension) and not getattr(given, "ndim", 0)


def integers(given: object) -> tuple[int, ...]:
    """One whole number, or several, as Python's."""
    known = constant_value(given) if isinstance(given, Node) else None
    plain = given if known is None else known
    if isinstance(plain, Node):
        raise ShapeError(f"an axis must be known before a call, got {describe(plain)}.")
    if is_integer(plain):
        return (operator.index(plain),)
    if isinstance(plain, Mapping):  # an empty one has no elements that would be refused
        raise ArgumentError(f"axes are whole numbers, got {type(plain).__name__}.")
    return tuple(operator.index(i) for i in plain)  # type: ignore[attr-defined]  # a sequence, or an error says so


def one_axis(axis: SupportsIndex, node: Node) -> int:
    """One axis, counted from the front."""
    return normalised_axes(axis, node.ndim)[0]


def normalised_axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """Axes as sorted non-negative integers; `None` means all."""
    if axis is None:
        return tuple(range(rank))
    return tuple(sorted(distinct(integers(axis), rank)))


def distinct(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in the order given, each once."""
    result = tuple(_from_front(a, rank) for a in axes)
    if len(set(result)) != len(result):
        raise ShapeError(f"axes must be distinct, got {tuple(axes)}.")
    return result


def _from_front(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise AxisError(f"axis {axis} does not exist in a tensor of rank {rank}; give one from {-rank} to {rank - 1}.")
    return axis % rank


def aligned(rank: int, inputs: Sequence[Node]) -> list[dict[int, int]]:
    """Axes of a result of broadcasting, as `Op.kept_axes` tells them: none follows one of length 1."""
    return [{a + rank - x.ndim: a for a, n in enumerate(x.static_shape) if n != 1} for x in inputs]


def all_but(axes: Sequence[int], rank: int) -> dict[int, int]:
    """All axes but some, in their places."""
    return {axis: axis for axis in range(rank) if axis not in axes}


def without(axes: Sequence[int], rank: int) -> dict[int, int]:
    """All axes but some, which are gone."""
    return dict(enumerate(axis for axis in range(rank) if axis not in axes))


def reshaped(before: Shape, after: Shape) -> dict[int, int]:
    """Axes before which, or behind which, all lengths stay, but for those of length 1."""
    old = [axis for axis, length in enumerate(before) if length != 1]
    new = [axis for axis, length in enumerate(after) if length != 1]
    head = 0
    while head < min(len(old), len(new)) and before[old[head]] == after[new[head]]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and before[old[-1 - tail]] == after[new[-1 - tail]]:
        tail += 1
    ends = zip(old[len(old) - tail :], new[len(new) - tail :], strict=True)
    return {place: axis for axis, place in (*zip(old[:head], new[:head], strict=True), *ends)}
