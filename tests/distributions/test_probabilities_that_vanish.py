"""Probabilities that are 0 in floating point: what has data keeps its finite density, what has none its slope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.ir import Node

FAR = 900.0  # exp(-FAR) is 0
LOG_TAU = np.log(2 * np.pi)


def of_softmax(q: Node) -> Node:
    return pt.softmax(pt.stack([q, -q, 0.0 * q]))


def with_a_zero(q: Node) -> Node:
    return pt.stack([pt.sigmoid(q), 1 - pt.sigmoid(q), 0.0])


def slope_and_value(likelihood: Callable[[Node], Any], at: float) -> tuple[float, float]:
    """Of the likelihood alone."""
    with pm.Model() as model:
        likelihood(pm.Flat("q"))
    point = {"q": np.array(at)}
    return float(model.compile_dlogp()(point)[0]), float(model.compile_logp()(point))


@pytest.mark.parametrize(
    ("likelihood", "slope", "value"),
    [
        (lambda q: pm.Categorical("y", p=of_softmax(q), observed=[0, 1, 2]), -3.0, -3 * FAR),
        (lambda q: pm.Categorical("y", p=of_softmax(q)[None, :], observed=[[0, 1, 2]]), -3.0, -3 * FAR),
        (lambda q: pm.Categorical("y", p=of_softmax(q), observed=[0, 0]), 0.0, 0.0),
        (lambda q: pm.Categorical("y", p=with_a_zero(q), observed=[0, 0]), 0.0, 0.0),
        (lambda q: pm.Categorical("y", p=pt.stack([with_a_zero(q)] * 2), observed=[0, 0]), 0.0, 0.0),
        (lambda q: pm.Multinomial("y", n=2, p=of_softmax(q), observed=[1, 1, 0]), -2.0, np.log(2) - 2 * FAR),
        (lambda q: pm.Multinomial("y", n=2, p=of_softmax(q), observed=[2, 0, 0]), 0.0, 0.0),
        (lambda q: pm.Multinomial("y", n=2, p=with_a_zero(q), observed=[2, 0, 0]), 0.0, 0.0),
        (lambda q: pm.Categorical("y", p=pt.stack([of_softmax(q)])[[0, 0]], observed=[0, 0]), 0.0, 0.0),
        (lambda q: pm.NormalMixture("y", w=of_softmax(q), mu=[0, 1, 2], sigma=1, observed=0.0), 0.0, -0.5 * LOG_TAU),
    ],
)
def test_density_and_slope_stay_finite(likelihood: Callable[[Node], Any], slope: float, value: float) -> None:
    found = slope_and_value(likelihood, FAR)
    assert found[0] == pytest.approx(slope, abs=1e-12)
    assert found[1] == pytest.approx(value, rel=1e-14)


def test_probabilities_of_a_softmax_that_is_not_a_number_are_refused() -> None:
    """No check of a sum is made of a softmax, whose densities are NaN where it is."""
    with pm.Model() as model:
        pm.Categorical("y", p=of_softmax(pm.Flat("q")), observed=[0])
    assert not np.isfinite(model.compile_logp()({"q": np.array(np.nan)}))
    p = pt.vector("p", shape=(3,))
    with pytest.raises(pm.errors.ParameterError, match="sum to 1"):
        pm.logp(pm.Categorical.dist(p=pt.softmax(p)), 1).eval({p: np.full(3, np.nan)})
