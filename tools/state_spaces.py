"""Writes tests/state_spaces/statsmodels.json: what statsmodels says of fifteen state spaces, with gaps and without.

And smoothing.json beside it: series that its `ETSModel` simulates from given errors, in products of all kinds.

Run it with an interpreter that has statsmodels (0.15 wrote the file): `python tools/state_spaces.py`. In: models of
statsmodels at parameters near its starting values, and series that are drawn here. Out: matrices, log densities,
moments of smoothed states and forecasts. Exact diffuse initial states; no tolerance for a steady state.
"""

from __future__ import annotations

import itertools
import json
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import statsmodels
from statsmodels.tsa.exponential_smoothing.ets import ETSModel
from statsmodels.tsa.statespace import dynamic_factor, exponential_smoothing, mlemodel, sarimax, structural, varmax

OUT = Path(__file__).resolve().parent.parent / "tests" / "state_spaces" / "statsmodels.json"
SMOOTHING = OUT.with_name("smoothing.json")
AHEAD = 5


class Correlated(mlemodel.MLEModel):
    """Two walks, seen with correlated errors."""

    def __init__(self, y: Any) -> None:
        super().__init__(y, k_states=2, k_posdef=2, initialization="diffuse")
        self["transition"], self["selection"], self["design"] = np.eye(2), np.eye(2), np.array([[1.0, 0.3], [0.5, 1.0]])
        self["obs_cov"], self["state_cov"] = np.array([[1.0, 0.6], [0.6, 0.8]]), np.array([[0.3, 0.1], [0.1, 0.2]])

    start_params = np.zeros(0)

    def update(self, params: Any, **more: Any) -> None:
        """Nothing can vary."""


def models() -> dict[str, tuple[Any, Any]]:
    """Of each name: a function of a series, which makes a model, and the series."""
    rng = np.random.default_rng(7)
    times = np.arange(42)
    one = np.cumsum(rng.normal(size=42)) + 3 * np.sin(times * 2 * np.pi / 12) + rng.normal(size=42)
    short = one[:26]
    calm = rng.normal(size=42) + 0.5 * np.sin(times)
    two = np.stack([calm, np.roll(calm, 1) + rng.normal(size=42)], 1)
    three = np.cumsum(rng.normal(size=42))[:, None] * 0.1 + rng.normal(size=(42, 3))
    exog = np.stack([np.cos(times), rng.normal(size=42)], 1)
    exact = {"use_exact_diffuse": True}
    components = structural.UnobservedComponents
    return {
        "level": (lambda y: components(y, "llevel", **exact), one),
        "trend": (lambda y: components(y, "lltrend", **exact), one),
        "trend and season": (lambda y: components(y, "lltrend", seasonal=4, **exact), one),
        "level and Fourier season": (
            lambda y: components(y, "llevel", freq_seasonal=[{"period": 12, "harmonics": 3}], **exact), one,
        ),
        "level and cycle": (
            lambda y: components(y, "llevel", cycle=True, stochastic_cycle=True, damped_cycle=True, **exact), one,
        ),
        "level and regression": (
            lambda y: components(y, "llevel", exog=exog, mle_regression=False, **exact), one,
        ),
        "AR": (lambda y: sarimax.SARIMAX(y, order=(2, 0, 0)), calm),
        "ARMA with intercept": (lambda y: sarimax.SARIMAX(y, order=(2, 0, 1), trend="c"), calm),
        "SARIMA": (lambda y: sarimax.SARIMAX(y, order=(1, 1, 1), seasonal_order=(1, 0, 1, 6), **exact), short),
        "SARIMA of differences": (
            lambda y: sarimax.SARIMAX(y, order=(0, 1, 1), seasonal_order=(0, 1, 1, 4), **exact), one,
        ),
        "VAR": (lambda y: varmax.VARMAX(y, order=(1, 0), trend="c"), two),
        "VARMA with errors": (lambda y: varmax.VARMAX(y, order=(1, 1), measurement_error=True), two),
        "factor": (lambda y: dynamic_factor.DynamicFactor(y, k_factors=1, factor_order=2), three),
        "smoothing": (
            lambda y: exponential_smoothing.ExponentialSmoothing(
                y, trend=True, damped_trend=True, seasonal=4, initialization_method="known", initial_level=1.0,
                initial_trend=0.1, initial_seasonal=[0.1, -0.2, 0.3, -0.2], concentrate_scale=False,
            ), one,
        ),
        "correlated errors": (Correlated, two),
    }  # fmt: skip


def numbers(x: Any) -> Any:
    """Arrays as lists."""
    return np.asarray(x, float).tolist()


