"""What PyMC's `math` has beside the functions of tensors: products of Kronecker's, packed triangles, combinations."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import TensorLike
from consilience.ops.sparse.coordinates import block_diag as sparse_block_diag
from consilience.ops.sparse.coordinates import csr_from_dense
from consilience.ops.sparse.variable import Format, SparseVariable, is_sparse


def flat_outer(a: TensorLike, b: TensorLike) -> Node:
    """All products of the elements of two tensors along one axis, those of b running fastest.

    a : ...
    b (TensorLike): Second operand.
    Returns: A vector.
    See cartesian: All combinations of the rows of several tensors.
    >>> pm.math.flat_outer([1.0, 2.0], [3.0, 4.0]).eval().tolist()
    [3.0, 4.0, 6.0, 8.0]
    """
    return pt.ravel(pt.outer(a, b))


def flatten_list(tensors: Sequence[TensorLike]) -> Node:
    """All elements of several tensors along one axis.

    tensors (sequence of TensorLike): The tensors, in order.
    Returns: One axis.
    See concat: Joins along an axis that is there.
    >>> pm.math.flatten_list([[[1.0, 2.0], [3.0, 4.0]], 5.0]).eval().tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    return pt.concatenate([pt.ravel(tensor) for tensor in tensors])


def kronecker(*Ks: TensorLike) -> Node:
    """Kronecker product of several matrices.

    *Ks (TensorLike): Factors, matrices in order.
    Returns: As many rows and columns as the products of theirs.
    See kron_dot: The product times a matrix.
    >>> pm.math.kron([[1.0, 2.0]], [[1.0], [10.0]]).eval().tolist()
    [[1.0, 2.0], [10.0, 20.0]]
    """
    return functools.reduce(pt.kron, Ks[1:], pt.as_tensor(Ks[0]))


def kron_diag(*diags: TensorLike) -> Node:
    """The diagonal of the Kronecker product of diagonal matrices, from their diagonals.

    *diags (TensorLike): Diagonals of the factors.
    Returns: A vector.
    See kron_dot: The Kronecker product of matrices times a matrix.
    >>> pm.math.kron_diag([1.0, 2.0], [3.0, 4.0]).eval().tolist()
    [3.0, 4.0, 6.0, 8.0]
    """
    return functools.reduce(flat_outer, diags[1:], pt.as_tensor(diags[0]))


def _kronecker_applied(krons: Sequence[TensorLike], m: TensorLike, op: Callable[[Node, Node], Node]) -> Node:
    """`op` of the Kronecker product of matrices with m, one small matrix at a time; a vector m is one column."""
    factors, right = [pt.as_tensor(k) for k in krons], pt.as_tensor(m)
    if right.ndim not in (1, 2):
        raise ShapeError(f"a vector or a matrix was needed on the right, got {describe(right)}.")
    columns = 1 if right.ndim == 1 else right.static_shape[1]
    result = pt.reshape(right, (*(factor.static_shape[1] for factor in factors), columns))
    for axis, factor in enumerate(factors):
        moved = pt.moveaxis(result, axis, 0)
        rest = moved.static_shape[1:]
        done = op(factor, pt.flatten(moved, 2) if moved.ndim > 1 else moved)
        result = pt.moveaxis(pt.reshape(done, (factor.static_shape[0], *rest)), 0, axis)
    return pt.reshape(result, (math.prod(factor.static_shape[0] for factor in factors), columns))


def kron_dot(krons: Sequence[TensorLike], m: TensorLike) -> Node:
    """The Kronecker product of matrices times a matrix, or a vector as its one column, without making the product.

    krons : ...
    m (TensorLike): Vector or matrix that the product meets, with as many rows as the product has columns.
    Returns: As many columns as `m` has.
    See kron: The Kronecker product itself.
    >>> pm.math.kron_dot([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [1.0, 0.0]]], [1.0, 2.0, 3.0, 4.0]).eval().tolist()
    [[2.0], [1.0], [8.0], [6.0]]
    """
    return _kronecker_applied(krons, m, pt.dot)


def kron_solve_lower(krons: Sequence[TensorLike], m: TensorLike) -> Node:
    """`y` with K y = m for the Kronecker product K of lower triangular matrices.

    krons : ...
    m (TensorLike): Vector or matrix that the product meets, with as many rows as the product has columns.
    Returns: Of the shape of the product's right side.
    See kron_solve_upper: Upper triangular ones.
    >>> pm.math.kron_solve_lower([[[2.0, 0.0], [1.0, 1.0]], [[4.0]]], [8.0, 8.0]).eval().tolist()
    [[1.0], [1.0]]
    """
    return _kronecker_applied(krons, m, functools.partial(pt.solve_triangular, lower=True))


