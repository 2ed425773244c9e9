"""Matrix products of sparse variables with vectors, dense matrices and each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.errors import ShapeError
from consilience.ir import Dim, Node, constant, constant_value
from consilience.ir.arithmetic import means
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.arrangement import repeat
from consilience.ops.assertion import Require
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast, promote
from consilience.ops.index import getitem
from consilience.ops.reduce import cumulative
from consilience.ops.shape import squeeze, transpose
from consilience.ops.sparse.coordinates import from_coordinates, taken
from consilience.ops.sparse.products import (
    matrix_of,
    sampled_product,
    sparse_product,
    transposed_sparse_product,
)
from consilience.ops.sparse.variable import SparseVariable, as_sparse_variable, is_sparse


@means("sparse_dot")
def dot(x: Any, y: Any) -> Any:
    """The matrix product of x and y, one of which is sparse: a sparse variable if both are, else a dense tensor.

    x : ...
    y (TensorLike): Second operand, with as many rows as x has columns.
    Returns: Sparse where both operands are, else a dense tensor.
    Raises ShapeError: Where inner lengths differ.
    Raises TypeError: Where neither is sparse.
    See structured_dot: The product with derivatives of stored entries.
    See mul: The product element by element.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.dot(A, [10.0, 100.0]).eval().tolist()
    [200.0, 10.0]
    """
    if is_sparse(x) and is_sparse(y):
        return _sparse_sparse(as_sparse_variable(x), as_sparse_variable(y))
    if is_sparse(x):
        return _sparse_dense(as_sparse_variable(x), as_tensor(y))
    if is_sparse(y):
        left = as_tensor(x)
        turned = as_sparse_variable(y).T
        if left.ndim == 1:
            return _sparse_dense(turned, left)
        return transpose(_sparse_dense(turned, transpose(matrix_of(left))))
    raise TypeError("a product of sparse matrices needs one that is sparse; `pt.dot` multiplies dense ones.")


def true_dot(x: Any, y: Any, grad_preserves_dense: bool = True) -> Any:
    """The matrix product, as `dot`; derivatives of dense operands are dense.

    x : ...
    y (TensorLike): Second operand, with as many rows as x has columns.
    grad_preserves_dense: Accepted, without effect: derivatives of dense operands are dense.
    Returns: Sparse where both operands are, else a dense tensor.
    See dot: The same product.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.true_dot(A, A).toarray().eval().tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    return dot(x, y)


def structured_dot(x: Any, y: Any) -> Any:
    """The matrix product, as `dot`; derivatives are those of the stored entries.

    x : ...
    y (TensorLike): Second operand, with as many rows as x has columns.
    Returns: Sparse where both operands are, else a dense tensor.
    See dot: The same product.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.structured_dot(A, [[1.0], [10.0]]).eval().tolist()
    [[20.0], [1.0]]
    """
    return dot(x, y)


def usmm(alpha: TensorLike, x: Any, y: Any, z: TensorLike) -> Node:
    """`alpha x y + z` for a number, two matrices of which one is sparse, and a dense matrix.

    alpha: Factor of the product.
    x (TensorLike): First matrix of the product.
    y (TensorLike): Second matrix of the product; one of both is sparse.
    z: Dense matrix to which the product is added.
    Returns: A dense matrix.
    See dot: The product alone.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.usmm(0.5, A, [[1.0], [10.0]], [[100.0], [200.0]]).eval().tolist()
    [[110.0], [200.5]]
    """
    return apply("add", apply("mul", alpha, dot(x, y)), z)


def _inner(have: Dim, want: Dim, x: object, y: object) -> tuple[ShapeConstraint, ...]:
    if isinstance(have, int) and isinstance(want, int) and have != want:
        raise ShapeError(f"cannot multiply: inner lengths {have} and {want} differ in\n  {x}\n  {y}")
    return () if have is want or have == want else (ShapeConstraint(have, want, "inner lengths of a product agree"),)


def _computed(*operands: Node) -> tuple[list[Node], str]:
    """Operands of one dtype in which products are computed, and the dtype of the result."""
    nodes, _ = promote(operands)
    own = nodes[0].dtype
    wide = {"bool": "int64", "float16": "float32"}.get(own, own)
    return [cast(n, wide) for n in nodes], "float16" if own == "float16" else wide


