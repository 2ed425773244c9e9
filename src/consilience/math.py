"""`pm.math`: PyMC's mathematical functions, which are those of `consilience.tensor` and some more.

In: tensors, arrays, numbers. Out: expressions. Everything of `consilience.tensor` is found here too.
"""

import functools
import typing
from collections.abc import Callable, Sequence
from math import prod as _prod

import numpy as np

from consilience import tensor as pt
from consilience.errors import ShapeError
from consilience.first_use import guard as _guard
from consilience.ir.side_tables import describe
from consilience.ops.sparse.coordinates import block_diag as _sparse_block_diag
from consilience.ops.sparse.coordinates import csr_from_dense as _csr_from_dense
from consilience.ops.sparse.variable import Format as _Format
from consilience.ops.sparse.variable import SparseVariable as _SparseVariable
from consilience.ops.sparse.variable import is_sparse as _is_sparse
from consilience.tensor import TensorLike as TensorLike
from consilience.tensor import TensorVariable as TensorVariable
from consilience.tensor import keywords as _keywords
from consilience.tensor.linalg import cho_solve as cho_solve
from consilience.tensor.linalg import eigh as eigh
from consilience.tensor.linalg import logdet as logdet
from consilience.tensor.linalg import matrix_inverse as matrix_inverse
from consilience.tensor.linalg import norm as norm
from consilience.tensor.products import kron as _kron

if typing.TYPE_CHECKING:
    from consilience.tensor import *
else:  # what tensors load when it is asked for is loaded then here as well
    globals().update({name: vars(pt)[name] for name in pt.__all__ if name in vars(pt)})


def flat_outer(a: TensorLike, b: TensorLike) -> TensorVariable:
    """All products of the elements of two tensors along one axis, those of b running fastest.

    a : ...
    b (TensorLike): Second operand.
    Returns: A vector.
    See cartesian: All combinations of the rows of several tensors.
    >>> pm.math.flat_outer([1.0, 2.0], [3.0, 4.0]).eval().tolist()
    [3.0, 4.0, 6.0, 8.0]
    """
    return ravel(outer(a, b))


