"""Derivatives and batches of sparse products: against differences and loops, first and second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import consilience.sparse as sparse
import consilience.tensor as pt
from consilience.ir import constant, topological
from consilience.ops.sparse.products import SparseProduct, TransposedSparseProduct
from tests.transforms.laws import check_derivatives, check_each_entry

RNG = np.random.default_rng(5)
A = scipy.sparse.random(5, 4, 0.5, format="csr", random_state=5)
B = scipy.sparse.random(4, 5, 0.5, format="csr", random_state=6)
D, x, y = RNG.normal(size=(5, 4)), RNG.normal(size=4), RNG.normal(size=5)


def matrix(data: Any, of: Any = A, format: str = "csr") -> sparse.SparseVariable:
    """A matrix with entries at the places of a known one."""
    own = of.asformat(format)
    make = sparse.CSR if format == "csr" else sparse.CSC
    return make(data, own.indices, own.indptr, own.shape)


FUNCTIONS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "A @ x": (lambda d, v: matrix(d) @ v, [A.data, x]),
    "A @ matrix": (lambda d, v: matrix(d) @ v, [A.data, D.T]),
    "y @ A": (lambda d, v: v @ matrix(d), [A.data, y]),
    "csc @ x": (lambda d, v: matrix(d, format="csc") @ v, [A.data, x]),
    "matrix @ csc": (lambda d, v: v @ matrix(d, format="csc"), [A.data, D.T]),
    "A @ B": (lambda d, e: (matrix(d) @ matrix(e, B)).data, [A.data, B.data]),
    "A + B": (lambda d, e: (matrix(d) + matrix(e, B).T).data, [A.data, B.data]),
    "A * B": (lambda d, e: (matrix(d) * matrix(e, B).T).data, [A.data, B.data]),
    "A * D": (lambda d, v: (matrix(d) * v).data, [A.data, D]),
    "A + D": (lambda d, v: matrix(d) + v, [A.data, D]),
    "row_scale": (lambda d, v: sparse.row_scale(matrix(d), v).data, [A.data, y]),
    "sum": (lambda d: matrix(d).sum(0), [A.data]),
    "diagonal": (lambda d: matrix(d).diagonal(), [A.data]),
    "parts": (lambda d: matrix(d)[1:4, ::2].data, [A.data]),
    "elements": (lambda d: matrix(d)[[0, 2, 1], [1, 2, 1]], [A.data]),
    "format": (lambda d: matrix(d).tocsc().data, [A.data]),
    "stack": (lambda d: sparse.hstack([matrix(d), A]).data, [A.data]),
    "structured_exp": (lambda d: sparse.structured_exp(matrix(d)).data, [A.data]),
    "sampling_dot": (lambda d, u, v: sparse.sampling_dot(u, v, matrix(d)).data, [A.data, D, D[:4]]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_differences(name: str) -> None:
    """Forwards and backwards, by direction and entry by entry."""
    function, point = FUNCTIONS[name]
    check_derivatives(function, point)
    check_each_entry(function, point)


@pytest.mark.parametrize("name", ["A @ x", "csc @ x", "A @ B", "A * D", "sampling_dot"])
def test_second_derivatives_are_those_of_differences(name: str) -> None:
    function, point = FUNCTIONS[name]

    def slopes(*arguments: Any) -> Any:
        return pt.grad((function(*arguments) ** 3).sum(), list(arguments))

    check_derivatives(slopes, point, rtol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batches_are_loops(name: str) -> None:
    """Over entries and dense operands, over either alone, and of no positions."""
    function, point = FUNCTIONS[name]
    for flags in {(True,) * len(point), (False,) * (len(point) - 1) + (True,), (True,) + (False,) * (len(point) - 1)}:
        many = [np.stack([a, 2 * a, -a]) if flag else a for a, flag in zip(point, flags, strict=True)]
        nodes = [pt.tensor(dtype="float64", shape=a.shape) for a in many]
        mapped = pt.vmap(function, in_axes=tuple(0 if flag else None for flag in flags))(*nodes)
        compiled = pt.function(nodes, mapped, backend="reference")
        for i, found in enumerate(compiled(*many)):
            own = [constant(a[i] if flag else a) for a, flag in zip(many, flags, strict=True)]
            np.testing.assert_allclose(found, function(*own).eval(backend="reference"), rtol=1e-12, atol=1e-12)


def test_slopes_at_places_given_at_the_call() -> None:
    """With respect to entries and dense operands; sparse derivatives have the places of the matrix."""
    for made in (sparse.csr_matrix("A"), sparse.csc_matrix("A", shape=(5, 4))):
        v = pt.dvector("v")
        slopes = pt.grad(((made @ v) ** 2).sum(), [made, v])
        of_matrix, of_vector = pt.function([made, v], slopes)(A, x)
        np.testing.assert_allclose(of_vector, 2 * A.T @ (A @ x))
        places = (A != 0).toarray()
        np.testing.assert_allclose(of_matrix.toarray(), np.where(places, 2 * np.outer(A @ x, x), 0))


def test_a_constant_matrix_is_transposed_once() -> None:
    """Its derivative is a product with the transposed constants, in which no entry waits for another."""
    v = pt.dvector("v")
    slope = pt.grad(((sparse.as_sparse_variable(A) @ v) ** 2).sum(), v)
    ops = [type(node.op) for node in topological([slope])]
    assert ops.count(SparseProduct) == 2
    assert TransposedSparseProduct not in ops
