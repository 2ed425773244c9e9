"""Draws of the prior as positions: their distribution, their parents, and variables from which nothing can be drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.model.layout import Layout
from consilience.model.log_density import model_density
from consilience.model.prior_positions import prior_positions
from consilience.model.starting_point import starting_position


def positions(model: pm.Model, count: int, seed: int = 1) -> tuple[np.ndarray, Layout]:
    density = model_density(model)
    centre = starting_position(density.model, density.layout, density.lengths)
    return prior_positions(density.model, density.layout, density.lengths, centre, count, seed), density.layout


def test_draws_follow_the_prior_given_their_parents() -> None:
    """On the unconstrained scale; the seed alone decides."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 3.0, 2.0)
        tau = pm.LogNormal("tau", 0.0, 0.5)
        pm.Normal("theta", mu, tau, shape=4)
        pm.Normal("y", mu, 1.0, observed=np.ones(3))
    drawn, layout = positions(model, 400)
    named = {s.variable.name: drawn[:, s.slice] for s in layout.stretches}
    assert named["mu"].mean() == pytest.approx(3.0, abs=0.4)
    assert named["mu"].std() == pytest.approx(2.0, abs=0.3)
    assert named["tau"].std() == pytest.approx(0.5, abs=0.1)  # its log
    z = (named["theta"] - named["mu"]) / np.exp(named["tau"])
    assert z.mean() == pytest.approx(0.0, abs=0.1)
    assert z.std() == pytest.approx(1.0, abs=0.1)
    np.testing.assert_array_equal(positions(model, 5)[0], drawn[:5])
    assert (positions(model, 5, seed=2)[0] != drawn[:5]).all()


def test_flat_variables_lie_around_the_position_and_others_follow_them() -> None:
    """At 1, 3 and 10 units in turn, inside the support."""
    with pm.Model() as model:
        x = pm.Flat("x", initval=5.0)
        scale = pm.HalfFlat("scale", initval=1.0)
        pm.Normal("y", x, 1e-3 * scale)
        pm.Uniform("u", x, x + scale)
    drawn, layout = positions(model, 300)
    named = {s.variable.name: drawn[:, s.start] for s in layout.stretches}
    assert len(drawn) > 250
    assert np.median(named["x"]) == pytest.approx(5.0, abs=0.5)
    assert named["x"][::3].std() < 1.5 < 6.0 < named["x"][2::3].std()
    narrow = np.exp(named["scale"]) < 10.0
    assert np.abs(named["y"] - named["x"])[narrow].max() < 0.1


FLAT_INSIDE = {
    "walk": lambda flat: pm.GaussianRandomWalk("x", 1.0, init_dist=flat, shape=5),
    "general walk": lambda flat: pm.RandomWalk("x", innovation_dist=pm.Normal.dist(), init_dist=flat, steps=4),
    "autoregression": lambda flat: pm.AR("x", rho=[0.5], init_dist=flat, steps=4),
    "mixture": lambda flat: pm.Mixture("x", w=[0.5, 0.5], comp_dists=[flat, pm.Normal.dist()], shape=5),
}


@pytest.mark.parametrize("build", FLAT_INSIDE.values(), ids=FLAT_INSIDE)
def test_what_is_made_of_flat_variables_lies_around_the_position_too(build: Callable[[Any], Any]) -> None:
    with pm.Model() as model:
        x = build(pm.Flat.dist())
        pm.Normal("y", x, 1.0, observed=np.zeros(5))
    drawn, layout = positions(model, 6)
    assert drawn.shape == (6, layout.dimension)
    with pytest.raises(pm.ModelError, match=r"`x` cannot be drawn: .* is improper"), model:
        pm.sample_prior_predictive(5)


def test_summed_variables_batches_of_data_and_hard_distributions_are_drawn() -> None:
    with pm.Model() as model:
        w = pm.Dirichlet("w", np.ones(3))
        k = pm.Categorical("k", w)
        mu = pm.Normal("mu", 0.0, 3.0, shape=3)
        chol, _, _ = pm.LKJCholeskyCov("L", n=3, eta=2.0, sd_dist=pm.HalfNormal.dist(1.0))
        pm.MvNormal("v", np.zeros(3), chol=chol)
        pm.GaussianRandomWalk("g", 1.0, shape=10, init_dist=pm.Normal.dist(0.0, 1.0))
        pm.Normal("y", mu[k], 1.0, observed=1.0)
    drawn, layout = positions(pm.marginalize(model, "k"), 6)
    assert drawn.shape == (6, layout.dimension)
    assert np.isfinite(drawn).all()


def test_draws_without_a_value_are_left_out() -> None:
    """Half of the precision matrices here are not positive definite."""
    with pm.Model() as model:
        a = pm.Normal("a", 0.0, 1.0, initval=1.0)
        pm.MvNormal("v", np.zeros(2), cov=a * np.eye(2), initval=np.zeros(2))
        pm.Potential("p", pt.zeros(()))
    drawn, _ = positions(model, 40)
    assert 5 < len(drawn) < 35
    assert np.isfinite(drawn).all()
