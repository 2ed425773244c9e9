"""Every operation of sparse variables is that of SciPy, at places known when written or given at the call."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
import consilience.sparse as sparse
import consilience.tensor as pt

Matrix = Any
Array = npt.NDArray[Any]


def entries(matrix: Matrix, function: Callable[[Array], Array]) -> Matrix:
    """SciPy's matrix with a function of its entries."""
    return scipy.sparse.csr_matrix((function(matrix.data), matrix.indices, matrix.indptr), matrix.shape)


def flat(matrix: Any) -> Array:
    """SciPy's rows and columns, which are matrices, as vectors."""
    return np.asarray(matrix).reshape(-1)


# Operations of two sparse matrices of one shape (m, n), vectors x (n) and y (m), a matrix D (m, n); then in SciPy.
OPERATIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "A @ x": (lambda A, B, x, y, D: A @ pt.as_tensor(x), lambda A, B, x, y, D: A @ x),
    "A @ matrix": (lambda A, B, x, y, D: A @ D.T, lambda A, B, x, y, D: A @ D.T),
    "y @ A": (lambda A, B, x, y, D: pt.as_tensor(y) @ A, lambda A, B, x, y, D: y @ A),
    "array @ A": (lambda A, B, x, y, D: D.T @ A, lambda A, B, x, y, D: D.T @ A),
    "pt.dot": (lambda A, B, x, y, D: pt.dot(A, D.T), lambda A, B, x, y, D: A @ D.T),
    "pt.matmul": (lambda A, B, x, y, D: pt.matmul(y, A), lambda A, B, x, y, D: y @ A),
    "A @ B.T": (lambda A, B, x, y, D: A @ B.T, lambda A, B, x, y, D: A @ B.T),
    "A.T @ B": (lambda A, B, x, y, D: sparse.true_dot(A.T, B), lambda A, B, x, y, D: A.T @ B),
    "A + B": (lambda A, B, x, y, D: A + B, lambda A, B, x, y, D: A + B),
    "A + A": (lambda A, B, x, y, D: A + A, lambda A, B, x, y, D: A + A),
    "A - B": (lambda A, B, x, y, D: A - B, lambda A, B, x, y, D: A - B),
    "A * B": (lambda A, B, x, y, D: A * B, lambda A, B, x, y, D: A.multiply(B)),
    "A * A": (lambda A, B, x, y, D: A * A, lambda A, B, x, y, D: A.multiply(A)),
    "A + D": (lambda A, B, x, y, D: A + D, lambda A, B, x, y, D: A.toarray() + D),
    "D - A": (lambda A, B, x, y, D: pt.as_tensor(D) - A, lambda A, B, x, y, D: D - A.toarray()),
    "2 * A": (lambda A, B, x, y, D: 2.0 * A, lambda A, B, x, y, D: 2.0 * A),
    "A / 3": (lambda A, B, x, y, D: -A / 3.0, lambda A, B, x, y, D: -A / 3.0),
    "A * x": (lambda A, B, x, y, D: A * x, lambda A, B, x, y, D: A.multiply(x)),
    "A * row": (lambda A, B, x, y, D: x[None] * A, lambda A, B, x, y, D: A.multiply(x[None])),
    "A * column": (lambda A, B, x, y, D: A * y[:, None], lambda A, B, x, y, D: A.multiply(y[:, None])),
    "A * D": (lambda A, B, x, y, D: D * A, lambda A, B, x, y, D: A.multiply(D)),
    "row_scale": (lambda A, B, x, y, D: sparse.row_scale(A, y), lambda A, B, x, y, D: A.multiply(y[:, None])),
    "col_scale": (lambda A, B, x, y, D: sparse.col_scale(A, x), lambda A, B, x, y, D: A.multiply(x)),
    "sum": (lambda A, B, x, y, D: A.sum(), lambda A, B, x, y, D: A.sum()),
    "sum(0)": (lambda A, B, x, y, D: A.sum(0), lambda A, B, x, y, D: flat(A.sum(0))),
    "sum(-1)": (lambda A, B, x, y, D: A.sum(-1), lambda A, B, x, y, D: flat(A.sum(1))),
    "diagonal": (lambda A, B, x, y, D: A.diagonal(), lambda A, B, x, y, D: A.diagonal()),
    "hstack": (lambda A, B, x, y, D: sparse.hstack([A, B]), lambda A, B, x, y, D: scipy.sparse.hstack([A, B])),
    "vstack": (lambda A, B, x, y, D: sparse.vstack([A, B], "csr"), lambda A, B, x, y, D: scipy.sparse.vstack([A, B])),
    "block_diag": (
        lambda A, B, x, y, D: sparse.block_diag(A, B.T),
        lambda A, B, x, y, D: scipy.sparse.block_diag([A, B.T]),
    ),
    "rows": (lambda A, B, x, y, D: A[1:], lambda A, B, x, y, D: A[1:]),
    "rows backwards": (lambda A, B, x, y, D: A[::-2], lambda A, B, x, y, D: A[::-2]),
    "part": (lambda A, B, x, y, D: A[:-1, 1::2], lambda A, B, x, y, D: A[:-1, 1::2]),
    "columns": (lambda A, B, x, y, D: A[..., -2:], lambda A, B, x, y, D: A[:, -2:]),
    "mask": (lambda A, B, x, y, D: A[y > 0], lambda A, B, x, y, D: A[y > 0]),
    "dense": (lambda A, B, x, y, D: sparse.dense_from_sparse(A), lambda A, B, x, y, D: A.toarray()),
    "formats": (lambda A, B, x, y, D: A.tocsr().tocsc().T, lambda A, B, x, y, D: A.T),
    "structured_exp": (
        lambda A, B, x, y, D: sparse.structured_exp(A),
        lambda A, B, x, y, D: entries(A.tocsr(), np.exp),
    ),
    "structured_pow": (lambda A, B, x, y, D: sparse.structured_pow(A, 2), lambda A, B, x, y, D: A.power(2)),
    "structured_add": (
        lambda A, B, x, y, D: sparse.structured_add(A, 2.0),
        lambda A, B, x, y, D: entries(A.tocsr(), lambda d: d + 2.0),
    ),
    "sin": (lambda A, B, x, y, D: sparse.sin(A), lambda A, B, x, y, D: A.sin()),
    "usmm": (lambda A, B, x, y, D: sparse.usmm(2.0, A.T, y, x), lambda A, B, x, y, D: 2.0 * (A.T @ y) + x),
    "clean": (lambda A, B, x, y, D: sparse.clean(A * (A * B)), lambda A, B, x, y, D: A.multiply(A.multiply(B))),
    "sampling_dot": (
        lambda A, B, x, y, D: sparse.sampling_dot(D, np.outer(x, D[0]), A) if len(D) else A,
        lambda A, B, x, y, D: A.multiply(D @ np.outer(x, D[0]).T) if len(D) else A,
    ),
    "zeros and ones": (
        lambda A, B, x, y, D: sparse.sp_ones_like(A) + sparse.sp_zeros_like(A),
        lambda A, B, x, y, D: entries(A.tocsr(), np.ones_like),
    ),
    "order": (lambda A, B, x, y, D: sparse.ensure_sorted_indices(A), lambda A, B, x, y, D: A),
}
PICKS = {  # of a matrix with a row 2 and a column 3
    "element": (lambda A: A[2, -1], lambda A: A[2, -1]),
    "one row": (lambda A: A[2], lambda A: A[[2]]),
    "row list": (lambda A: A[[2, 0, 2]], lambda A: A[[2, 0, 2]]),
    "column list": (lambda A: A[:, [3, 1]], lambda A: A[:, [3, 1]]),
    "elements": (lambda A: A[[2, 0, 2], [3, 3, 1]], lambda A: flat(A[[2, 0, 2], [3, 3, 1]])),
    "elements of a row": (lambda A: A[1, [3, 0]], lambda A: flat(A.toarray()[1, [3, 0]])),
}


