"""Cholesky factors of sparse symmetric positive definite matrices whose pattern is known, and what follows from them.

In: a sparse variable whose places are constants. Rows and columns are put in an order with few new entries (minimum
degree), and the pattern of the factor is found, when the expression is written. Out: solutions, determinants, draws.
Source: T. Davis (2006), "Direct Methods for Sparse Linear Systems", chapter 4.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import MissingRuleError, ShapeError
from consilience.ir import Dim, KeptAxes, Node, Op, TensorType, constant, constant_value
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.assertion import Require
from consilience.ops.axes import all_but
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import getitem, index_inc
from consilience.ops.reduce import reduce
from consilience.ops.shape import full, squeeze
from consilience.ops.sparse.products import matrix_of
from consilience.ops.sparse.variable import SparseVariable, as_sparse_variable
from consilience.record import Record

Array: TypeAlias = npt.NDArray[Any]


class SparseCholesky(Op):
    """Entries of the lower factor from those of the lower triangle, on the last axis; leading axes are a batch.

    Both have the pattern of the factor, column by column. The other inputs are constants (int32): rows of entries and
    beginnings of columns; for each row, beginnings, places and columns of its entries left of the diagonal. Where the
    matrix is not positive definite the function fails with status FACTORISATION_FAILED.
    """

    flops = 3.0  # places are read beside every number

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type

    def volume(self, *inputs: Node) -> Dim:
        """Of one factor: the squares of the lengths of its columns."""
        begins = constant_value(inputs[2])
        return 0 if begins is None else int(np.square(np.diff(begins.astype(np.int64))).sum())

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (all_but((), inputs[0].ndim - 1),)


class SparseCholeskyPullback(Op):
    """The cotangent of the entries of a matrix from the factor and its cotangent; the other inputs are as above."""

    linear = ((1,),)

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return (all_but((), inputs[0].ndim - 1),) * 2


class SparseTriangularSolve(Op):
    """`y` with L y = b (L' y = b when `transposed`) for the entries of L, a matrix b, rows, and beginnings of columns.

    Leading axes of L's entries and of b are a batch, the same for both.
    """

    linear = ((1,),)
    transposed: bool

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[1].tensor_type

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        batch, columns = all_but((), inputs[0].ndim - 1), inputs[1].ndim - 1
        return batch, {**batch, columns: columns}

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        have, want = inputs[1].static_shape[-2], inputs[3].static_shape[0] - 1
        return (
            () if have is want or have == want else (ShapeConstraint(have, want, "a solution needs a row per column"),)
        )


class Pattern(Record, eq=False):
    """Where the factor of a matrix has entries, as `SparseCholesky` wants it, and where those of the matrix go.

    `order`: row i of the factor is row order[i] of the matrix. `places`: for each entry of the matrix, its place in the
    factor.
    """

    order: Array
    places: Array
    rows: Array
    begins: Array
    line_begins: Array
    lines: Array
    columns: Array

    @property
    def constants(self) -> tuple[Node, ...]:
        """What the ops take."""
        return tuple(map(constant, (self.rows, self.begins, self.line_begins, self.lines, self.columns)))


class SparseFactor(Record, eq=False):
    """The factor L of P A P' = L L' for a sparse positive definite A.

    L (SparseVariable): The lower triangular factor, a sparse variable of format "csc".
    P (ndarray): The order: row i of the factor is row P[i] of A.
    See cholesky: Makes a factor.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> factor = sparse.cholesky(scipy.sparse.csc_matrix([[4.0, 1.0], [1.0, 3.0]]))
    >>> factor.solve([1.0, 2.0]).eval().round(4).tolist()
    [0.0909, 0.6364]
    """

    L: SparseVariable
    P: Array

    def solve(self, b: TensorLike) -> Node:
        """`x` with A x = b, for a vector or a matrix b."""
        right, columns = self._right_side(b)
        half = self._triangular(getitem(columns, self.P), False)
        result = getitem(self._triangular(half, True), np.argsort(self.P))
        return squeeze(result, 1) if right.ndim == 1 else result

    def correlate(self, z: TensorLike) -> Node:
        """`x` of covariance A^-1 from independent standard normal numbers z: a vector, or the columns of a matrix."""
        white, columns = self._right_side(z)
        result = getitem(self._triangular(columns, True), np.argsort(self.P))
        return squeeze(result, 1) if white.ndim == 1 else result

    def _right_side(self, value: TensorLike) -> tuple[Node, Node]:
        """A vector or matrix as it is and as a matrix, whose number of rows is checked."""
        given = cast(as_tensor(value), "float64")
        columns = matrix_of(given)
        have, want = columns.static_shape[0], self.L.static_shape[0]
        if isinstance(have, int) and have != want:
            raise ShapeError(f"a solution needs {want} rows on the right, got {have}: {describe(given)}.")
        needed = (ShapeConstraint(have, want, "a solution needs a row per unknown"),)
        return given, columns if have == want else Node(Require(needed), columns)

    def _triangular(self, b: Node, transposed: bool) -> Node:
        return Node(SparseTriangularSolve(transposed), self.L.data, b, self.L.indices, self.L.indptr)

    def logdet(self) -> Node:
        """The logarithm of A's determinant."""
        begins = constant_value(self.L.indptr)
        assert begins is not None
        return apply("mul", 2.0, reduce("sum", apply("log", getitem(self.L.data, begins[:-1])), -1))


def cholesky(A: Any) -> SparseFactor:
    """The Cholesky factor of a sparse symmetric positive definite matrix, of whose entries the places are known.

    Computed in float64. The matrix is taken as symmetric: mirrored entries are averaged, and share its derivatives.

    A : ...
    Returns: The factor: its `solve` and `logdet` are expressions.
    Raises ShapeError: Where A is not square or its pattern is not symmetric.
    Raises MissingRuleError: Where places are not constants; the function raises LinearAlgebraError where A is not
        positive definite.
    See solve: Solves one system.
    See logdet: The logarithm of the determinant.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> factor = sparse.cholesky(scipy.sparse.csc_matrix([[4.0, 1.0], [1.0, 3.0]]))
    >>> factor.logdet().eval().round(4).item()
    2.3979
    """
    matrix = as_sparse_variable(A)
    rows, columns = matrix.static_shape
    if rows != columns:
        raise ShapeError(f"a Cholesky factor needs a square matrix, got {matrix!r}.")
    places, begins = constant_value(matrix.indices), constant_value(matrix.indptr)
    if places is None or begins is None or not isinstance(rows, int):
        raise MissingRuleError(
            "a sparse Cholesky factor needs a matrix whose places are constants: write `sparse.CSR(data, indices, "
            "indptr, shape)` with arrays for the places, or factorise `A.toarray()` by `pt.linalg.cholesky`; "
            f"got {matrix!r}."
        )
    pattern = _pattern(begins.tobytes(), begins.dtype.str, places.tobytes(), places.dtype.str)
    weights = np.where(np.isin(pattern.places, pattern.begins[:-1]), 1.0, 0.5)
    zeros = full((len(pattern.rows),), 0.0, "float64")
    values = index_inc(getitem(zeros, pattern.places), apply("mul", cast(matrix.data, "float64"), weights))
    own = pattern.constants
    factor = SparseVariable(Node(SparseCholesky(), values, *own), own[0], own[1], (rows, rows), "csc")
    return SparseFactor(factor, pattern.order)


def solve(A: Any, b: TensorLike) -> Node:
    """`x` with A x = b for a sparse symmetric positive definite A, as `cholesky` wants it; b is a vector or a matrix.

    A : ...
    b: Right sides, shape (n,) or (n, m).
    Returns: Of the shape of `b`.
    See cholesky: A factor, for several right sides.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csc_matrix([[4.0, 1.0], [1.0, 3.0]])
    >>> sparse.solve(A, [1.0, 2.0]).eval().round(4).tolist()
    [0.0909, 0.6364]
    """
    return cholesky(A).solve(b)


def logdet(A: Any) -> Node:
    """The logarithm of the determinant of a sparse symmetric positive definite matrix, as `cholesky` wants it.

    A : ...
    Returns: A scalar.
    See cholesky: A factor, for several uses.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.logdet(scipy.sparse.csc_matrix([[4.0, 1.0], [1.0, 3.0]])).eval().round(4).item()
    2.3979
    """
    return cholesky(A).logdet()


# ---- the pattern


@functools.lru_cache(maxsize=16)
def _pattern(begins: bytes, kind: str, places: bytes, other: str) -> Pattern:
    """The pattern of the factor, of the bytes of a matrix' beginnings and places (symmetric, so of either format)."""
    starts, others = np.frombuffer(begins, kind), np.frombuffer(places, other).astype("int64")
    count = len(starts) - 1
    lines = np.repeat(np.arange(count), np.diff(starts))
    mirrored = np.sort(others * count + lines)
    if len(mirrored) != len(others) or (mirrored != lines * count + others).any():
        raise ShapeError(
            "a Cholesky factor needs a matrix with a symmetric pattern: an entry at (j, i) for each at (i, j), zeros "
            "where need be."
        )
    order = _minimum_degree(starts, others)
    rank = np.argsort(order)
    low, high = np.minimum(rank[lines], rank[others]), np.maximum(rank[lines], rank[others])
    below: list[Array] = np.split(high[(by := np.lexsort((high, low)))], np.searchsorted(low[by], np.arange(1, count)))
    children: list[list[int]] = [[] for _ in range(count)]
    filled: list[Array] = []
    for j in range(count):
        own = np.unique(np.concatenate([[j], below[j], *(filled[c][1:] for c in children[j])]))
        filled.append(own)
        if len(own) > 1:
            children[own[1]].append(j)
    rows = np.concatenate([*filled, np.empty(0, "int64")]).astype("int64")
    ends = np.cumsum([0, *map(len, filled)])
    columns = np.repeat(np.arange(count), np.diff(ends))
    at = np.searchsorted(columns * count + rows, low * count + high)
    left = np.flatnonzero(rows > columns)
    left = left[np.argsort(rows[left], kind="stable")]
    line_ends = np.searchsorted(rows[left], np.arange(count + 1))
    narrow = (a.astype("int32") for a in (rows, ends, line_ends, left, columns[left]))
    return Pattern(order, at, *narrow)


def _minimum_degree(begins: Array, places: Array) -> Array:
    """An order in which few entries are new, by the ordering of SuperLU on a matrix of the same pattern."""
    import scipy.sparse
    import scipy.sparse.linalg

    count = len(begins) - 1
    if count < 2:
        return np.arange(count)
    neighbours = scipy.sparse.csc_matrix((-np.ones(len(places)), places, begins), shape=(count, count))
    dominant = (neighbours + scipy.sparse.diags_array(np.diff(begins) + 2.0)).tocsc()
    found = scipy.sparse.linalg.splu(
        dominant, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    return np.argsort(found.perm_c)
