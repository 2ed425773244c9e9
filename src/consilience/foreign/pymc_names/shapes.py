"""Dims, shapes and sizes as users give them, as `pymc.distributions.shape_utils` has them.

In: a name, a number, a sequence of them, None. Out: tuples. Outside: shapes of variables (`distributions.shapes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from consilience.distributions.context import current
from consilience.distributions.random_variable import batch_part, distribution_of
from consilience.distributions.shapes import broadcast
from consilience.distributions.simulator import as_vector
from consilience.errors import ModelError, ShapeError
from consilience.ir import Node, constant_value
from consilience.ops.elementwise import as_tensor
from consilience.ops.index import getitem
from consilience.ops.shape import as_shape
from consilience.rewrite.rules import simplify

if TYPE_CHECKING:
    from consilience.model.model import Model

__all__ = [
    "Dims", "DimsWithEllipsis", "Shape", "Size", "StrongDims", "StrongDimsWithEllipsis", "StrongShape", "StrongSize",
    "change_dist_size", "convert_dims", "convert_dims_with_ellipsis", "convert_shape", "convert_size", "find_size",
    "get_support_shape", "get_support_shape_1d", "implicit_size_from_params", "rv_size_is_none", "shape_from_dims",
    "to_tuple",
]  # fmt: skip

Dims: TypeAlias = str | Sequence[str | None]
DimsWithEllipsis: TypeAlias = str | EllipsisType | Sequence[str | EllipsisType | None]
StrongDims: TypeAlias = Sequence[str]
StrongDimsWithEllipsis: TypeAlias = Sequence[str | EllipsisType]
Shape: TypeAlias = int | Node | Sequence[int | Node]
Size: TypeAlias = Shape
StrongShape: TypeAlias = tuple[int | Node, ...]
StrongSize: TypeAlias = StrongShape


def convert_dims(dims: Dims | None) -> tuple[Any, ...] | None:
    """Dims as a tuple of names; None stays None."""
    return _as_tuple(dims, str, "dims", "a name, a tuple or a list of names")


def convert_dims_with_ellipsis(dims: DimsWithEllipsis | None) -> tuple[Any, ...] | None:
    """Dims as a tuple of names, in which `...` may stand for dims of the value."""
    return _as_tuple(dims, (str, EllipsisType), "dims", "a name, `...`, a tuple or a list of them")


def convert_shape(shape: Shape | None) -> tuple[Any, ...] | None:
    """A shape as a tuple of lengths; a length alone is a shape of one axis, None stays None."""
    return _lengths(shape, "shape")


def convert_size(size: Size | None) -> tuple[Any, ...] | None:
    """A size as a tuple of lengths; as `convert_shape`."""
    return _lengths(size, "size")


def _lengths(given: Any, name: str) -> tuple[Any, ...] | None:
    if isinstance(given, Node) and given.ndim == 1 and isinstance(given.static_shape[0], int):
        return tuple(getitem(given, i) for i in range(given.static_shape[0]))
    single = (int, np.integer) if not isinstance(given, Node) or given.ndim else Node
    return _as_tuple(given, single, name, "a length, a tuple or a list of lengths, or a vector of known length")


def _as_tuple(given: Any, single: Any, name: str, wanted: str) -> tuple[Any, ...] | None:
    if given is None:
        return None
    if isinstance(given, single):
        return (given,)
    if isinstance(given, list | tuple):
        return tuple(given)
    raise ShapeError(f"`{name}` must be {wanted}, got {given!r}.")


def shape_from_dims(dims: StrongDims, model: Model) -> tuple[Node, ...]:
    """The lengths of a model's dims, as expressions that follow changes of the data.

    Raises ModelError for a name that is none of the model's dims.
    """
    unknown = [dim for dim in dims if dim not in model.dim_lengths]
    if unknown:
        raise ModelError(f"the model has no dims {', '.join(map(repr, unknown))}; it has {list(model.dim_lengths)}.")
    return tuple(model.dim_lengths[dim] for dim in dims)


def find_size(shape: StrongShape | None, size: StrongSize | None, ndim_supp: int) -> StrongSize | None:
    """The batch part of a shape of a distribution whose events have `ndim_supp` axes; a size that is given counts."""
    return size if size is not None or shape is None else tuple(shape)[: len(shape) - ndim_supp]


def get_support_shape(
    support_shape: Sequence[Any] | None,
    *,
    shape: Shape | None = None,
    dims: Dims | None = None,
    observed: Any = None,
    support_shape_offset: int | Sequence[int] | None = None,
    ndim_supp: int = 1,
) -> tuple[Node, ...] | None:
    """Lengths of an event's axes: as given, or those at the end of a shape, of dims or of data, less an offset.

    Raises ShapeError where there are too few axes, or lengths that are given differ from those of the shape, dims or
    data.
    """
    lengths: tuple[Any, ...] | None = None
    if shape is not None:
        lengths = convert_shape(shape)
    elif dims is not None:
        lengths = shape_from_dims(convert_dims(dims) or (), cast(Any, current("get_support_shape")))
    elif observed is not None:
        lengths = tuple(observed.shape)
    if lengths is None:
        return None if support_shape is None else tuple(as_tensor(n) for n in support_shape)
    if len(lengths) < ndim_supp:
        raise ShapeError(f"{ndim_supp} axes or more were needed, got the lengths {lengths}.")
    whole = support_shape_offset or 0
    offsets = [whole] * ndim_supp if isinstance(whole, int) else list(whole)
    found = [as_tensor(n) - offset for n, offset in zip(lengths[-ndim_supp:], offsets, strict=True)]
    for own, given in zip(found, support_shape or (), strict=False):
        known, wanted = constant_value(simplify([own])[0]), constant_value(as_tensor(given))
        if known is not None and wanted is not None and known != wanted:
            raise ShapeError(f"the length {wanted} was given, but shape, dims or data have {known}.")
    return tuple(found)


def get_support_shape_1d(support_shape: Any, *, support_shape_offset: int = 0, **named: Any) -> Node | None:
    """The same for events of one axis: a length, or None."""
    given = None if support_shape is None else (support_shape,)
    found = get_support_shape(given, support_shape_offset=support_shape_offset, **named)
    return None if found is None else found[0]


def implicit_size_from_params(*params: Any, ndims_params: Sequence[int]) -> Node:
    """The batch shape to which parameters broadcast, as a vector; axes of one value of each are left out."""
    nodes = [as_tensor(p) for p in params]
    batches = [node.static_shape[: node.ndim - rank] for node, rank in zip(nodes, ndims_params, strict=True)]
    return as_vector(broadcast(batches, "implicit_size_from_params"))


def change_dist_size(dist: Node, new_size: Any, expand: bool = False) -> Node:
    """A variable of the same distribution and parameters with another batch shape."""
    bound = distribution_of(dist, "change_dist_size")
    size = as_shape(new_size) + (batch_part(dist.static_shape, bound) if expand else ())
    return type(bound).variable(bound.values, size=size, settings=bound.settings, components=bound.components)


def rv_size_is_none(size: object) -> bool:
    """Whether a distribution was given no size, so that its parameters tell it."""
    return size is None


def to_tuple(shape: Any) -> tuple[Any, ...]:
    """A length, a sequence or an array of lengths as a tuple; None is ()."""
    return () if shape is None else tuple(np.atleast_1d(shape).tolist())
