"""Angles: chains that made different numbers of whole turns are in one place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray
from scipy import stats

import consilience as pm
from consilience.run import Monitored


def direction(mean: float, concentration: float, count: int) -> pm.Model:
    """Angles of an unknown mean and concentration."""
    observed = np.random.default_rng(1).vonmises(mean, concentration, size=count)
    with pm.Model() as model:
        angle = pm.VonMises("angle", 0.0, 0.5)
        kappa = pm.HalfNormal("kappa", 5.0)
        pm.VonMises("y", angle, kappa, observed=observed)
    return model


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
@pytest.mark.parametrize(("mean", "concentration", "count"), [(0.5, 2.0, 20), (3.1, 2.0, 20), (-3.1, 8.0, 200)])
def test_posteriors_of_angles_converge_wherever_they_lie(mean: float, concentration: float, count: int) -> None:
    """Also around the opposite of 0, where they come as numbers near to pi and to -pi."""
    model = direction(mean, concentration, count)
    with model:
        found = pm.sample(random_seed=1, progressbar=False)
    assert found.status in ("converged", "converged_with_divergences"), found.reason
    draws = found.posterior["angle"].values
    assert (np.abs(draws) <= np.pi).all()
    centre = stats.circmean(draws, high=np.pi, low=-np.pi)
    grid = np.linspace(-np.pi, np.pi, 400, endpoint=False)
    kappas = np.linspace(0.01, 25.0, 300)
    y = np.asarray(found.observed_data["y"])
    level = stats.vonmises.logpdf(y[:, None, None], kappas[None, None, :], loc=grid[None, :, None]).sum(0)
    level = level + stats.vonmises.logpdf(grid, 0.5)[:, None] + stats.halfnorm.logpdf(kappas, scale=5.0)
    weights = np.exp(level - level.max()).sum(1)
    wanted = np.angle((weights * np.exp(1j * grid)).sum())
    spread = np.sqrt(-2.0 * np.log(np.abs((weights * np.exp(1j * grid)).sum()) / weights.sum()))
    assert abs(np.angle(np.exp(1j * (centre - wanted)))) < 0.25 * spread


def test_a_direction_that_is_not_known_at_all_converges() -> None:
    """The density hardly falls off along the line, of which chains come to many turns."""
    with pm.Model():
        pm.VonMises("angle", 0.0, 0.1)
        found = pm.sample(random_seed=2, progressbar=False, compute_convergence_checks=False, draws=2000, tune=500)
    draws = found.posterior["angle"].values
    assert pm.diagnostics.split_rhat(draws) < 1.02
    assert stats.ks_1samp(draws[:, ::20].ravel(), stats.vonmises(0.1).cdf).pvalue > 1e-3


def test_whole_turns_are_taken_off_angles_alone() -> None:
    monitored = Monitored(("a", "b"), angles=np.array([True, False]))
    draws = np.array([[3.0, 30.0], [4.0, 40.0], [-7.0, -70.0], [np.inf, np.nan], [100 * np.pi + 0.25, 1.0]])
    found = monitored.without_turns(draws)
    np.testing.assert_allclose(found[:, 0], [3.0, 4.0 - 2 * np.pi, -7.0 + 2 * np.pi, np.inf, 0.25], atol=1e-12)
    np.testing.assert_array_equal(found[:, 1], draws[:, 1])
    assert Monitored(("a", "b")).without_turns(draws) is draws


def test_stores_and_interrupted_runs_hold_the_same_angles(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    with direction(0.5, 2.0, 20):
        found = pm.sample(
            random_seed=3, progressbar=False, save=pm.Save(store=tmp_path / "run.zarr"), draws=500, tune=200
        )
    with xarray.open_datatree(tmp_path / "run.zarr", engine="zarr") as stored:
        np.testing.assert_allclose(stored["posterior"]["angle"], found.posterior["angle"], atol=1e-12)
