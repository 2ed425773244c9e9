"""Shapes of random variables: batches of parameters, events, and what the user asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience.errors import GraphError, ShapeError
from consilience.ir import Dim, Dimension, Node, Shape
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ops.shape import as_shape, broadcast_to


def broadcast(shapes: Sequence[Shape], title: str) -> Shape:
    """NumPy's broadcast of shapes; only static lengths 1 are stretched. ShapeError names `title`."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Dim] = []
    for axis in range(-rank, 0):
        length: Dim = 1
        for shape in shapes:
            candidate = shape[axis] if len(shape) >= -axis else 1
            if candidate == 1 or candidate is length:
                continue
            if isinstance(length, int) and isinstance(candidate, int) and length not in (1, candidate):
                raise ShapeError(f"{title}: shapes {', '.join(map(text, shapes))} do not broadcast (axis {axis}).")
            if length == 1 or isinstance(candidate, int):
                length = candidate
        result.append(length)
    return tuple(result)


def text(shape: Shape) -> str:
    """A shape in NumPy's notation."""
    return f"({', '.join(map(repr, shape))}{',' if len(shape) == 1 else ''})"


def wanted_shape(title: str, value: Any, source: str) -> Shape:
    """The user's `shape` or `size`; ShapeError unless it is made of whole numbers >= 0 and symbolic lengths."""
    lengths = list(value) if hasattr(value, "__iter__") and not isinstance(value, Node | str) else [value]
    for length in lengths:
        whole = isinstance(length, int | np.integer) and not isinstance(length, bool)
        if not whole and not isinstance(length, Dimension | Node | np.ndarray):
            raise ShapeError(f"{title}: `{source}` must be one or several whole numbers >= 0, got {value!r}.")
    try:
        return as_shape(value)
    except (GraphError, TypeError) as error:
        raise ShapeError(f"{title}: `{source}` must be made of lengths, got {value!r}: {error}") from None


def same_shape(shape: Shape, other: Shape) -> bool:
    """Whether two shapes are or may be equal: symbolic lengths may have any value, but that of a static length 1."""
    return len(shape) == len(other) and all(
        a is b or a == b or (not (isinstance(a, int) and isinstance(b, int)) and 1 not in (a, b))
        for a, b in zip(shape, other, strict=True)
    )


def check_holds(title: str, wanted: Shape, own: Shape, source: str) -> None:
    """Raise ShapeError where parameters of batch shape `own` do not fit into a batch shape."""
    fits = len(own) <= len(wanted) and all(
        a == 1 or not isinstance(a, int) or not isinstance(b, int) or a == b
        for a, b in zip(reversed(own), reversed(wanted), strict=False)
    )
    if not fits:
        raise ShapeError(f"{title}: parameters of batch shape {text(own)} do not fit the {source} {text(wanted)}.")


def batch_shape_constraints(wanted: Shape, own: Shape) -> tuple[ShapeConstraint, ...]:
    """Equalities that let parameters of batch shape `own` fit into a batch shape."""
    pairs = zip(reversed(own), reversed(wanted), strict=False)
    return tuple(
        ShapeConstraint(a, b, "parameters have the shape of their variable")
        for a, b in pairs
        if a != 1 and a is not b and a != b
    )


def spread(value: Node, shape: Shape) -> Node:
    """`value` stretched to a shape along missing axes and static lengths 1; other lengths stay."""
    missing = len(shape) - value.ndim
    own = (1,) * missing + value.static_shape
    return broadcast_to(value, tuple(b if a == 1 else a for a, b in zip(own, shape, strict=True)))
