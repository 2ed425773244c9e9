"""What is no sparse matrix is refused with what was needed, what came and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import consilience as pm
import consilience.sparse as sparse
import consilience.tensor as pt
from consilience.errors import DtypeError, GraphError, OutOfBoundsError, ShapeError

A = scipy.sparse.random(5, 4, 0.5, format="csr", random_state=5)
S = sparse.as_sparse_variable(A)
REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: sparse.as_sparse_variable(np.eye(2)), TypeError, "got ndarray.*csr_from_dense"),
    (lambda: sparse.as_sparse_variable("A"), TypeError, "sparse matrix was needed"),
    (lambda: sparse.as_sparse_variable(([1.0], [0], [0, 1])), ShapeError, "pass `shape="),
    (lambda: sparse.CSR([1.0, 2.0], [0, 0], [0, 2], (1, 3)), ShapeError, "in row 0 the column 0 occurs twice"),
    (lambda: sparse.CSR([1.0, 2.0], [2, 0], [0, 2], (1, 3)), ShapeError, "column 0 comes out of order.*sum_duplicates"),
    (lambda: sparse.CSC([1.0, 2.0], [2, 0], [0, 2], (3, 1)), ShapeError, "in column 0 the row 0 comes out of order"),
    (lambda: sparse.CSR([1.0], [3], [0, 1], (1, 3)), ShapeError, "columns from 0 to 2, got 3"),
    (lambda: sparse.CSR([1.0], [-1], [0, 1], (1, 3)), ShapeError, "columns from 0 to 2, got -1"),
    (lambda: sparse.CSR([1.0], [0], [0, 1, 1], (1, 3)), ShapeError, "2 integers, got 3"),
    (lambda: sparse.CSR([1.0], [0], [0, 2], (1, 3)), ShapeError, "must begin with 0, never decrease and end with"),
    (lambda: sparse.CSR([1.0], [0], [1, 0, 1], (2, 3)), ShapeError, r"got \[1, 0, 1\]"),
    (lambda: sparse.CSR([1.0, 2.0], [0], [0, 1], (1, 3)), ShapeError, "equally long, got 2 and 1"),
    (lambda: sparse.CSR([1.0], [0.5], [0, 1], (1, 3)), DtypeError, "`indices` of a sparse matrix must be integers"),
    (lambda: sparse.CSR([[1.0]], [0], [0, 1], (1, 3)), ShapeError, "`data` of a sparse matrix must be a vector"),
    (lambda: sparse.CSR([1.0], [0], [0, 1], 3), ShapeError, r"shape \(rows, columns\)"),
    (lambda: S @ np.ones(5), ShapeError, "inner lengths 5 and 4 differ"),
    (lambda: np.ones(4) @ S, ShapeError, "inner lengths 4 and 5 differ"),
    (lambda: S @ S, ShapeError, "inner lengths 5 and 4 differ"),
    (lambda: S @ 2.0, ShapeError, "multiply by a number with"),
    (lambda: S + 1.0, TypeError, "structured_add"),
    (lambda: S + S.T, ShapeError, "`add` needs sparse matrices of one shape"),
    (lambda: S * np.ones(5), ShapeError, "does not fit"),
    (lambda: S[7], OutOfBoundsError, "position 7 is outside an axis of length 5"),
    (lambda: S[0, -5], OutOfBoundsError, "position -5 is outside an axis of length 4"),
    (lambda: S[0, 1, 2], ShapeError, "indexed by rows and columns"),
    (lambda: S.sum(2), ShapeError, "axes 0 and 1, got axis 2"),
    (lambda: sparse.hstack([S, S.T]), ShapeError, "stacked matrices need one height"),
    (lambda: sparse.dot(np.eye(2), np.eye(2)), TypeError, "pt.dot"),
    (lambda: pt.exp(A), DtypeError, "`.toarray\\(\\)` makes it dense"),
    (lambda: pt.exp(S), DtypeError, "got a sparse matrix"),
    (lambda: A @ pt.dvector("x"), TypeError, "pm.math.dot"),
    (lambda: pm.Model().add_data("A", A), DtypeError, "`A` are a sparse matrix.*pm.Data"),
    (lambda: list(S), TypeError, "its rows are `A\\[i\\]`"),
    (lambda: sparse.matrix("coo"), ValueError, "'csr' or 'csc'"),  # type: ignore[arg-type]  # what is refused
    (lambda: pt.function([S], S.sum()), GraphError, "made by `sparse.csr_matrix`"),
    (lambda: sparse.structured_dotty, AttributeError, "structured_dot"),  # type: ignore[attr-defined]  # as above
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_mistakes_are_told(number: int) -> None:
    make, error, message = REFUSED[number]
    with pytest.raises(error, match=message):
        make()


def test_arguments_that_do_not_fit_are_told() -> None:
    x = sparse.csr_matrix("X", shape=(None, 4))
    f = pt.function([x], x @ np.ones(4))
    with pytest.raises(TypeError, match="`X` takes a sparse matrix of SciPy, got ndarray"):
        f(np.eye(4))
    with pytest.raises(ShapeError, match=r"got a matrix of shape \(4, 5\)"):
        f(A.T)
    with pytest.raises(DtypeError, match="holds float64, got complex128"):
        f(A.astype(complex))
    with pytest.raises(TypeError, match="takes 1 arguments, got 2"):
        f(A, A)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize(
    ("indices", "indptr"),
    [([0, 9], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 2, 1]), ([0, 1], [0, 1, 9]), ([0, 1], [-1, 1, 2]),
     ([0, 1], [0, 1, 1])],
)  # fmt: skip
def test_places_outside_the_matrix_fail_when_they_come(backend: str, indices: list[int], indptr: list[int]) -> None:
    """Nothing is read or written outside the arrays: in products, transposed products and derivatives."""
    data, places, begins, v = pt.dvector("data"), pt.ivector("indices"), pt.ivector("indptr"), pt.dvector("v")
    matrix = sparse.CSR(data, places, begins, (2, 3))
    product = matrix @ v
    transposed = v[:2] @ matrix
    slope = pt.grad((product**2).sum(), data)
    results = [product, transposed, slope]
    if min(indices) < 0 or max(indices) > 2:  # what is written in gathers and sums
        results += [(matrix.astype("int64") @ pt.cast(v, "int64")), matrix.toarray(), (matrix * v).data, matrix.sum(0)]
    for result in results:
        f = pt.function([data, places, begins, v], result, backend=backend, on_unused_input="ignore")
        with pytest.raises(OutOfBoundsError):
            f(np.ones(2), np.array(indices, "int32"), np.array(indptr, "int32"), np.ones(3))
