"""Products with sparse matrices in SciPy, factors in NumPy: rows of the table of meanings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.reference.meanings import failed, means
from consilience.backends.shapes import Lengths, static_shape
from consilience.errors import OutOfBoundsError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.lower.primitives import SparseCholeskyWithMemory, SparsePullbackWithMemory
from consilience.ops.sparse.factorisation import SparseCholesky, SparseCholeskyPullback, SparseTriangularSolve
from consilience.ops.sparse.products import SampledProduct, SparseProduct, TransposedSparseProduct, fits

Array = npt.NDArray[Any]


def _matrix(node: Node, entries: Array, columns: Array, begins: Array, width: int) -> Any:
    """SciPy's matrix, whose columns and beginnings of rows are checked."""
    import scipy.sparse

    if not fits(columns, begins, width):
        raise OutOfBoundsError(
            f"columns of entries must be from 0 to {width - 1} and rows must begin in order, from 0 to the number of "
            f"entries, {len(columns)}: {describe(node)}."
        )
    return scipy.sparse.csr_matrix((entries, columns, begins), shape=(len(begins) - 1, width))


@means(SparseProduct)
def _product(node: Node, lengths: Lengths, entries: Array, columns: Array, begins: Array, x: Array) -> Array:
    return np.asarray(_matrix(node, entries, columns, begins, len(x)) @ x)


@means(TransposedSparseProduct)
def _transposed(node: Node, lengths: Lengths, entries: Array, columns: Array, begins: Array, x: Array) -> Array:
    (length,) = static_shape((node.static_shape[0],), lengths)
    return np.asarray(_matrix(node, entries, columns, begins, length).T @ x)


@means(SampledProduct)
def _sampled(node: Node, lengths: Lengths, u: Array, v: Array, columns: Array, begins: Array) -> Array:
    _matrix(node, columns, columns, begins, len(v))
    rows = np.repeat(np.arange(len(u)), np.diff(begins))
    return np.asarray((u[rows] * v[columns]).sum(-1))


# ---- factors, by way of dense matrices


def _dense(entries: Array, rows: Array, begins: Array) -> tuple[Array, tuple[Any, ...]]:
    """Lower triangles, and the index of their entries."""
    count = len(begins) - 1
    matrix = np.zeros((*entries.shape[:-1], count, count))
    at = (..., rows, np.repeat(np.arange(count), np.diff(begins)))
    matrix[at] = entries
    return matrix, at


def _transpose(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


@means(SparseCholesky)
def _cholesky(node: Node, lengths: Lengths, values: Array, rows: Array, begins: Array, *lines: Array) -> Array:
    matrix, at = _dense(values, rows, begins)
    if np.isnan(values).any():
        raise failed(node, "the matrix holds NaN")
    if not matrix.size:
        return values
    try:
        return np.asarray(np.linalg.cholesky(matrix + _transpose(np.tril(matrix, -1)))[at])
    except np.linalg.LinAlgError:
        raise failed(node, "the matrix is not positive definite") from None


@means(SparseCholeskyPullback)
def _pullback(
    node: Node, lengths: Lengths, factor: Array, cotangent: Array, rows: Array, begins: Array, *lines: Array
) -> Array:
    """inv(L)' (the lower triangle of L' G, its diagonal halved) inv(L), on mirrored entries at once."""
    low, at = _dense(factor, rows, begins)
    if not low.size:
        return factor
    product = np.tril(_transpose(low) @ _dense(cotangent, rows, begins)[0])
    product -= 0.5 * product * np.eye(low.shape[-1])
    inverse = np.linalg.inv(low)
    full = _transpose(inverse) @ product @ inverse
    both = full + _transpose(full)
    return np.asarray((both - 0.5 * both * np.eye(low.shape[-1]))[at])


@means(SparseTriangularSolve)
def _triangular_solve(node: Node, lengths: Lengths, factor: Array, b: Array, rows: Array, begins: Array) -> Array:
    op = node.op
    assert isinstance(op, SparseTriangularSolve)
    low, _ = _dense(factor, rows, begins)
    return np.linalg.solve(_transpose(low) if op.transposed else low, b) if b.size else b


@means(SparseCholeskyWithMemory)
def _cholesky_with_memory(node: Node, lengths: Lengths, *arrays: Array) -> list[Array]:
    return [_cholesky(node, lengths, *arrays), np.zeros(len(arrays[2]) - 1)]


@means(SparsePullbackWithMemory)
def _pullback_with_memory(node: Node, lengths: Lengths, *arrays: Array) -> list[Array]:
    return [_pullback(node, lengths, *arrays), np.zeros(arrays[0].shape[-1]), np.zeros(len(arrays[3]) - 1)]
