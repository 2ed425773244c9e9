"""Conditions of discrete variables move towards the end of an expression: equal values and slopes, less to compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends import reference
from consilience.elimination.branches import hoisted
from consilience.ir import Node, tensor_input, topological
from consilience.model.summation import cost
from consilience.ops import Elementwise

TIMES = np.arange(6)
DATA = np.array([3, 0, 2, 5, 1, 0])


def expressions(k: Node, j: Node, x: Node) -> dict[str, Node]:
    """One for each form that a condition takes on its way, and for what stops it."""
    rate = pt.where(k > TIMES, x[0], x[1])
    nested = pt.where(k > TIMES, x[0], pt.where(j > TIMES, x[1], x[2]))
    return {
        "function": pt.exp(rate) * DATA - rate,
        "nested": pt.exp(nested) + DATA * nested,
        "two conditions": pt.exp(rate + pt.where(j > TIMES, 1.0, 2.0)),
        "indicators": pt.log(2.0 + x[0] * (k > TIMES) + x[1] * (k <= TIMES)),
        "index": pt.exp(x[:2][pt.cast(k > TIMES, "int64")]) * DATA,
        "rearranged": pt.exp(rate[np.array([0, 5, 3])][:, None]) * np.arange(2.0),
        "broadcast": pt.exp(pt.broadcast_to(pt.where(k > 2, x[0], x[1]), (6,))) * TIMES,
        "sums": pt.exp(rate.sum()) + rate,
        "values": pt.exp(k * x[0]) * rate,
        "many": pt.exp(pt.where(k > 1, 1.0, x[0]) + pt.where(k > 2, 2.0, x[1]) + pt.where(k > 3, 3.0, x[2])),
    }


INPUTS = (tensor_input("int64", ()), tensor_input("int64", ()), tensor_input("float64", (3,)))
CASES = expressions(*INPUTS)


@pytest.mark.parametrize("name", CASES)
def test_values_are_the_same_with_conditions_at_the_end(name: str) -> None:
    k, j, x = INPUTS
    (moved,) = hoisted([CASES[name]], [k, j])
    assert moved.static_shape == CASES[name].static_shape
    assert moved.dtype == CASES[name].dtype
    assert moved is not CASES[name]
    for numbers in ((0, 0), (3, 4), (6, 2)):
        at: dict[Node, Any] = {k: np.array(numbers[0]), j: np.array(numbers[1]), x: np.array([0.3, -0.4, 0.9])}
        before, after = reference.evaluate([CASES[name], moved], at)
        np.testing.assert_allclose(after, before, rtol=1e-14)


@pytest.mark.parametrize("name", ["function", "nested", "two conditions", "index", "rearranged", "broadcast"])
def test_what_is_dear_no_longer_depends_on_the_discrete_variable(name: str) -> None:
    k, j, _ = INPUTS
    (moved,) = hoisted([CASES[name]], [k, j])
    for node in topological([moved]):
        if node.op == Elementwise("exp"):
            assert not {k, j} & set(topological([node]))


def steps(write: Callable[[Node, Node], Node], least: int = 0) -> pm.Model:
    with pm.Model() as model:
        step = pm.DiscreteUniform("step", least, 6)
        rate = pm.Gamma("rate", 2.0, 1.0, shape=2)
        pm.Poisson("y", write(step, rate), observed=DATA)
    return model


def test_a_step_in_a_series_costs_two_densities_of_each_value_and_not_one_for_each_place() -> None:
    short = steps(lambda step, rate: pt.where(step > TIMES, rate[0], rate[1]))
    assert cost(short, ["step"])[0] < 4.0 * cost(short, [])[0]


@pytest.mark.parametrize("floor", [0.0, 1e-3])
def test_slopes_beside_branches_that_the_data_exclude_are_those_of_the_enumeration(floor: float) -> None:
    """No events after the last step: counts after it have no probability, and their branch no slope."""
    model = steps(lambda step, rate: pt.where(step > TIMES, rate[0], floor), least=1)
    density = pm.marginalize(model, ["step"]).log_density()
    position, elsewhere = np.array([0.4, -0.2]), np.array([0.5, 0.0])

    def value(at: Any) -> float:
        rates = np.exp(at)
        logs = [
            sum(
                (-np.inf if lam == 0 and y else y * np.log(lam or 1.0) - lam)
                for lam, y in zip(np.where(k > TIMES, rates[0], floor), DATA, strict=True)
            )
            for k in range(1, 7)
        ]
        return float(np.logaddexp.reduce(logs) + (2 * at - rates).sum())

    logp, slopes = density(position)
    other, _ = density(elsewhere)
    assert logp - other == pytest.approx(value(position) - value(elsewhere), rel=1e-10)
    for i in range(2):
        h = np.eye(2)[i] * 1e-6
        assert slopes[i] == pytest.approx((value(position + h) - value(position - h)) / 2e-6, rel=1e-6)
