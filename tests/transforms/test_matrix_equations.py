"""Derivatives of equations and functions of matrices are those of differences, once and twice, in batches too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.errors import DtypeError, LinearAlgebraError, MissingRuleError, ShapeError
from consilience.ir import Node, tensor_input
from consilience.ops.matrix_equations import SolveBanded, SolveSylvester
from consilience.ops.matrix_functions import MatrixFunction
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker
from consilience.transforms.gradient import gradient
from tests.transforms.laws import Array, check_derivatives


def matrix(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape)


def definite(*shape: int, seed: int = 0) -> Array:
    x = matrix(*shape, seed=seed)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


def bands(*shape: int) -> Array:
    x = matrix(*shape)
    x[..., 1, :] += 5.0
    return x


def op(op: object) -> Callable[..., Node]:
    return lambda *inputs: Node(op, *inputs)  # type: ignore[arg-type]  # an op


CASES: dict[str, tuple[Callable[..., Node], list[Array]]] = {
    "sylvester": (op(SolveSylvester()), [definite(3, 3), definite(2, 2), matrix(3, 2)]),
    "sylvester, transposed": (
        op(SolveSylvester(True)),
        [matrix(2, 3, 3) + 3 * np.eye(3), matrix(2, 2, 2) + 3 * np.eye(2), matrix(2, 3, 2)],
    ),
    "banded": (op(SolveBanded(2, 1)), [bands(4, 5), matrix(5, 2)]),
    "banded in batches": (op(SolveBanded(0, 1)), [bands(2, 2, 4), matrix(2, 4, 1)]),
    "diagonal": (op(SolveBanded(0, 0)), [3.0 + matrix(1, 4), matrix(4, 3)]),
    "discrete riccati": (
        pt.linalg.solve_discrete_are,
        [matrix(2, 3, 3), matrix(3, 2, seed=1), definite(3, 3), definite(2, 2)],
    ),
    "continuous riccati": (
        pt.linalg.solve_continuous_are,
        [matrix(3, 3), matrix(3, 2, seed=1), definite(3, 3), definite(2, 2)],
    ),
    "expm": (op(MatrixFunction("expm")), [matrix(2, 3, 3)]),
    "logm": (op(MatrixFunction("logm")), [matrix(3, 3) + 3 * np.eye(3)]),
    "sqrtm": (op(MatrixFunction("sqrtm")), [matrix(2, 3, 3) + 3 * np.eye(3)]),
    "lyapunov": (pt.linalg.solve_continuous_lyapunov, [matrix(3, 3) + 3 * np.eye(3), matrix(3, 3, seed=1)]),
    "discrete lyapunov": (pt.linalg.solve_discrete_lyapunov, [0.4 * matrix(3, 3), matrix(3, 3, seed=1)]),
    "sylvester, broadcast": (pt.linalg.solve_sylvester, [definite(2, 1, 3, 3), definite(4, 2, 2), matrix(3, 2)]),
    "diagonal matrix": (op(DiagonalMatrix()), [matrix(2, 3)]),
    "kronecker product": (op(Kronecker()), [matrix(2, 3), matrix(4, 1)]),
    "kronecker products": (op(Kronecker()), [matrix(2, 2, 3), matrix(2, 4, 1)]),
    "blocks": (op(BlockDiagonal()), [matrix(2, 3), matrix(4, 1), matrix(1, 1)]),
    "tridiagonal": (
        lambda a, b: pt.linalg.solve(a, b, assume_a="tridiagonal"),
        [matrix(2, 4, 4) + 4 * np.eye(4), matrix(4)],
    ),
}


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str, symbolic: bool) -> None:
    function, point = CASES[name]
    check_derivatives(function, point, symbolic=symbolic)


@pytest.mark.parametrize("name", ["sylvester, transposed", "banded", "discrete riccati", "expm", "logm", "sqrtm"])
def test_second_derivatives(name: str) -> None:
    function, point = CASES[name]

    def slopes(*nodes: Node) -> list[Node]:
        result = function(*nodes)
        return gradient((result * matrix(*result.static_shape, seed=7)).sum(), list(nodes))

    check_derivatives(slopes, point)


def test_empty_and_single() -> None:
    for n in (0, 1):
        for kind in ("expm", "logm", "sqrtm"):
            check_derivatives(op(MatrixFunction(kind)), [np.full((n, n), 2.0)])
        check_derivatives(op(SolveSylvester()), [np.ones((n, n)), np.ones((2, 2)), np.ones((n, 2))])
        check_derivatives(op(SolveBanded(2, 1)), [bands(4, n), np.ones((n, 2))])


def test_functions_undo_each_other() -> None:
    x = pt.matrix("x")
    a = definite(30, 30)
    root, there, back = pt.function(
        [x],
        [pt.linalg.sqrtm(x) @ pt.linalg.sqrtm(x), pt.linalg.expm(pt.linalg.logm(x)), pt.linalg.logm(pt.linalg.expm(x))],
    )(a / 10)
    for found in (root, there, back):
        np.testing.assert_allclose(found, a / 10, rtol=1e-11, atol=1e-12)


REFUSALS = {
    "one eigenvalue is that of the negative": (lambda a: pt.linalg.solve_sylvester(a, -a, a), np.eye(2), "solution"),
    "no real root": (pt.linalg.sqrtm, -np.eye(2), "square root: an eigenvalue is -1"),
    "no real logarithm": (pt.linalg.logm, np.diag([1.0, 0.0]), "logarithm: an eigenvalue is 0"),
    "NaN": (pt.linalg.logm, np.full((2, 2), np.nan), "NaN or infinity"),
    "singular bands": (lambda a: pt.linalg.solve_banded((1, 0), a, a[0]), np.zeros((2, 2)), "singular"),
    "what no control reaches": (
        lambda a: pt.linalg.solve_discrete_are(a, np.zeros((2, 1)), np.eye(2), np.eye(1)), 2 * np.eye(2), "stabilising",
    ),
    "zero on the diagonal": (
        lambda a: pt.linalg.solve(a, a[0], assume_a="diagonal"), np.diag([1.0, 0.0]), "singular"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_what_has_no_solution_is_refused_at_the_call(name: str) -> None:
    build, value, why = REFUSALS[name]
    x = pt.matrix("x")
    with pytest.raises(LinearAlgebraError, match=why):
        pt.function([x], build(x))(value)


def test_what_does_not_fit_is_refused_when_written() -> None:
    x, v = tensor_input("float64", (2, 3), "x"), tensor_input("float64", (3,), "v")
    square, c = tensor_input("float64", (2, 2), "a"), tensor_input("complex128", (2, 2), "c")
    with pytest.raises(ShapeError, match="square matrix, got 2 x 3"):
        pt.linalg.expm(x)
    with pytest.raises(ShapeError, match="`logm` needs a matrix"):
        pt.linalg.logm(v)
    with pytest.raises(DtypeError, match="complex"):
        pt.linalg.sqrtm(c)
    with pytest.raises(ShapeError, match="A is `x`"):
        pt.linalg.solve_sylvester(x, square, x)
    with pytest.raises(ShapeError, match="as many rows in Q"):
        pt.linalg.solve_sylvester(square, square, x)
    with pytest.raises(ShapeError, match="given by 4 rows"):
        pt.linalg.solve_banded((1, 2), x, v)
    with pytest.raises(ShapeError, match="must not be negative"):
        pt.linalg.solve_banded((-1, 2), x, v)
    with pytest.raises(ValueError, match="method must be"):
        pt.linalg.solve_discrete_lyapunov(square, square, method="newton")
    with pytest.raises(ShapeError, match="needs vectors"):
        pt.linalg.toeplitz(x)
    with pytest.raises(ShapeError, match="vectors only at the ends"):
        pt.linalg.multi_dot([x.T, v, x])


def test_factors_of_tridiagonal_matrices_say_that_they_have_no_derivative() -> None:
    a = tensor_input("float64", (3, 3), "a")
    factors = pt.linalg.tridiagonal_lu_factor(a)
    for value in (factors[1], pt.linalg.tridiagonal_lu_solve(factors, np.ones(3))):
        with pytest.raises(MissingRuleError, match="assume_a='tridiagonal'"):
            gradient(value.sum(), [a])


def test_the_cheapest_order_of_a_product_is_taken() -> None:
    a, b, c = (tensor_input("float64", shape) for shape in ((40, 2), (2, 40), (40, 3)))
    product = pt.linalg.multi_dot([a, b, c])
    assert product.inputs[0] is a
    given = [matrix(40, 2), matrix(2, 40), matrix(40, 3)]
    (found,) = evaluate([product], dict(zip((a, b, c), given, strict=True)))
    np.testing.assert_allclose(found, np.linalg.multi_dot(given), rtol=1e-12)