def _sparse_dense(x: SparseVariable, y: Node) -> Node:
    if not y.ndim:
        raise ShapeError(f"a matrix multiplies vectors and matrices, got {describe(y)}; multiply by a number with `*`.")
    needed = _inner(y.static_shape[0], x.static_shape[1], x, describe(y))
    (data, columns), dtype = _computed(x.data, matrix_of(y))
    columns = Node(Require(needed), columns) if needed else columns
    if x.format == "csr":
        result = sparse_product(data, x.indices, x.indptr, x.static_shape[1], columns)
    else:
        result = transposed_sparse_product(data, x.indices, x.indptr, x.static_shape[0], columns)
    return cast(squeeze(result, 1) if y.ndim == 1 else result, dtype)


def _sparse_sparse(x: SparseVariable, y: SparseVariable) -> SparseVariable:
    """Every entry of x meets the entries in one row of y; products at one place are added up."""
    needed = _inner(y.static_shape[0], x.static_shape[1], x, y)
    right = y.tocsr()
    (a, b), dtype = _computed(x.data, right.data)
    rows, middles = x.coordinates
    starts, counts = line_bounds(right, middles)
    left, found = ranges(starts, counts)
    values = apply("mul", getitem(a, left), getitem(b, found))
    values = Node(Require(needed), values) if needed else values
    shape = (x.static_shape[0], y.static_shape[1])
    return from_coordinates(taken(rows, left), taken(right.indices, found), values, shape, x.format).astype(dtype)


def line_bounds(x: SparseVariable, lines: Node) -> tuple[Node, Node]:
    """Where rows (of "csr", columns of "csc") begin, and how many entries they have."""
    begins, at = constant_value(x.indptr), constant_value(lines)
    if begins is not None and at is not None:
        return constant(begins[at].astype("int64")), constant((begins[at + 1] - begins[at]).astype("int64"))
    starts = cast(x.indptr, "int64")
    first = getitem(getitem(starts, slice(None, -1)), lines)
    return first, apply("sub", getitem(getitem(starts, slice(1, None)), lines), first)


def ranges(starts: Node, counts: Node) -> tuple[Node, Node]:
    """For ranges of integers given by their starts and lengths, one behind the other: the range of each, and itself."""
    begin, many = constant_value(starts), constant_value(counts)
    if begin is not None and many is not None:
        which = np.repeat(np.arange(len(many)), many)
        offset = np.arange(len(which)) - np.repeat(np.cumsum(many) - many, many)
        return constant(which), constant(begin[which] + offset)
    ones = apply("add", apply("mul", counts, 0), 1)
    numbers = apply("sub", cumulative("sum", ones), 1)
    which_of = repeat(numbers, counts)
    total = cumulative("sum", apply("add", apply("mul", which_of, 0), 1))
    before = apply("sub", cumulative("sum", counts), counts)
    offsets = apply("sub", apply("sub", total, 1), getitem(before, which_of))
    return which_of, apply("add", getitem(starts, which_of), offsets)


def sampling_dot(x: TensorLike, y: TensorLike, p: Any) -> SparseVariable:
    """`x y'` at the places of the entries of a sparse p, times p; the other elements are not computed.

    x: Dense matrix, shape (n, k).
    y: Dense matrix, shape (m, k).
    p: Sparse matrix, shape (n, m), whose places say which products are wanted.
    Returns: The products at the places of the entries of `p`.
    See dot: The matrix product of x and y.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> places = scipy.sparse.csr_matrix([[0.0, 1.0], [0.0, 0.0]])
    >>> sparse.sampling_dot([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [5.0, 6.0]], places).toarray().eval().tolist()
    [[0.0, 17.0], [0.0, 0.0]]
    """
    pattern = as_sparse_variable(p)
    (u, v), _ = promote([x, y])
    if u.ndim != 2 or v.ndim != 2:
        raise ShapeError(f"two matrices were needed, got {describe(u)} and {describe(v)}.")
    needed = _inner(u.static_shape[0], pattern.static_shape[0], describe(u), pattern)
    needed += _inner(v.static_shape[0], pattern.static_shape[1], describe(v), pattern)
    u = Node(Require(needed), u) if needed else u
    left, right = (u, v) if pattern.format == "csr" else (v, u)
    entries = sampled_product(left, right, pattern.indices, pattern.indptr)
    return pattern.with_data(apply("mul", pattern.data, entries))
