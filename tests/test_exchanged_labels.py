"""Regions that differ in the order of labels alone are told from others."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ConvergenceWarning
from consilience.sample.exchanged import exchanged


def test_modes_with_the_same_elements_in_other_orders_are_one_answer() -> None:
    """Of all variables along the axis that has as many elements; what has no labels has to be the same."""
    w, mu, sd = np.array([0.2, 0.3, 0.5]), np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]), np.array(2.0)
    orders = [[0, 1, 2], [2, 0, 1], [1, 0, 2]]
    values = {"w": np.stack([w[o] for o in orders]), "mu": np.stack([mu[o] for o in orders]), "sd": np.stack([sd] * 3)}
    levels = np.zeros((3, 2))
    assert exchanged(values, levels) == ("w", "mu")
    assert exchanged(values, levels + np.array([[0.0], [0.5], [0.0]])) == ()
    assert exchanged({**values, "sd": np.array([2.0, 3.0, 2.0])}, levels) == ()
    assert exchanged({**values, "mu": np.stack([mu[[0, 1, 2]], mu[[1, 2, 0]], mu[[1, 0, 2]]])}, levels) == ()
    assert exchanged({"w": w[None]}, levels[:1]) == ()


@pytest.mark.parametrize("symmetric", [True, False])
def test_reasons_say_whether_chains_differ_by_labels(symmetric: bool) -> None:
    """Without jumps, chains stay where they begin; of a mixture whose weights are fixed to be unequal they differ."""
    rng = np.random.default_rng(1)
    y = np.concatenate([rng.normal(-4.0, 0.5, 20), rng.normal(4.0, 0.5, 40)])
    with pm.Model():
        mu = pm.Normal("mu", 0.0, 5.0, shape=2)
        weights = [0.5, 0.5] if symmetric else [0.49, 0.51]
        pm.Mixture("y", weights, [pm.Normal.dist(mu[0], 0.5), pm.Normal.dist(mu[1], 0.5)], observed=y)
        with pytest.warns(ConvergenceWarning):
            result = pm.sample(
                random_seed=1, progressbar=False, remedies=("coordinates", "steps", "metric", "modes"), chains=4
            )
    assert result.status in {"chains_disagree", "not_converged"}
    assert ("the same answer with other labels" in result.reason) == symmetric
    assert ("order of the elements of `mu` only" in result.reason) == symmetric
