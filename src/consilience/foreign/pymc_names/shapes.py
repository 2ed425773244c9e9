"""Dims, shapes and sizes as users give them, as `pymc.distributions.shape_utils` has them.

In: a name, a number, a sequence of them, None. Out: tuples. Outside: shapes of variables (`distributions.shapes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from consilience.distributions.random_variable import batch_part, distribution_of
from consilience.errors import ModelError, ShapeError
from consilience.ir import Node
from consilience.ops.index import getitem
from consilience.ops.shape import as_shape

if TYPE_CHECKING:
    from consilience.model.model import Model

__all__ = [
    "Dims", "DimsWithEllipsis", "Shape", "Size", "StrongDims", "StrongDimsWithEllipsis", "StrongShape", "StrongSize",
    "change_dist_size", "convert_dims", "convert_dims_with_ellipsis", "convert_shape", "convert_size", "find_size",
    "rv_size_is_none", "shape_from_dims", "to_tuple",
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
    """Dims as a tuple of names; None stays None.

    Raises
    ------
    ShapeError
        For what is neither a name nor a list or tuple.
    """
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

    Raises
    ------
    ModelError
        For a name that is none of the model's dims.
    """
    unknown = [dim for dim in dims if dim not in model.dim_lengths]
    if unknown:
        raise ModelError(f"the model has no dims {', '.join(map(repr, unknown))}; it has {list(model.dim_lengths)}.")
    return tuple(model.dim_lengths[dim] for dim in dims)


def find_size(shape: StrongShape | None, size: StrongSize | None, ndim_supp: int) -> StrongSize | None:
    """The batch part of a shape of a distribution whose events have `ndim_supp` axes; a size that is given counts."""
    return size if size is not None or shape is None else tuple(shape)[: len(shape) - ndim_supp]


def change_dist_size(dist: Node, new_size: Any, expand: bool = False) -> Node:
    """A variable of the same distribution and parameters with another batch shape.

    Parameters
    ----------
    new_size : object
        The batch shape, without the axes of one event; with `expand` axes in front of those there are.

    Raises
    ------
    ShapeError
        Where the parameters do not broadcast to it.
    """
    bound = distribution_of(dist, "change_dist_size")
    size = as_shape(new_size) + (batch_part(dist.static_shape, bound) if expand else ())
    return type(bound).variable(bound.values, size=size, settings=bound.settings, components=bound.components)


def rv_size_is_none(size: object) -> bool:
    """Whether a distribution was given no size, so that its parameters tell it."""
    return size is None


def to_tuple(shape: Any) -> tuple[Any, ...]:
    """A length, a sequence or an array of lengths as a tuple; None is ()."""
    return () if shape is None else tuple(np.atleast_1d(shape).tolist())
