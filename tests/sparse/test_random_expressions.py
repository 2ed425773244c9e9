"""Random expressions of sparse matrices: values and slopes are those of the same expressions of dense matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import consilience.sparse as sparse
import consilience.tensor as pt

# Steps of two square matrices, a number and a vector; for sparse variables and for dense tensors.
STEPS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda A, B, c, v: A + B, lambda A, B, c, v: A + B),
    (lambda A, B, c, v: A - B, lambda A, B, c, v: A - B),
    (lambda A, B, c, v: A * B, lambda A, B, c, v: A * B),
    (lambda A, B, c, v: A @ B, lambda A, B, c, v: A @ B),
    (lambda A, B, c, v: A @ (B * c), lambda A, B, c, v: A @ (B * c)),
    (lambda A, B, c, v: A.T, lambda A, B, c, v: A.T),
    (lambda A, B, c, v: A.tocsc(), lambda A, B, c, v: A),
    (lambda A, B, c, v: A.tocsr() * c, lambda A, B, c, v: A * c),
    (lambda A, B, c, v: A * v, lambda A, B, c, v: A * v),
    (lambda A, B, c, v: sparse.row_scale(A, v), lambda A, B, c, v: A * v[:, None]),
    (lambda A, B, c, v: A[::-1], lambda A, B, c, v: A[::-1]),
    (lambda A, B, c, v: A[:, [1, 0, 3, 1]], lambda A, B, c, v: A[:, [1, 0, 3, 1]]),
    (lambda A, B, c, v: sparse.vstack([A[:1], B[1:]]), lambda A, B, c, v: pt.concatenate([A[:1], B[1:]])),
    (lambda A, B, c, v: sparse.block_diag(A[:2, :3], B[1:3, 3:]),
     lambda A, B, c, v: pt.linalg.block_diag(A[:2, :3], B[1:3, 3:])),
    (lambda A, B, c, v: sparse.sin(A), lambda A, B, c, v: pt.sin(A)),
    (lambda A, B, c, v: sparse.square_diagonal(A.diagonal() + v), lambda A, B, c, v: pt.diag(pt.diagonal(A) + v)),
    (lambda A, B, c, v: sparse.square_diagonal(A @ v), lambda A, B, c, v: pt.diag(A @ v)),
    (lambda A, B, c, v: sparse.square_diagonal(A.sum(0)), lambda A, B, c, v: pt.diag(A.sum(0))),
    (lambda A, B, c, v: A * B.toarray(), lambda A, B, c, v: A * B),
]  # fmt: skip


def check(seed: int, known: bool, backend: str) -> None:
    """One expression of some steps, with its slopes with respect to entries, a number and a vector."""
    rng = np.random.default_rng(seed)
    matrices = [scipy.sparse.random(4, 4, p, format=k, random_state=rng) for p, k in ((0.4, "csr"), (0.5, "csc"))]
    c, v = pt.dscalar("c"), pt.dvector("v")
    if known:
        data = [pt.dvector("a"), pt.dvector("b")]
        makers = (sparse.CSR, sparse.CSC)
        made = [make(d, m.indices, m.indptr, m.shape) for make, d, m in zip(makers, data, matrices, strict=True)]
        given: list[Any] = list(data)
        values = [m.data for m in matrices]
    else:
        made = given = [sparse.csr_matrix("A"), sparse.csc_matrix("B", shape=(4, 4))]
        values = matrices
    dense = [pt.dmatrix("A", shape=(4, 4)), pt.dmatrix("B", shape=(4, 4))]
    ours: list[Any] = list(made)
    theirs: list[Any] = list(dense)
    for _ in range(int(rng.integers(1, 5))):
        one, other = STEPS[rng.integers(len(STEPS))]
        i, j = rng.integers(len(ours), size=2)
        ours.append(one(ours[i], ours[j], c, v))
        theirs.append(other(theirs[i], theirs[j], c, v))
    weights = rng.normal(size=(4, 4))
    cost, plain = ((ours[-1] * weights).sum(), (theirs[-1] * weights).sum())
    settings = {"disconnected_inputs": "ignore"}
    slopes = pt.grad(cost, [*made, c, v], **settings)
    results = [ours[-1].toarray(), cost, *(s.toarray() if i < 2 else s for i, s in enumerate(slopes))]
    point = [rng.normal(), rng.normal(size=4)]
    options = {"backend": backend, "on_unused_input": "ignore"}
    found = pt.function([*given, c, v], results, **options)(*values, *point)
    wanted = pt.function([*dense, c, v], [theirs[-1], plain, *pt.grad(plain, [*dense, c, v], **settings)], **options)
    expected = wanted(*(m.toarray() for m in matrices), *point)
    for place, m in ((2, matrices[0]), (3, matrices[1])):
        expected[place] = np.where(m.toarray() != 0, expected[place], 0.0)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("known", [True, False], ids=["known places", "places given"])
def test_sparse_expressions_are_dense_ones(known: bool) -> None:
    for seed in range(25):
        check(seed, known, "reference")
    for seed in range(25, 28):
        check(seed, known, "llvm")
