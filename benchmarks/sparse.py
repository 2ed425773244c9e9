"""Products with sparse matrices and their derivatives beside SciPy, on one core.

    python -m benchmarks.sparse

Ten entries in each of 10^6 rows, at random columns. Both take turns; the best call counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import consilience.sparse as sparse
import consilience.tensor as pt
from benchmarks.native import one_core
from benchmarks.report import Row, show

LIMIT = 1.2
ROWS, PER_ROW, COLUMNS = 10**6, 10, 4


def best(calls: Sequence[Callable[[], Any]], repeats: int = 9) -> list[float]:
    """Seconds of the best call of each, all taking turns."""
    found = [float("inf")] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            started = time.perf_counter()
            call()
            found[i] = min(found[i], time.perf_counter() - started)
    return found


def row(what: str, ours: Callable[[], Any], theirs: Callable[[], Any], limit: float | None = LIMIT) -> Row:
    """The ratio of two ways to compute the same."""
    for one, other in zip(_listed(ours()), _listed(theirs()), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    seconds = best([ours, theirs])
    note = f"{1e3 * seconds[0]:.1f} ms, SciPy {1e3 * seconds[1]:.1f} ms"
    return Row(what, seconds[0] / seconds[1], "", limit, note=note)


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def products() -> list[Row]:
    """A known matrix, and one whose entries are given at the call."""
    rng = np.random.default_rng(1)
    columns = np.sort(rng.integers(0, ROWS, (ROWS, PER_ROW), dtype=np.int32), axis=1)
    begins = np.arange(0, ROWS * PER_ROW + 1, PER_ROW, dtype=np.int32)
    A = scipy.sparse.csr_matrix((rng.normal(size=columns.size), columns.ravel(), begins), shape=(ROWS, ROWS))
    A.sum_duplicates()
    transposed, b, wide = A.T, rng.normal(size=ROWS), rng.normal(size=(ROWS, COLUMNS))
    x, X, data = pt.dvector("x"), pt.dmatrix("X"), pt.dvector("data")
    known = sparse.as_sparse_variable(A)
    given = sparse.CSR(data, A.indices, A.indptr, A.shape)
    rows_of = np.repeat(np.arange(ROWS), np.diff(A.indptr))
    product = pt.function([x], known @ x)
    transposed_product = pt.function([x], x @ known)
    several = pt.function([X], known @ X)
    slope = pt.function([x], pt.grad(0.5 * ((known @ x) ** 2).sum(), x))
    of_entries = pt.function([data, x], pt.grad(0.5 * ((given @ x) ** 2).sum(), [data, x]))

    def entries_by_scipy() -> list[Any]:
        residual = A @ b
        return [residual[rows_of] * b[A.indices], transposed @ residual]

    return [
        row("A x", lambda: product(b), lambda: A @ b),
        row("A' x", lambda: transposed_product(b), lambda: transposed @ b),
        row(f"A X, {COLUMNS} columns", lambda: several(wide), lambda: A @ wide),
        row("gradient of |A x|^2 / 2", lambda: slope(b), lambda: transposed @ (A @ b)),
        row("the same, and of the entries", lambda: of_entries(A.data, b), entries_by_scipy),
    ]


def factors(side: int = 100) -> list[Row]:
    """The precision of a field on a square grid, beside SuperLU with the same order."""
    line = scipy.sparse.diags_array(np.ones(side - 1), offsets=1, shape=(side, side))
    path, one = (line + line.T).tocsr(), scipy.sparse.eye_array(side)
    W = scipy.sparse.kron(path, one) + scipy.sparse.kron(one, path)
    Q = (scipy.sparse.diags_array(W.sum(axis=1)) - 0.9 * W).tocsr()
    b, columns = np.random.default_rng(2).normal(size=side**2), Q.tocsc()
    data = pt.dvector("data")
    matrix = sparse.CSR(data, Q.indices, Q.indptr, Q.shape)
    logdet = pt.function([data], sparse.logdet(matrix))
    solution = pt.function([data], sparse.solve(matrix, b))
    slope = pt.function([data], [sparse.logdet(matrix), pt.grad(sparse.logdet(matrix), data)])

    def by_superlu() -> Any:
        settings = {"SymmetricMode": True}
        return scipy.sparse.linalg.splu(columns, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=settings)

    def determinant() -> Any:
        return np.log(by_superlu().U.diagonal()).sum()

    rows = [
        row("log determinant", lambda: logdet(Q.data), determinant),
        row("solution", lambda: solution(Q.data), lambda: by_superlu().solve(b)),
    ]
    slope(Q.data)
    (seconds,) = best([lambda: slope(Q.data)])
    return [*rows, Row("log determinant and derivative", 1e3 * seconds, "ms")]


if __name__ == "__main__":
    one_core()
    show("Cholesky factor, a grid of 100 x 100, over SuperLU", factors())
    show(f"sparse matrices, {ROWS:,} x {ROWS:,} with {ROWS * PER_ROW:,} entries, over SciPy", products())
