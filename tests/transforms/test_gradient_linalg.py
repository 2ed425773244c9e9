"""Pullbacks of linear algebra equal differences, with vectors, matrices and batches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from consilience.backends.reference import evaluate
from consilience.ir import Node, constant, tensor_input, topological
from consilience.ops import (
    Cholesky,
    Det,
    Inverse,
    InverseQuadratic,
    Item,
    LogAbsDet,
    Solve,
    SolveTriangular,
    apply,
    linalg,
)
from consilience.ops.factorisations import LDL, Eigh, Eigvalsh, PseudoInverse
from consilience.ops.shape import stack
from consilience.transforms.gradient import gradient, pullback
from tests.transforms.laws import Array, check_derivatives, check_each_entry, listed


def matrix(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape)


def regular(*shape: int, seed: int = 0) -> Array:
    return matrix(*shape, seed=seed) + 2.0 * np.eye(shape[-1])


def definite(*shape: int, seed: int = 0) -> Array:
    x = matrix(*shape, seed=seed)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


def symmetric(*shape: int, seed: int = 0) -> Array:
    x = matrix(*shape, seed=seed)
    return x + np.swapaxes(x, -1, -2)


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((1, 2, 3), (5, 3, 4)),
        ((6, 1, 2, 3), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((1, 3), (3, 1)),
        ((2, 0), (0, 4)),
        ((0, 3), (3,)),
        ((0,), (0,)),
    ],
)
def test_products(left: tuple[int, ...], right: tuple[int, ...], symbolic: bool) -> None:
    check_derivatives(lambda a, b: a @ b, [matrix(*left), matrix(*right, seed=1)], symbolic=symbolic)


def test_dot_and_tensordot() -> None:
    check_derivatives(lambda a, b: linalg.tensordot(a, b, 2), [matrix(2, 3, 4), matrix(3, 4, 2)])
    check_derivatives(linalg.dot, [matrix(2, 3, 4), matrix(5, 4, 2)])
    check_derivatives(linalg.outer, [matrix(3), matrix(2)])


FREE: dict[str, tuple[Callable[..., Node], list[Array]]] = {
    "solve": (linalg.solve, [regular(3, 3), matrix(3, 2, seed=1)]),
    "solve for a vector": (linalg.solve, [regular(3, 3), matrix(3, seed=1)]),
    "solve in batches": (linalg.solve, [regular(2, 1, 3, 3), matrix(4, 3, 2, seed=1)]),
    "triangular": (
        lambda a, b: linalg.solve_triangular(a, b, lower=True),
        [regular(3, 3), matrix(3, 2, seed=1)],
    ),
    "upper": (lambda a, b: linalg.solve_triangular(a, b), [regular(3, 3), matrix(3, seed=1)]),
    "transposed": (
        lambda a, b: linalg.solve_triangular(a, b, lower=True, trans=1),
        [regular(2, 3, 3), matrix(3, 2, seed=1)],
    ),
    "upper transposed": (
        lambda a, b: linalg.solve_triangular(a, b, trans=1),
        [regular(3, 3), matrix(3, seed=1)],
    ),
    "inverse": (linalg.inv, [regular(2, 3, 3)]),
    "log determinant": (lambda a: linalg.slogdet(a)[1], [regular(2, 3, 3)]),
    "log determinant below zero": (lambda a: linalg.slogdet(a)[1], [regular(3, 3)[::-1].copy()]),
    "determinant": (linalg.det, [regular(2, 3, 3)]),
    "sign": (lambda a: linalg.slogdet(a)[0] * a[..., 0, 0], [regular(2, 3, 3)]),
    "trace": (linalg.trace, [matrix(2, 3, 3)]),
    "size one": (linalg.solve, [regular(1, 1), matrix(1, 1, seed=1)]),
}


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("name", FREE)
def test_functions_of_any_matrix(name: str, symbolic: bool) -> None:
    function, point = FREE[name]
    check_derivatives(function, point, symbolic=symbolic)
    check_each_entry(lambda *xs: apply("sin", function(*xs)), point)


def assume(op: type, *inputs: Node) -> Node:
    return Node(op("positive definite"), *inputs)


SYMMETRIC: dict[str, Callable[[Node], Node]] = {
    "cholesky": lambda a: Node(Cholesky(), a),
    "inverse": lambda a: assume(Inverse, a),
    "log determinant": lambda a: assume(LogAbsDet, a),
    "solve": lambda a: assume(Solve, a, a @ a + 1.0),
}


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4, 4)])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_functions_of_definite_matrices_along_symmetric_directions(name: str, shape: tuple[int, ...]) -> None:
    function = SYMMETRIC[name]
    for symbolic in (False, True):
        check_derivatives(function, [definite(*shape)], tangents=[symmetric(*shape, seed=3)], symbolic=symbolic)
    # Through a symmetric function of free variables every direction is allowed.
    check_derivatives(lambda b: function(b @ b.mT + np.eye(shape[-1])), [matrix(*shape)])


def items(pair: Node) -> list[Node]:
    return [Node(Item(i), pair) for i in (0, 1)]


TRIANGLES: dict[str, Callable[[Node], Node | list[Node]]] = {
    **SYMMETRIC,
    "solve": lambda a: assume(Solve, a, constant(matrix(3, 2, seed=2))),
    "quadratic form": lambda a: Node(InverseQuadratic(), a, constant(matrix(3, 2, seed=2))),
    "eigenvalues": lambda a: Node(Eigvalsh(), a),
    "eigenvectors": lambda a: items(Node(Eigh(), a)),
    "pseudo-inverse": lambda a: Node(PseudoInverse(hermitian=True), a, constant(1e-15)),
    "bunch and kaufman": lambda a: items(Node(LDL(), a)),
}


@pytest.mark.parametrize("name", TRIANGLES)
def test_slopes_lie_in_the_triangle_that_is_read(name: str) -> None:
    """Values and slopes take nothing from the other triangle, whatever it holds; every entry alone is a difference."""
    function = TRIANGLES[name]
    point = np.tril(definite(3, 3))
    for above in (0.0, 5.0):
        check_derivatives(function, [point + np.triu(np.full((3, 3), above), 1)])
    x = tensor_input("float64", (3, 3))
    results = listed(function(x))
    seeds = [constant(matrix(*evaluate([r], {x: point})[0].shape, seed=i)) for i, r in enumerate(results)]
    slopes = pullback(results, [x], seeds)
    (whole,), (other,) = (evaluate(slopes, {x: point + upper}) for upper in (0.0, np.triu(np.full((3, 3), 7.0), 1)))
    np.testing.assert_allclose(whole, other, rtol=1e-12)
    assert not np.triu(whole, 1).any()


def test_upper_triangles_are_read_where_asked() -> None:
    check_derivatives(lambda a: Node(Eigvalsh(lower=False), a), [np.triu(definite(3, 3))])
    check_derivatives(lambda a: items(Node(Eigh(lower=False), a)), [np.triu(definite(3, 3))])


def test_nan_in_the_triangle_that_is_not_read_does_not_matter() -> None:
    v = tensor_input("float64", (3,))
    a = stack([stack([v[0], apply("sqrt", -v[0])]), stack([v[1], v[2]])])
    factor = Node(Cholesky(), a)
    (slope,) = evaluate(gradient(factor[1, 1], [v]), {v: np.array([4.0, 1.0, 3.0])})
    np.testing.assert_allclose(slope, np.array([0.0625, -0.5, 1.0]) * 0.5 / np.sqrt(2.75), rtol=1e-12)


def test_second_derivatives_of_the_factor() -> None:
    def slopes(b: Node) -> list[Node]:
        factor = Node(Cholesky(), b @ b.mT + np.eye(3))
        return gradient((factor * matrix(3, 3, seed=5)).sum(), [b])

    check_derivatives(slopes, [matrix(3, 3)], rtol=1e-6)


def test_normal_log_density_of_a_covariance() -> None:
    def log_density(b: Node, x: Node) -> Node:
        covariance = b @ b.mT + np.eye(3)
        factor = Node(Cholesky(), covariance)
        half = Node(SolveTriangular(), factor, x[:, None])
        return -0.5 * apply("square", half).sum() - apply("log", linalg.diagonal(factor)).sum()

    check_derivatives(log_density, [matrix(3, 3), matrix(3, seed=1)])
    check_derivatives(lambda *p: gradient(log_density(*p), p), [matrix(3, 3), matrix(3, seed=1)])


def test_definite_matrices_share_their_solver() -> None:
    a, b = tensor_input("float64", (3, 3)), tensor_input("float64", (3, 1))
    cost = assume(LogAbsDet, a) + (b * assume(Solve, a, b)).sum()
    solvers = {type(n.op) for n in topological(gradient(cost, [a, b])) if type(n.op) in (Solve, Inverse, Cholesky)}
    assert solvers == {Solve, Inverse}
    ops = [n.op for n in topological(gradient(cost, [a, b])) if isinstance(n.op, Solve | Inverse)]
    assert {op.assume for op in ops} == {"positive definite"}


def test_empty_matrices() -> None:
    check_derivatives(lambda a: Node(Cholesky(), a), [np.zeros((0, 0))])
    check_derivatives(lambda a: Node(Inverse(), a), [np.zeros((2, 0, 0))])
    check_derivatives(lambda a, b: Node(Solve(), a, b), [np.zeros((0, 0)), np.zeros((0, 2))])
    check_derivatives(lambda a: Node(Det(), a), [np.zeros((0, 0))])


def test_matrices_keep_float32() -> None:
    a, b, v = (tensor_input("float32", shape) for shape in [(3, 3), (3, 2), (3,)])
    costs = [a @ b, a @ v, v @ b, v @ v, *(function(a) for function in SYMMETRIC.values())]
    costs += [
        linalg.solve(a, b),
        linalg.solve_triangular(a, v),
        linalg.inv(a),
        linalg.det(a),
        linalg.slogdet(a)[1],
    ]
    for cost in costs:
        assert cost.dtype == "float32"
        assert [g.type for g in gradient(cost.sum(), [a, b, v])] == [a.type, b.type, v.type]


def factor_of(a: Node) -> Node:
    return linalg.cholesky(a @ a.mT + np.eye(a.static_shape[-1] if isinstance(a.static_shape[-1], int) else 1))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_factors_whose_slopes_are_of_few_columns(n: int) -> None:
    """Logarithms of the diagonal, and solutions and products with vectors: alone, together and beside others."""

    def parts(a: Node, u: Node, w: Node) -> list[Node]:
        factor = factor_of(a)
        logs = apply("log", linalg.diagonal(factor)).sum()
        spread = linalg.solve_triangular(factor, u, lower=True, trans=1)
        solved = linalg.solve_triangular(factor, spread, lower=True)
        whole = (factor * factor).sum()
        return [logs, spread.sum() * logs, (solved * w).sum() - 2.0 * logs, (factor @ w).sum() + whole, spread @ w]

    check_derivatives(parts, [regular(n, n), matrix(n, seed=1), matrix(n, seed=2)])


@pytest.mark.parametrize("n", [0, 1, 2, 4])
@pytest.mark.parametrize("m", [1, 3])
def test_products_with_their_own_transpose(n: int, m: int) -> None:
    """With one number for each column, or none, whichever of the factors is turned."""

    def parts(b: Node, w: Node, g: Node) -> list[Node]:
        products = [b @ b.mT, (b * w) @ b.mT, (b * w * 2.0) @ b.mT]
        turned = b.mT
        products += [turned.mT @ turned, (turned.mT * w) @ turned]
        return [(g * product).sum() for product in products]

    check_derivatives(parts, [matrix(n, m), matrix(m, seed=1), matrix(n, n, seed=2)])


def test_a_symmetric_product_has_one_product_as_its_slope() -> None:
    b, w = (tensor_input("float64", shape) for shape in ((40, 50), (50,)))
    cotangent = tensor_input("float64", (40, 40))
    found = pullback([(b * w) @ b.mT], [b, w], [cotangent])
    assert sum(isinstance(node.op, linalg.MatMul) for node in topological(found)) == 1


def test_no_square_product_for_slopes_of_few_columns() -> None:
    x, u = tensor_input("float64", (40, 40)), tensor_input("float64", (40,))
    factor = linalg.cholesky(x)
    value = apply("log", linalg.diagonal(factor)).sum() + linalg.solve_triangular(factor, u, lower=True).sum()
    products = [n for n in topological(gradient(value, [x])) if isinstance(n.op, linalg.MatMul)]
    assert all(1 in [*product.inputs[0].static_shape, *product.inputs[1].static_shape] for product in products)
