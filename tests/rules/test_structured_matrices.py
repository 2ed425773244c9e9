"""Structured matrices are computed from their parts: no factorisation of the whole is left, and results are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.errors import LinearAlgebraError
from consilience.ir import Node, topological
from consilience.ops import Cholesky, Det, DetSign, Inverse, InverseQuadratic, LogAbsDet, Solve, SolveTriangular
from consilience.rewrite.rules import simplify
from tests.transforms.laws import Array

FACTORISATIONS = (Cholesky, Det, DetSign, Inverse, InverseQuadratic, LogAbsDet, Solve, SolveTriangular)
la = pt.linalg
RNG = np.random.default_rng(3)
GIVEN: dict[str, Array] = {
    "a": RNG.normal(size=(4, 4)) + 4 * np.eye(4),
    "b": RNG.normal(size=(3, 3)) - 3 * np.eye(3),
    "d": RNG.normal(size=12),
    "u": RNG.normal(size=(12, 2)),
    "c": RNG.normal(size=(2, 2)),
    "w": RNG.normal(size=12),
    "y": RNG.normal(size=(12, 2)),
    "s": np.array(0.3),
}


def log_normal(covariance: Callable[..., Node]) -> Callable[..., Node]:
    """The log density of a normal distribution with a covariance."""
    return lambda t: pm.logp(pm.MvNormal.dist(0.0, covariance(t)), t["w"])


def definite(x: Node) -> Node:
    return x @ x.T + pt.eye(x.static_shape[0])


# Expressions, and the greatest length of a matrix that may be factorised for them.
CASES: dict[str, tuple[Callable[[dict[str, Node]], Node], int]] = {
    "det of kron": (lambda t: la.det(la.kron(t["a"], t["b"])), 4),
    "slogdet of kron": (lambda t: pt.stack(la.slogdet(la.kron(t["a"], t["b"]))), 4),
    "inv of kron": (lambda t: la.inv(la.kron(t["a"], t["b"])), 4),
    "solve with kron": (lambda t: la.solve(la.kron(t["a"], t["b"]), t["y"]), 4),
    "solve with kron, negative definite parts": (
        lambda t: la.solve(la.kron(-definite(t["a"]), -definite(t["b"])), t["y"], assume_a="pos"),
        4,
    ),
    "three Kronecker factors": (lambda t: la.solve(la.kron(t["c"], la.kron(t["b"], t["c"])), t["y"]), 3),
    "cholesky of kron": (lambda t: la.cholesky(la.kron(definite(t["a"]), definite(t["b"]))), 4),
    "normal, kron": (log_normal(lambda t: la.kron(definite(t["a"]), definite(t["b"]))), 4),
    "blocks": (lambda t: la.solve(la.block_diag(t["a"], t["b"], t["b"], t["c"]), t["y"]), 4),
    "det of blocks": (lambda t: la.det(la.block_diag(t["a"], t["b"])), 4),
    "inverse of blocks": (lambda t: la.inv(la.block_diag(t["a"], t["b"])), 4),
    "normal, blocks": (
        log_normal(lambda t: la.block_diag(definite(t["a"]), *[definite(t["b"])] * 2, definite(t["c"]))),
        4,
    ),
    "diagonal plus low rank": (lambda t: la.solve(pt.diag(pt.exp(t["d"])) + t["u"] @ t["c"] @ t["u"].T, t["y"]), 2),
    "number plus low rank": (lambda t: la.inv(pt.eye(12) * pt.exp(t["s"]) + t["u"] @ t["u"].T), 2),
    "det of low rank": (lambda t: la.det(pt.diag(pt.exp(t["d"])) + 2.0 * t["u"] @ t["c"] @ t["u"].T), 2),
    "equal correlations": (lambda t: la.slogdet(pt.eye(12) * pt.exp(t["s"]) + 0.5)[1], 1),
    "normal, low rank": (log_normal(lambda t: pt.diag(pt.exp(t["d"])) + t["u"] @ t["u"].T), 2),
    "normal, weighted columns": (
        log_normal(lambda t: pt.diag(pt.exp(t["d"])) + (t["u"] * pt.exp(t["d"][:2])) @ t["u"].T),
        2,
    ),
    "normal, outer product": (log_normal(lambda t: pt.diag(pt.exp(t["d"])) + pt.outer(t["w"], t["w"])), 1),
    "diagonal": (lambda t: la.solve(pt.diag(t["d"]), t["y"]) + la.det(pt.diag(t["d"])), 0),
    "inverse of diagonal": (lambda t: la.inv(pt.diag(t["d"])), 0),
    "triangular product": (lambda t: la.solve(pt.tril(t["a"]) @ pt.tril(t["a"]).T, t["y"][:4]), 0),
    "det of a triangular product": (lambda t: la.det(pt.tril(t["a"]) @ pt.tril(t["a"]).T), 0),
}


def inputs() -> dict[str, Node]:
    return {name: pt.tensor(name, dtype="float64", shape=value.shape) for name, value in GIVEN.items()}


def longest(outputs: list[Node]) -> int:
    """Length of the longest matrix that is factorised; substitution alone does not count."""
    found = [0]
    for node in topological(outputs):
        if isinstance(node.op, FACTORISATIONS) and not isinstance(node.op, SolveTriangular):
            length = node.inputs[0].static_shape[-1]
            assert isinstance(length, int)
            found.append(length)
    return max(found)


@pytest.mark.parametrize("name", CASES)
def test_the_parts_give_the_value_and_the_slope_of_the_whole(name: str) -> None:
    build, greatest = CASES[name]
    t = inputs()
    whole = build(t)
    total = pt.sum(pt.sin(whole)) if whole.ndim else whole
    (simple,) = simplify([whole])
    assert longest([simple]) <= greatest < longest([whole])
    given = {node: GIVEN[n] for n, node in t.items()}
    dense, parts = evaluate([whole, simple], given)
    np.testing.assert_allclose(parts, dense, rtol=1e-9, atol=1e-11)

    wanted = [node for node in t.values() if node in set(topological([total]))]
    slopes = pt.grad(total, wanted)
    assert longest(slopes) <= greatest
    from consilience.transforms.gradient import gradient

    for found, meant in zip(evaluate(slopes, given), evaluate(gradient(total, wanted), given), strict=True):
        np.testing.assert_allclose(found, meant, rtol=1e-7, atol=1e-8)


REFUSALS: dict[str, Callable[[Node], Any]] = {
    "kron": lambda x: la.solve(la.kron(x, np.eye(2)), np.ones(4)),
    "kron, not positive definite": lambda x: la.cholesky(la.kron(x - 1.0, np.eye(2))),
    "kron of unlike signs": lambda x: la.cholesky(la.kron(-np.eye(2), x + np.eye(2))),
    "blocks": lambda x: la.inv(la.block_diag(np.eye(2), x)),
    "diagonal": lambda x: la.inv(pt.diag(x[0])),
    "triangular product": lambda x: la.solve(pt.tril(x) @ pt.tril(x).T, np.ones(2)),
    "diagonal below 0, assumed positive definite": lambda x: la.solve(pt.diag(x[0] - 1.0), x, assume_a="pos"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_has_no_solution_fails_as_the_whole_does(name: str) -> None:
    x = pt.matrix("x", shape=(2, 2))
    with pytest.raises(LinearAlgebraError):
        pt.function([x], REFUSALS[name](x))(np.zeros((2, 2)))


def test_a_diagonal_of_unknown_sign_is_no_divisor() -> None:
    """diag(0, 1) + 1 1' is regular, though its diagonal part is not."""
    d = pt.vector("d", shape=(4,))
    f = pt.function([d], la.det(pt.diag(d) + 1.0))
    np.testing.assert_allclose(f([0.0, 1.0, 1.0, 1.0]), 1.0, rtol=1e-14)


def test_lengths_known_only_at_the_call() -> None:
    a, b, y, d = pt.matrix("a"), pt.matrix("b"), pt.matrix("y"), pt.vector("d")
    u = pt.matrix("u", shape=(None, 2))
    results = [
        la.solve(la.kron(a, b), y),
        la.slogdet(la.kron(a, b))[1],
        la.solve(la.block_diag(a, b, b, b[:2, :2]), y),
        la.solve(pt.diag(pt.exp(d)) + u @ u.T, y),
        la.kron(a, b) @ y,
    ]
    found = pt.function([a, b, y, d, u], results)(*(GIVEN[n] for n in "abydu"))
    A, B, Y, D, U = (GIVEN[n] for n in "abydu")
    blocks = np.zeros((12, 12))
    for start, block in ((0, A), (4, B), (7, B), (10, B[:2, :2])):
        blocks[start : start + len(block), start : start + len(block)] = block
    whole = np.kron(A, B)
    meant = [
        np.linalg.solve(whole, Y),
        np.linalg.slogdet(whole)[1],
        np.linalg.solve(blocks, Y),
        np.linalg.solve(np.diag(np.exp(D)) + U @ U.T, Y),
        whole @ Y,
    ]
    for value, wanted in zip(found, meant, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-10)
