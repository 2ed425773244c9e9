"""Slopes are taken of the cheapest form of a value's products, in programs and in densities of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.ir import Node, topological
from consilience.ops import MatMul
from consilience.planning import before_slopes, choosing

RNG = np.random.default_rng(3)
PLACES = RNG.integers(0, 300, (2, 900))


def given(*shapes: tuple[int, ...]) -> list[Node]:
    return [pt.tensor(f"x{k}", dtype="float64", shape=shape) for k, shape in enumerate(shapes)]


PROGRAMS: dict[str, tuple[list[Node], Callable[..., Node]]] = {
    "product with a vector": (
        given((150, 150), (150, 150), (150,)),
        lambda a, b, v: pt.sum(pt.tanh((a @ b) @ v)),
    ),
    "trace of a product": (given((150, 150), (150, 150)), lambda a, b: pt.square(pt.trace(a @ b))),
    "cells of a product": (given((300, 8), (300, 8)), lambda u, v: pt.sum(pt.square((u @ v.T)[PLACES[0], PLACES[1]]))),
    "diagonal of a form": (given((200, 60), (60, 60)), lambda x, c: pt.sum(pt.sin(pt.diag(x @ c @ x.T)))),
    "chain of three": (
        given((200, 10), (10, 300), (300, 20)),
        lambda a, b, c: pt.sum(pt.square(pt.sin((a @ b) @ c))),
    ),
}


def slopes_as_written(cost: Node, wanted: list[Node]) -> list[Node]:
    before = choosing.set(False)
    try:
        found: list[Node] = pt.grad(cost, wanted)
        return found
    finally:
        choosing.reset(before)


def multiplications(outputs: list[Node]) -> float:
    """Of all products of matrices."""
    products = [node for node in topological(outputs) if isinstance(node.op, MatMul)]
    return float(sum(np.prod(p.static_shape) * p.inputs[0].static_shape[-1] for p in products))


@pytest.mark.parametrize("name", PROGRAMS)
def test_slopes_of_the_planned_value_are_those_of_the_written_one(name: str) -> None:
    inputs, make = PROGRAMS[name]
    cost = make(*inputs)
    values = [RNG.normal(size=x.static_shape) for x in inputs]
    planned, written = pt.grad(cost, inputs), slopes_as_written(cost, inputs)
    assert multiplications(planned) < 0.7 * multiplications(written)
    found, wanted = (pm.function(inputs, slopes, plan=False)(*values) for slopes in (planned, written))
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10 * np.abs(theirs).max())


def test_a_density_takes_slopes_of_the_planned_value() -> None:
    def density(count: int, plan: bool) -> Any:
        before = choosing.set(plan)
        try:
            with pm.Model() as model:
                u, v = (pm.Normal(name, 0.0, 1.0, shape=(300, 8)) for name in "uv")
                pm.Normal("y", (u @ v.T)[PLACES[0][:count], PLACES[1][:count]], 1.0, observed=np.ones(count))
            return model, model.log_density()
        finally:
            choosing.reset(before)

    model, planned = density(900, True)
    _, written = density(900, False)
    position = RNG.normal(size=4800)
    value, slope = planned(position)
    wanted, wanted_slope = written(position)
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-9, atol=1e-9)
    assert not any(isinstance(node.op, MatMul) for node in topological([model.dlogp()]))


def test_values_within_that_derivatives_are_taken_by_stay() -> None:
    a, b, v = given((150, 150), (150, 150), (150,))
    product = a @ b
    cost = pt.sum(product @ v)
    slope = pt.grad(cost, product)
    np.testing.assert_allclose(
        slope.eval({v: np.arange(150.0)}), np.broadcast_to(np.arange(150.0), (150, 150)), rtol=1e-12
    )
    assert before_slopes([cost], [product]) == [cost]


def test_small_products_and_lengths_that_are_not_known_are_left_alone() -> None:
    a, b, v = given((9, 9), (9, 9), (9,))
    cost = pt.sum((a @ b) @ v)
    assert before_slopes([cost], [a]) == [cost]
    a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")
    cost = pt.sum((a @ b) @ v)
    assert before_slopes([cost], [a]) == [cost]