def kron_solve_upper(krons: Sequence[TensorLike], m: TensorLike) -> Node:
    """`y` with K y = m for the Kronecker product K of upper triangular matrices.

    krons : ...
    m (TensorLike): Vector or matrix that the product meets, with as many rows as the product has columns.
    Returns: Of the shape of the product's right side.
    See kron_solve_lower: Lower triangular ones.
    >>> pm.math.kron_solve_upper([[[2.0, 1.0], [0.0, 1.0]], [[4.0]]], [8.0, 8.0]).eval().tolist()
    [[0.0], [2.0]]
    """
    return _kronecker_applied(krons, m, functools.partial(pt.solve_triangular, lower=False))


def batched_diag(C: TensorLike) -> Node:
    """Rows of a matrix as diagonal matrices, shape (n, k) to (n, k, k); or back, the diagonals of n matrices.

    C (TensorLike): Matrix or vector, or a batch of them.
    Returns: A matrix of diagonals, or diagonal matrices.
    See block_diagonal: Matrices along the diagonal of one.
    See expand_packed_triangular: A triangular n x n matrix from its elements.
    >>> pm.math.batched_diag([[1.0, 2.0]]).eval().tolist()
    [[[1.0, 0.0], [0.0, 2.0]]]
    """
    node = pt.as_tensor(C)
    if node.ndim == 3:
        return pt.diagonal(node, 0, 1, 2)
    if node.ndim != 2:
        raise ShapeError(f"`batched_diag` needs rank 2 or 3, got {describe(node)}.")
    on_diagonal = pt.eye(node.static_shape[1], dtype="bool")
    return pt.where(on_diagonal, pt.expand_dims(node, -1), pt.as_tensor(np.zeros((), node.dtype)))


def block_diagonal(matrices: Sequence[Any], sparse: bool = False, format: Format = "csr") -> Node | SparseVariable:
    """Matrices along the diagonal of one; a sparse variable of a `format`, "csr" or "csc", if `sparse`.

    matrices: The blocks, in order.
    sparse: Whether the result is sparse.
    format : ...
    Returns: As many rows and columns as all have together.
    See kron: Kronecker product.
    >>> pm.math.block_diagonal([[[1.0, 2.0]], [[3.0]]]).eval().tolist()
    [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]
    """
    if sparse:
        return sparse_block_diag(*(m if is_sparse(m) else csr_from_dense(m) for m in matrices), format=format)
    return pt.block_diag(*matrices)


def cartesian(*arrays: TensorLike) -> Any:
    """All combinations of the rows of several tensors, the last running fastest; vectors are columns.

    *arrays (TensorLike): The arrays, in order.
    Returns: A tensor; an array where all of them are arrays.
    See flat_outer: All products of the elements of two tensors along one axis.
    >>> pm.math.cartesian([1, 2], [3, 4]).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    if not [a for a in arrays if isinstance(a, Node)]:
        plain = [np.asarray(a) for a in arrays]
        tables = [a if a.ndim > 1 else a[:, None] for a in plain]
        along = np.meshgrid(*(np.arange(len(a)) for a in tables), indexing="ij")
        return np.concatenate([a[place.ravel()] for a, place in zip(tables, along, strict=True)], axis=-1)
    rows = [node if node.ndim > 1 else pt.expand_dims(node, 1) for node in [pt.as_tensor(a) for a in arrays]]
    places = pt.meshgrid(*(pt.arange(pt.as_tensor(row.shape[0])) for row in rows), indexing="ij")
    return pt.concatenate([pt.take(row, pt.ravel(place), 0) for row, place in zip(rows, places, strict=True)], -1)


def expand_packed_triangular(n: int, packed: TensorLike, lower: bool = True, diagonal_only: bool = False) -> Node:
    """A triangular n x n matrix from its elements, row by row; or only its diagonal.

    n: Number of rows of the matrix.
    packed (TensorLike): Vector of length n (n + 1) / 2.
    lower: Whether the triangle is the lower one.
    diagonal_only: Whether only the diagonal is returned.
    Returns: A matrix, or a vector with `diagonal_only`.
    See batched_diag: Rows of a matrix as diagonal matrices.
    See block_diagonal: Matrices along the diagonal of one.
    >>> pm.math.expand_packed_triangular(2, [1.0, 2.0, 3.0]).eval().tolist()
    [[1.0, 0.0], [2.0, 3.0]]
    """
    elements = pt.as_tensor(packed)
    if elements.ndim != 1:
        raise ShapeError(f"the packed elements are a vector, got {describe(elements)}.")
    rows, columns = np.tril_indices(n) if lower else np.triu_indices(n)
    if diagonal_only:
        return pt.take(elements, np.flatnonzero(rows == columns))
    return pt.set_subtensor(pt.zeros((n, n), elements.dtype)[rows, columns], elements)
