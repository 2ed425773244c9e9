"""Matrices made of vectors: every element is one of a vector, at a place that the row and the column decide."""

from __future__ import annotations

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import TensorLike, apply, as_tensor, promote
from consilience.ops.index import getitem
from consilience.ops.shape import arange, concatenate, expand_dims, length_of


def toeplitz(c: TensorLike, r: TensorLike | None = None) -> Node:
    """The matrix of constant diagonals with first column c and first row r; the first element of r is not read.

    c : ...
    r: None takes c itself, which makes the matrix symmetric.
    Returns: A matrix.
    See hankel: Diagonals from right to left.
    See circulant: The square matrix whose columns are c, turned by one place each.
    >>> pt.linalg.toeplitz([1.0, 2.0]).eval().tolist()
    [[1.0, 2.0], [2.0, 1.0]]
    """
    column, row = _vectors("toeplitz", c, c if r is None else r)
    values = concatenate([column[::-1], row[1:]])
    i, j = _places(column, row)
    return getitem(values, apply("add", apply("sub", j, i), length_of(column.static_shape[0] - 1)))


def hankel(c: TensorLike, r: TensorLike | None = None) -> Node:
    """The matrix of constant diagonals from right to left with first column c and last row r, whose first is not read.

    c : ...
    r: None takes zeros.
    Returns: A matrix.
    See circulant: The square matrix whose columns are c, turned by one place each.
    See toeplitz: The matrix of constant diagonals with first column c and first row r.
    >>> pt.linalg.hankel([1.0, 2.0]).eval().tolist()
    [[1.0, 2.0], [2.0, 0.0]]
    """
    column, row = _vectors("hankel", c, apply("mul", as_tensor(c), 0) if r is None else r)
    i, j = _places(column, row)
    return getitem(concatenate([column, row[1:]]), apply("add", i, j))


def circulant(c: TensorLike) -> Node:
    """The square matrix with first column c whose columns are c, turned by one place each.

    c : ...
    Returns: A matrix.
    See toeplitz: The matrix of constant diagonals with first column c and first row r.
    See hankel: Diagonals from right to left.
    >>> pt.linalg.circulant([1.0, 2.0]).eval().tolist()
    [[1.0, 2.0], [2.0, 1.0]]
    """
    column, row = _vectors("circulant", c, c)
    i, j = _places(column, row)
    difference = apply("sub", i, j)
    n = length_of(column.static_shape[0])
    return getitem(column, apply("where", apply("lt", difference, 0), apply("add", difference, n), difference))


def _vectors(name: str, *values: TensorLike) -> list[Node]:
    nodes, _ = promote(list(values))
    for node in nodes:
        if node.ndim != 1:
            raise ShapeError(f"`{name}` needs vectors, got {describe(node)}.")
    return list(nodes)


def _places(column: Node, row: Node) -> tuple[Node, Node]:
    """Numbers of rows and of columns, to broadcast against each other."""
    rows, columns = (arange(length_of(x.static_shape[0])) for x in (column, row))
    return expand_dims(rows, 1), columns
