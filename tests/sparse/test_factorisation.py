"""Sparse Cholesky factors: solutions, determinants and draws are those of the dense matrix, and so are derivatives."""

from __future__ import annotations

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
from consilience.errors import LinearAlgebraError, MissingRuleError, ShapeError
from tests.transforms.laws import check_derivatives, check_each_entry

Array = npt.NDArray[Any]


def definite(size: int, density: float, seed: int) -> Any:
    """A symmetric positive definite matrix with a random symmetric pattern."""
    rng = np.random.default_rng(seed)
    half = scipy.sparse.random(size, size, density, format="csr", random_state=rng)
    return (half + half.T + scipy.sparse.diags_array(4.0 + 2.0 * size * rng.uniform(size=size))).tocsr()


A = definite(6, 0.3, 2)


def matrix(data: Any) -> sparse.SparseVariable:
    return sparse.CSR(data, A.indices, A.indptr, A.shape)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 9),
    st.sampled_from([0.0, 0.15, 0.5, 1.0]),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["csr", "csc"]),
)
def test_factors_are_those_of_the_dense_matrix(size: int, density: float, seed: int, format: str) -> None:
    """L L' is the matrix in another order; solutions, log determinants and draws follow."""
    known = definite(size, density, seed).asformat(format)
    dense, b = known.toarray(), np.random.default_rng(seed).normal(size=(size, 2))
    factor = sparse.cholesky(known)
    results = [
        factor.L.toarray(),
        factor.solve(b),
        factor.solve(b[:, 0]),
        factor.logdet(),
        factor.correlate(np.eye(size)),
    ]
    low, many, one, logdet, draws = pt.function([], results, backend="reference")()
    np.testing.assert_allclose(low @ low.T, dense[np.ix_(factor.P, factor.P)], atol=1e-12 * size)
    np.testing.assert_allclose(low, np.tril(low))
    np.testing.assert_allclose(dense @ many, b, atol=1e-12)
    np.testing.assert_allclose(dense @ one, b[:, 0], atol=1e-12)
    np.testing.assert_allclose(logdet, np.linalg.slogdet(dense)[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dense @ draws @ draws.T, np.eye(size), atol=1e-12)


@pytest.mark.parametrize("name", ["solve", "solve matrix", "logdet", "factor", "correlate"])
def test_derivatives_are_those_of_differences(name: str) -> None:
    b = np.random.default_rng(4).normal(size=(6, 2))
    function, point = {
        "solve": (lambda d, v: sparse.solve(matrix(d), v), [A.data, b[:, 0]]),
        "solve matrix": (lambda d, v: sparse.solve(matrix(d), v), [A.data, b]),
        "logdet": (lambda d: sparse.logdet(matrix(d)), [A.data]),
        "factor": (lambda d: sparse.cholesky(matrix(d)).L.data, [A.data]),
        "correlate": (lambda d, v: sparse.cholesky(matrix(d)).correlate(v), [A.data, b[:, 0]]),
    }[name]  # type: ignore[index]  # functions of one and of two arguments
    check_each_entry(function, point)
    if name != "logdet":
        return
    with pytest.raises(MissingRuleError, match="second derivatives"):
        check_derivatives(lambda d: pt.grad(sparse.logdet(matrix(d)), d), [A.data])


def test_batches_are_loops() -> None:
    """Over entries, over right sides, over both; slopes too."""
    data, b = np.stack([A.data, 2 * A.data, 3 * A.data]), np.random.default_rng(5).normal(size=(3, 6))

    def values(d: Any, v: Any) -> Any:
        total = sparse.logdet(matrix(d)) + (sparse.solve(matrix(d), v) ** 2).sum()
        return pt.concatenate([pt.atleast_1d(total), pt.grad(total, d), pt.grad(total, v)])

    d, v = pt.dvector("d"), pt.dvector("v")
    one = pt.function([d, v], values(d, v), on_unused_input="ignore")
    for flags in ((True, True), (True, False), (False, True)):
        given_ = [a if flag else a[0] for a, flag in zip((data, b), flags, strict=True)]
        nodes = [pt.tensor(dtype="float64", shape=a.shape) for a in given_]
        mapped = pt.function(nodes, pt.vmap(values, tuple(0 if flag else None for flag in flags))(*nodes))
        for i, found in enumerate(mapped(*given_)):
            own = [a[i] if flag else a for a, flag in zip(given_, flags, strict=True)]
            np.testing.assert_allclose(found, one(*own), rtol=1e-12)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_what_has_no_factor_is_refused(backend: str) -> None:
    d = pt.dvector("d")
    f = pt.function([d], sparse.logdet(matrix(d)), backend=backend)
    for wrong in (-A.data, np.full_like(A.data, np.nan), 0 * A.data):
        with pytest.raises(LinearAlgebraError):
            f(wrong)
    with pytest.raises(ShapeError, match="symmetric pattern"):
        sparse.cholesky(scipy.sparse.csr_matrix(np.tril(np.ones((3, 3)))))
    with pytest.raises(ShapeError, match="square"):
        sparse.cholesky(scipy.sparse.csr_matrix(np.ones((2, 3))))
    with pytest.raises(ShapeError, match="needs 6 rows on the right, got 5"):
        sparse.solve(A, np.ones(5))
    b = pt.dvector("b")
    with pytest.raises(ShapeError, match="a row per unknown"):
        pt.function([b], sparse.solve(A, b), backend=backend)(np.ones(7))
    with pytest.raises(MissingRuleError, match="places are constants"):
        sparse.cholesky(sparse.csr_matrix("x", shape=(3, 3)))


def test_a_field_of_unknown_range_is_sampled() -> None:
    """A Gaussian field with a sparse precision: the density of the dense model, and draws of its parameter."""
    line = scipy.sparse.diags_array(np.ones(29), offsets=1, shape=(30, 30))
    W = (line + line.T).tocsr()
    D = scipy.sparse.diags_array(np.asarray(W.sum(1)).reshape(-1)).tocsr()
    seen = np.random.default_rng(8).multivariate_normal(np.zeros(30), np.linalg.inv((D - 0.8 * W).toarray()))

    with pm.Model() as model:
        alpha = pm.Uniform("alpha", 0, 1)
        precision = sparse.as_sparse_variable(D) - alpha * sparse.as_sparse_variable(W)
        quadratic = pt.dot(seen, precision @ seen)
        pm.Potential("field", 0.5 * (sparse.logdet(precision) - quadratic))
    with pm.Model() as dense:
        alpha = pm.Uniform("alpha", 0, 1)
        pm.CAR("field", mu=0.0, W=W, alpha=alpha, tau=1.0, observed=seen)
    point = model.initial_point()
    (slope, other), (one, two) = (
        [f(point) for f in fs]
        for fs in zip(*((m.compile_dlogp(), m.compile_logp()) for m in (model, dense)), strict=True)
    )
    np.testing.assert_allclose(slope, other, rtol=1e-10)
    assert np.isclose(one + 0.0, two + 15 * np.log(2 * np.pi))
    draws = [
        pm.sample(draws=800, tune=400, chains=2, random_seed=3, model=m, progressbar=False).posterior["alpha"]
        for m in (model, dense)
    ]
    np.testing.assert_allclose(float(draws[0].mean()), float(draws[1].mean()), atol=0.05)
