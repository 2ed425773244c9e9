"""Random matrices of parts: what rules make of determinants, systems and inverses is what the whole matrix gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.errors import LinearAlgebraError
from consilience.ir import Node, topological
from consilience.ops import Det, DetSign, Inverse, LogAbsDet, Solve, SolveTriangular
from consilience.rewrite.engine import Rewriting
from consilience.rewrite.facts import Facts
from consilience.rewrite.rules import ALWAYS
from consilience.rewrite.structure import MATRIX
from tests.backends.agreement import run_llvm
from tests.transforms.laws import Array

la = pt.linalg
FACTORISATIONS = (Det, DetSign, Inverse, LogAbsDet, Solve, SolveTriangular)
GREATEST = 24
# Beyond this condition digits are lost by either way.
WORST = 1e6


class Growing:
    """Square matrices made of each other by random choices."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.arrays: dict[Node, Array] = {}

    def choose(self, *options: Callable[[], Node]) -> Node:
        """One of several makers' results."""
        return options[self.generator.integers(len(options))]()

    def given(self, *shape: int) -> Node:
        """A new input."""
        node = pt.tensor(f"x{len(self.arrays)}", dtype="float64", shape=shape)
        self.arrays[node] = self.generator.normal(0.0, 1.0, shape)
        return node

    def number(self) -> Node:
        """A number, known to be positive or not."""
        return self.choose(lambda: pt.exp(self.given()), lambda: self.given(), lambda: pt.constant(0.5))

    def vector(self, n: int) -> Node:
        """A vector, known to be positive or not."""
        return self.choose(lambda: pt.exp(self.given(n)), lambda: self.given(n), lambda: 1.0 + self.given(n) ** 2)

    def leaf(self, n: int) -> Node:
        """A matrix of few operations."""
        return self.choose(
            lambda: self.given(n, n),
            lambda: pt.eye(n) * self.number(),
            lambda: pt.diag(self.vector(n)),
            lambda: pt.tril(self.given(n, n)),
            lambda: pt.triu(self.given(n, n)),
            lambda: self.definite(n),
            lambda: self.orthogonal(n),
        )

    def orthogonal(self, n: int) -> Node:
        """An orthogonal matrix."""
        x = self.given(n, n)
        return self.choose(lambda: la.qr(x)[0], lambda: la.eigh(x)[1], lambda: la.svd(x)[2])

    def definite(self, n: int) -> Node:
        """A positive definite matrix, known to be or not."""
        x = self.given(n, n)
        return self.choose(lambda: x @ x.T + pt.eye(n), lambda: x.T @ x + pt.diag(pt.exp(self.given(n))))

    def matrix(self, n: int, depth: int) -> Node:
        """A matrix of given length."""
        if not depth:
            return self.leaf(n)
        factors = [k for k in range(1, n + 1) if n % k == 0]
        p = int(factors[self.generator.integers(len(factors))])
        cut = int(self.generator.integers(1, n)) if n > 1 else 1

        def again(length: int) -> Node:
            return self.matrix(length, depth - 1)

        def low_rank() -> Node:
            r = int(self.generator.integers(1, 3))
            u = self.given(n, r)
            inner = self.choose(
                lambda: u @ u.T,
                lambda: u @ self.leaf(r) @ u.T,
                lambda: (u * self.vector(r)) @ u.T,
                lambda: u @ self.given(r, n),
                lambda: self.number() * (u @ u.T),
                lambda: -u @ self.given(r, n),
                lambda: pt.outer(u[:, 0], u[:, 0]),
                lambda: self.number() + pt.zeros((n, n)),
            )
            return (
                again(n) + inner
                if self.generator.random() < 0.5
                else self.choose(lambda: pt.diag(self.vector(n)), lambda: pt.eye(n) * self.number()) + inner
            )

        return self.choose(
            lambda: la.kron(again(p), again(n // p)),
            lambda: la.block_diag(again(cut), again(n - cut)) if n > 1 else again(n),
            low_rank,
            low_rank,
            lambda: again(n) @ again(n),
            lambda: again(n).T,
            lambda: again(n) + again(n),
            lambda: -again(n),
            lambda: self.number() * again(n),
            lambda: la.inv(again(n)),
        )

    def asked(self, x: Node) -> Node:
        """What is computed of a matrix."""
        n = x.static_shape[0]
        assert isinstance(n, int)
        b = self.given(n, 2)
        return self.choose(
            lambda: la.det(x),
            lambda: la.slogdet(x)[1],
            lambda: la.slogdet(x)[0],
            lambda: la.inv(x),
            lambda: la.solve(x, b),
            lambda: la.solve(x, b[:, 0]),
            lambda: x @ b,
            lambda: b.T @ x,
            lambda: la.solve_triangular(x, b, lower=bool(self.generator.integers(2))),
        )


def program(seed: int) -> tuple[Growing, Node, Node]:
    """A graph of matrices, and what is asked of it."""
    grown = Growing(seed)
    x = grown.matrix(int(grown.generator.integers(1, GREATEST + 1)), int(grown.generator.integers(1, 4)))
    return grown, x, grown.asked(x)


def condition(graphs: list[Node], arrays: dict[Node, Array]) -> float:
    """The greatest condition number of a matrix that is factorised, or whose systems are solved."""
    nodes = [n.inputs[0] for n in topological(graphs) if isinstance(n.op, FACTORISATIONS)]
    return max((float(np.linalg.cond(value)) for value in evaluate(nodes, arrays)), default=1.0)


def check(seed: int, machine: bool) -> bool:
    """Compare one program; False where its matrices are too nearly singular to tell."""
    grown, _, asked = program(seed)
    (simple,) = Rewriting(ALWAYS, strict=True)([asked])
    assert simple.type == asked.type
    try:
        worst = condition([asked, simple], grown.arrays)
        (whole,) = evaluate([asked], grown.arrays)
    except LinearAlgebraError:
        return False
    if not worst < WORST:
        return False
    (parts,) = evaluate([simple], grown.arrays)
    # A determinant is exact to a share of itself, its logarithm to a number.
    size = float(np.abs(whole).max(initial=1.0 if isinstance(asked.op, LogAbsDet) else 0.0))
    np.testing.assert_allclose(parts, whole, rtol=1e-13 * worst, atol=1e-13 * worst * size)
    if machine:
        (found,) = run_llvm(list(grown.arrays), [simple], list(grown.arrays.values()))
        np.testing.assert_allclose(found, whole, rtol=1e-13 * worst, atol=1e-13 * worst * size)
    return True


@pytest.mark.parametrize("part", range(4))
def test_parts_and_whole_agree(part: int) -> None:
    compared = sum(check(1000 * part + i, machine=i < 5) for i in range(80))
    assert compared > 60


@pytest.mark.parametrize("seed", [591, 991])
def test_matrices_of_length_1_have_a_diagonal(seed: int) -> None:
    """Found by chance: a number in place of a vector."""
    assert check(seed, machine=True)


def none(x: Array, whole: Array) -> bool:
    """Whether a part of a matrix is zero, up to the rounding of inverses and products."""
    return bool((np.abs(x) <= 1e-9 * np.abs(whole).max()).all())


HOLDS: dict[str, Callable[[Array], bool]] = {
    "lower": lambda x: none(np.triu(x, 1), x),
    "upper": lambda x: none(np.tril(x, -1), x),
    "diagonal": lambda x: none(x - np.diag(np.diag(x)), x),
    "symmetric": lambda x: none(x - x.T, x),
    "positive_definite": lambda x: bool(np.linalg.eigvalsh(x).min() > -1e-9 * np.abs(x).max()),
    "positive_semidefinite": lambda x: bool(np.linalg.eigvalsh(x).min() > -1e-9 * np.abs(x).max()),
    "positive_diagonal": lambda x: bool((np.diag(x) > 0).all()),
    "orthogonal": lambda x: none(x @ x.T - np.eye(len(x)), x),
}


def test_facts_about_matrices_are_true() -> None:
    found = dict.fromkeys(MATRIX, 0)
    for seed in range(300):
        grown, x, _ = program(seed)
        facts = Facts()
        known = [name for name in MATRIX if facts.structure(x, name)]
        if not known:
            continue
        try:
            (value,) = evaluate([x], grown.arrays)
        except LinearAlgebraError:
            continue
        for name in known:
            assert HOLDS[name](value), (seed, name, value)
            found[name] += 1
    assert min(found.values()) > 5
