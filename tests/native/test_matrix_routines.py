"""Routines around factorisations: machine code gives what plain Python gives, and what linear algebra says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from consilience.native.routines import matrices
from consilience.native.routines.rotations import small_eigen
from consilience.native.routines.small_systems import small_cholesky, small_solve

Array = Any


def both(function: Any, *arguments: Any) -> list[Array]:
    """The arrays after a call under CPython, which are those after a call of machine code, bit by bit."""
    first, second = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    with np.errstate(all="ignore"):
        assert function(*first) == function.compiled(*second)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    return [a for a in second if isinstance(a, np.ndarray)]


def numbers(*shape: int) -> Array:
    """Random numbers in one row."""
    return np.random.default_rng(shape).normal(size=shape).ravel()


@pytest.mark.parametrize(("count", "n"), [(1, 1), (3, 2), (9, 3), (2, 5)])
def test_small_matrices_side_by_side(count: int, n: int) -> None:
    """Fewer than eight, eight and more."""
    x = numbers(count, n, n)
    square = x.reshape(count, n, n)
    _, w, v = both(small_eigen, x, np.zeros(count * n), np.zeros(count * n * n), count, n, 1, 1)
    low = np.tril(square)
    whole = low + np.swapaxes(np.tril(square, -1), 1, 2)
    v = v.reshape(count, n, n)
    np.testing.assert_allclose(whole @ v, v * w.reshape(count, 1, n), atol=1e-13)
    definite = square @ np.swapaxes(square, 1, 2) + np.eye(n)
    _, factor = both(small_cholesky, definite.ravel(), np.zeros(count * n * n), count, n)
    np.testing.assert_allclose(factor.reshape(count, n, n), np.linalg.cholesky(definite), atol=1e-13)
    b = numbers(count, n, 2)
    _, _, y = both(small_solve, x, b, np.zeros(count * n * 2), count, n, 2)
    np.testing.assert_allclose(square @ y.reshape(count, n, 2), b.reshape(count, n, 2), atol=1e-11)


def test_small_systems_that_fail_are_told() -> None:
    """One of many is enough; a zero on the diagonal alone is none."""
    x = np.tile(np.eye(3), (9, 1, 1))
    b, y = np.arange(27.0), np.zeros(27)
    exchanged = x.copy()
    exchanged[4] = exchanged[4][[1, 2, 0]]
    assert small_solve.compiled(exchanged.ravel(), b, y, 9, 3, 1) == 1
    np.testing.assert_array_equal(y[12:15], b[12:15][[2, 0, 1]])
    x[7, 1, 1] = 0.0
    assert small_solve.compiled(x.ravel(), b, y, 9, 3, 1) == 0
    assert small_cholesky.compiled(x.ravel(), np.zeros(81), 9, 3) == 0
    x[7, 1, 1] = np.nan
    assert small_cholesky.compiled(x.ravel(), np.zeros(81), 9, 3) == 0
    assert small_eigen.compiled(x.ravel(), np.zeros(27), np.zeros(81), 9, 3, 1, 1) == 0


def test_a_factor_may_lie_where_its_matrix_was() -> None:
    """The routine works in the place of its operand."""
    x = np.array([[4.0, 9.0], [2.0, 5.0]]).ravel()
    small_cholesky.compiled(x, x, 1, 2)
    np.testing.assert_array_equal(x, [2.0, 0.0, 1.0, 2.0])


@pytest.mark.parametrize("shape", [(1, 1), (8, 3), (3, 8), (17, 9), (16, 16)])
def test_transposes(shape: tuple[int, int]) -> None:
    """Whole groups of eight rows, and what is left of them."""
    x = numbers(*shape)
    found = both(matrices.transpose, x, np.zeros(x.size), *shape)[1]
    np.testing.assert_array_equal(found.reshape(shape[::-1]), x.reshape(shape).T)


def test_numbers_that_are_not_finite_are_found() -> None:
    """Wherever they stand; in a triangle, if they are in it."""
    for bad in (np.nan, np.inf, -np.inf):
        for place in range(16):
            x = np.arange(16.0)
            x[place] = bad
            i, j = divmod(place, 4)
            with np.errstate(invalid="ignore"):
                assert matrices.all_finite.compiled(x, 16) == matrices.all_finite(x, 16) == 0
            assert matrices.triangle_finite.compiled(x, 4, 1) == int(i < j)
            assert matrices.triangle_finite.compiled(x, 4, 0) == int(i > j)
    assert matrices.all_finite.compiled(np.arange(16.0), 16) == 1


def test_pairs_of_eigenvectors() -> None:
    """A real vector and two conjugate ones: the largest element is real and positive."""
    packed = np.array([0.6, -0.8, 0.0, 0.6, 0.0, 0.1, 0.0, -0.8, 0.1])
    re, im = both(matrices.eigenvectors, packed, np.array([0.0, 2.0, -2.0]), np.zeros(9), np.zeros(9), 3)[2:]
    v = re.reshape(3, 3) + 1j * im.reshape(3, 3)
    np.testing.assert_allclose(v[:, 0], [-0.6, 0.8, 0.0])
    np.testing.assert_allclose(v[:, 1], np.array([0.6, -0.8j, 0.1 + 0.1j]) * 1j)
    np.testing.assert_array_equal(v[:, 2], v[:, 1].conj())