def said(make: Any, y: Any, params: Any) -> dict[str, Any]:
    """What statsmodels says of a series."""
    model = make(y)
    model.loglikelihood_burn = model.ssm.loglikelihood_burn = 0
    model.ssm.tolerance = 0
    model.ssm.filter_univariate = True
    result = model.smooth(params)
    filtered = result.filter_results
    places = [0, 1, 5, len(y) // 2, len(y) - 1]
    found = {
        "y": [[None if np.isnan(v) else v for v in row] for row in np.asarray(y).reshape(len(y), -1)],
        "logp": float(filtered.llf),
        "places": places,
        "smoothed": numbers(result.smoothed_state.T[places]),
        "smoothed_cov": numbers(np.moveaxis(result.smoothed_state_cov, -1, 0)[places]),
        "filtered": numbers(result.filtered_state.T[places[2:]]),
    }
    if np.asarray(model["design"]).ndim == 2:
        ahead = result.get_forecast(AHEAD)
        cov = ahead.prediction_results.forecasts_error_cov[..., -AHEAD:]
        found["forecast"] = numbers(np.asarray(ahead.predicted_mean).reshape(AHEAD, -1))
        found["forecast_cov"] = numbers(np.moveaxis(cov, -1, 0))
    return found


def matrices(make: Any, y: Any, params: Any) -> dict[str, Any]:
    """The space, in the letters of Durbin and Koopman."""
    model = make(y)
    result = model.smooth(params).filter_results
    found, varying = {}, []
    names = {"T": "transition", "Z": "design", "H": "obs_cov", "Q": "state_cov", "R": "selection",
             "c": "state_intercept", "d": "obs_intercept"}  # fmt: skip
    for name, own in names.items():
        x = getattr(result, own)
        if x.shape[-1] > 1:
            varying.append(name)
        x = np.moveaxis(x, -1, 0)
        found[name] = numbers(x if name in varying else x[0])
    free = np.diag(result.initial_diffuse_state_cov) if result.initial_diffuse_state_cov is not None else None
    kinds = ["known"] * model.k_states if free is None else ["diffuse" if x else "known" for x in free]
    return found | {
        "varying": varying,
        "a0": numbers(result.initial_state),
        "P0": numbers(result.initial_state_cov),
        "initial": kinds,
    }


def smoothing() -> list[dict[str, Any]]:
    """Each kind of exponential smoothing with a product: parameters, errors, and the series that they make.

    `ETSModel.simulate` follows the equations of its documentation. Its smoothing divides by the level behind an
    observation where the season is multiplied, so its log density, at the best sigma, stands here for other seasons alone.
    """
    rng, found = np.random.default_rng(11), []
    words = {"A": "add", "M": "mul"}
    for kinds in itertools.product("AM", ["N", "A", "Ad", "M", "Md"], "NAM"):
        error, trend, season = kinds
        if not {"M", "Md"} & set(kinds):
            continue
        errors = rng.normal(size=20) * (0.05 if error == "M" else 0.4)
        make = partial(
            ETSModel, error=words[error], trend=words.get(trend[0]), damped_trend=trend.endswith("d"),
            seasonal=words.get(season), seasonal_periods=4 if season != "N" else None,
        )  # fmt: skip
        seasons = [1.1, 1.2, 0.8, 0.95] if season == "M" else [0.5, 1.0, -1.2, -0.3]
        values = {
            "smoothing_level": 0.4, "smoothing_trend": 0.1, "smoothing_seasonal": 0.2, "damping_trend": 0.9,
            "initial_level": 7.0, "initial_trend": 1.02 if trend[0] == "M" else 0.15,
        } | {f"initial_seasonal.{k}": x for k, x in enumerate(seasons)}  # fmt: skip
        model = make(np.ones(20))
        params = np.array([values[name] for name in model.param_names])
        y = np.asarray(model.smooth(params).simulate(20, anchor="start", random_errors=errors[:, None])).ravel()
        own = {"order": kinds, "params": dict(zip(model.param_names, params.tolist(), strict=True)),
               "errors": numbers(errors), "y": numbers(y)}  # fmt: skip
        if season != "M":
            own["logp"] = float(make(y).smooth(params).llf)
        found.append(own)
    return found


def main() -> None:
    """Write the files."""
    warnings.simplefilter("ignore")
    SMOOTHING.write_text(json.dumps(smoothing()) + "\n")
    found: dict[str, Any] = {"statsmodels": statsmodels.__version__}
    rng = np.random.default_rng(3)
    for name, (make, y) in models().items():
        params = np.asarray(make(y).start_params, float)
        params = np.where(np.abs(params) < 1e-3, 0.05, params)
        gaps = y.copy()
        gaps[rng.random(y.shape) < 0.15] = np.nan
        gaps[3:6] = np.nan
        gaps[-1] = np.nan
        found[name] = (
            {"params": numbers(params)}
            | matrices(make, y, params)
            | {"whole": said(make, y, params), "gaps": said(make, gaps, params)}
        )
        print(name, params.round(3), found[name]["whole"]["logp"], found[name]["gaps"]["logp"])
    OUT.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
