"""Graphs thousands of ops deep or wide: nothing recurses, and what must be linear in time is."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends import reference
from consilience.ir import Node, digest, text, verify
from consilience.ir.parse import parse
from consilience.rewrite.rules import explain, simplify
from consilience.transforms.vectorize import vectorize

DEPTH = 4_000  # Python's stack ends at 1,000


def chain(x: Node, depth: int = DEPTH) -> Node:
    """sin and multiplications in turn: no rule shortens them."""
    y = x
    for i in range(depth):
        y = pt.sin(y) if i % 2 else y * 1.1
    return y


def by_numpy(x: float, depth: int = DEPTH) -> tuple[float, float]:
    """Value and slope of the chain."""
    slope = 1.0
    for i in range(depth):
        slope *= float(np.cos(x)) if i % 2 else 1.1
        x = float(np.sin(x)) if i % 2 else x * 1.1
    return x, slope


X = pt.dscalar("x")
DEEP = chain(X)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_deep_expressions_are_computed(backend: str) -> None:
    np.testing.assert_allclose(DEEP.eval({X: 0.5}, backend=backend), by_numpy(0.5)[0], rtol=1e-12)


def test_deep_expressions_are_differentiated() -> None:
    """The gradient of four thousand ops in NumPy, of two thousand in machine code."""
    slope = reference.evaluate([pm.grad(DEEP, X)], {X: 0.5})[0]
    np.testing.assert_allclose(slope, by_numpy(0.5)[1], rtol=1e-9)
    found = pm.grad(chain(X, 2_000), X).eval({X: 0.5})
    np.testing.assert_allclose(found, by_numpy(0.5, 2_000)[1], rtol=1e-9)


@pytest.mark.parametrize(
    "use",
    [
        lambda: parse(text([DEEP], [X])),
        lambda: digest([DEEP], [X]),
        lambda: verify([DEEP]),
        lambda: simplify([DEEP]),
        lambda: explain([DEEP]),
        lambda: vectorize([DEEP], {X: pt.vector("batch")}),
        lambda: repr(DEEP),
    ],
    ids=["text", "digest", "verify", "simplify", "explain", "vectorize", "repr"],
)
def test_deep_expressions_pass_through_everything(use: Callable[[], object]) -> None:
    """No walk over a graph is limited by Python's stack."""
    use()


def test_gradients_of_joins_take_time_in_proportion() -> None:
    """Places of the parts are running sums, not sums for every part."""

    def seconds(count: int) -> float:
        v = pt.vector("v")
        joined = pt.concatenate([v * float(i) for i in range(count)]).sum()
        start = time.process_time()
        pm.grad(joined, v)
        return time.process_time() - start

    short = min(seconds(200) for _ in range(3))
    assert seconds(2_000) < 40 * short + 0.5