def flatten_list(tensors: Sequence[TensorLike]) -> TensorVariable:
    """All elements of several tensors along one axis.

    tensors (sequence of TensorLike): The tensors, in order.
    Returns: One axis.
    See concat: Joins along an axis that is there.
    >>> pm.math.flatten_list([[[1.0, 2.0], [3.0, 4.0]], 5.0]).eval().tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    return concatenate([ravel(tensor) for tensor in tensors])


def kronecker(*Ks: TensorLike) -> TensorVariable:
    """Kronecker product of several matrices.

    *Ks (TensorLike): Factors, matrices in order.
    Returns: As many rows and columns as the products of theirs.
    See kron_dot: The product times a matrix.
    >>> pm.math.kron([[1.0, 2.0]], [[1.0], [10.0]]).eval().tolist()
    [[1.0, 2.0], [10.0, 20.0]]
    """
    return functools.reduce(_kron, Ks[1:], as_tensor(Ks[0]))


def kron_diag(*diags: TensorLike) -> TensorVariable:
    """The diagonal of the Kronecker product of diagonal matrices, from their diagonals.

    *diags (TensorLike): Diagonals of the factors.
    Returns: A vector.
    See kron_dot: The Kronecker product of matrices times a matrix.
    >>> pm.math.kron_diag([1.0, 2.0], [3.0, 4.0]).eval().tolist()
    [3.0, 4.0, 6.0, 8.0]
    """
    return functools.reduce(flat_outer, diags[1:], as_tensor(diags[0]))


def _kronecker_applied(
    krons: Sequence[TensorLike], m: TensorLike, op: Callable[[TensorVariable, TensorVariable], TensorVariable]
) -> TensorVariable:
    """`op` of the Kronecker product of matrices with m, one small matrix at a time; a vector m is one column."""
    factors, right = [as_tensor(k) for k in krons], as_tensor(m)
    if right.ndim not in (1, 2):
        raise ShapeError(f"a vector or a matrix was needed on the right, got {describe(right)}.")
    columns = 1 if right.ndim == 1 else right.static_shape[1]
    result = reshape(right, (*(factor.static_shape[1] for factor in factors), columns))
    for axis, factor in enumerate(factors):
        moved = moveaxis(result, axis, 0)
        rest = moved.static_shape[1:]
        done = op(factor, flatten(moved, 2) if moved.ndim > 1 else moved)
        result = moveaxis(reshape(done, (factor.static_shape[0], *rest)), 0, axis)
    return reshape(result, (_prod(factor.static_shape[0] for factor in factors), columns))


def kron_dot(krons: Sequence[TensorLike], m: TensorLike) -> TensorVariable:
    """The Kronecker product of matrices times a matrix, or a vector as its one column, without making the product.

    krons : ...
    m (TensorLike): Vector or matrix that the product meets, with as many rows as the product has columns.
    Returns: As many columns as `m` has.
    See kron: The Kronecker product itself.
    >>> pm.math.kron_dot([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [1.0, 0.0]]], [1.0, 2.0, 3.0, 4.0]).eval().tolist()
    [[2.0], [1.0], [8.0], [6.0]]
    """
    return _kronecker_applied(krons, m, dot)


def kron_solve_lower(krons: Sequence[TensorLike], m: TensorLike) -> TensorVariable:
    """`y` with K y = m for the Kronecker product K of lower triangular matrices.

    krons : ...
    m (TensorLike): Vector or matrix that the product meets, with as many rows as the product has columns.
    Returns: Of the shape of the product's right side.
    See kron_solve_upper: Upper triangular ones.
    >>> pm.math.kron_solve_lower([[[2.0, 0.0], [1.0, 1.0]], [[4.0]]], [8.0, 8.0]).eval().tolist()
    [[1.0], [1.0]]
    """
    return _kronecker_applied(krons, m, functools.partial(solve_triangular, lower=True))


def kron_solve_upper(krons: Sequence[TensorLike], m: TensorLike) -> TensorVariable:
    """`y` with K y = m for the Kronecker product K of upper triangular matrices.

    krons : ...
    m (TensorLike): Vector or matrix that the product meets, with as many rows as the product has columns.
    Returns: Of the shape of the product's right side.
    See kron_solve_lower: Lower triangular ones.
    >>> pm.math.kron_solve_upper([[[2.0, 1.0], [0.0, 1.0]], [[4.0]]], [8.0, 8.0]).eval().tolist()
    [[0.0], [2.0]]
    """
    return _kronecker_applied(krons, m, functools.partial(solve_triangular, lower=False))


def batched_diag(C: TensorLike) -> TensorVariable:
    """Rows of a matrix as diagonal matrices, shape (n, k) to (n, k, k); or back, the diagonals of n matrices.

    C (TensorLike): Matrix or vector, or a batch of them.
    Returns: A matrix of diagonals, or diagonal matrices.
    See block_diagonal: Matrices along the diagonal of one.
    See expand_packed_triangular: A triangular n x n matrix from its elements.
    >>> pm.math.batched_diag([[1.0, 2.0]]).eval().tolist()
    [[[1.0, 0.0], [0.0, 2.0]]]
    """
    node = as_tensor(C)
    if node.ndim == 3:
        return diagonal(node, 0, 1, 2)
    if node.ndim != 2:
        raise ShapeError(f"`batched_diag` needs rank 2 or 3, got {describe(node)}.")
    on_diagonal = eye(node.static_shape[1], dtype="bool")
    return where(on_diagonal, expand_dims(node, -1), as_tensor(np.zeros((), node.dtype)))


def block_diagonal(
    matrices: Sequence[typing.Any], sparse: bool = False, format: _Format = "csr"
) -> TensorVariable | _SparseVariable:
    """Matrices along the diagonal of one; a sparse variable of a `format`, "csr" or "csc", if `sparse`.

    matrices (sequence of typing.Any): The blocks, in order.
    sparse: Whether the result is sparse.
    format (_Format): Sparse format, "csc" or "csr".
    Returns (TensorVariable or _SparseVariable): As many rows and columns as all have together.
    See kron: Kronecker product.
    >>> pm.math.block_diagonal([[[1.0, 2.0]], [[3.0]]]).eval().tolist()
    [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]
    """
    if sparse:
        return _sparse_block_diag(*(m if _is_sparse(m) else _csr_from_dense(m) for m in matrices), format=format)
    return block_diag(*matrices)


def cartesian(*arrays: TensorLike) -> typing.Any:
    """All combinations of the rows of several tensors, the last running fastest; vectors are columns.

    *arrays (TensorLike): The arrays, in order.
    Returns (typing.Any): A tensor; an array where all of them are arrays.
    See flat_outer: All products of the elements of two tensors along one axis.
    >>> pm.math.cartesian([1, 2], [3, 4]).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    if not [a for a in arrays if isinstance(a, TensorVariable)]:
        plain = [np.asarray(a) for a in arrays]
        tables = [a if a.ndim > 1 else a[:, None] for a in plain]
        along = np.meshgrid(*(np.arange(len(a)) for a in tables), indexing="ij")
        return np.concatenate([a[place.ravel()] for a, place in zip(tables, along, strict=True)], axis=-1)
    rows = [node if node.ndim > 1 else expand_dims(node, 1) for node in [as_tensor(a) for a in arrays]]
    places = meshgrid(*(arange(as_tensor(row.shape[0])) for row in rows), indexing="ij")
    return concatenate([take(row, ravel(place), 0) for row, place in zip(rows, places, strict=True)], -1)


def expand_packed_triangular(
    n: int, packed: TensorLike, lower: bool = True, diagonal_only: bool = False
) -> TensorVariable:
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
    elements = as_tensor(packed)
    if elements.ndim != 1:
        raise ShapeError(f"the packed elements are a vector, got {describe(elements)}.")
    rows, columns = np.tril_indices(n) if lower else np.triu_indices(n)
    if diagonal_only:
        return take(elements, np.flatnonzero(rows == columns))
    return set_subtensor(zeros((n, n), elements.dtype)[rows, columns], elements)


if not typing.TYPE_CHECKING:  # type checkers take `kron` from above, and know by themselves what is not there
    kron = kronecker

    def __getattr__(name: str) -> object:
        if name in pt.__all__:
            return getattr(pt, name)
        raise _keywords.missing(__name__, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *globals()["__all__"]})


_keywords.export(
    globals(),
    " ".join(
        [*(name for name in vars(pt)["__all__"] if name in globals()), "cho_solve eigh logdet matrix_inverse norm"]
    ),
    wrap=True,
)
_guard(globals())
globals()["__all__"] = sorted({*globals()["__all__"], *vars(pt)["__all__"]})