def dense(value: Any) -> Array:
    return np.asarray(value.toarray() if scipy.sparse.issparse(value) else value)


def agree(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    one, other = dense(found), dense(expected)
    assert one.shape == other.shape
    np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


def random_matrices(shape: tuple[int, int], density: float, seed: int, formats: str = "csr csc") -> list[Any]:
    rng = np.random.default_rng(seed)
    first, second = (scipy.sparse.random(*shape, density, format=kind, random_state=rng) for kind in formats.split())
    return [first, second, rng.normal(size=shape[1]), rng.normal(size=shape[0]), rng.normal(size=shape)]


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=12, deadline=None)
@given(
    st.tuples(st.integers(0, 5), st.integers(0, 5)),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["csr csr", "csr csc", "csc csr", "csc csc"]),
)
def test_operations_at_known_places_are_those_of_scipy(
    name: str, shape: tuple[int, int], density: float, seed: int, formats: str
) -> None:
    """Any lengths, empty ones too; by NumPy, which machine code is compared with below and in the conformance suite."""
    ours, theirs = OPERATIONS[name]
    A, B, *dense_ones = random_matrices(shape, density, seed, formats)
    if 0 in shape and name in ("hstack", "vstack", "block_diag", "rows backwards", "part", "columns"):
        return  # SciPy itself fails for some of these
    found = ours(sparse.as_sparse_variable(A), sparse.as_sparse_variable(B), *dense_ones)
    agree(found.eval(backend="reference"), theirs(A, B, *dense_ones))


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_at_places_given_at_the_call_are_those_of_scipy(name: str) -> None:
    """By machine code; no length is known before the call."""
    ours, theirs = OPERATIONS[name]
    A, B, *dense_ones = random_matrices((5, 4), 0.5, 7)
    inputs = [sparse.csr_matrix("A"), sparse.csc_matrix("B")]
    compiled = pt.function(inputs, ours(*inputs, *dense_ones))
    agree(compiled(A, B), theirs(A, B, *dense_ones))
    agree(ours(*map(sparse.as_sparse_variable, (A, B)), *dense_ones).eval(), theirs(A, B, *dense_ones))


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("shape", [(3, 2), (1, 1)])
def test_matrices_without_entries_may_be_given_at_the_call(name: str, shape: tuple[int, int]) -> None:
    ours, theirs = OPERATIONS[name]
    A, B, *dense_ones = random_matrices(shape, 0.0, 7)
    inputs = [sparse.csc_matrix("A"), sparse.csr_matrix("B")]
    found = pt.function(inputs, ours(*inputs, *dense_ones), backend="reference")(A, B)
    agree(found, theirs(A, B, *dense_ones))


