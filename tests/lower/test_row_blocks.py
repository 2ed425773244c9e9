"""Regressions in blocks of rows: the same numbers as product by product, and one loop that reads the matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends import llvm
from consilience.backends.llvm import program_of
from consilience.ir import Node, constant, tensor_input
from consilience.lower import row_blocks
from consilience.lower.steps import LoopStep
from tests.backends.agreement import Array, inputs_like, run_llvm, run_reference, same
from tests.lower.test_row_chunks import helping

COLUMNS = 5


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 16 rows, for matrices of any size."""
    monkeypatch.setattr(row_blocks, "LEAST_BYTES", 0)
    monkeypatch.setattr(row_blocks, "COLUMNS", range(2, 9))
    monkeypatch.setattr(row_blocks, "BLOCK", 96)


def logistic(x: Node, y: Node, b: Node, a: Node, g: Node) -> list[Node]:
    """Value and gradients of a regression with effects of groups."""
    eta = x @ b + a[g]
    value = (y * eta - pt.softplus(eta)).sum()
    return [value, *pt.grad(value, [b, a])]


def normal(x: Node, y: Node, b: Node, a: Node, g: Node) -> list[Node]:
    """A scale of its own, whose derivative is a sum over rows that depends on no other."""
    z = (y - x @ b) * pt.exp(-a[0])
    value = -0.5 * pt.sqr(z).sum() - 3.0 * a[0]
    return [value, *pt.grad(value, [b, a])]


def read_elsewhere(x: Node, y: Node, b: Node, a: Node, g: Node) -> list[Node]:
    """The linear predictor leaves, too, and is sorted and centred, which no block can do."""
    eta = x @ b
    value = pt.sqr(pt.exp(0.1 * eta) - y).sum()
    return [
        value,
        eta,
        pt.sort(eta),
        *pt.grad(value, [b]),
        (eta - eta.mean()) * a[0],
        pt.grad((eta * eta.max()).sum(), b),
    ]


def two_matrices(x: Node, y: Node, b: Node, a: Node, g: Node) -> list[Node]:
    """Mean and scale with a matrix each."""
    other = constant(np.random.default_rng(3).normal(size=(int(x.static_shape[0]), 3)))  # type: ignore[arg-type]
    c = a[:3] * 0.1
    value = (-0.5 * pt.sqr((y - x @ b) * pt.exp(-(other @ c))) - other @ c).sum()
    return [value, *pt.grad(value, [b, a])]


def one_after_the_other(x: Node, y: Node, b: Node, a: Node, g: Node) -> list[Node]:
    """A product whose coefficients follow from sums over the rows of another: two loops, or none."""
    first = pt.tanh(x @ b)
    second = x @ (pt.tanh(first @ x) * 0.3)
    value = (second * y).sum()
    return [value, pt.grad(value, b)]


def operands(rows: int) -> list[Array]:
    random = np.random.default_rng(rows)
    x, y = random.normal(size=(rows, COLUMNS)), random.normal(size=rows)
    return [x, y, random.normal(size=COLUMNS), random.normal(size=4), random.integers(-4, 4, rows)]


@pytest.mark.parametrize("rows", [15, 16, 17, 64, 100])
@pytest.mark.parametrize("graph", [logistic, normal, read_elsewhere, two_matrices, one_after_the_other])
def test_blocks_change_no_number(graph: Callable[..., Sequence[Node]], rows: int) -> None:
    """Rows that fill no block, whole blocks, and rows left over."""
    arrays = operands(rows)
    nodes = inputs_like(arrays)
    outputs = list(graph(*nodes))
    for found, wanted in zip(run_llvm(nodes, outputs, arrays), run_reference(nodes, outputs, arrays), strict=True):
        same(found, wanted, rtol=1e-11, scale=10.0)


def loops(outputs: Sequence[Node], inputs: Sequence[Node]) -> int:
    program, _ = program_of(list(inputs), list(outputs))
    return sum(isinstance(step, LoopStep) for step in program.steps)


def test_a_loop_is_made_where_a_matrix_would_be_read_twice() -> None:
    """Value and gradient share a loop; the value alone needs none, nor does a matrix that is computed."""
    nodes = inputs_like(operands(100))
    outputs = logistic(*nodes)
    assert loops(outputs, nodes) == 1
    assert loops(outputs[:1], nodes) == 0
    assert loops(logistic(pt.exp(nodes[0]), *nodes[1:]), nodes) == 0


def test_matrices_that_fit_in_the_caches_are_read_product_by_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop has its price."""
    monkeypatch.setattr(row_blocks, "LEAST_BYTES", 8 * 100 * COLUMNS + 1)
    nodes = inputs_like(operands(100))
    assert loops(logistic(*nodes), nodes) == 0


def test_a_constant_matrix_is_kept_once() -> None:
    """Its transpose, which the gradient is written with, is no array of its own."""
    matrix = np.random.default_rng(1).normal(size=(6400, 40))
    b = tensor_input("float64", (40,), "b")
    eta: Any = constant(matrix) @ b
    value = pt.softplus(eta).sum()
    program, _ = program_of([b], [value, pt.grad(value, b)])
    assert sum(array.nbytes for array in program.constants) < 1.1 * matrix.nbytes


def test_chunks_of_blocks_have_the_same_bits_for_any_number_of_threads() -> None:
    """Wide matrices, with rows left over behind the last chunk, sums by group and a trace that is read elsewhere."""
    random = np.random.default_rng(2)
    rows = 40_003
    arrays: list[Array] = [random.normal(size=(rows, COLUMNS)), random.normal(size=rows), random.normal(size=COLUMNS)]
    arrays += [random.normal(size=4), random.integers(-4, 4, rows)]
    nodes = inputs_like(arrays)
    outputs = [*logistic(*nodes), nodes[0] @ nodes[2]]
    compiled = llvm.compile(nodes, outputs, {})
    assert isinstance(compiled, llvm.Compiled)
    assert compiled.chunks > 20
    code = compiled.bind()
    alone = code(arrays)
    for value, wanted in zip(alone, run_reference(nodes, outputs, arrays), strict=True):
        same(value, wanted, rtol=1e-10, scale=100.0)
    for count in (1, 3):
        with helping(count) as did:
            for _ in range(20):
                for value, wanted in zip(code(arrays), alone, strict=True):
                    np.testing.assert_array_equal(value, wanted)
        assert sum(did)
