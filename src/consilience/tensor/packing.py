"""Tensors of unlike shapes joined along one axis, and cut apart again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir.dimension import product
from consilience.ir.side_tables import describe
from consilience.ops.axes import integers, normalised_axes
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.shape import as_shape, concatenate, length_of, reshape
from consilience.tensor.arrangement import join_dims
from consilience.tensor.joining import split

Axes = int | Sequence[int] | None


def pack(*tensors: TensorLike, keep_axes: Axes = None) -> tuple[Node, list[tuple[int | Node, ...]]]:
    """Tensors with all axes but some made into one, along which they are joined; and the lengths of these axes.

    *tensors: The tensors, in order.
    keep_axes (int or sequence of int): Axes that stay, in which the tensors agree: the first ones (0, 1, …), the last
        ones (…, -2, -1), or both, so that the others are neighbours; None keeps none.
    Returns: The tensor, and of each input the lengths of the axes that were joined.
    See unpack: The inverse.
    >>> packed, lengths = pt.pack([[1.0, 2.0], [3.0, 4.0]], 5.0)
    >>> packed.eval().tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    leading, trailing = _kept(keep_axes)
    nodes = [as_tensor(value) for value in tensors]
    for i, node in enumerate(nodes):
        if node.ndim < leading + trailing:
            raise ShapeError(
                f"tensor {i} has rank {node.ndim}, {keep_axes=} needs {leading + trailing}: {describe(node)}."
            )
    shapes = [node.static_shape[leading : node.ndim - trailing] for node in nodes]
    joined = concatenate(
        [join_dims(node, leading, len(shape)) for node, shape in zip(nodes, shapes, strict=True)], leading
    )
    return joined, [tuple(n if isinstance(n, int) else length_of(n) for n in shape) for shape in shapes]


def unpack(packed_input: TensorLike, packed_shapes: Sequence[Any], keep_axes: Axes = None) -> list[Node]:
    """The tensors that `pack` made one tensor of: the tensor, the lengths that `pack` gave, the axes that stayed.

    packed_input: The joined tensor.
    packed_shapes (sequence): The shapes that `pack` returned.
    keep_axes (int or sequence of int): Axes that were kept apart.
    Returns: In the order in which `pack` took them.
    See pack: The inverse.
    >>> packed, lengths = pt.pack([[1.0, 2.0], [3.0, 4.0]], 5.0)
    >>> matrix, number = pt.unpack(packed, lengths)
    >>> matrix.eval().tolist(), number.eval().item()
    ([[1.0, 2.0], [3.0, 4.0]], 5.0)
    """
    node = as_tensor(packed_input)
    kept = () if keep_axes is None else normalised_axes(keep_axes, node.ndim)
    rest = [axis for axis in range(node.ndim) if axis not in kept]
    if len(rest) != 1:
        raise ShapeError(f"{keep_axes=} must leave one axis of the packed tensor, got {describe(node)}.")
    (axis,) = rest
    shapes = [as_shape(shape) for shape in packed_shapes]
    lengths = [product(shape) for shape in shapes]
    sizes: Any = [n if isinstance(n, int) else length_of(n) for n in lengths]
    parts = split(node, sizes, axis=axis)
    return [
        reshape(part, (*node.static_shape[:axis], *shape, *node.static_shape[axis + 1 :]))
        for part, shape in zip(parts, shapes, strict=True)
    ]


def _kept(axes: Axes) -> tuple[int, int]:
    """How many leading and how many trailing axes stay."""
    given = [] if axes is None else list(integers(axes))
    leading, trailing = [a for a in given if a >= 0], [a for a in given if a < 0]
    if axes is not None and not given:
        raise ValueError("keep_axes=[] may mean all or none; None keeps none.")
    if given != [*range(len(leading)), *range(-len(trailing), 0)]:
        raise ValueError(
            f"axes that stay are 0, 1, … and then …, -2, -1, so that the others are neighbours; got {axes}."
        )
    return len(leading), len(trailing)
