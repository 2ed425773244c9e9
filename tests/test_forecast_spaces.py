"""Forecasts of state spaces and of Gaussian processes: the joint normal distribution of past and later values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import consilience as pm
from consilience import statespace as ss
from consilience.errors import ConsilienceError
from tests.test_forecast import N, assert_normal, fixed, later

DAYS = {"day": range(12), "series": ["a"]}
TIMES = np.arange(12.0)
Y = np.sin(TIMES / 2) + np.random.default_rng(1).normal(size=12) * 0.1
GAPS = np.where(np.isin(TIMES, [0, 4, 11]), np.nan, Y)


def given_past(mean: Any, covariance: Any, past: Any) -> tuple[Any, Any]:
    """Mean and standard deviation of what follows, by the joint normal distribution; NaN is missing."""
    there = np.flatnonzero(~np.isnan(past))
    then = np.arange(len(past), len(mean))
    weights = np.linalg.solve(covariance[np.ix_(there, there)], covariance[np.ix_(there, then)])
    spread = covariance[np.ix_(then, then)] - covariance[np.ix_(then, there)] @ weights
    return mean[then] + (past[there] - mean[there]) @ weights, np.sqrt(np.diag(spread))


def test_state_spaces_go_on_with_later_data() -> None:
    """An autoregression with noise around a line, with gaps at both ends."""
    with pm.Model(coords=DAYS) as model:
        x = pm.Data("x", TIMES, dims="day")
        line = (pm.Flat("slope") * x)[:, None]
        space = {"T": [[0.8]], "Z": [[1.0]], "H": [[0.09]], "Q": [[0.25]], "initial": "stationary"}
        pm.LinearGaussianStateSpace("y", **space, d=line, varying="d", observed=GAPS[:, None], dims=("day", "series"))
    draws = later(model, 3, posterior=fixed(slope=0.3), exog={"x": [20.0, 0.0, -5.0]})[..., 0]
    apart = np.abs(np.subtract.outer(np.arange(15), np.arange(15)))
    covariance = 0.25 * 0.8**apart / (1 - 0.64) + 0.09 * np.eye(15)
    line = 0.3 * np.array([*TIMES, 20.0, 0.0, -5.0])
    assert_normal(draws, *given_past(line, covariance, GAPS))


def test_matrices_along_time_are_asked_for() -> None:
    with pm.Model() as model:
        line = (pm.Flat("slope") * TIMES)[:, None]
        space = {"T": [[0.8]], "Z": [[1.0]], "H": [[0.09]], "Q": [[0.25]], "initial": "stationary"}
        pm.LinearGaussianStateSpace("y", **space, d=line, varying="d", observed=Y[:, None])
    with pytest.raises(ConsilienceError, match="`d` varies in time, and its values for the 3 periods"):
        later(model, 3, posterior=fixed(slope=0.3))


def test_components_go_on_as_their_own_forecasts_do() -> None:
    """Dates included; a panel has a batch axis."""
    space = ss.LevelTrend(1) + ss.MeasurementError()
    with pm.Model() as model:
        space.build_statespace_graph(pd.Series(GAPS, pd.date_range("2020-01", periods=12, freq="MS")))
    posterior = fixed(sigma_level_trend=[0.5], sigma_MeasurementError=0.3)
    own = space.forecast(pm.to_inference_data(posterior, model=model), 3, random_seed=1)["forecast_observed"]
    found = pm.forecast(posterior, 3, model=model, random_seed=1).predictions["obs"]
    assert [str(t)[:7] for t in found["time"].values] == ["2021-01", "2021-02", "2021-03"]
    walk = np.minimum.outer(np.arange(15), np.arange(15))
    mean, deviation = given_past(np.zeros(15), 1e6 + 0.25 * walk + 0.09 * np.eye(15), GAPS)
    assert_normal(own.values.reshape(N, 3), mean, deviation)
    assert_normal(found.values.reshape(N, 3), mean, deviation)
    with pm.Model() as panel:
        space = {"T": [[1.0]], "Z": [[1.0]], "H": [[0.09]], "Q": pm.Flat("q").reshape((1, 1)), "initial": "diffuse"}
        pm.LinearGaussianStateSpace("y", **space, observed=np.stack([GAPS, GAPS + 5.0])[..., None])
    draws = later(panel, 3, posterior=fixed(q=0.25))
    assert draws.shape == (N, 2, 3, 1)
    assert_normal(draws[:, 1, :, 0] - 5.0, mean, deviation)


def process(kind: str) -> pm.Model:
    """A Gaussian process along time, in one of its forms."""
    covariance = 2.0 * pm.gp.cov.Matern52(1, ls=3.0)
    with pm.Model(coords={"day": range(12)}) as model:
        x = pm.Data("x", TIMES, dims="day")[:, None]
        if kind == "marginal":
            pm.gp.Marginal(cov_func=covariance).marginal_likelihood("y", x, Y, pm.Flat("noise"), dims="day")
            return model
        gp = pm.gp.Latent(mean_func=pm.gp.mean.Constant(1.0), cov_func=covariance)
        f = gp.prior("f", x, reparameterize=kind == "latent", dims="day")
        pm.Normal("y", f, pm.Flat("noise"), observed=Y, dims="day")
    return model


@pytest.mark.parametrize("kind", ["marginal", "latent", "centred"])
def test_processes_go_on_given_their_values(kind: str) -> None:
    """The last two given f itself, the first given observations with noise."""
    model, noise = process(kind), 0.3
    new = np.array([12.0, 12.5, 20.0])
    times = np.concatenate([TIMES, new])
    scaled = np.sqrt(5.0) * np.abs(np.subtract.outer(times, times)) / 3.0
    covariance = 2.0 * (1 + scaled + scaled**2 / 3) * np.exp(-scaled) + 1e-6 * np.eye(15)
    posterior = fixed(noise=noise)
    if kind == "centred":
        posterior |= fixed(f=Y)
    if kind == "latent":
        posterior |= fixed(f_rotated_=np.linalg.solve(np.linalg.cholesky(covariance[:12, :12]), Y - 1.0))
    own = covariance + noise**2 * np.eye(15) if kind == "marginal" else covariance
    mean, deviation = given_past(np.full(15, float(kind != "marginal")), own, Y)
    if kind != "marginal":
        deviation = np.sqrt(deviation**2 + noise**2)
    assert_normal(later(model, 3, posterior=posterior, exog={"x": new}), mean, deviation)


@pytest.mark.parametrize("kind", ["HSGP", "HSGPPeriodic"])
def test_basis_functions_are_those_at_later_times(kind: str) -> None:
    """Coefficients stay: f at later times is that of `conditional`."""
    new = np.array([12.0, 12.5, 14.0])
    with pm.Model(coords={"day": range(12)}) as model:
        x = pm.Data("x", TIMES, dims="day")[:, None]
        if kind == "HSGP":
            gp: Any = pm.gp.HSGP(m=[10], c=3.0, cov_func=pm.gp.cov.ExpQuad(1, ls=3.0))
        else:
            gp = pm.gp.HSGPPeriodic(m=4, scale=1.0, cov_func=pm.gp.cov.Periodic(1, period=6.0, ls=1.0))
        f = gp.prior("f", x, dims="day")
        pm.Normal("y", f, 0.1, observed=Y, dims="day")
        gp.conditional("g", new[:, None])
    prior = pm.sample_prior_predictive(3, model=model, random_seed=1)["prior"]
    posterior = {v.name: prior[v.name].values for v in model.free_RVs}
    found = pm.forecast(posterior, 3, model=model, var_names="f", exog={"x": new}, random_seed=1).predictions["f"]
    np.testing.assert_allclose(found.values, prior["g"].values, rtol=1e-9, atol=1e-9)


def test_processes_need_later_places() -> None:
    with pytest.raises(ConsilienceError, match="needs `x` for 2 more times along `day`"):
        later(process("marginal"), 2, posterior=fixed(noise=0.1))
