"""Large fields whose scale is estimated go on in units of it, as few draws of tuning ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.diagnostics import mcse_mean
from consilience.events import Event, Restarted
from consilience.model.fields import suited
from tests.cutting import stopping

STEPS, NOISE = 220, 0.3
WITHOUT_COORDINATES = ("steps", "metric", "jumps", "modes")
QUIET: dict[str, Any] = {"random_seed": 3, "progressbar": False, "integrate": False}
RANDOM = np.random.default_rng(0)
Y = np.cumsum(0.1 * RANDOM.normal(size=STEPS)) + NOISE * RANDOM.normal(size=STEPS)
TIMES = np.minimum.outer(np.arange(STEPS), np.arange(STEPS))


def walk() -> pm.Model:
    """A level that walks, and data with noise of a known size."""
    with pm.Model(coords={"time": np.arange(STEPS)}) as model:
        s = pm.HalfNormal("s", 0.3)
        x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(0.0, 1.0), dims="time")
        pm.Deterministic("last", x[-1])
        pm.Normal("y", x, NOISE, observed=Y, dims="time")
    return model


def exact() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A grid of log s, its posterior weights, and the posterior means of the last value given s: a Kalman filter."""
    grid = np.linspace(np.log(0.02), np.log(0.5), 80)
    mean, variance = np.zeros(80), np.ones(80)
    weights = grid - 0.5 * (np.exp(grid) / 0.3) ** 2
    for y in Y:
        total = variance + NOISE**2
        weights -= 0.5 * (np.log(total) + (y - mean) ** 2 / total)
        gain = variance / total
        mean, variance = mean + gain * (y - mean), (1.0 - gain) * variance + np.exp(2.0 * grid)
    weights = np.exp(weights - weights.max())
    return grid, weights / weights.sum(), mean


def test_draws_are_those_of_the_model_and_its_names_and_dims_stay() -> None:
    """Of the scale and of the last value, within 5 standard errors of sums over a grid; no attempt was given up."""
    said: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Restarted):
            said.append(event.reason)

    with walk():
        found = pm.sample(callback=listen, **QUIET)
    draws, attributes = found.posterior, found.posterior.attrs
    assert found.status == "converged"
    assert json.loads(attributes["restarts"]) == ["fields"]
    assert 0.0 < json.loads(attributes["centredness"])["x"] < 0.5
    assert len(said) == 1
    assert "in which the scale is free" in said[0]
    assert list(draws.data_vars) == ["s", "x", "last"]
    assert draws["x"].dims == ("chain", "draw", "time")
    np.testing.assert_allclose(draws["last"], draws["x"][..., -1])
    grid, weights, last = exact()
    for values, wanted in ((np.log(draws["s"].values), weights @ grid), (draws["last"].values, weights @ last)):
        assert abs(values.mean() - wanted) < 5 * mcse_mean(values)
    spread = np.sqrt(weights @ grid**2 - (weights @ grid) ** 2)
    assert np.log(draws["s"].values).std() == pytest.approx(spread, rel=0.15)


def test_a_run_that_was_cut_off_changes_its_coordinates_as_one_that_was_not(tmp_path: Path) -> None:
    with walk():
        unbroken = pm.sample(cores=1, **QUIET)
        tree = pm.sample(save=pm.Save(checkpoint=tmp_path / "run"), callback=stopping(1), **QUIET)
    attempts = 1
    while tree.status == "interrupted":
        attempts += 2
        tree = pm.resume(tmp_path / "run", walk(), callback=stopping(attempts), progressbar=False)
    assert attempts > 1
    np.testing.assert_array_equal(tree.posterior["x"], unbroken.posterior["x"])
    for name in ("status", "gradients", "gradients_warmup", "tuning_steps", "restarts", "centredness"):
        assert tree.posterior.attrs[name] == unbroken.posterior.attrs[name], name


@pytest.mark.parametrize("settings", [{"remedies": WITHOUT_COORDINATES}, {"draws": 100, "tune": 100}])
def test_runs_that_may_not_keep_the_coordinates_of_the_model(settings: dict[str, Any]) -> None:
    with walk():
        found = pm.sample(stop=pm.Stop(max_draws=100), compute_convergence_checks=False, **settings, **QUIET)
    assert json.loads(found.posterior.attrs["restarts"]) == []
    assert json.loads(found.posterior.attrs["centredness"]) == {}


@pytest.mark.parametrize("noise", [0.05, NOISE, 3.0])
def test_centredness_is_the_share_of_directions_that_data_fix(noise: float) -> None:
    """Of exact draws given s: the trace of the posterior covariance times the prior's precision tells the share.

    Fields that data fix in most directions stay as they are, and so do those of which they tell too little.
    """
    s, rng = 0.1, np.random.default_rng(1)
    prior = 1.0 + s**2 * TIMES
    precision = np.linalg.inv(prior)
    covariance = np.linalg.inv(precision + np.eye(STEPS) / noise**2)
    share = 1.0 - np.trace(precision @ covariance) / STEPS
    x = Y + rng.multivariate_normal(np.zeros(STEPS), covariance, 100)
    scale = s * np.exp(0.01 * rng.normal(size=100))
    found = suited(walk(), {"s": scale[None], "x": x[None]}, any_scale=False)
    if noise == NOISE:
        degree, middle = found["x"]
        assert degree == pytest.approx(share, abs=0.05)
        np.testing.assert_allclose(middle, x.mean(axis=0))
    else:
        assert found == {}
