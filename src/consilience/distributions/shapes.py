"""Shapes of random variables: batches of parameters, events, and what the user asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience.errors import GraphError, ModelError, ShapeError
from consilience.ir import Dim, Dimension, Node, Shape
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ops.shape import as_shape, broadcast_to

if TYPE_CHECKING:
    from consilience.distributions.context import ModelContext
    from consilience.distributions.distribution import Distribution


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
    try:
        lengths = [value] if isinstance(value, Node | str) else list(value)
    except TypeError:
        lengths = [value]
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


def full_shape(distribution: Distribution, batch: Shape, shape: Any, size: Any) -> Shape:
    """The shape of a variable whose parameters have a batch shape; `shape` and `size` as the user gives them."""
    title = distribution.title
    event = distribution.event_shape()
    if shape is None and size is None:
        return (*batch, *event)
    if shape is not None and size is not None:
        raise TypeError(f"{title}: give `shape` (with the axes of one event) or `size` (without), not both.")
    if size is not None:
        wanted = wanted_shape(title, size, "size")
        check_holds(title, wanted, batch, "size")
        return (*wanted, *event)
    full = wanted_shape(title, shape, "shape")
    wanted = full[: max(0, len(full) - len(event))]
    ends = full[len(wanted) :]
    fits = len(ends) == len(event) and all(
        a is b or a == b or not isinstance(a, int) or not isinstance(b, int) for a, b in zip(ends, event, strict=True)
    )
    if not fits:
        raise ShapeError(f"{title}: the shape {text(full)} must end with the shape of one event, {text(event)}.")
    check_holds(title, wanted, batch, "shape")
    return full


def steps_from(title: str, steps: Any, shape: Any, initial: int, axis: int = -1) -> Any:
    """The number of steps of a series: the given one, or what its shape tells.

    `initial`: how many values of the series come before the first step. `axis`: the axis of time.
    """
    if steps is not None:
        return steps
    if shape is None:
        raise TypeError(f"{title} needs `steps`, or a shape, dims or data that tell its length.")
    full = wanted_shape(title, shape, "shape")
    length = full[axis] if len(full) >= -axis else 0
    if isinstance(length, int) and length < initial:
        raise ShapeError(f"{title}: a series has at least {initial} values along axis {axis}, got shape {text(full)}.")
    return length - initial


def shape_from(
    model: ModelContext, title: str, name: str, dims: Sequence[str | None] | None, data: Shape | None
) -> Shape | None:
    """Shape from the lengths of dims, where known, else that of data."""
    if dims is None:
        return data
    if any(d is not None and not isinstance(d, str) for d in dims):
        raise TypeError(f"{title} `{name}`: dims are names, got {dims!r}.")
    lengths = tuple(model.lengths_of(dims))
    if data is not None and len(data) != len(lengths):
        raise ShapeError(f"{title} `{name}`: data of shape {text(data)} need {len(data)} dims, got {tuple(dims)}.")
    known: list[Dim] = []
    for axis, length in enumerate(lengths):
        own = () if data is None else data
        if own and isinstance(length, int) and isinstance(own[axis], int) and length != own[axis]:
            raise ShapeError(
                f"{title} `{name}`: the dim {dims[axis]!r} has length {length}, but its data of shape {text(own)} "
                f"have {own[axis]} along it. Give data with one element per label; rows of a `Minibatch` have no "
                "labels, so leave their dim out."
            )
        if length is not None:
            known.append(length)
        elif data is not None:
            known.append(data[axis])
        else:
            raise ModelError(
                f"{title} `{name}`: the dim {dims[axis]!r} has no length; add it to the model's coords or give `shape`."
            )
    return tuple(known)


def summed_axes(sums: Node, shape: Shape) -> tuple[int, ...] | None:
    """Axes of a shape that are not among those of sums over some of them; None where it is no such sum."""
    left = list(sums.static_shape)
    found = []
    for axis, length in enumerate(shape):
        if left and same_shape((left[0],), (length,)):
            del left[0]
        else:
            found.append(axis)
    return None if left else tuple(found)
