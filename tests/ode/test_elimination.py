"""Small systems in single numbers have the library's solutions and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience.tensor as pt
from consilience.ode.elimination import SMALL, solver


@pytest.mark.parametrize("n", range(1, SMALL + 2))
def test_solutions_and_their_derivatives(n: int) -> None:
    """Rows are exchanged where a diagonal is small or zero."""
    a, b, w = pt.matrix("a", shape=(n, n)), pt.vector("b", shape=(n,)), np.arange(1.0, n + 1)
    ours, theirs = solver(a)(b), pt.linalg.solve(a, b)
    f = pt.function(
        [a, b], [x for s in (ours, theirs) for x in (s, *pt.grad((s * w).sum(), [a, b]))],
    )  # fmt: skip
    rng = np.random.default_rng(n)
    for scale in (1.0, 1e-9, 0.0):
        matrix = rng.normal(size=(n, n))
        if n > 1:
            matrix[np.diag_indices(n)] *= scale
        found = f(matrix, rng.normal(size=n))
        for mine, wanted in zip(found[:3], found[3:], strict=True):
            assert_allclose(mine, wanted, rtol=1e-9, atol=1e-9 * abs(wanted).max())


def test_a_singular_matrix_gives_no_finite_solution_and_no_error() -> None:
    a = pt.matrix("a", shape=(2, 2))
    assert not np.isfinite(pt.function([a], solver(a)(pt.as_tensor([1.0, 2.0])))(np.ones((2, 2)))).any()
