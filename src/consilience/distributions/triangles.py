"""Lower triangles of square matrices as vectors, row by row, and back.

The order is that of `numpy.tril_indices`, as in PyMC's packed Cholesky factors. The number of rows is known when the
graph is made; leading axes are a batch.
"""

from __future__ import annotations

import math

import numpy as np

from consilience.distributions.mathematics import sqrt, where
from consilience.errors import ShapeError
from consilience.ir import Dim, Node, Shape, constant
from consilience.ir.side_tables import describe
from consilience.ops.index import getitem
from consilience.ops.random import draw, fold_in
from consilience.ops.shape import concatenate, expand_dims, full, reshape


def order(matrix: Node) -> int:
    """Number of rows of square matrices; ShapeError unless it is known."""
    rows, columns = matrix.static_shape[-2:]
    if not isinstance(rows, int) or rows != columns:
        raise ShapeError(f"square matrices of known length were needed, got {describe(matrix)}.")
    return rows


def triangle_length(rows: Dim, strict: bool = False) -> Dim:
    """Number of elements of a lower triangle; without the diagonal if `strict`."""
    return (rows * (rows - 1 if strict else rows + 1)) // 2


def row_count(length: Dim, strict: bool = False) -> int:
    """Rows of the matrix whose lower triangle has a number of elements; the inverse of `triangle_length`."""
    if not isinstance(length, int):
        raise ShapeError(f"a packed triangle needs a length known when the graph is made, got {length!r}.")
    rows = (math.isqrt(8 * length + 1) + (1 if strict else -1)) // 2
    if triangle_length(rows, strict) != length:
        sign = "-" if strict else "+"
        raise ShapeError(f"a packed triangle of n rows has n (n {sign} 1) / 2 elements, got {length}.")
    return rows


def diagonal_positions(rows: int) -> Node:
    """Where the diagonal stands in a packed triangle."""
    return constant(np.cumsum(np.arange(1, rows + 1)) - 1)


def is_diagonal(rows: int) -> Node:
    """Of each element of a packed triangle whether it stands on the diagonal."""
    return constant(np.equal(*np.tril_indices(rows)))


def packed(matrix: Node, strict: bool = False, upper: bool = False) -> Node:
    """The lower triangle as a vector, or the upper one; without the diagonal if `strict`."""
    rows = order(matrix)
    row, column = np.triu_indices(rows, int(strict)) if upper else np.tril_indices(rows, -int(strict))
    flat = reshape(matrix, (*matrix.static_shape[:-2], rows * rows))
    return getitem(flat, (Ellipsis, constant(row * rows + column)))


def unpacked(vector: Node, strict: bool = False) -> Node:
    """The matrix with a vector as its lower triangle and zeros elsewhere."""
    rows = row_count(vector.static_shape[-1], strict)
    positions = np.zeros((rows, rows), "int64")
    row, column = np.tril_indices(rows, -1 if strict else 0)
    positions[row, column] = np.arange(1, row.size + 1)
    zero = full((*vector.static_shape[:-1], 1), 0.0, vector.dtype)
    return getitem(concatenate([zero, vector], -1), (Ellipsis, constant(positions)))


def chi_triangle(key: Node, shape: Shape, halves: Node) -> Node:
    """Random lower triangular matrices of a shape: chi variables on the diagonal, standard normal ones below it.

    `halves`: half the degrees of freedom of the diagonal, (..., n).
    """
    rows = shape[-1]
    assert isinstance(rows, int)
    normal = draw("random_normal", fold_in(key, 0), (*shape[:-2], triangle_length(rows, strict=True)))
    chi = sqrt(2.0 * draw("random_gamma", fold_in(key, 1), shape[:-1], halves))
    return where(constant(np.eye(rows, dtype=bool)), expand_dims(chi, -1), unpacked(normal, strict=True))


def lower_triangle(matrix: Node) -> Node:
    """The matrix with zeros above its diagonal."""
    rows = order(matrix)
    return where(constant(np.tril(np.ones((rows, rows), bool))), matrix, 0.0)
