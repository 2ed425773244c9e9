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
from consilience.distributions.states import Filtered, following
from consilience.errors import ModelError, ParameterError, ShapeError
from consilience.statespace.draws import StatesGivenSeries, space_of

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


def air(times: int = 40) -> Any:
    """Months of a series with a season, with a gap."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.normal(size=times)) * 0.1 + np.sin(np.arange(times) * np.pi / 2) + 0.1 * rng.normal(size=times)
    y[7] = np.nan
    return pd.Series(y, pd.date_range("2020-01", periods=times, freq="MS"), name="sales")


def posterior(model: pm.Model, count: int = 30) -> Any:
    """Draws near the starting point, in place of a run."""
    rng = np.random.default_rng(1)
    names = [v.name for v in model.free_RVs]
    prior = pm.sample_prior_predictive(count, model=model, random_seed=1)["prior"]
    values = {name: prior[name].values * 0.2 + 0.1 for name in names if "partial" not in name}
    values |= {name: 0.5 * prior[name].values for name in names if "partial" in name}
    del rng
    return pm.compute_deterministics(pm.to_inference_data(values, model=model), model=model, merge_dataset=True)


def test_results_have_labels_and_dates() -> None:
    """Components add up to what is seen without noise, and dates go on."""
    y = air()
    space = ss.LevelTrend(2, innovations_order=1) + ss.TimeSeasonality(4) + ss.MeasurementError()
    with pm.Model() as model:
        mine = pm.HalfNormal("sigma_seasonal_4", 0.1)
        space.build_statespace_graph(y)
    assert model.named["sigma_seasonal_4"] is mine
    draws = posterior(model)
    found = space.sample_conditional_posterior(draws, random_seed=1)
    assert list(found.state.values) == ["level", "trend", "seasonal_4", "seasonal_4_lag1", "seasonal_4_lag2"]
    assert list(found.component.values) == ["level_trend", "seasonal_4"]
    assert np.array_equal(found.time.values, y.index.values)
    total = found["components"].sum("component").values
    assert total == pytest.approx(found["smoothed_observed"].values[..., 0], rel=1e-12)
    assert np.isnan(found["residuals"].values[:, :, 7]).all()
    ahead = space.forecast(draws, 6, random_seed=1)
    assert str(ahead.time_ahead.values[0])[:10] == "2023-05-01"
    again = space.forecast(draws, 6, random_seed=1)
    assert np.array_equal(ahead["forecast_observed"], again["forecast_observed"])
    assert "smoothed_states" not in model.named
    answers = space.impulse_response_function(draws, 5, shock_size=1.0)["irf"].values[0, 0, :, :, 0]
    assert answers == pytest.approx(np.array([[1, 1, 1, 1, 1], [1, -1, 0, 0, 1]]))


def test_forecasts_are_those_of_the_joint_distribution() -> None:
    """A walk with noise: mean and variance of each period, from 20,000 draws with the same parameters."""
    y = np.array([0.3, 1.0, 0.4, 1.4])
    space = ss.LevelTrend(1) + ss.MeasurementError()
    with pm.Model() as model:
        space.build_statespace_graph(y)
    count = 20_000
    values = {"sigma_level_trend": np.full((1, count, 1), 0.5), "sigma_MeasurementError": np.full((1, count), 0.3)}
    ahead = space.forecast(pm.to_inference_data(values, model=model), 3, random_seed=1)["forecast_observed"].values[0]
    bound = space_of(pm.LinearGaussianStateSpace.dist(
        T=[[1.0]], Z=[[1.0]], H=[[0.09]], Q=[[0.25]], initial="diffuse", steps=3
    ))  # fmt: skip
    said = space_of(following(bound, pt.as_tensor(y[:, None]), 3, {}))
    mean, variance = pm.function([], [said.mean(), said.variance()])()
    assert np.all(np.abs(ahead.mean(0) - mean) < 5 * np.sqrt(variance / count))
    assert np.all(np.abs(ahead.var(0) - variance) < 5 * variance * np.sqrt(2 / count))


def test_regressors_of_the_periods_ahead_are_asked_for() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    y = 3.0 * X[:, 0] + 0.01 * rng.normal(size=20)
    space = ss.LevelTrend(1, innovations_order=0) + ss.Regression(["price"]) + ss.MeasurementError()
    with pm.Model() as model:
        with pytest.raises(ShapeError, match="needs `exog`: the columns price for 20 times"):
            space.build_statespace_graph(y)
        space.build_statespace_graph(y, exog=X)
    draws = pm.to_inference_data({"sigma_MeasurementError": np.full((1, 20), 0.01)}, model=model)
    with pytest.raises(ShapeError, match="needs `exog`: the columns price for 2 times"):
        space.forecast(draws, 2)
    with pytest.raises(ShapeError, match=r"`exog` must have 2 rows"):
        space.forecast(draws, 2, exog=[[1.0]])
    ahead = space.forecast(draws, 2, exog=[[10.0], [-10.0]], random_seed=1)["forecast_observed"].mean(("chain", "draw"))
    assert ahead.values[:, 0] == pytest.approx([30.0, -30.0], abs=0.5)


@pytest.mark.parametrize(
    "space",
    [
        ss.SARIMAX((1, 1, 1), (1, 0, 1, 4)),
        ss.ETS(("A", "Ad", "A"), seasonal_periods=4),
        ss.LevelTrend(1) + ss.Cycle(estimate_cycle_length=True, dampen=True) + ss.MeasurementError(),
        ss.Autoregressive(2) + ss.MeasurementError(),
        ss.FrequencySeasonality(4) + ss.LevelTrend(3, innovations_order=[0, 0, 1]) + ss.MeasurementError(),
    ],
    ids=lambda space: type(space).__name__,
)
def test_default_priors_and_forecasts_of_one_series(space: Any) -> None:
    """Density and slopes are finite at the starting point, and forecasts at draws."""
    with pm.Model() as model:
        space.build_statespace_graph(air())
    at = model.initial_point()
    assert np.isfinite(model.compile_logp()(at))
    assert np.isfinite(model.compile_dlogp()(at)).all()
    draws = posterior(model)
    assert np.isfinite(space.forecast(draws, 3, random_seed=1)["forecast_observed"]).all()
    assert np.isfinite(space.sample_conditional_posterior(draws, random_seed=1)["smoothed_states"]).all()


@pytest.mark.parametrize(
    "space",
    [ss.VARMAX((1, 1), ["a", "b"], measurement_error=True), ss.DynamicFactor(1, 2, ["a", "b"])],
    ids=lambda space: type(space).__name__,
)
def test_default_priors_of_several_series(space: Any) -> None:
    y = np.random.default_rng(0).normal(size=(30, 2))
    y[4, 0] = y[9] = np.nan
    with pm.Model() as model:
        space.build_statespace_graph(y)
    at = model.initial_point()
    assert np.isfinite(model.compile_logp()(at))
    assert np.isfinite(model.compile_dlogp()(at)).all()


def test_partial_autocorrelations_make_stationary_coefficients() -> None:
    """Roots of the polynomial lie outside the unit circle, and of order 2 by the formula."""
    partial = pt.vector("partial", shape=(4,))
    from consilience.statespace.priors import from_partial

    coefficients = pm.function([partial], from_partial(partial))
    rng = np.random.default_rng(0)
    for _ in range(20):
        found = coefficients(rng.uniform(-1, 1, 4))
        assert np.abs(np.linalg.eigvals(np.vstack([found, np.eye(4)[:-1]]))).max() < 1
    assert coefficients([0.5, -0.3, 0.0, 0.0]) == pytest.approx([0.5 * 1.3, -0.3, 0.0, 0.0])


class TestBadInput:
    """What cannot be a series or a model, and what the message says."""

    def test_labels_of_time(self) -> None:
        pd = pytest.importorskip("pandas")
        space = ss.LevelTrend(1) + ss.MeasurementError()
        days = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-02"])
        uneven = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-09"])
        with pm.Model():
            with pytest.raises(ShapeError, match="2020-01-02 00:00:00 stands twice"):
                space.build_statespace_graph(pd.Series([1.0, 2.0, 3.0], days))
            with pytest.raises(ShapeError, match="not in order"):
                space.build_statespace_graph(pd.Series([1.0, 2.0], days[:2][::-1]))
            with pytest.raises(ShapeError, match="after 2020-01-03 comes 2020-01-09"):
                space.build_statespace_graph(pd.Series([1.0, 2.0, 3.0, 4.0], uneven))

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: ss.TimeSeasonality(1), "at least 2"),
            (lambda: ss.FrequencySeasonality(4, n=3), "1 to 2 waves"),
            (lambda: ss.LevelTrend(0), "order must be at least 1"),
            (lambda: ss.LevelTrend(2, innovations_order=3), "at most 2"),
            (lambda: ss.Cycle(), "give cycle_length"),
            (lambda: ss.Autoregressive([0, 1]), "lags begin at 1"),
            (lambda: ss.LevelTrend(1) + ss.LevelTrend(2), "two components are named 'level_trend'"),
            (lambda: ss.SARIMAX((1, -1, 0)), "3 whole numbers"),
            (lambda: ss.SARIMAX((1, 0, 0), (1, 0, 0, 0)), "length of a season"),
            (lambda: ss.ETS(("M", "N", "X")), "order has the error"),
            (lambda: ss.ETS(("A", "N", "A")), "seasonal_periods"),
            (lambda: ss.VARMAX((0, 0), ["a"]), "order above 0"),
            (lambda: ss.DynamicFactor(3, 1, ["a", "b"]), "a series for each factor"),
        ],
    )
    def test_orders_and_lengths(self, make: Any, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            make()

    def test_results_before_there_are_any(self) -> None:
        with pytest.raises(ModelError, match="build_statespace_graph"):
            ss.LevelTrend(1).forecast(None, 3)

    def test_columns_that_do_not_fit(self) -> None:
        with pm.Model(), pytest.raises(ShapeError, match="1 observed series, but the data have 2 columns"):
            ss.LevelTrend(1).build_statespace_graph(np.ones((4, 2)))

    @pytest.mark.parametrize("y", [np.full(9, 4.0), np.full(9, np.nan), [3.0], [3.0, 1e12]], ids=str)
    def test_series_that_tell_little(self, y: Any) -> None:
        """Constant, missing everywhere, of length 1 and 2: the density is finite, and so are forecasts."""
        space = ss.LevelTrend(2) + ss.TimeSeasonality(12) + ss.MeasurementError()
        with pm.Model() as model:
            space.build_statespace_graph(y)
        at = model.initial_point()
        assert np.isfinite(model.compile_logp()(at))
        assert np.isfinite(model.compile_dlogp()(at)).all()
