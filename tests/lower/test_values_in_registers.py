"""A scalar that comes out of a loop is kept in memory where any kind of step reads it there.

One row per kind of reader: each once read such a scalar from a place it did not have.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.ir import Node
from tests.backends.agreement import agree

N = 40
POINT = np.array([0.4, -0.3, 0.9])
RNG = np.random.default_rng(3)
X = RNG.normal(size=N)
DESIGN = RNG.normal(size=(N, 3))
GROUP = RNG.integers(0, 3, N)
MATRIX = RNG.normal(size=(3, 3)) + 4.0 * np.eye(3)

READERS: dict[str, Callable[[Node, Node], Node]] = {
    "set at an element": lambda b, x: pt.set_subtensor(b[1], x.sum()),
    "increment of an element": lambda b, x: pt.inc_subtensor(b[1], x.sum()),
    "increment of a slice": lambda b, x: pt.inc_subtensor(b[:2], x.sum()),
    "scatter by an array": lambda b, x: pt.inc_subtensor(b[np.array([0, 2])], x.sum()),
    "scatter into a repeated scalar": lambda b, x: pt.set_subtensor(pt.full(3, x.sum())[np.array([0, 2])], b[:2]),
    "place of a scatter": lambda b, x: pt.set_subtensor(b[pt.cast(pt.clip(x.sum(), 0, 2), "int64")[None]], 1.0),
    "gather from a repeated scalar": lambda b, x: pt.full(3, x.sum())[GROUP] * x,
    "gather from a sum of one element": lambda b, x: pt.sum(x, axis=0, keepdims=True)[np.zeros(N, int)] * x,
    "element of a reshaped sum": lambda b, x: pt.reshape(x.sum(), (1, 1))[0, 0] * b,
    "join": lambda b, x: pt.stack([x.sum(), b[0], x.max()]),
    "join of one element": lambda b, x: pt.concatenate([pt.sum(x, axis=0, keepdims=True), b]),
    "branch": lambda b, x: pt.ifelse(b[0] > 0, x.sum() * b, pt.exp(x.sum()) - b),
    "condition of a branch": lambda b, x: pt.ifelse(x.sum() > 0, 2.0 * b, b),
    "routine": lambda b, x: pt.linalg.solve(MATRIX * (2.0 + pt.tanh(x.sum())), b),
    "routine of one element": lambda b, x: pt.linalg.cholesky(pt.reshape(1.0 + pt.sum(x**2), (1, 1))),
    "solution of one unknown": lambda b, x: pt.linalg.solve(pt.reshape(1.0 + pt.sum(x**2), (1, 1)), x.sum()[None]),
    "cumulative sum": lambda b, x: pt.cumsum(pt.stack([x.sum(), b[0], x.sum()])),
    "elements times columns": lambda b, x: b[0] * x + b[1] * x**2,
    "choice between elements": lambda b, x: pt.where(X > 0, b[0], b[1]),
    "groups beside a product": lambda b, x: pt.dot(DESIGN, b) + b[GROUP] * x,
    "place in a constant of one element": lambda b, x: pt.constant([2.5])[pt.argmin(b[:1])] * x,
    "range of numbers set at places": lambda b, x: (
        pt.set_subtensor(pt.zeros(N, dtype="int64")[pt.cast(pt.clip(x, 0, 3), "int64")], pt.arange(N)) * b[0]
    ),
    "groups around an extreme": lambda b, x: pt.max(b[GROUP]) * x,
    "sorted groups beside a product": lambda b, x: pt.dot(DESIGN, b) + b[np.sort(GROUP)] * x + pt.sum(b) * x**2,
    "groups along an axis of length one": lambda b, x: pt.sum(b[GROUP][:, None] * x[:, None], axis=1),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_value_and_gradient_agree_with_the_reference(reader: Callable[[Node, Node], Node]) -> None:
    def build(b: Node, x: Node) -> list[Node]:
        value = reader(b, x)
        cost = pt.sum(value**2)
        return [value, cost, *pt.grad(cost, [b, x], disconnected_inputs="ignore")]

    agree(build, [POINT, X], scale=100.0)


def test_values_wait_for_other_parts_of_a_long_program() -> None:
    """A repeated scalar is read from its register in later parts too, not from the copy that is not written yet."""

    def build(b: Node, x: Node) -> list[Node]:
        scalars = [b[0]]
        for i in range(600):
            scalars.append(pt.sin(scalars[-1] + b[i % 3]))
        repeated = pt.full(3, scalars[200])
        place = pt.cast(pt.clip(scalars[500] * 2, 0, 2), "int64")
        value = (
            repeated[place]
            + scalars[600]
            + pt.sum(repeated[GROUP] * x)
            + pt.sum(pt.linalg.solve(MATRIX + b[0], repeated))
        )
        return [value, *pt.grad(value, [b, x])]

    agree(build, [POINT, X], scale=100.0)


def test_long_bodies_in_groups_keep_the_order_of_elements() -> None:
    """Loops taken apart store values; a loop over unsorted groups, which takes elements in another order, cannot."""

    def build(b: Node) -> list[Node]:
        mean = b[GROUP] * X
        for i in range(700):
            mean = mean + 0.01 * pt.sin(mean * (1.0 + i / 700)) * X
        cost = pt.sum((mean - X) ** 2)
        return [cost, pt.grad(cost, b)]

    agree(build, [POINT], scale=100.0)
