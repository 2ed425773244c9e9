"""Tensors joined, stacked, cut into parts and repeated, by PyTensor's and NumPy's names.

In: tensors, of known ranks. Out: combinations of ops on shapes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from consilience.errors import ShapeError
from consilience.ir import Dim, Dimension, Node
from consilience.ir.side_tables import describe
from consilience.ops import index
from consilience.ops.axes import one_axis
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.elementwise import broadcast_shape as common_shape
from consilience.ops.shape import (
    as_shape,
    broadcast_to,
    concatenate,
    expand_dims,
    reshape,
    stack,
)
from consilience.tensor.arrangement import atleast_1d, atleast_2d


def join(axis: int, *tensors_list: TensorLike) -> Node:
    """Tensors joined along an existing axis.

    axis (one) : ...
    *tensors_list: The tensors to join.
    Returns: The joined tensor, of the common dtype.
    See stack: Join tensors of equal shape along a new axis.
    See split: Parts along an axis.
    See concat: Join tensors along an existing axis.
    >>> pt.join(0, [1.0, 2.0], [3.0]).eval().tolist()
    [1.0, 2.0, 3.0]
    """
    return concatenate(tensors_list, axis)


def hstack(tensor_list: Sequence[TensorLike]) -> Node:
    """Joined along the second axis, vectors along their only one.

    tensor_list : ...
    Returns: The joined tensor, of the common dtype.
    See vstack: Joined along the first axis.
    See dstack: Joined along the third axis.
    See column_stack: Joined along the second axis.
    >>> pt.hstack([[1.0, 2.0], [3.0]]).eval().tolist()
    [1.0, 2.0, 3.0]
    """
    nodes = [atleast_1d(value) for value in tensor_list]
    return concatenate(nodes, 0 if nodes and nodes[0].ndim == 1 else 1)


def vstack(tensor_list: Sequence[TensorLike]) -> Node:
    """Joined along the first axis; vectors are rows.

    tensor_list : ...
    Returns: The joined tensor, of the common dtype.
    See dstack: Joined along the third axis.
    See column_stack: Joined along the second axis.
    See hstack: Joined along the second axis.
    >>> pt.vstack([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return concatenate([atleast_2d(value) for value in tensor_list], 0)


def dstack(tensor_list: Sequence[TensorLike]) -> Node:
    """Joined along the third axis; matrices are slices, vectors rows of slices.

    tensor_list : ...
    Returns: The joined tensor, of the common dtype.
    See column_stack: Joined along the second axis.
    See hstack: Joined along the second axis.
    See vstack: Joined along the first axis.
    >>> pt.dstack([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[[1.0, 3.0], [2.0, 4.0]]]
    """
    nodes = [atleast_2d(value) for value in tensor_list]
    return concatenate([node if node.ndim > 2 else expand_dims(node, 2) for node in nodes], 2)


def column_stack(tensor_list: Sequence[TensorLike]) -> Node:
    """Joined along the second axis; vectors are columns.

    tensor_list : ...
    Returns: The joined tensor, of the common dtype.
    See hstack: Joined along the second axis.
    See vstack: Joined along the first axis.
    See dstack: Joined along the third axis.
    >>> pt.column_stack([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    nodes = [atleast_1d(value) for value in tensor_list]
    return concatenate([node if node.ndim > 1 else expand_dims(node, 1) for node in nodes], 1)


def horizontal_stack(*args: TensorLike) -> Node:
    """Matrices joined along the second axis.

    *args: The tensors, in order.
    Returns: The joined tensor, of the common dtype.
    See vertical_stack: Matrices joined along the first axis.
    See concat: Join tensors along an existing axis.
    >>> pt.horizontal_stack([[1.0], [2.0]], [[3.0], [4.0]]).eval().tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return concatenate(args, 1)


def vertical_stack(*args: TensorLike) -> Node:
    """Matrices joined along the first axis.

    *args: The tensors, in order.
    Returns: The joined tensor, of the common dtype.
    See concat: Join tensors along an existing axis.
    See horizontal_stack: Matrices joined along the second axis.
    >>> pt.vertical_stack([[1.0, 2.0]], [[3.0, 4.0]]).eval().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return concatenate(args, 0)


def stacklists(arg: Any) -> Node:
    """Nested lists of tensors as one tensor, an axis per level.

    arg: Nested lists of tensors.
    Returns: Of one more axis per stacking.
    See stack: Join tensors of equal shape along a new axis.
    >>> pt.stacklists([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return stack([stacklists(part) for part in arg]) if isinstance(arg, list | tuple) else as_tensor(arg)


def concat_with_broadcast(tensor_list: Sequence[TensorLike], axis: int = 0) -> Node:
    """Joined along an axis, the other axes broadcast before.

    tensor_list, axis (one) : ...
    Returns: The joined tensor, of the common dtype.
    See concat: Join tensors along an existing axis.
    >>> pt.concat_with_broadcast([[[1.0]], [[2.0], [3.0]]], axis=1).eval().tolist()
    [[1.0, 2.0], [1.0, 3.0]]
    """
    nodes = [as_tensor(value) for value in tensor_list]
    if not nodes or len({node.ndim for node in nodes}) > 1:
        raise ShapeError(f"tensors of one rank were needed, got {', '.join(map(describe, nodes)) or 'none'}.")
    place = one_axis(axis, nodes[0])
    common = common_shape([node.sum(place, keepdims=True) for node in nodes])[0]
    return concatenate(
        [broadcast_to(n, (*common[:place], n.static_shape[place], *common[place + 1 :])) for n in nodes], place
    )


def split(
    x: TensorLike,
    splits_size: Any = None,
    n_splits: int | None = None,
    axis: int = 0,
    *,
    indices_or_sections: Sequence[int] | int | None = None,
) -> list[Node]:
    """Parts along an axis.

    x : ...
    splits_size: Lengths of the parts, as in PyTensor, which may be a vector known at run time; an integer is a number
        of equal parts.
    n_splits: The number of parts, which must agree and be known; alone, so many equal parts.
    axis (one) : ...
    indices_or_sections: Positions before which to cut, as in NumPy, or a number of equal parts.
    Returns: The parts, in order.
    See concat: Join tensors along an existing axis.
    See join: Tensors joined along an existing axis.
    See stack: Join tensors of equal shape along a new axis.
    >>> [x.eval().tolist() for x in pt.split(pt.arange(4), [1, 3], n_splits=2)]
    [[0], [1, 2, 3]]
    """
    node = as_tensor(x)
    if (splits_size is None and n_splits is None) == (indices_or_sections is None):
        raise TypeError("`split` needs lengths (`splits_size`) or positions (`indices_or_sections`), and not both.")
    if splits_size is None:
        return index.split(node, n_splits if indices_or_sections is None else indices_or_sections, axis)  # type: ignore[arg-type]  # one of them is there
    sizes = as_tensor(splits_size)
    if not sizes.ndim:
        return index.split(node, int(splits_size), axis)
    if n_splits is not None and sizes.ndim == 1 and isinstance(sizes.static_shape[0], Dimension):
        sizes = broadcast_to(sizes, (n_splits,))
    lengths, place = as_shape(sizes), one_axis(axis, node)
    total: Dim = sum(lengths, start=0)
    if n_splits is not None and n_splits != len(lengths):
        raise ShapeError(f"`n_splits` is {n_splits}, but there are {len(lengths)} lengths.")
    if isinstance(node.static_shape[place], int) and isinstance(total, int) and total != node.static_shape[place]:
        raise ShapeError(
            f"parts of lengths {lengths} do not make up axis {axis} of length {node.static_shape[place]}: "
            f"{describe(node)}. To cut before positions, as NumPy does, give them as `indices_or_sections`."
        )
    node = broadcast_to(node, [total if i == place else n for i, n in enumerate(node.static_shape)])
    return index.split(node, list(itertools.accumulate(lengths))[:-1], axis)  # type: ignore[arg-type]  # lengths


def tile(A: TensorLike, reps: TensorLike | Sequence[TensorLike]) -> Node:
    """The whole tensor `reps` times along each axis; axes are added in front where needed.

    A: Tensor that is repeated.
    reps: Number of repetitions for each axis.
    Returns: The longer tensor.
    See repeat: Every element `repeats` times in a row along `axis`.
    See pad: `x` with elements added at both ends of its axes.
    >>> pt.tile([1.0, 2.0], 2).eval().tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    node = as_tensor(A)
    counts: list[Dim] = list(as_shape(reps))
    counts = [*[1] * (node.ndim - len(counts)), *counts]
    if len(counts) > node.ndim:
        node = expand_dims(node, tuple(range(len(counts) - node.ndim)))
    lengths = node.static_shape
    apart = reshape(node, tuple(n for length in lengths for n in (1, length)))
    wider = broadcast_to(apart, tuple(n for pair in zip(counts, lengths, strict=True) for n in pair))
    return reshape(wider, tuple(count * length for count, length in zip(counts, lengths, strict=True)))
