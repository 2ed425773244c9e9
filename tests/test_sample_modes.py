"""Separate modes in `pm.sample`: chains begin in each, and what they did not come to is said."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ConvergenceWarning
from consilience.sample.groups import REMEDIES


def two_modes(weight: float, distance: float, width: float = 1.0) -> pm.Model:
    """A standard normal in two dimensions, and another one of this weight and width, so far away."""
    place = distance / np.sqrt(2.0)
    with pm.Model() as model:
        x = pm.Flat("x", shape=2)
        near = np.log(1.0 - weight) - 0.5 * pt.sum(x**2)
        far = np.log(weight) - 2.0 * np.log(width) - 0.5 * pt.sum(((x - place) / width) ** 2)
        pm.Potential("density", pt.logaddexp(near, far))
    return model


@pytest.mark.parametrize(("weight", "distance"), [(0.05, 8.0), (0.5, 10.0)])
def test_modes_that_chains_cannot_leave_are_never_certified(weight: float, distance: float) -> None:
    """Without jumps, whatever the chains do meanwhile, and never without a warning."""
    model = two_modes(weight, distance)
    for seed in range(10):
        with pytest.warns(ConvergenceWarning):
            result = pm.sample(
                model=model, random_seed=seed, remedies=("coordinates", "steps", "metric", "modes"), progressbar=False
            )
        assert result.status in {"not_converged", "chains_disagree"}


def test_jumps_come_to_regions_that_were_found_before_sampling(tmp_path: Path) -> None:
    """Also where no chain has stayed in one of them; every run has its weight right, and can be resumed."""
    model = two_modes(0.05, 8.0)
    for seed in range(10):
        place = tmp_path / str(seed)
        result = pm.sample(model=model, random_seed=seed, progressbar=False, save=pm.Save(checkpoint=place))
        assert result.status == "converged"
        far = (result.posterior["x"].sum("x_dim_0") > 8.0 / np.sqrt(2.0)).mean()
        assert float(far) == pytest.approx(0.05, abs=0.03)
    again = pm.resume(place, model, progressbar=False)
    np.testing.assert_array_equal(again.posterior["x"], result.posterior["x"])


def many_light_modes(heavy: tuple[float, ...], light: int, share: float) -> pm.Model:
    """Heavy normals on a line, then so many light ones, eight deviations from one to the next."""
    weights = np.array([*heavy, *[share] * light])
    places = 8.0 * np.arange(len(weights))
    with pm.Model() as model:
        x = pm.Flat("x")
        pm.Potential("density", pt.logsumexp(np.log(weights) - 0.5 * (x - places) ** 2))
    return model


@pytest.mark.parametrize(
    ("heavy", "light", "share"),
    [((0.92,), 20, 0.004), ((0.5, 0.42), 20, 0.004), ((0.4, 0.3, 0.22), 40, 0.002), ((0.92,), 10, 0.008)],
)
def test_light_regions_that_hold_mass_together_are_visited(heavy: tuple[float, ...], light: int, share: float) -> None:
    """None of them counts alone, and 8 % of the mass lie in them: chains jump there, or the run is not certified."""
    model = many_light_modes(heavy, light, share)
    between = 8.0 * len(heavy) - 4.0
    result = pm.sample(model=model, random_seed=1, progressbar=False)
    found = float((result.posterior["x"] > between).mean())
    assert result.status == "converged", result.reason
    assert found == pytest.approx(0.08, abs=0.04)  # three standard errors of 400 effective draws
    with pytest.warns(ConvergenceWarning):
        kept = pm.sample(model=model, random_seed=0, remedies=("coordinates", "steps", "metric", "modes"),
                         stop=pm.Stop(max_draws=400), progressbar=False)  # fmt: skip
    assert kept.status in {"not_converged", "chains_disagree"}


@pytest.mark.parametrize(("weight", "width"), [(0.5, 1.0), (0.3, 1.0), (0.3, 0.5)])
def test_chains_that_sit_in_two_modes_jump_between_them_by_themselves(weight: float, width: float) -> None:
    """Ten deviations apart, no trajectory crosses: chains jump from the beginning, and weigh both modes."""
    model = two_modes(weight, 10.0, width)
    for seed in range(5):
        result = pm.sample(model=model, random_seed=seed, progressbar=False)
        assert result.status == "converged", result.reason
        assert result.posterior.attrs["restarts"] == "[]"
        far = (result.posterior["x"].sum("x_dim_0") > 10.0 / np.sqrt(2.0)).mean()
        assert float(far) == pytest.approx(weight, abs=0.08)


STEPS = {
    "HamiltonianMC": {"step": pm.HamiltonianMC()},
    "MALA": {"step": pm.MALA()},
    "Slice": {"step": pm.Slice()},
    "Metropolis": {"step": pm.Metropolis()},
    "AdaptiveMetropolis": {"step": pm.AdaptiveMetropolis()},
    "DEMetropolisZ": {"step": pm.DEMetropolisZ()},
    "DEMetropolis": {"step": pm.DEMetropolis()},
    "NUTS": {"step": pm.NUTS()},
    "fixed lengths": {"draws": 600, "tune": 300},
    "one chain": {"chains": 1},
}


@pytest.mark.filterwarnings("ignore:The run has converged, but only one chain")
@pytest.mark.parametrize("name", STEPS)
def test_a_narrow_mode_is_weighed_right_by_every_step_method(name: str) -> None:
    """70 % of the mass in a fifth of the width, six deviations away: differences of points do not lead there."""
    result = pm.sample(model=two_modes(0.7, 6.0, 0.2), random_seed=1, progressbar=False, **STEPS[name])
    assert result.status == "converged", result.reason
    far = (result.posterior["x"].sum("x_dim_0") > 3.0 * np.sqrt(2.0)).mean()
    assert float(far) == pytest.approx(0.7, abs=0.08)


@pytest.mark.parametrize("step", [pm.HamiltonianMC(), pm.Metropolis()])
def test_runs_of_step_methods_that_jump_are_resumed_with_the_same_draws(step: pm.HamiltonianMC, tmp_path: Path) -> None:
    """What chains jump between is part of the checkpoint; a run without it goes on differently."""
    model, plain = two_modes(0.7, 6.0, 0.2), {"random_seed": 4, "progressbar": False, "step": step}
    whole = pm.sample(model=model, save=pm.Save(checkpoint=tmp_path / "run"), **plain)
    again = pm.resume(tmp_path / "run", model, progressbar=False)
    np.testing.assert_array_equal(again.posterior["x"], whole.posterior["x"])
    threads = pm.sample(model=model, cores=1, **plain)
    np.testing.assert_array_equal(threads.posterior["x"], whole.posterior["x"])


@pytest.mark.filterwarnings("ignore:The run has converged, but only one chain")
@pytest.mark.parametrize(
    "lengths", [{}, {"chains": 1}, {"chains": 2}, {"draws": 500, "tune": 500}, {"step": pm.HamiltonianMC()}]
)
def test_chains_begin_in_the_one_mode_that_counts_whatever_lesser_ones_attract(lengths: dict[str, int]) -> None:
    """One with 1e-5 of the mass, around where starting points lie, draws most of them."""
    model = two_modes(1.0 - 1e-5, 12.0, 0.5)
    for seed in range(5):
        result = pm.sample(model=model, random_seed=seed, progressbar=False, **lengths)
        assert result.status == "converged", result.reason
        assert (result.posterior["x"].sum("x_dim_0") > 6.0).all()


def test_fixed_lengths_whose_chains_miss_a_mode_are_not_called_converged() -> None:
    """Five draws of a hundred belong eight deviations away: without jumps the run says what it missed."""
    model = two_modes(0.05, 8.0)
    for seed in range(5):
        with pytest.warns(ConvergenceWarning):
            result = pm.sample(
                500,
                tune=500,
                model=model,
                random_seed=seed,
                progressbar=False,
                remedies=("coordinates", "steps", "metric", "modes"),
            )
        assert result.status in {"not_converged", "chains_disagree"}
    unchecked = pm.sample(100, tune=100, model=model, progressbar=False, compute_convergence_checks=False)
    assert unchecked.status == "completed"


def test_a_mode_that_chains_come_to_often_is_weighed_right() -> None:
    model = two_modes(0.3, 4.5)
    result = pm.sample(model=model, random_seed=1, progressbar=False)
    assert result.status == "converged"
    far = (result.posterior["x"].sum("x_dim_0") > 4.5 / np.sqrt(2.0)).mean()
    assert float(far) == pytest.approx(0.3, abs=0.1)


def test_a_region_that_no_draw_came_to_is_named_with_its_place_and_mass() -> None:
    """Where chains begin in one mode by their starting values, nothing was searched; told by the search's own words."""
    from consilience.model.log_density import model_density
    from consilience.sample.monitoring import monitored_of
    from consilience.sample.plan import ModelPlan
    from consilience.sample.separate_modes import SeparateModes

    model = two_modes(0.05, 8.0)
    density = model_density(model)
    search = SeparateModes(density, monitored_of(density, ModelPlan()), 1, 1)
    stuck = np.random.default_rng(0).normal(size=(4, 400, 2))
    words = search.missed(stuck)
    assert "`x[0]` = 5.66" in words
    assert "about 5 % of its mass" in words
    once = stuck.copy()
    once[0, :30] += 8.0 / np.sqrt(2.0)
    assert "came to the one around" in search.missed(once)
    often = np.where(np.arange(400)[None, :, None] % 20 == 0, stuck + 8.0 / np.sqrt(2.0), stuck)
    assert search.missed(often) == ""
    points = np.random.default_rng(1).uniform(-2.0, 2.0, (8, 2))
    assert ((search.spread(points) > 3.0).all(axis=1)).sum() == 1


