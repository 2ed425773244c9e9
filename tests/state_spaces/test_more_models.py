"""Holidays, regressors of vector ARMA and autoregressive errors of dynamic factors: against normal distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats as st

import consilience as pm
import consilience.tensor as pt
from consilience import statespace as ss
from consilience.errors import ModelError, ParameterError, ShapeError

pd = pytest.importorskip("pandas")
Array = npt.NDArray[Any]
RNG = np.random.default_rng(4)
DAYS = pd.date_range("2024-12-20", periods=16, freq="D")
DATES = {"Christmas": ["2024-12-25", "2025-12-25"], "Epiphany": ["2025-01-06"], "New Year": ["2025-01-01"]}
MARKS = np.stack([DAYS.isin(pd.to_datetime(own)) for own in DATES.values()], 1).astype(float)
Y = RNG.normal(size=16).cumsum() + MARKS @ [3.0, 0.0, -2.0]


def logp_of(model: Any, y: Array, values: dict[str, Any], exog: Any = None) -> float:
    """Log density of a series at values of the parameters."""
    arguments = model.arguments({name: pt.as_tensor(np.asarray(v, float)) for name, v in values.items()}, exog)
    return float(pm.logp(pm.LinearGaussianStateSpace.dist(**arguments, steps=len(y) - 1), y).eval())


def holidays(**named: Any) -> Any:
    """An autoregression with holidays, which the data hold two of three of."""
    return ss.Autoregressive(1) + ss.Holidays(DATES, **named) + ss.MeasurementError()


VALUES = {
    "params_auto_regressive": np.array([0.7]), "sigma_auto_regressive": 0.6, "sigma_holidays": 1.5,
    "sigma_MeasurementError": 0.3,
}  # fmt: skip


def test_holidays_are_normal_effects_on_their_days() -> None:
    """The density with effects integrated out, and a forecast of a holiday that the data do not hold."""
    apart = np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
    later = pd.date_range(DAYS[-1], periods=5, freq="D")[1:]
    marks = np.concatenate([MARKS, np.stack([later.isin(pd.to_datetime(own)) for own in DATES.values()], 1)])
    covariance = 0.36 * 0.7**apart / (1 - 0.49) + 0.09 * np.eye(20) + 2.25 * marks @ marks.T
    model = holidays()
    wanted = st.multivariate_normal(cov=covariance[:16, :16]).logpdf(Y)
    exog = model.regressors(None, DAYS)
    assert np.array_equal(exog, MARKS)
    assert logp_of(model, Y[:, None], VALUES, exog) == pytest.approx(wanted, rel=1e-10)
    with pm.Model() as built:
        pm.Normal("params_auto_regressive", 0.0, 1.0, shape=1)
        model.build_statespace_graph(pd.Series(Y, DAYS))
    draws = {name: np.broadcast_to(v, (1, 8_000, *np.shape(v))) for name, v in VALUES.items()}
    ahead = model.forecast(pm.to_inference_data(draws, model=built), 4, random_seed=1)["forecast_observed"].values
    ahead = ahead.reshape(8_000, 4)
    weights = np.linalg.solve(covariance[:16, :16], covariance[:16, 16:])
    mean, spread = Y @ weights, covariance[16:, 16:] - covariance[16:, :16] @ weights
    deviation = np.sqrt(np.diag(spread))
    assert np.all(np.abs(ahead.mean(0) - mean) < 5 * deviation / np.sqrt(8_000))
    assert np.all(np.abs(ahead.std(0) / deviation - 1) < 5 / np.sqrt(16_000))


def test_holidays_stand_beside_regressors_and_may_drift() -> None:
    """Columns of the user and of the calendar keep their places; labels may be numbers."""
    model = ss.Holidays({"sale": [2, 5]}, innovations=True) + ss.Regression(["price"]) + ss.LevelTrend(1)
    assert model.param_names == ["sigma_holidays", "sigma_drift_holidays", "sigma_level_trend"]
    prices = RNG.normal(size=(8, 1))
    found = model.regressors(prices, np.arange(8))
    assert np.array_equal(found, np.concatenate([np.isin(np.arange(8), [2, 5])[:, None], prices], 1))
    with pm.Model() as built:
        (model + ss.MeasurementError()).build_statespace_graph(RNG.normal(size=8), exog=prices)
    assert np.isfinite(built.compile_dlogp()(built.initial_point())).all()


def test_holidays_that_the_data_cannot_hold() -> None:
    with pytest.raises(ParameterError, match="at least one holiday"):
        ss.Holidays({"Easter": []})
    with pm.Model(), pytest.raises(ParameterError, match="no date of Christmas, Epiphany, New Year is a label"):
        holidays().build_statespace_graph(pd.Series(Y, pd.date_range("2010-01", periods=16, freq="MS")))


def test_regressors_of_vector_arma_move_the_mean() -> None:
    """The density is that of the deviations from the regression; later values are asked for."""
    model = ss.VARMAX((1, 1), ["a", "b"], trend="n", exog_state_names=["x", "z", "w"])
    exog, beta = RNG.normal(size=(12, 3)), RNG.normal(size=(2, 3))
    y = RNG.normal(size=(12, 2))
    values = {"ar_params": 0.2 * RNG.normal(size=(2, 1, 2)), "ma_params": 0.3 * RNG.normal(size=(2, 1, 2)),
              "state_cov": np.array([[1.0, 0.3], [0.3, 0.6]])}  # fmt: skip
    found = logp_of(model, y, values | {"beta_exog": beta}, exog)
    plain = ss.VARMAX((1, 1), ["a", "b"], trend="n")
    assert found == pytest.approx(logp_of(plain, y - exog @ beta.T, values), rel=1e-11)
    with pm.Model() as built:
        model.build_statespace_graph(y, exog=exog)
    assert built.named["beta_exog"].eval().shape == (2, 3)
    with pytest.raises(ShapeError, match="needs `exog`: the columns x, z, w for 2 times"):
        model.forecast(None, 2)


def test_errors_of_dynamic_factors_may_be_autoregressive() -> None:
    """Autocovariances of one factor and of the noise of each of three series."""
    loadings, own, sigma = np.array([1.0, -0.5, 0.7]), np.array([0.4, -0.6, 0.8]), np.array([0.5, 1.0, 0.3])
    model = ss.DynamicFactor(1, 1, ["a", "b", "c"], error_order=1)
    assert model.param_names == ["factor_loadings", "factor_ar", "error_ar", "error_sigma"]
    y = RNG.normal(size=(9, 3))
    y[2, 1] = y[5] = np.nan
    apart = np.abs(np.subtract.outer(np.arange(9), np.arange(9)))
    covariance = np.kron(0.6**apart / (1 - 0.36), np.outer(loadings, loadings))
    for k in range(3):
        covariance += np.kron(sigma[k] ** 2 * own[k] ** apart / (1 - own[k] ** 2), np.diag(np.eye(3)[k]))
    there = ~np.isnan(y.ravel())
    wanted = st.multivariate_normal(cov=covariance[np.ix_(there, there)]).logpdf(y.ravel()[there])
    values = {
        "factor_loadings": loadings[:, None],
        "factor_ar": [[0.6]],
        "error_ar": own[:, None],
        "error_sigma": sigma,
    }
    assert logp_of(model, y, values) == pytest.approx(wanted, rel=1e-11)
    with pm.Model() as built:
        ss.DynamicFactor(1, 2, ["a", "b", "c"], error_order=2).build_statespace_graph(y)
    assert np.isfinite(built.compile_dlogp()(built.initial_point())).all()


def test_dynamic_factors_with_autoregressive_errors_are_those_of_statsmodels() -> None:
    """Its number (0.15, `DynamicFactor(k_factors=1, factor_order=2, error_order=1)`, no steady state), with gaps."""
    y = np.random.default_rng(0).normal(size=(40, 3))
    y[5, 1] = y[10] = np.nan
    values = {
        "factor_loadings": np.array([[1.0], [-0.5], [0.7]]), "factor_ar": np.array([[0.5, -0.2]]),
        "error_ar": np.array([[0.4], [-0.6], [0.8]]), "error_sigma": np.sqrt([0.3, 1.0, 0.2]),
    }  # fmt: skip
    model = ss.DynamicFactor(1, 2, ["a", "b", "c"], error_order=1)
    assert logp_of(model, y, values) == pytest.approx(-232.76967634150037, rel=1e-12)


SPACES: dict[str, tuple[Any, Any]] = {
    "sums": (lambda: ss.LevelTrend(2) + ss.TimeSeasonality(4) + ss.MeasurementError(), lambda y: y),
    "products with a gap": (lambda: ss.ETS(("M", "A", "N")), lambda y: np.where(np.arange(20) == 3, np.nan, np.exp(y))),
    "ARMA": (lambda: ss.SARIMAX((2, 0, 1)), lambda y: y),
}


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.filterwarnings("ignore::consilience.errors.ImputationWarning")
def test_parts_of_a_model_hold_a_series_each(name: str) -> None:
    """Two series of unequal length, with parameters of their own; results are those of the series alone."""
    make, change = SPACES[name]
    y = np.cumsum(np.random.default_rng(0).normal(size=20)) / 5
    first, alone = make(), make()
    with pm.Model() as whole:
        with pm.Model(name="here"):
            first.build_statespace_graph(change(y))
        with pm.Model(name="there"):
            make().build_statespace_graph(change(y)[:12] + 1.0)
    with pm.Model() as model:
        alone.build_statespace_graph(change(y))
    prior = pm.sample_prior_predictive(3, model=model, random_seed=1)["prior"]
    values = {v.name: prior[v.name].values for v in model.free_RVs}
    both = {f"{part}::{n}": v for part in ("here", "there") for n, v in values.items() if f"{part}::{n}" in whole.named}
    found = first.sample_conditional_posterior(both, random_seed=1)
    expected = alone.sample_conditional_posterior(values, random_seed=1)
    for what in ("filtered_states", "residuals"):
        np.testing.assert_allclose(found[what].values, expected[what].values, rtol=1e-9, atol=1e-12)
    assert found.sizes == expected.sizes
    ahead, other = (space.forecast(given, 3, random_seed=1) for space, given in ((first, both), (alone, values)))
    assert ahead.sizes == other.sizes
    assert ahead["forecast_observed"].dims == ("chain", "draw", "time_ahead", "observed")


def test_state_spaces_do_not_share_parameters_without_a_word() -> None:
    y = np.arange(8.0)
    with pm.Model():
        (ss.LevelTrend(1) + ss.MeasurementError()).build_statespace_graph(y, name="a")
        with pytest.raises(ModelError, match="`sigma_level_trend` is a parameter of another state space"):
            (ss.LevelTrend(1) + ss.MeasurementError()).build_statespace_graph(9.0 * y, name="b")
    with pm.Model() as model:
        pm.HalfNormal("sigma_level_trend", shape=1)
        pm.HalfNormal("sigma_MeasurementError")
        for name in "ab":
            (ss.LevelTrend(1) + ss.MeasurementError()).build_statespace_graph(y, name=name)
    assert [v.name for v in model.free_RVs] == ["sigma_level_trend", "sigma_MeasurementError"]


def test_priors_may_have_the_dims_of_their_parameters() -> None:
    space = ss.SARIMAX((2, 0, 1), None)
    with pm.Model(coords=space.coords) as model:
        pm.Normal("ar_params", 0.0, 0.2, dims=space.param_dims["ar_params"])
        space.build_statespace_graph(np.arange(9.0))
    assert model.named_vars_to_dims["ar_params"] == ("ar_params_dim",)
    assert model.coords["ar_params_dim"] == space.parameters[0].labels
    assert "ma_params_partial" in model.named
