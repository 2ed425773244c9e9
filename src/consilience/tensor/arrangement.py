"""Elements put elsewhere, repeated or left out: NumPy's names for combinations of the ops on shapes."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import ShapeError
from consilience.ir import Dim, Node
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import getitem, index_inc, index_set
from consilience.ops.linalg import diagonal
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import (
    Iota,
    as_integer,
    as_length,
    as_shape,
    broadcast_to,
    concatenate,
    expand_dims,
    full,
    length_of,
    reshape,
)


def flatten(x: TensorLike, ndim: int = 1) -> Node:
    """The same elements with rank `ndim`: the last axes become one."""
    node = as_tensor(x)
    if ndim < 1 or ndim > max(node.ndim, 1):
        raise ShapeError(f"a rank from 1 to {max(node.ndim, 1)} was needed, got {ndim}, for {describe(node)}.")
    if node.ndim == ndim:
        return node
    lead = node.static_shape[: ndim - 1]
    return reshape(node, (*lead, -1)) if 0 not in lead else reshape(node, (*lead, 0))


def ravel(x: TensorLike) -> Node:
    """All elements along one axis, the last axis running fastest."""
    return flatten(x)


def atleast_1d(x: TensorLike) -> Node:
    """A number as a vector of length 1; other tensors as they are."""
    node = as_tensor(x)
    return expand_dims(node, 0) if node.ndim == 0 else node


def atleast_2d(x: TensorLike) -> Node:
    """Leading axes of length 1 until the rank is 2."""
    node = as_tensor(x)
    return expand_dims(node, tuple(range(2 - node.ndim))) if node.ndim < 2 else node


def hstack(values: Sequence[TensorLike]) -> Node:
    """Joined along the second axis, vectors along their only one."""
    nodes = [atleast_1d(value) for value in values]
    return concatenate(nodes, 0 if nodes and nodes[0].ndim == 1 else 1)


def vstack(values: Sequence[TensorLike]) -> Node:
    """Joined along the first axis; vectors are rows."""
    return concatenate([atleast_2d(value) for value in values], 0)


def repeat(x: TensorLike, repeats: TensorLike, axis: int | None = None) -> Node:
    """Every element `repeats` times in a row along `axis`, of the flattened tensor for None.

    repeats   one number for all elements, or a vector with one per element of the axis
    """
    node, place = as_tensor(x), axis
    if place is None:
        node, place = flatten(node), 0
    if not -node.ndim <= place < node.ndim:
        raise ShapeError(f"axis {axis} does not exist in {describe(node)}.")
    place %= node.ndim
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


def tile(x: TensorLike, repeats: TensorLike | Sequence[TensorLike]) -> Node:
    """The whole tensor `repeats` times along each axis; axes are added in front where needed."""
    node = as_tensor(x)
    counts: list[Dim] = list(as_shape(repeats))
    counts = [*[1] * (node.ndim - len(counts)), *counts]
    if len(counts) > node.ndim:
        node = expand_dims(node, tuple(range(len(counts) - node.ndim)))
    shape = node.static_shape
    apart = reshape(node, tuple(n for length in shape for n in (1, length)))
    wider = broadcast_to(apart, tuple(n for pair in zip(counts, shape, strict=True) for n in pair))
    return reshape(wider, tuple(count * length for count, length in zip(counts, shape, strict=True)))


def diag(x: TensorLike, k: int = 0) -> Node:
    """A square matrix with vector x on diagonal `k` (above the main one if positive), or that diagonal of matrix x."""
    node = as_tensor(x)
    if node.ndim == 1:
        (length,) = node.static_shape
        size = length + abs(k)
        return index_set(getitem(full((size, size), 0, node.dtype), _diagonal(length, k)), node)
    if node.ndim != 2:
        raise ShapeError(f"`diag` needs a vector or a matrix, got {describe(node)}.")
    return diagonal(node, k)


def _diagonal(length: Dim, k: int) -> tuple[Node, Node]:
    """Rows and columns of the first `length` elements of diagonal k."""
    positions = Node(Iota(length))
    return apply("add", positions, max(-k, 0)), apply("add", positions, max(k, 0))


def tri(rows: object, columns: object | None = None, k: int = 0, dtype: str = "float64") -> Node:
    """Ones on and below diagonal `k`, zeros above it."""
    n = as_length(rows)
    m = n if columns is None else as_length(columns)
    return cast(_below(n, m, k), dtype)


def _below(rows: Dim, columns: Dim, k: int) -> Node:
    row, column = expand_dims(Node(Iota(rows)), 1), Node(Iota(columns))
    return apply("ge", apply("add", row, k), column)


def tril(x: TensorLike, k: int = 0) -> Node:
    """The matrices of the last two axes on and below diagonal `k`, zeros above it."""
    node = _matrix(x, "tril")
    return apply("where", _below(node.static_shape[-2], node.static_shape[-1], k), node, as_tensor(0, node.dtype))


def triu(x: TensorLike, k: int = 0) -> Node:
    """The matrices of the last two axes on and above diagonal `k`, zeros below it."""
    node = _matrix(x, "triu")
    return apply("where", _below(node.static_shape[-2], node.static_shape[-1], k - 1), as_tensor(0, node.dtype), node)


def _matrix(x: TensorLike, name: str) -> Node:
    node = as_tensor(x)
    if node.ndim < 2:
        raise ShapeError(f"`{name}` needs a matrix, got {describe(node)}.")
    return node


def set_subtensor(part: Node, values: TensorLike) -> Node:
    """PyTensor's name for `x[index].set(values)`; `part` is `x[index]`."""
    return index_set(part, values)


def inc_subtensor(part: Node, values: TensorLike) -> Node:
    """PyTensor's name for `x[index].inc(values)`; `part` is `x[index]`."""
    return index_inc(part, values)