def test_one_mode_leaves_starting_points_and_draws_as_they_are() -> None:
    """A search that finds one region has no part in the draws."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 1.0)
        pm.Normal("y", mu, 1.0, observed=np.array([0.3, -0.2, 0.8]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        searched, plain = (
            pm.sample(model=model, random_seed=2, progressbar=False, remedies=r) for r in (REMEDIES, REMEDIES[:-1])
        )
    np.testing.assert_array_equal(searched.posterior["mu"], plain.posterior["mu"])


def test_certain_assignments_are_no_failure() -> None:
    """Whole numbers that are the same in all draws neither fail a run nor are warned of."""
    with pm.Model() as model:
        p = pm.Beta("p", 2.0, 2.0)
        z = pm.Bernoulli("z", p, shape=12)
        pm.Normal("y", 10.0 * z, 1.0, observed=np.array([0.1, 9.8] * 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = pm.sample(model=model, random_seed=1, progressbar=False)
    assert result.status == "converged"
    np.testing.assert_array_equal(result.posterior["z"].mean(("chain", "draw")), [0.0, 1.0] * 6)


def test_a_mode_that_counts_is_kept_to_whatever_is_beside_it() -> None:
    """With 300 further coordinates; the result tells what each region has of the mass and of the starting points."""
    model = two_modes(1.0 - 1e-5, 12.0, 0.5)
    with model:
        pm.Normal("extra", shape=300)
    result = pm.sample(model=model, random_seed=1, progressbar=False)
    assert result.status == "converged", result.reason
    assert (result.posterior["x"].sum("x_dim_0") > 6.0).all()
    first, second = result.regions["regions"]
    assert first["mass"] == pytest.approx(1.0, abs=1e-3)
    assert second["starting_points"] == pytest.approx(1.0 - first["starting_points"])
    assert set(first["place"]) >= {"x[0]", "x[1]"}
    assert 0.0 < result.regions["unmet"] <= 0.02
    assert "2 regions, which drew" in result.regions["statement"]


def test_results_tell_of_one_region_and_of_none_that_was_looked_for() -> None:
    with pm.Model() as model:
        pm.Normal("mu", 0.0, 1.0)
    searched, plain = (
        pm.sample(model=model, random_seed=2, progressbar=False, remedies=r) for r in (REMEDIES, REMEDIES[:-1])
    )
    (only,) = searched.regions["regions"]
    assert (only["mass"], only["starting_points"]) == (1.0, 1.0)
    assert plain.regions == {}
