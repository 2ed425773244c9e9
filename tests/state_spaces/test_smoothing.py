"""Exponential smoothing with products: against statsmodels, gaps, forecasts by simulation, and data it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import consilience as pm
from consilience import statespace as ss
from consilience.errors import ConsilienceError, ModelError, ParameterError

CASES = json.loads((Path(__file__).parent / "smoothing.json").read_text())
NAMES = {
    "smoothing_level": "alpha", "smoothing_trend": "beta", "smoothing_seasonal": "gamma", "damping_trend": "phi",
    "initial_level": "initial_level", "initial_trend": "initial_trend",
}  # fmt: skip


def made(case: dict[str, Any], y: Any) -> tuple[ss.ETS, pm.Model, dict[str, Any]]:
    """The model of a case with flat priors, and values of its parameters; statsmodels' first season is the last."""
    space = ss.ETS(case["order"], seasonal_periods=4 if case["order"][2] != "N" else None)
    values = {own: np.array(case["params"][name]) for name, own in NAMES.items() if name in case["params"]}
    if case["order"][2] != "N":
        values["initial_seasonal"] = np.array([case["params"][f"initial_seasonal.{k}"] for k in (3, 2, 1, 0)])
    values["sigma_state"] = np.array(0.3)
    assert set(values) == set(space.param_names)
    with pm.Model() as model:
        for name in space.param_names:
            pm.Flat(name, shape=values[name].shape)
        space.build_statespace_graph(y)
    return space, model, values


