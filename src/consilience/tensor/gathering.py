"""Elements chosen or replaced by their positions; diagonals and triangles, by PyTensor's and NumPy's names.

In: tensors and positions. Out: combinations of ops on indices.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Node
from consilience.ir.arithmetic import means
from consilience.ir.dimension import product
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ir.types import INTEGERS
from consilience.ops import index, shape
from consilience.ops.arrangement import (
    diagonal,
    diagonal_positions,
    flatten,
    full_like,
    take,
    take_along_axis,
)
from consilience.ops.assertion import Require
from consilience.ops.axes import one_axis
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.elementwise import broadcast_shape as common_shape
from consilience.ops.index import getitem, index_inc, index_set
from consilience.ops.parameter_check import Asserted
from consilience.ops.reduce import reduce
from consilience.ops.shape import (
    arange,
    as_shape,
    broadcast_to,
    expand_dims,
    full,
    length_of,
    stack,
)
from consilience.ops.structured import DiagonalMatrix


@means("choose")
def choose(a: TensorLike, choices: Any, mode: str = "raise") -> Node:
    """For each element of a the element of the choice of that number; all broadcast. `mode` as in `take`.

    a : ...
    choices: Tensors to choose from.
    mode: What indices out of range do: "raise", "wrap" or "clip".
    Returns: Of the common broadcast shape.
    See switch: `ift` where `cond` holds (is not zero).
    See take: The elements at `indices` along `axis`.
    >>> pt.choose([0, 1], [[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [1.0, 4.0]
    """
    number, options = _options(as_tensor(a), choices)
    count = length_of(options.static_shape[0])
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"mode must be 'raise', 'clip' or 'wrap', got {mode!r}.")
    if number.dtype not in ("bool", *INTEGERS):
        raise DtypeError(f"`choose` needs numbers of choices, integers, got {describe(number)}.")
    number = cast(number, "int64")
    if mode == "clip":
        number = apply("minimum", apply("maximum", number, 0), apply("sub", count, 1))
    elif mode == "wrap":
        number = apply("mod", number, count)
    else:  # NumPy counts none from the end; behind the end an index is refused
        number = apply("where", apply("lt", number, 0), count, number)
    return getitem(take_along_axis(options, expand_dims(number, 0), 0), 0)


def _options(number: Node, choices: Any) -> tuple[Node, Node]:
    """Numbers of choices and the choices along a first axis, all of the common shape."""
    if isinstance(choices, list | tuple):
        first, *others = shape.broadcast_arrays(number, *choices)
        return first, stack(others)
    node = as_tensor(choices)
    if not node.ndim:
        raise ShapeError(f"`choose` needs choices along the first axis, got {describe(node)}.")
    common = common_shape([number, node.sum(0)])[0]
    aligned = expand_dims(node, tuple(range(1, 2 + len(common) - node.ndim)))
    return broadcast_to(number, common), broadcast_to(aligned, (node.static_shape[0], *common))


@means("compress")
def compress(condition: TensorLike, x: TensorLike, axis: int | None = None) -> Node:
    """The parts along `axis` (of the flattened tensor for None) where a vector is true.

    condition: Vector that says which parts stay; a number other than 0 counts as true.
    x, axis (or flattened) : ...
    Returns: As many parts along `axis` as are true, a number known when the function runs.
    See take: The elements at `indices` along `axis`.
    See take_along_axis: Elements at positions along an axis.
    >>> pt.compress([True, False, True], [1.0, 2.0, 3.0]).eval().tolist()
    [1.0, 3.0]
    """
    node, mask = flatten(x) if axis is None else as_tensor(x), as_tensor(condition)
    place = one_axis(0 if axis is None else axis, node)
    return take(node, index.flatnonzero(mask), place)


def nonzero(a: TensorLike, return_matrix: bool = False) -> tuple[Node, ...] | Node:
    """Positions of the elements that are not zero (or True): int64, a vector per axis or, if asked, a row of a matrix.

    Their number is known when the function runs.

    a : ...
    return_matrix: Whether the places come as rows of one matrix.
    Returns: A vector of int64 per axis, or a matrix of them.
    See flatnonzero: Positions in the flattened tensor.
    See nonzero_values: The elements that are not zero.
    See argwhere: Positions of the elements that are not zero (or True).
    >>> [x.eval().tolist() for x in pt.nonzero([0.0, 3.0, 4.0])]
    [[1, 2]]
    """
    positions = index.nonzero(a)
    return stack(positions) if return_matrix else positions


@means("nonzero_values")
def nonzero_values(a: TensorLike) -> Node:
    """The elements that are not zero, in row-major order.

    a : ...
    Returns: A vector whose length is known when the function runs.
    See argwhere: Positions of the elements that are not zero (or True).
    See nonzero: Positions of the elements that are not zero (or True).
    See flatnonzero: Positions in the flattened tensor.
    >>> pt.nonzero_values([0.0, 3.0, 4.0]).eval().tolist()
    [3.0, 4.0]
    """
    node = flatten(a)
    return getitem(node, index.flatnonzero(node))


def unravel_index(indices: TensorLike, dims: object, order: str = "C") -> tuple[Node, ...]:
    """Positions in a flattened tensor of lengths `dims` as positions on its axes; others fail, as an AssertionError.

    indices: Places, counted from 0.
    dims: Lengths of the axes.
    order: "C": the last index runs fastest; "F": the first.
    Returns: Positions (int64), one tensor per axis.
    See ravel_multi_index: The other way.
    >>> [x.eval().item() for x in pt.unravel_index(5, (2, 3))]
    [1, 2]
    """
    lengths = as_shape(dims)
    position = _inside(as_tensor(indices), length_of(product(lengths)), "unravel_index")
    found: list[Node] = []
    for length in reversed(lengths) if _row_major(order) else lengths:
        found.append(apply("mod", position, length_of(length)))
        position = apply("floor_div", position, length_of(length))
    return tuple(reversed(found)) if _row_major(order) else tuple(found)


def ravel_multi_index(multi_index: Sequence[TensorLike], dims: object, mode: str = "raise", order: str = "C") -> Node:
    """Positions on the axes of a tensor of lengths `dims` as positions in it when flattened.

    multi_index: Places, one tensor for each axis.
    dims: Lengths of the axes.
    mode: Beyond the ends: "raise" an AssertionError in the call, "clip" to the nearest end, "wrap" around.
    order: "C": the last index runs fastest; "F": the first.
    Returns: Positions (int64), of the common shape of those given.
    See unravel_index: Positions in a flattened tensor of lengths `dims` as positions on its axes.
    >>> pt.ravel_multi_index((1, 2), (2, 3)).eval().item()
    5
    """
    result: Node | None = None
    pairs = list(zip(multi_index, as_shape(dims), strict=True))
    for given, length in pairs if _row_major(order) else reversed(pairs):
        position, size = as_tensor(given), length_of(length)
        if mode == "clip":
            position = apply("minimum", apply("maximum", position, 0), apply("sub", size, 1))
        elif mode == "wrap":
            position = apply("mod", position, size)
        elif mode == "raise":
            position = _inside(position, size, "ravel_multi_index")
        else:
            raise ValueError(f"mode must be 'raise', 'clip' or 'wrap', got {mode!r}.")
        result = position if result is None else apply("add", apply("mul", result, size), position)
    if result is None:
        raise ShapeError("`ravel_multi_index` needs positions on at least one axis.")
    return result


def _inside(position: Node, size: TensorLike, name: str) -> Node:
    """Positions from 0 on; the computation fails where one is not below `size`."""
    if position.dtype not in ("bool", *INTEGERS):
        raise DtypeError(f"positions are integers, got {describe(position)}.")
    inside = apply("logical_and", apply("ge", position, 0), apply("lt", position, size))
    return Node(Asserted(f"`{name}`: a position is outside the lengths."), position, reduce("all", inside))


def _row_major(order: str) -> bool:
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', got {order!r}.")
    return order == "C"


def inverse_permutation(perm: TensorLike) -> Node:
    """The permutation of 0, 1, … that undoes a permutation; of a matrix, those of its rows, and so on.

    perm: Permutation of 0, ..., n - 1.
    Returns: Integers (int64), of the shape of `perm`.
    See permute_row_elements: The elements of the last axis of x in the orders that the rows of y name.
    >>> pt.inverse_permutation([2, 0, 1]).eval().tolist()
    [1, 2, 0]
    """
    node = as_tensor(perm)
    if not node.ndim:
        raise ShapeError(f"a permutation is a vector of integers, got {describe(node)}.")
    positions = cast(arange(length_of(node.static_shape[-1])), node.dtype)
    before = [
        expand_dims(arange(length_of(n)), tuple(range(1, node.ndim - i))) for i, n in enumerate(node.static_shape[:-1])
    ]
    return index_set(getitem(full_like(node, 0), (*before, node) if before else node), positions)


def slice_at_axis(sl: slice, axis: int) -> tuple[object, ...]:
    """An index that takes a slice of one axis and all of the others.

    sl: Slice.
    axis: Axis that is cut, counted from the end if negative.
    Returns (tuple): For `x[...]`.
    See take: The elements at `indices` along `axis`.
    >>> x = pt.as_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x[pt.slice_at_axis(slice(1, None), axis=-1)].eval().tolist()
    [[2.0, 3.0], [5.0, 6.0]]
    """
    return (slice(None),) * axis + (sl, ...) if axis >= 0 else (..., sl) + (slice(None),) * (-1 - axis)


def diag(v: TensorLike, k: int = 0) -> Node:
    """A square matrix with vector v on diagonal `k` (above the main one if positive), or that diagonal of matrix v.

    v, k : ...
    Returns: A matrix of a vector, a vector of a matrix.
    See block_diag: Matrices along the diagonal of one.
    >>> pt.diag([1.0, 2.0]).eval().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    node = as_tensor(v)
    if node.ndim == 2:
        return diagonal(node, k)
    if node.ndim != 1:
        raise ShapeError(f"`diag` needs a vector or a matrix, got {describe(node)}.")
    if not k:
        return Node(DiagonalMatrix(), node)
    size = node.static_shape[0] + abs(k)
    return index_set(getitem(full((size, size), 0, node.dtype), diagonal_positions(size, size, k)), node)


def extract_diag(x: TensorLike) -> Node:
    """The main diagonals of the matrices over the first two axes.

    x : ...
    Returns: Without the two axes, and with one for the diagonals.
    See diag: A diagonal matrix, or the diagonal of one.
    See diagonal: Diagonal `offset` of the matrices over two axes.
    >>> pt.extract_diag([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [1.0, 4.0]
    """
    return diagonal(x)


def fill_diagonal(a: TensorLike, val: TensorLike) -> Node:
    """A matrix with one number all along its main diagonal; of higher rank, where all positions are equal.

    a : ...
    val: Value of the diagonal.
    Returns: Of the shape of `a`.
    See fill_diagonal_offset: Another diagonal than the main one.
    >>> pt.fill_diagonal(pt.zeros((2, 2)), 3.0).eval().tolist()
    [[3.0, 0.0], [0.0, 3.0]]
    """
    return fill_diagonal_offset(a, val, 0)


def fill_diagonal_offset(a: TensorLike, val: TensorLike, offset: Any) -> Node:
    """A matrix with one number all along diagonal `offset` (above the main one if positive), which may be symbolic.

    a : ...
    val: Value of the diagonal.
    offset: Offset of the diagonal; 0 is the main one, positive ones lie above it.
    Returns: Of the shape of `a`.
    See fill_diagonal: A matrix with one number all along its main diagonal.
    >>> pt.fill_diagonal_offset(pt.zeros((2, 2)), 3.0, 1).eval().tolist()
    [[0.0, 3.0], [0.0, 0.0]]
    """
    node = as_tensor(a)
    offset = offset if isinstance(offset, Node) else operator.index(offset)
    if node.ndim > 2 and isinstance(offset, int) and not offset:
        node = _of_equal_lengths(node)
    if node.ndim != 2 and (node.ndim < 2 or not isinstance(offset, int) or offset):
        raise ShapeError(f"a matrix was needed, or equal lengths for the main diagonal, got {describe(node)}.")
    if not isinstance(offset, int):
        rows, columns = (arange(length_of(n)) for n in node.static_shape)
        on = apply("eq", apply("add", expand_dims(rows, 1), offset), columns)
        return apply("where", on, cast(val, node.dtype), node)
    rows, columns = diagonal_positions(node.static_shape[0], node.static_shape[1], offset)
    return index_set(getitem(node, (rows, columns) + (rows,) * (node.ndim - 2)), val)


def _of_equal_lengths(node: Node) -> Node:
    """A tensor whose lengths are required to be equal, where it is not known that they are."""
    first, *others = node.static_shape
    if len({n for n in node.static_shape if isinstance(n, int)}) > 1:
        raise ShapeError(f"a matrix was needed, or equal lengths for the main diagonal, got {describe(node)}.")
    pairs = tuple(ShapeConstraint(first, n, "the main diagonal has equal lengths") for n in others if n != first)
    return Node(Require(pairs), node) if pairs else node


def tril(m: TensorLike, k: int = 0) -> Node:
    """The matrices of the last two axes on and below diagonal `k`, zeros above it.

    m: Matrix, or a batch of them.
    k : ...
    Returns: Of the shape of `m`.
    See triu: The matrices of the last two axes on and above diagonal `k`.
    See tri: Ones on and below diagonal `k`.
    >>> pt.tril([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """
    node = _matrix(m, "tril")
    return apply("where", _below(node, k), node, as_tensor(0, node.dtype))


def triu(m: TensorLike, k: int = 0) -> Node:
    """The matrices of the last two axes on and above diagonal `k`, zeros below it.

    m: Matrix, or a batch of them.
    k : ...
    Returns: Of the shape of `m`.
    See tri: Ones on and below diagonal `k`.
    See tril: The matrices of the last two axes on and below diagonal `k`.
    >>> pt.triu([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    node = _matrix(m, "triu")
    return apply("where", _below(node, k - 1), as_tensor(0, node.dtype), node)


def _below(node: Node, k: int) -> Node:
    rows, columns = (arange(length_of(n)) for n in node.static_shape[-2:])
    return apply("ge", apply("add", expand_dims(rows, 1), k), columns)


def _matrix(x: TensorLike, name: str) -> Node:
    node = as_tensor(x)
    if node.ndim < 2:
        raise ShapeError(f"`{name}` needs a matrix, got {describe(node)}.")
    return node


def set_subtensor(x: Node, y: TensorLike, inplace: bool = False, tolerate_inplace_aliasing: bool = False) -> Node:
    """PyTensor's name for `a[i].set(y)`; x is `a[i]`. Memory is the compiler's matter: the other two change nothing.

    x: Tensor, or what becomes one: an array, a number, nested lists.
    y: What takes the place; it broadcasts to the shape of the part.
    inplace: Taken for PyTensor's sake and without effect: expressions are never changed.
    tolerate_inplace_aliasing: Taken for PyTensor's sake and without effect.
    Returns: The whole tensor with that part changed.
    See inc_subtensor: PyTensor's name for `a[i].inc(y)`.
    >>> pt.set_subtensor(pt.as_tensor([1.0, 2.0])[0], 5.0).eval().tolist()
    [5.0, 2.0]
    """
    return index_set(x, y)


def inc_subtensor(
    x: Node,
    y: TensorLike,
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    tolerate_inplace_aliasing: bool = False,
    ignore_duplicates: bool = False,
) -> Node:
    """PyTensor's name for `a[i].inc(y)`; x is `a[i]`. With `ignore_duplicates` the last repetition counts.

    x: Tensor, or what becomes one: an array, a number, nested lists.
    y: What is added; it broadcasts to the shape of the part.
    inplace: Taken for PyTensor's sake and without effect: expressions are never changed.
    set_instead_of_inc: Whether the elements are replaced.
    tolerate_inplace_aliasing: Taken for PyTensor's sake and without effect.
    ignore_duplicates: Whether a place that stands twice counts once.
    Returns: The whole tensor with that part changed.
    See set_subtensor: PyTensor's name for `a[i].set(y)`.
    >>> pt.inc_subtensor(pt.as_tensor([1.0, 2.0])[0], 5.0).eval().tolist()
    [6.0, 2.0]
    """
    return index_set(x, y) if set_instead_of_inc else index_inc(x, y, ignore_duplicates)
