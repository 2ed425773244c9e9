"""Factors, inverses and solutions by blocks: machine code gives what NumPy does, and fails as it does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from consilience.errors import LinearAlgebraError
from consilience.ir import Node, tensor_input
from consilience.native.routines import triangles
from consilience.ops import Cholesky, Inverse, MatMul, SolveTriangular
from consilience.ops.linalg import matrix_transpose
from tests.backends.agreement import Array, run_llvm, run_reference
from tests.native.test_matrix_routines import both

LENGTHS = (0, 1, 2, 9, 31, 32, 33, 63, 64, 65, 130)
COLUMNS = (0, 1, 7, 8, 65)


def definite(*shape: int) -> Array:
    """Positive definite matrices, below the diagonal; above it is what no factor reads."""
    x = np.random.default_rng(shape).normal(size=shape)
    whole = x @ np.swapaxes(x, -1, -2) / max(shape[-1], 1) + np.eye(shape[-1])
    return np.tril(whole) + np.triu(x, 1)


def numbers(*shape: int) -> Array:
    return np.random.default_rng((7, *shape)).normal(size=shape)


def agree(build: Callable[..., Node | list[Node]], *arrays: Array) -> None:
    inputs = [tensor_input("float64", a.shape) for a in arrays]
    made = build(*inputs)
    outputs = [made] if isinstance(made, Node) else made
    for got, wanted in zip(run_llvm(inputs, outputs, arrays), run_reference(inputs, outputs, arrays), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("n", LENGTHS)
def test_factors_and_inverses(n: int) -> None:
    x = definite(n, n)
    agree(lambda x: [Node(Cholesky(), x), Node(Inverse("positive definite"), x)], x)
    agree(lambda x: Node(Cholesky(), x), definite(3, n, n))


@pytest.mark.parametrize("n", LENGTHS)
def test_solutions_of_all_kinds_of_triangles(n: int) -> None:
    """What lies in the other triangle is not read."""
    a = 0.3 * numbers(n, n) + 4.0 * np.eye(n)
    forms = [SolveTriangular(lower, turned) for lower in (False, True) for turned in (False, True)]
    for columns in COLUMNS:
        agree(lambda a, b: [Node(form, a, b) for form in forms], a, numbers(n, columns))
    agree(lambda a, b: [Node(form, a, b) for form in forms], np.stack([a, 2.0 * a]), numbers(2, n, 9))


@pytest.mark.parametrize("n", LENGTHS)
def test_products_with_a_factor(n: int) -> None:
    def products(x: Node, right: Node, left: Node) -> list[Node]:
        factor = Node(Cholesky(), x)
        turned = matrix_transpose(factor)
        pairs = [(factor, right), (turned, right), (left, factor), (left, turned), (factor, turned), (turned, factor)]
        return [Node(MatMul(), *pair) for pair in pairs]

    for columns in COLUMNS:
        agree(products, definite(n, n), numbers(n, columns), numbers(columns, n))
    agree(lambda x, b: Node(MatMul(), Node(Cholesky(), x), b), definite(3, n, n), numbers(n, 5))


@pytest.mark.parametrize("n", [n for n in LENGTHS if n])
def test_matrices_without_a_factor_fail(n: int) -> None:
    good = definite(n, n)
    x = tensor_input("float64", (n, n))
    for place in {0, n // 2, n - 1}:
        for value in (-1.0, 0.0, np.nan):
            bad = good.copy()
            bad[place, place] = value
            for op in (Cholesky(), Inverse("positive definite")):
                with pytest.raises(LinearAlgebraError):
                    run_llvm([x], [Node(op, x)], [bad])
        lost = good.copy()
        lost[n - 1, place] = np.nan
        with pytest.raises(LinearAlgebraError):
            run_llvm([x], [Node(Cholesky(), x)], [lost])


@pytest.mark.parametrize("n", [1, 3, 4, 6, 9, 32])
def test_blocks_in_plain_python(n: int) -> None:
    """Machine code may fuse products with sums: the last digits may be others."""
    low = np.tril(0.3 * numbers(n, n)) + 4.0 * np.eye(n)
    right = numbers(n, 11)
    place = (n - 1) * (n + 1)
    for a, first, down, along, top, step in (
        (low, 0, n, 1, 0, 11),
        (low, place, -1, -n, 11 * (n - 1), -11),  # its transpose
    ):
        results = []
        for solve in (triangles.solve_rows, triangles.solve_rows.compiled):
            x = right.copy().ravel()
            solve(a.ravel(), first, down, along, x, top, step, n, 11)
            results.append(x)
        np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-13)
        wanted = np.linalg.solve(low if step > 0 else low.T, right)
        np.testing.assert_allclose(results[0].reshape(n, 11), wanted, rtol=1e-10, atol=1e-12)
    square = low @ low.T
    for factor in (triangles.upper_factor, triangles.upper_factor.compiled):
        x = square.copy().ravel()
        assert factor(x, 0, n, n) == 1
        np.testing.assert_allclose(np.triu(x.reshape(n, n)), low.T, rtol=1e-10, atol=1e-12)
    for inverse in (triangles.lower_inverse, triangles.lower_inverse.compiled):
        x = low.copy().ravel()
        inverse(x, 0, n, n)
        np.testing.assert_allclose(x.reshape(n, n) @ low, np.eye(n), atol=1e-12)
    _, turned = both(triangles.lower_to_upper, numbers(n, n).ravel(), np.zeros(n * n), n)
    np.testing.assert_array_equal(turned.reshape(n, n), np.tril(numbers(n, n)).T)
    (back,) = both(triangles.upper_to_lower, turned, n)
    np.testing.assert_array_equal(back.reshape(n, n), np.tril(numbers(n, n)))
