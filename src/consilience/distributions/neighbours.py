"""Matrices of weights between neighbours, by their entries: pairs, groups that are connected, determinants.

In: what a user gave for W, or the tensor made of it. Out: a tensor that is written down by the entries alone, so that
memory is in proportion to them, and numbers that densities of fields need.
"""

from __future__ import annotations

import functools
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import ParameterError
from consilience.ir import Node, constant, constant_value
from consilience.ops.elementwise import Cast, TensorLike, apply
from consilience.ops.index import IndexUpdate
from consilience.ops.shape import BroadcastTo
from consilience.ops.sparse.coordinates import dense_from_sparse
from consilience.ops.sparse.factorisation import SparseFactor, cholesky
from consilience.ops.sparse.variable import SparseVariable, is_scipy_sparse
from consilience.record import Record

Floats: TypeAlias = npt.NDArray[np.float64]
MANY: Final = 256  # rows, from which on a dense matrix with few entries is written down by these
FEW: Final = 1 / 8  # of all places
MOST_DENSE: Final = 1000  # elements of a group, up to which eigenvalues are computed
DIGITS: Final = 34.0  # natural logarithm of the precision of a series, with something to spare


def written_by_entries(title: str, name: str, rule: str, value: Any) -> Any:
    """W as a tensor of its entries where it is a sparse matrix, or a large one with few entries; else as it was given.

    Raises ParameterError where the entries of a known one break the rule.
    """
    from scipy import sparse

    if isinstance(value, SparseVariable):
        known = [constant_value(part) for part in (value.data, value.indices, value.indptr)]
        rows, columns = value.static_shape
        if any(part is None for part in known) or not (isinstance(rows, int) and isinstance(columns, int)):
            return value.toarray()
        kind = sparse.csr_array if value.format == "csr" else sparse.csc_array
        parts: Any = tuple(known)
        value = kind(parts, shape=(rows, columns))
    elif not is_scipy_sparse(value):
        few = isinstance(value, np.ndarray) and value.ndim == 2 and len(value) >= MANY
        if not few or np.count_nonzero(value) > FEW * value.size:
            return value
    matrix = sparse.csr_array(value, copy=True)
    if matrix.dtype.kind in "biu":
        matrix = matrix.astype(np.float64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if fault := Neighbours(matrix).fault:
        raise ParameterError(f"{title}: {name} must be {rule}, but {fault}.")
    return dense_from_sparse(matrix)


@functools.lru_cache(maxsize=8)
def neighbours_of(weights: Node) -> Neighbours | None:
    """What is known of one matrix of weights; None where it is not known, or a batch."""
    from scipy import sparse

    while isinstance(weights.op, Cast):
        (weights,) = weights.inputs
    if (dense := constant_value(weights)) is not None:
        return None if dense.ndim > 2 else Neighbours(sparse.csr_array(np.asarray(dense, np.float64)))
    if not isinstance(weights.op, IndexUpdate) or weights.ndim != 2 or len(weights.inputs) != 4:
        return None
    zeros, *parts = weights.inputs
    known = [constant_value(part) for part in parts]
    empty = isinstance(zeros.op, BroadcastTo) and constant_value(zeros.inputs[0])
    if empty is None or empty is False or np.any(empty) or any(part is None for part in known):
        return None
    data, rows, columns = known
    shape: Any = weights.static_shape  # of a constant, which has numbers
    return Neighbours(sparse.csr_array((np.asarray(data, np.float64), (rows, columns)), shape=shape))


class DeterminantSeries(Record, eq=False):
    """Log det(I - a R) - log(1 - a) [- log(1 + a)] of R = D^-1/2 W D^-1/2 of a group, as a Chebyshev series.

    In t with tanh(t) = a tanh(T) every eigenvalue of R other than 1 and -1 is half a period from the real line, so that
    a hundred terms are as good as all eigenvalues.

    `bipartite`: whether -1 is an eigenvalue. `half`: T. `coefficients`: of polynomials in t / T.
    """

    bipartite: bool
    half: float
    coefficients: Floats


class Neighbours:
    """A symmetric matrix of weights, a sparse array of SciPy with a weight in every row."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.sums: Floats = np.asarray(matrix.sum(axis=1)).ravel()

    @cached_property
    def fault(self) -> str:
        """In words, what makes it no matrix of weights; or empty."""
        matrix = self.matrix
        rows, columns = matrix.shape
        if rows != columns:
            return f"it has {rows} rows and {columns} columns"
        if not (matrix.data > 0.0).all():
            entries = matrix.tocoo()
            first = int(np.argmin(entries.data > 0.0))
            return f"the weight at ({entries.row[first]}, {entries.col[first]}) is {entries.data[first]}"
        if (alone := np.diff(matrix.indptr) == 0).any():
            return f"row {int(np.argmax(alone))} has none"
        if (diagonal := matrix.diagonal()).any():
            return f"the weight at ({(i := int(np.argmax(diagonal != 0.0)))}, {i}) is {diagonal[i]}"
        if (difference := matrix - matrix.T.tocsr()).count_nonzero():
            entries = difference.tocoo()
            i, j = (int(places[np.flatnonzero(entries.data)[0]]) for places in entries.coords)
            return f"the weight at ({i}, {j}) is {matrix[i, j]} and that at ({j}, {i}) is {matrix[j, i]}"
        return ""

    @cached_property
    def pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
        """Rows, columns and weights of the pairs of neighbours, each pair once."""
        from scipy import sparse

        upper = sparse.triu(self.matrix).tocoo()
        kept = upper.data != 0.0
        return upper.row[kept].astype(np.int64), upper.col[kept].astype(np.int64), upper.data[kept]

    def factor(self, unit: TensorLike, slope: TensorLike, pinned: bool = False) -> SparseFactor:
        """The Cholesky factor of unit D - slope W for scalars; `pinned`: without the first row and column."""
        from scipy import sparse

        first = int(pinned)
        places = (sparse.eye_array(len(self.sums)) + self.matrix).tocsr()[first:, first:]
        places.sort_indices()
        rows, columns = places.tocoo().coords
        own = rows == columns
        sums = np.where(own, self.sums[first:][rows], 0.0)
        weights = np.where(own, 0.0, places.data)
        data = apply("sub", apply("mul", unit, sums), apply("mul", slope, weights))
        parts = (data, constant(places.indices), constant(places.indptr))
        return cholesky(SparseVariable(*parts, places.shape, "csr"))

    @cached_property
    def groups(self) -> list[Any]:
        """The matrices of the connected groups of elements."""
        from scipy.sparse.csgraph import connected_components

        count, labels = connected_components(self.matrix, directed=False)
        if count == 1:
            return [self.matrix]
        ends = np.searchsorted(labels, np.arange(1, count), sorter=(order := np.argsort(labels, kind="stable")))
        return [self.matrix[own][:, own] for own in np.split(order, ends)]

    @cached_property
    def relative(self) -> tuple[Floats, list[DeterminantSeries]]:
        """For the determinant of I - a D^-1/2 W D^-1/2: eigenvalues of small groups together, series of large ones."""
        small = [_eigenvalues(group) for group in self.groups if group.shape[0] <= MOST_DENSE]
        large = [_series(group) for group in self.groups if group.shape[0] > MOST_DENSE]
        return np.concatenate([*small, np.zeros(0)]), large

    @cached_property
    def log_pseudo_determinant(self) -> float:
        """Of D - W, the product of its positive eigenvalues: by Kirchhoff's theorem the number of a group's elements
        times the determinant of what is left of its matrix without one row and column.
        """
        from scipy import sparse

        total = 0.0
        for group in self.groups:
            laplacian = sparse.diags_array(np.asarray(group.sum(axis=1)).ravel()) - group
            total += np.log(group.shape[0]) + _log_determinant(laplacian.tocsr()[1:, 1:])
        return float(total)


def _log_determinant(matrix: Any) -> float:
    """Of a sparse positive definite matrix, by SuperLU's pivots."""
    from scipy.sparse.linalg import splu

    options = {"SymmetricMode": True}
    factor = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    return float(np.log(factor.U.diagonal()).sum())


def _relative(group: Any) -> Any:
    from scipy import sparse

    scale = sparse.diags_array(1.0 / np.sqrt(np.asarray(group.sum(axis=1)).ravel()))
    return (scale @ group @ scale).tocsc()


def _eigenvalues(group: Any) -> Floats:
    return np.asarray(np.linalg.eigvalsh(_relative(group).toarray()))


def _series(group: Any) -> DeterminantSeries:
    """The series of a large connected group: some tens of sparse factors."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    relative, count = _relative(group), group.shape[0]
    doubled = sparse.block_array([[None, group], [group, None]])
    bipartite = connected_components(doubled, directed=False)[0] == 2
    gap = min(_gap(relative, 1), 1.0 if bipartite else _gap(-relative, 0))
    half = 0.5 * np.log(2.0 / gap)
    terms = int(np.ceil(DIGITS / np.arcsinh(0.5 * np.pi / half)))
    angles = (np.arange(terms) + 0.5) * np.pi / terms
    unit, values = sparse.eye_array(count, format="csc"), np.empty(terms)
    for k, a in enumerate(np.tanh(half * np.cos(angles)) / np.tanh(half)):
        if bipartite and 2 * k >= terms:  # an even function
            values[k] = values[terms - 1 - k]
            continue
        values[k] = _log_determinant(unit - a * relative) - np.log1p(-a) - (np.log1p(a) if bipartite else 0.0)
    coefficients = 2.0 / terms * np.cos(np.outer(np.arange(terms), angles)) @ values
    coefficients[0] *= 0.5
    return DeterminantSeries(bipartite, float(half), coefficients)


def _gap(relative: Any, place: int) -> float:
    """About how far the greatest eigenvalue of all is from 1 (`place` 0), or the one after it (1)."""
    from scipy.sparse.linalg import eigsh

    start = 1.0 + np.arange(relative.shape[0]) / relative.shape[0]
    found = eigsh(relative, 2, sigma=1.0 + 1e-6, v0=start, tol=1e-3, return_eigenvectors=False)
    return float(np.clip(np.sort(1.0 - found)[place], 1e-10, 1.0))