@pytest.mark.parametrize("name", PICKS)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_parts_are_those_of_scipy(name: str, format: str) -> None:
    ours, theirs = PICKS[name]
    (A, *_) = random_matrices((5, 4), 0.5, 8)
    A = A.asformat(format)
    agree(ours(sparse.as_sparse_variable(A)).eval(backend="reference"), theirs(A))
    x = sparse.matrix(format, "A", shape=(None, 4))  # type: ignore[arg-type]  # one of the formats
    agree(pt.function([x], ours(x))(A), theirs(A))


def test_positions_may_be_expressions() -> None:
    """Integers and bounds of slices known only at the call."""
    A = random_matrices((5, 4), 0.5, 8)[0]
    S, i, k = sparse.as_sparse_variable(A), pt.lscalar("i"), pt.lscalar("k")
    for ours, theirs in (
        (S[i, 2], lambda i, k: A[i, 2]),
        (S[i], lambda i, k: A[[i]]),
        (S[1:k, ::2], lambda i, k: A[1:k, ::2]),
        (S[-k:], lambda i, k: A[-k:]),
    ):
        f = pt.function([i, k], ours, backend="reference", on_unused_input="ignore")
        for point in ((0, 2), (3, 3), (-1, 4)):
            agree(f(*point), theirs(*point))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "int8", "bool", "complex128"])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_products_have_the_dtype_of_numpy(dtype: str, format: str) -> None:
    """Of every dtype; products of bools are counts, as those of dense tensors."""
    rng = np.random.default_rng(3)
    numbers = rng.integers(-3, 4, (6, 5)) * (1 + 1j if dtype == "complex128" else 1)
    D, x = (numbers * rng.integers(0, 2, (6, 5))).astype(dtype), numbers[:5].astype(dtype)
    known = scipy.sparse.csr_matrix(D.astype("float32") if dtype == "float16" else D)
    A = sparse.as_sparse_variable(known, format=format).astype(dtype)  # type: ignore[arg-type]  # as above
    wide = "int64" if dtype == "bool" else dtype
    for found, expected in ((A @ x, D.astype(wide) @ x), (x[:, 0] @ A[:5], x[:, 0] @ D[:5].astype(wide))):
        value = found.eval()
        assert str(value.dtype) == wide
        np.testing.assert_allclose(value, expected, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_dense_matrices_become_sparse() -> None:
    D = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    x = pt.dmatrix("x")
    for make in (sparse.csr_from_dense, sparse.csc_from_dense):
        agree(pt.function([x], make(x))(D), D)
        agree(make(D).eval(), D)
    agree(sparse.square_diagonal([1.0, 2.0]).eval(), np.diag([1.0, 2.0]))
    agree(sparse.square_diagonal(x[0]).sum(0).eval({x: D}), D[0])


def test_blocks_along_the_diagonal_may_be_sparse() -> None:
    """As PyMC's `block_diagonal`, of dense and sparse matrices."""
    D, A = np.array([[1.0, 0.0], [2.0, 3.0]]), scipy.sparse.eye_array(2).tocsr()
    found = pm.math.block_diagonal([D, A], sparse=True, format="csc")
    assert isinstance(found, sparse.SparseVariable)
    agree(found.eval(), scipy.sparse.block_diag([D, A]))


def test_places_of_entries_stay_int32() -> None:
    """They are neither widened nor copied: a matrix of SciPy shares its arrays with the constants."""
    A = scipy.sparse.random(50, 40, 0.1, format="csr", random_state=1)
    data, indices, indptr, shape = sparse.csm_properties(sparse.as_sparse_variable(A, name="A"))
    assert (indices.dtype, indptr.dtype, shape) == ("int32", "int32", (50, 40))
    assert data.name == "A.data"
    assert sparse.as_sparse_variable(A).T.format == "csc"


def test_entries_of_scipy_in_any_order_are_put_in_order() -> None:
    """Entries at one place are added up, as SciPy means them; the matrix itself is left as it is."""
    A = scipy.sparse.csr_matrix(([1.0, 2.0, 4.0], [2, 0, 2], [0, 3, 3]), shape=(2, 3))
    agree(sparse.as_sparse_variable(A).eval(), [[2.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    assert A.nnz == 3
    x = sparse.csr_matrix("x", shape=(2, 3))
    agree(pt.function([x], x * x)(A), [[4.0, 0.0, 25.0], [0.0, 0.0, 0.0]])


def test_functions_take_sparse_arguments_in_every_form() -> None:
    """By place, by name, in a dict of results, in `eval`, and after pickling."""
    x, v = sparse.csr_matrix("X"), pt.dvector("v")
    matrix, vector = scipy.sparse.random(5, 4, 0.5, "csr", random_state=1), np.arange(4.0)
    f = pt.function([x, v], {"product": x @ v, "twice": x * 2.0})
    for found in (
        f(matrix, vector),
        f(matrix, v=vector),
        f(v=vector, X=matrix),
        pickle.loads(pickle.dumps(f))(matrix, vector),
    ):
        np.testing.assert_allclose(found["product"], matrix @ vector)
        agree(found["twice"], matrix * 2.0)
    np.testing.assert_allclose((x @ v).eval({x: matrix, v: vector}), matrix @ vector)
    slope = pt.grad((x @ v).sum(), x)
    agree(pt.function([x, v], slope)(matrix, vector), (matrix != 0).multiply(vector).tocsr())
