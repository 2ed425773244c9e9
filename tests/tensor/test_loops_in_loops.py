"""Loops of what loops make: keys that are carried, lengths from data inside of bodies, sums over no steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm  # noqa: F401  # random variables have keys that a step makes anew
import consilience.tensor as pt
from consilience.ir import Node
from consilience.ir.leaves import Parameter
from consilience.ir.lengths import sources_of
from consilience.ops.random import draw, fold_in

BACKENDS = ("FAST_RUN", "reference")


def scan(*arguments: Any, **keywords: Any) -> list[Node]:
    found: list[Node] = pt.scan(*arguments, **{"return_updates": False, "return_list": True, **keywords})
    return found


def draws_of(key: Node, steps: int) -> list[Node]:
    """Draws with a key that every step changes."""
    found = []
    for _ in range(steps):
        found.append(draw("random_normal", key, ()))
        key = fold_in(key, 5)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("checkpoint", [None, 2, 3])
def test_keys_are_carried(checkpoint: int | None, backend: str) -> None:
    """Their trace too, in blocks of steps."""
    values, keys = scan(
        lambda value, key: [draw("random_normal", key, ()), fold_in(key, 5)],
        outputs_info=[0.0, pt.key(3)],
        n_steps=5,
        checkpoint=checkpoint,
    )
    assert keys.dtype == "key"
    wanted = pt.stack(draws_of(pt.key(3), 5))
    found, again, other = pt.function([], [values, wanted, draw("random_normal", keys[3], ())], mode=backend)()
    np.testing.assert_array_equal(found, again)
    assert other == found[4]


@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_are_carried_in_loops_in_loops(backend: str) -> None:
    """Beside small tensors, which machine code takes apart."""
    x = pt.vector("x", shape=(2,))

    def step(p: Node) -> list[Node]:
        return [
            scan(
                lambda q, key: [q * 0.5 + draw("random_normal", key, ()), fold_in(key, 5)],
                outputs_info=[p, pt.key(9)],
                n_steps=3,
            )[0].sum(0)
        ]

    (found,) = pt.function([x], scan(step, outputs_info=[x], n_steps=2), mode=backend)(np.array([0.3, -0.7]))
    noise = pt.function([], draws_of(pt.key(9), 3))()
    p = np.array([0.3, -0.7])
    for row in found:
        total, q = np.zeros(2), p
        for z in noise:
            q = q * 0.5 + z
            total = total + q
        p = total
        np.testing.assert_allclose(row, p, rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_of_steps_inside_may_be_read_inside_too(backend: str) -> None:
    """Lengths in a body are those of the function, whatever the body reads."""
    k, a = pt.lscalar("k"), pt.scalar("a")

    def step(p: Node) -> list[Node]:
        return [scan(lambda q: [q * a + k], outputs_info=[p], n_steps=pt.mod(k, 4))[0].sum(0)]

    outputs = scan(step, outputs_info=[a], n_steps=2)
    assert not any(isinstance(source.op, Parameter) for source in sources_of(outputs))
    f = pt.function([k, a], outputs[0], mode=backend)
    for count in (6, 4, 3):
        p, rows = 0.5, []
        for _ in range(2):
            total, q = 0.0, p
            for _ in range(count % 4):
                q = q * 0.5 + count
                total += q
            rows.append(total)
            p = total
        np.testing.assert_allclose(f(count, 0.5), rows, rtol=1e-12)


def test_sums_over_no_steps_keep_their_shape() -> None:
    """A sum over no elements is one zero of rank 2, which can be cumulated."""
    x = pt.tensor("x", shape=(None, 1, 1))
    f = pt.function([x], pt.cumsum(pt.exp(x).sum(0), 0))
    assert f(np.zeros((0, 1, 1))).tolist() == [[0.0]]
    assert f(np.zeros((2, 1, 1))).tolist() == [[2.0]]