def posterior(values: dict[str, Any], model: pm.Model, draws: int) -> Any:
    """The same values, again and again."""
    return pm.to_inference_data(
        {name: np.broadcast_to(x, (1, draws, *np.shape(x))) for name, x in values.items()}, model=model
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: "".join(case["order"]))
def test_densities_and_errors_are_those_of_statsmodels(case: dict[str, Any]) -> None:
    """The errors that a series was simulated from are found again, and its density is theirs."""
    y, errors = np.array(case["y"]), np.array(case["errors"])
    space, model, values = made(case, y)
    relative = case["order"][0] == "M"
    mean = y / (1 + errors) if relative else y - errors
    for sigma in (0.3, np.sqrt(np.mean(errors**2))):
        expected = norm.logpdf(y, mean, sigma * mean if relative else sigma).sum()
        found = model.compile_logp()(values | {"sigma_state": sigma})
        assert found == pytest.approx(expected, rel=1e-12)
    if "logp" in case:  # at the best sigma
        assert found == pytest.approx(case["logp"], rel=1e-12)
    made_of = space.sample_conditional_posterior(posterior(values, model, 1))
    np.testing.assert_allclose(made_of["residuals"].values[0, 0, :, 0], errors / 0.3, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(made_of["smoothed_observed"].values[0, 0, :, 0], mean, rtol=1e-12)


@pytest.mark.parametrize("case", CASES[::5], ids=lambda case: "".join(case["order"]))
def test_forecasts_go_on_from_the_last_states(case: dict[str, Any]) -> None:
    """Without errors the series is the one whose later errors are 0, and its states are those of the whole series."""
    y = np.array(case["y"])
    space, model, values = made(case, y[:12])
    drawn = space.forecast(posterior(values | {"sigma_state": 1e-13}, model, 2), 8, random_seed=1)
    whole = np.concatenate([y[:12], drawn["forecast_observed"].values[0, 0, :, 0]])
    again, other, _ = made(case, whole)
    residuals = again.sample_conditional_posterior(posterior(values, other, 1))["residuals"].values[0, 0, 12:, 0]
    assert np.abs(residuals).max() < 1e-9
    states = again.sample_conditional_posterior(posterior(values, other, 1))["filtered_states"].values[0, 0, 12:, 1:]
    np.testing.assert_allclose(drawn["forecast_latent"].values[0, 0, :, 1:], states, rtol=1e-9)


def test_forecasts_have_the_spread_of_simulated_errors() -> None:
    """Both roads to a forecast, and the same errors put through the equations by hand."""
    case = next(c for c in CASES if c["order"] == ["M", "A", "M"])
    space, model, values = made(case, np.array(case["y"]))
    values = values | {"sigma_state": 0.1}
    given = posterior(values, model, 6000)
    own = space.forecast(given, 6, random_seed=1)["forecast_observed"].values.reshape(6000, 6)
    general = pm.forecast(given, 6, model=model, random_seed=2).predictions["obs"].values.reshape(6000, 6)
    ends = space.sample_conditional_posterior(posterior(values, model, 1))
    level, trend, *season = ends["filtered_states"].values[0, 0, -1, 1:]
    alpha, beta, gamma = (float(values[name]) for name in ("alpha", "beta", "gamma"))
    errors = np.concatenate(
        [np.full((6000, 1), case["errors"][-1]), 0.1 * np.random.default_rng(3).normal(size=(6000, 6))], 1
    )
    by_hand = []
    for e in errors.T:
        by_hand.append((level + trend) * season[0] * (1 + e))
        season = [*season[1:], season[0] * (1 + gamma * e)]
        level, trend = (level + trend) * (1 + alpha * e), trend + beta * (level + trend) * e
    expected = np.stack(by_hand[1:], 1)
    for found in (own, general):
        assert np.all(np.abs(found.mean(0) - expected.mean(0)) < 6 * expected.std(0) / np.sqrt(6000))
        np.testing.assert_allclose(found.std(0), expected.std(0), rtol=0.07)


def test_gaps_are_values_that_the_chains_draw() -> None:
    y = np.tile([90.0, 100.0, 115.0, 100.0], 6) * np.exp(0.05 * np.random.default_rng(1).normal(size=24))
    space = ss.ETS(("M", "N", "M"), 4)
    with pm.Model() as model, pytest.warns(pm.ImputationWarning):
        space.build_statespace_graph(np.where(np.arange(24) == 7, np.nan, y))
    assert "obs_unobserved" in model.named
    result = pm.sample(model=model, random_seed=1, progressbar=False)
    gap = result["posterior"]["obs_unobserved"]
    assert abs(float(gap.mean()) - 100.0) < 5.0
    states = space.sample_conditional_posterior(result)
    assert np.isfinite(states["filtered_states"].values).all()
    assert np.isfinite(space.forecast(result, 3, random_seed=1)["forecast_observed"].values).all()


@pytest.mark.slow
@pytest.mark.parametrize("order", [("M", "N", "N"), ("M", "A", "M")])
def test_ranks_are_uniform(order: Any) -> None:
    """Simulation-based calibration with the default priors."""
    with pm.Model() as model:
        ss.ETS(order, 4 if order[2] == "M" else None).build_statespace_graph(np.tile([90.0, 100.0, 110.0, 100.0], 8))
    found = pm.sbc(model, n=60, random_seed=1)
    assert sum(found.failures.values()) <= 12, found.failures
    assert found.passed(), found.summary().to_string()


def test_what_it_refuses() -> None:
    for order in (("M",), ("X", "N", "N"), ("A", "M2", "N"), ("A", "N", "Ad")):
        with pytest.raises(ParameterError, match="order has the error"):
            ss.ETS(order)
    for periods in (1, 2.5, True):
        with pytest.raises(ParameterError, match="whole number >= 2"):
            ss.ETS(("A", "N", "A"), periods)
    for y, came in (([1.0, 0.0, 2.0], "is 0"), ([1.0, -3.0], "is -3"), ([np.nan, np.nan], "have none")):
        with pm.Model(), pytest.raises(ParameterError, match=came):
            ss.ETS(("M", "N", "N")).build_statespace_graph(np.array(y))
    space, model, values = made(CASES[0], np.array(CASES[0]["y"]))
    with pytest.raises(ModelError, match="no impulse response"):
        space.impulse_response_function(posterior(values, model, 1))
    with pytest.raises(ConsilienceError, match="has no regressors"):
        space.forecast(posterior(values, model, 1), 3, exog=np.zeros((3, 1)))
