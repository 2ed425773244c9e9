"""Components and named models: their densities against statsmodels, and what follows from draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import statespace as ss
from consilience.errors import ModelError, ParameterError, ShapeError
from consilience.statespace.draws import StatesGivenSeries, space_of
from consilience.statespace.states import Filtered, following

Array = npt.NDArray[Any]
SAID = json.loads((Path(__file__).parent / "statsmodels.json").read_text())
NAMES = [name for name in SAID if name != "statsmodels"]


def given(name: str) -> tuple[dict[str, Any], Array]:
    """Matrices of a model of the file, and its series with gaps."""
    own = SAID[name]
    found = {k: np.array(own[k]) for k in ("T", "Z", "H", "Q", "R", "c", "d", "a0", "P0")}
    return found | {"initial": own["initial"], "varying": own["varying"]}, np.array(own["gaps"]["y"], float)


@pytest.mark.parametrize("name", NAMES)
def test_states_and_forecasts_are_those_of_statsmodels(name: str) -> None:
    """Smoothed and filtered means; means and variances of what follows."""
    matrices, y = given(name)
    said = SAID[name]["gaps"]
    space = space_of(pm.LinearGaussianStateSpace.dist(**matrices, steps=len(y) - 1))
    found = Filtered(space, pt.as_tensor(y))
    smoothed, filtered = pm.function([], [found.smoothed(), found.means()])()
    assert smoothed[said["places"]] == pytest.approx(np.array(said["smoothed"]), rel=1e-9, abs=1e-9)
    assert filtered[said["places"][2:]] == pytest.approx(np.array(said["filtered"]), rel=1e-9, abs=1e-9)
    if "forecast" in said and not matrices["varying"]:
        ahead = space_of(following(space, pt.as_tensor(y), 5, {}))
        mean, variance = pm.function([], [ahead.mean(), ahead.variance()])()
        assert mean == pytest.approx(np.array(said["forecast"]), rel=1e-9, abs=1e-9)
        wanted = np.diagonal(np.array(said["forecast_cov"]), axis1=1, axis2=2)
        assert variance == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["trend and season", "SARIMA", "correlated errors", "level and regression"])
def test_drawn_states_have_the_moments_of_smoothed_ones(name: str) -> None:
    """Within five standard errors of the means and covariances of statsmodels, from 20,000 draws."""
    matrices, y = given(name)
    said = SAID[name]["gaps"]
    rv = pm.LinearGaussianStateSpace.dist(**matrices, steps=len(y) - 1)
    draws = np.asarray(pm.draw(StatesGivenSeries.dist(y, of=rv), draws=4_000, random_seed=1))[:, said["places"]]
    wanted = np.array(said["smoothed_cov"])
    spread = np.maximum(np.diagonal(wanted, axis1=1, axis2=2), 0.0)
    mean = np.array(said["smoothed"])
    assert np.all(np.abs(draws.mean(0) - mean) < 5 * np.sqrt(spread / 4_000) + 1e-7)
    for k, covariance in enumerate(wanted):
        error = np.sqrt((np.outer(spread[k], spread[k]) + covariance**2) / 4_000)
        assert np.all(np.abs(np.cov(draws[:, k].T).reshape(covariance.shape) - covariance) < 5 * error + 1e-7)


def test_residuals_are_independent_standard_normals() -> None:
    """The density is that of the residuals: their squares and scales add up to it, and gaps have none."""
    matrices, y = given("VAR")
    space = space_of(pm.LinearGaussianStateSpace.dist(**matrices, steps=len(y) - 1))
    residuals = Filtered(space, pt.as_tensor(y)).residuals().eval()
    assert np.array_equal(np.isnan(residuals), np.isnan(y))
    rv = pm.LinearGaussianStateSpace.dist(**matrices, steps=399)
    long = pm.draw(rv, random_seed=1)
    own = Filtered(space_of(rv), pt.as_tensor(long)).residuals().eval()
    assert np.abs(own.mean(0)).max() < 5 / 20
    assert np.abs(np.cov(own.T) - np.eye(2)).max() < 5 * np.sqrt(2 / 400)


def logp_of(model: ss.SARIMAX, y: Array, values: dict[str, Any], exog: Any = None) -> float:
    """Log density of a series at values of the parameters."""
    arguments = model.arguments({name: pt.as_tensor(np.asarray(v, float)) for name, v in values.items()}, exog)
    if "dampening_factor_cycle" in values:  # statsmodels takes a cycle that fades for diffuse at first
        arguments["initial"] = "diffuse"
    return float(pm.logp(pm.LinearGaussianStateSpace.dist(**arguments, steps=len(y) - 1), y).eval())


def cases() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Of models of the file: the same here, and values of its parameters."""
    own = {name: {k: np.array(SAID[name][k]) for k in ("T", "Z", "H", "Q", "R", "c")} for name in NAMES}
    trend, season = own["trend"], own["trend and season"]
    ar, arma, var = own["AR"], own["ARMA with intercept"], own["VAR"]
    varma, factor = own["VARMA with errors"], own["factor"]
    noise = {name: np.sqrt(own[name]["H"][0, 0]) for name in NAMES}
    level = {"sigma_MeasurementError": noise["level"], "sigma_level_trend": np.sqrt(own["level"]["Q"][0, 0])}
    fourier = np.sqrt(np.diag(own["level and Fourier season"]["Q"]))
    error = ss.MeasurementError()
    sarima, double, cycle, exog = (
        np.array(SAID[name]["params"])
        for name in ("SARIMA", "SARIMA of differences", "level and cycle", "level and regression")
    )
    return {
        "SARIMA": (
            ss.SARIMAX((1, 1, 1), (1, 0, 1, 6)),
            {
                "ar_params": sarima[:1], "ma_params": sarima[1:2], "seasonal_ar_params": sarima[2:3],
                "seasonal_ma_params": sarima[3:4], "sigma_state": np.sqrt(sarima[4]),
            },
        ),
        "SARIMA of differences": (
            ss.SARIMAX((0, 1, 1), (0, 1, 1, 4)),
            {"ma_params": double[:1], "seasonal_ma_params": double[1:2], "sigma_state": np.sqrt(double[2])},
        ),
        "level and cycle": (
            ss.LevelTrend(1) + ss.Cycle(estimate_cycle_length=True, dampen=True) + error,
            {
                "sigma_MeasurementError": np.sqrt(cycle[0]), "sigma_level_trend": np.sqrt(cycle[1]),
                "sigma_cycle": np.sqrt(cycle[2]), "length_cycle": 2 * np.pi / cycle[3],
                "dampening_factor_cycle": cycle[4],
            },
        ),
        "level and regression": (
            ss.LevelTrend(1) + ss.Regression(["a", "b"]) + error,
            {"sigma_MeasurementError": np.sqrt(exog[0]), "sigma_level_trend": np.sqrt(exog[1])},
        ),
        "level": (ss.LevelTrend(1) + error, level),
        "trend": (
            ss.LevelTrend(2) + error,
            {"sigma_level_trend": np.sqrt(np.diag(trend["Q"])), "sigma_MeasurementError": noise["trend"]},
        ),
        "trend and season": (
            ss.LevelTrend(2) + ss.TimeSeasonality(4) + error,
            {
                "sigma_level_trend": np.sqrt(np.diag(season["Q"])[:2]),
                "sigma_seasonal_4": np.sqrt(season["Q"][2, 2]),
                "sigma_MeasurementError": noise["trend and season"],
            },
        ),
        "level and Fourier season": (
            ss.LevelTrend(1) + ss.FrequencySeasonality(12, n=3) + error,
            {
                "sigma_level_trend": fourier[0], "sigma_frequency_12": fourier[1],
                "sigma_MeasurementError": noise["level and Fourier season"],
            },
        ),
        "AR": (ss.SARIMAX((2, 0, 0)), {"ar_params": ar["T"][:, 0], "sigma_state": np.sqrt(ar["Q"][0, 0])}),
        "ARMA with intercept": (
            ss.SARIMAX((2, 0, 1), trend="c"),
            {
                "ar_params": arma["T"][:, 0], "ma_params": arma["R"][1:2, 0], "intercept": arma["c"][0, 0],
                "sigma_state": np.sqrt(arma["Q"][0, 0]),
            },
        ),
        "VAR": (
            ss.VARMAX((1, 0), ["a", "b"]),
            {"ar_params": var["T"][:, None, :], "state_cov": var["R"] @ var["Q"] @ var["R"].T, "intercept": var["c"][0]
             if var["c"].ndim > 1 else var["c"]},
        ),
        "VARMA with errors": (
            ss.VARMAX((1, 1), ["a", "b"], measurement_error=True),
            {
                "ar_params": varma["T"][:2, None, :2], "ma_params": varma["T"][:2, None, 2:4], "state_cov": varma["Q"],
                "intercept": varma["c"].reshape(-1)[:2], "sigma_obs": np.sqrt(np.diag(varma["H"])),
            },
        ),
        "factor": (
            ss.DynamicFactor(1, 2, ["a", "b", "c"]),
            {
                "factor_loadings": factor["Z"][:, :1], "factor_ar": factor["T"][:1],
                "error_sigma": np.sqrt(np.diag(factor["H"])),
            },
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(cases()))
@pytest.mark.parametrize("which", ["whole", "gaps"])
def test_densities_of_models_are_those_of_statsmodels(name: str, which: str) -> None:
    model, values = cases()[name]
    y = np.array(SAID[name][which]["y"], float)
    regressors = np.array(SAID[name]["Z"])[:, 0, 1:] if "regression" in name else None
    assert logp_of(model, y, values, regressors) == pytest.approx(SAID[name][which]["logp"], rel=1e-9)


def test_exponential_smoothing_is_that_of_statsmodels() -> None:
    """At its first level, trend and season, which statsmodels is given as known."""
    alpha, beta, gamma, phi, variance = SAID["smoothing"]["params"]
    values = {"alpha": alpha, "beta": beta, "gamma": gamma, "phi": phi, "sigma_state": np.sqrt(variance)}
    values["initial_seasonal"] = np.array([-0.2, 0.3, -0.2, 0.1])
    model = ss.ETS(("A", "Ad", "A"), seasonal_periods=4)
    arguments = model.arguments({name: pt.as_tensor(v) for name, v in values.items()}, None)
    start = np.array([0.0, 1.0, 0.1, *values["initial_seasonal"]])
    y = np.array(SAID["smoothing"]["gaps"]["y"], float)
    rv = pm.LinearGaussianStateSpace.dist(**arguments | {"a0": start, "initial": "known"}, steps=len(y) - 1)
    assert pm.logp(rv, y).eval() == pytest.approx(SAID["smoothing"]["gaps"]["logp"], rel=1e-9)
