"""Elements put elsewhere, repeated, picked or left out: combinations of the ops on shapes and of indexing.

In: tensors, axes, positions. Out: expressions; nothing here is an op of its own. These serve as methods of nodes too.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.ir import Dim, Node
from consilience.ir import dimension as dims
from consilience.ir.side_tables import describe
from consilience.ir.types import FLOATS, INTEGERS
from consilience.ops import linalg
from consilience.ops.axes import is_integer, one_axis
from consilience.ops.elementwise import TensorLike, apply, as_tensor
from consilience.ops.index import getitem, index_inc
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import (
    Iota,
    arange,
    as_integer,
    as_length,
    broadcast_to,
    expand_dims,
    full,
    length_of,
    reshape,
    squeeze,
    transpose,
)


def flatten(x: TensorLike, ndim: int = 1) -> Node:
    """The same elements with rank `ndim`: the last axes become one.

    x, ndim : ...
    Returns: The same elements in another shape.
    See ravel: All elements along one axis.
    See reshape: Another shape for the same elements.
    >>> pt.flatten([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    node = as_tensor(x)
    if ndim < 1 or ndim > max(node.ndim, 1):
        raise ShapeError(f"a rank from 1 to {max(node.ndim, 1)} was needed, got {ndim}, for {describe(node)}.")
    if node.ndim == ndim:
        return node
    shape = node.static_shape
    return reshape(node, (*shape[: ndim - 1], dims.product(shape[ndim - 1 :])))


def repeat(a: TensorLike, repeats: TensorLike, axis: int | None = None) -> Node:
    """Every element `repeats` times in a row along `axis`, of the flattened tensor for None.

    a : ...
    repeats: One number for all elements, or a vector with one per element of the axis.
    axis (or flattened) : ...
    Returns: The longer tensor.
    See pad: `x` with elements added at both ends of its axes.
    See tile: The whole tensor `reps` times along each axis.
    >>> pt.repeat([1.0, 2.0], 2).eval().tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    node = flatten(a) if axis is None else as_tensor(a)
    place = one_axis(0 if axis is None else axis, node)
    counts, shape = as_tensor(repeats), node.static_shape
    if counts.ndim > 1:
        raise ShapeError(f"`repeats` must be a number or a vector, got {describe(counts)}.")
    if counts.static_shape not in ((), (1,)):
        return getitem(node, (*(slice(None),) * place, _repeated(broadcast_to(counts, (shape[place],)))))
    count = as_length(reshape(counts, ()))
    wider = broadcast_to(expand_dims(node, place + 1), (*shape[: place + 1], count, *shape[place + 1 :]))
    return reshape(wider, (*shape[:place], shape[place] * count, *shape[place + 1 :]))


def _repeated(counts: Node) -> Node:
    """Positions 0, 1, …, each as often as `counts` says: how many runs of elements end at or before each place."""
    whole = as_integer(reduce("sum", counts))
    total = as_length(apply("where", reduce("any", apply("lt", counts, 0)), -1, length_of(whole)))
    ends = cumulative("sum", counts)
    marks = index_inc(getitem(full((total + 1,), 0, "int64"), ends), 1)
    return getitem(cumulative("sum", marks), slice(None, total))


def take(a: TensorLike, indices: TensorLike, axis: int | None = None, mode: str = "raise") -> Node:
    """The elements at `indices` along `axis`, of the flattened tensor for None.

    a : ...
    indices: Places, counted from 0.
    axis (or flattened) : ...
    mode: Beyond the ends: "raise" an OutOfBoundsError, "clip" to the nearest end, "wrap" around.
    Returns: The elements, of the shape of the indices along `axis`.
    See choose: For each element of a the element of the choice of that number.
    See switch: `ift` where `cond` holds (is not zero).
    >>> pt.take([1.0, 2.0, 3.0], [2, 0]).eval().tolist()
    [3.0, 1.0]
    """
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"mode must be 'raise', 'clip' or 'wrap', got {mode!r}.")
    node = flatten(a) if axis is None else as_tensor(a)
    place = one_axis(0 if axis is None else axis, node)
    positions, length = as_tensor(indices), length_of(node.static_shape[place])
    if mode == "clip":
        positions = apply("minimum", apply("maximum", positions, 0), apply("sub", length, 1))
    elif mode == "wrap":
        positions = apply("mod", positions, length)
    return getitem(node, (*[slice(None)] * place, positions))


def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | None = 0) -> Node:
    """Elements at positions along an axis, one set of positions per place on the other axes, which broadcast.

    arr: Tensor, or what becomes one: an array, a number, nested lists.
    indices: Places, counted from 0.
    axis (int or None): Axis to work along, counted from the end if negative; None for the flattened tensor.
    Returns: The elements, of the shape of the indices along `axis`.
    See compress: The parts where a vector is true.
    See take: The elements at `indices` along `axis`.
    >>> pt.take_along_axis(pt.as_tensor([[3.0, 5.0]]), [[1, 0]], 1).eval().tolist()
    [[5.0, 3.0]]
    """
    node, positions = as_tensor(arr), as_tensor(indices)
    if axis is None:
        node, axis = flatten(node), 0
    place = one_axis(axis, node)
    if positions.ndim != node.ndim:
        raise ShapeError(f"the positions need rank {node.ndim}, got {describe(positions)}.")
    grid: list[Node] = []
    for i, length in enumerate(node.static_shape):
        others = tuple(j for j in range(node.ndim) if j != i)
        grid.append(positions if i == place else expand_dims(arange(length_of(length)), others))
    return getitem(node, tuple(grid))


def dimshuffle(x: TensorLike, *pattern: Any) -> Node:
    """Axes in the order of `pattern`; "x" is a new axis of length 1, an axis left out must have length 1.

    x : ...
    *pattern: Axes in their new order; "x" makes a new axis of length 1.
    Returns: The same elements, with the axes so.
    See permute_dims: Axes in the given order.
    See expand_dims: New axes of length 1 at the given positions of the result.
    See squeeze: Drop axes of length 1.
    >>> pt.dimshuffle(pt.as_tensor([1.0, 2.0]), 0, "x").eval().tolist()
    [[1.0], [2.0]]
    """
    node = as_tensor(x)
    order: list[Any] = list(pattern if len(pattern) != 1 or is_integer(pattern[0]) else pattern[0])
    kept = [one_axis(p, node) for p in order if p != "x"]
    if len(set(kept)) != len(kept):
        raise ShapeError(f"`dimshuffle` takes an axis once, got {tuple(order)} for {describe(node)}.")
    dropped = tuple(i for i in range(node.ndim) if i not in kept)
    rest = [i for i in range(node.ndim) if i in kept]
    result = transpose(squeeze(node, dropped), [rest.index(i) for i in kept])
    return expand_dims(result, tuple(i for i, p in enumerate(order) if p == "x"))


def diagonal_positions(rows: Dim, columns: Dim, k: int) -> tuple[Node, Node]:
    """Rows and columns of the elements on diagonal k (above the main one if positive)."""
    length = dims.maximum(dims.minimum(rows - max(-k, 0), columns - max(k, 0)), 0)
    positions = Node(Iota(length))
    return apply("add", positions, max(-k, 0)), apply("add", positions, max(k, 0))


def diagonal(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """Diagonal `offset` of the matrices over two axes, as the last axis of the result.

    a : ...
    offset: Offset of the diagonal; 0 is the main one, positive ones lie above it.
    axis1, axis2 : ...
    Returns: Without the two axes, and with one for the diagonal behind the others.
    See extract_diag: The main diagonals of the matrices over the first two axes.
    See diag: A diagonal matrix, or the diagonal of one.
    >>> pt.diagonal([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [1.0, 4.0]
    """
    return linalg.diagonal(a, offset, axis1, axis2)


def trace(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """Sum of diagonal `offset` of the matrices over two axes.

    a : ...
    offset: Offset of the diagonal; 0 is the main one, positive ones lie above it.
    axis1, axis2 : ...
    Returns: Without the two axes.
    See diagonal: Diagonal `offset` of the matrices over two axes.
    >>> pt.trace([[1.0, 2.0], [3.0, 4.0]]).eval().item()
    5.0
    """
    return reduce("sum", diagonal(a, offset, axis1, axis2), -1)


def full_like(a: TensorLike, fill_value: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """`fill_value` with the shape and (unless given) dtype of a.

    a : ...
    fill_value: Value of every element.
    dtype: Element type of the result; by default that of `a`, and that of a float which would be cut off in whole
        numbers.
    Returns: Of the shape of the argument.
    See full: A tensor of one repeated value.
    See alloc: `value` repeated to the lengths that follow it.
    See fill: Values at the shape of another tensor.
    >>> pt.full_like([1.0, 2.0], 3.0).eval().tolist()
    [3.0, 3.0]
    """
    node, value = as_tensor(a), as_tensor(fill_value)
    cut_off = value.dtype in FLOATS and node.dtype in {*INTEGERS, "bool"}
    return full(node.static_shape, value, (value if cut_off else node).dtype if dtype is None else dtype)
