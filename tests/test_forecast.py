"""Forecasts: series go on from their last values and states, with labels; what cannot go on is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import signal

import consilience as pm
import consilience.tensor as pt
from consilience.errors import MissingRuleError, ModelError
from tests.logprob.series import PATTERNS, scan

N = 4000
Y = np.random.default_rng(1).normal(size=12).cumsum()
MONTHS = pd.date_range("2020-01-01", periods=12, freq="MS")
# Programs whose number of steps follows from nothing but `n_steps`, and whose references take series of any length.
ENDLESS = [
    "walk", "walk with drift", "Student-t walk", "AR(1)", "AR(2) by taps", "exp of a normal", "sigmoid of a normal",
    "GARCH with leverage", "VAR", "series side by side", "mixture", "drawn switch", "counts of past counts",
    "counts with a carried mean", "binary chain", "chain of states", "censored by maximum", "censored", "truncated",
    "MA(1)", "ARMA(1, 1)", "exp of all", "seasonal", "threshold", "drifting coefficient", "durations",
    "sum in the step", "without past",
]  # fmt: skip


def fixed(**values: float) -> dict[str, Any]:
    """A posterior of one value for each variable."""
    return {name: np.broadcast_to(value, (2, N // 2, *np.shape(value))) for name, value in values.items()}


def later(model: pm.Model, periods: int, name: str = "y", **named: Any) -> Any:
    """Draws (draw, periods, …) of a forecast."""
    posterior = named.pop("posterior")
    found = pm.forecast(posterior, periods, model=model, random_seed=2, **named).predictions[name].values
    return found.reshape(N, *found.shape[2:])


def assert_normal(draws: Any, mean: Any, deviation: Any) -> None:
    """Mean and standard deviation, within five of their standard errors."""
    np.testing.assert_array_less(np.abs(draws.mean(0) - mean), 5.0 * deviation / np.sqrt(N))
    np.testing.assert_array_less(np.abs(draws.std(0) / deviation - 1.0), 5.0 / np.sqrt(2.0 * N))


@pytest.mark.parametrize("name", ENDLESS)
def test_forecasts_of_loops_have_the_density_of_what_follows(name: str) -> None:
    """Slopes of the density of what follows given the past are 0 on average over its draws."""
    pattern, step = PATTERNS[name], 1e-4
    past = pm.draw(pm.CustomDist.dist(pattern.theta, dist=pattern.program), random_seed=7)
    with pm.Model() as model:
        pm.CustomDist("y", pm.Flat("theta"), dist=pattern.program, observed=past)
    draws = later(model, 3, posterior=fixed(theta=pattern.theta))[:500]
    assert draws.shape == (500, 3, *past.shape[1:])

    def density(theta: float) -> Any:
        before = pattern.reference(theta, past)
        return np.array([pattern.reference(theta, np.concatenate([past, draw])) - before for draw in draws])

    if name in ("exp of all",):  # its reference knows the number of steps
        return
    slopes = (density(pattern.theta + step) - density(pattern.theta - step)) / (2.0 * step)
    assert np.isfinite(slopes).all()
    assert slopes.std() > 0.0
    assert abs(slopes.mean()) < 4.5 * slopes.std() / np.sqrt(len(slopes))


def autoregression(posterior: Any, size: Any) -> Any:
    first = pm.Normal.dist(0.0, 1.0, size=2)
    rest = scan(
        lambda two, one: pm.Normal.dist(posterior * one - 0.2 * two, 0.5),
        outputs_info={"initial": first, "taps": [-2, -1]},
        n_steps=10,
    )
    return pt.concatenate([first, rest])


@pytest.mark.parametrize("kind", ["AR", "loop", "loop with gaps"])
def test_autoregressions_go_on_from_their_last_values(kind: str) -> None:
    given: dict[str, Any] = {"rho": 0.6}
    with pm.Model(coords={"month": MONTHS}) as model:
        rho = pm.Normal("rho")
        if kind == "AR":
            start = pm.Normal.dist(0.0, 1.0)
            pm.AR("y", pt.stack([rho, -0.2]), 0.5, init_dist=start, observed=Y, dims="month")
        elif kind == "loop":
            pm.CustomDist("y", rho, dist=autoregression, observed=Y, dims="month")
        else:
            data = Y.copy()
            data[[3, 11]] = np.nan
            with pytest.warns(pm.ImputationWarning):
                pm.CustomDist("y", rho, dist=autoregression, observed=data, dims="month")
            given["y_unobserved"] = Y[[3, 11]]
    mean = [Y[-2], Y[-1]]
    for _ in range(4):
        mean.append(0.6 * mean[-1] - 0.2 * mean[-2])
    answer = signal.lfilter([1.0], [1.0, -0.6, 0.2], np.eye(4)[0])
    deviation = 0.5 * np.sqrt(np.cumsum(answer**2))
    assert_normal(later(model, 4, posterior=fixed(**given)), mean[2:], deviation)
    found = pm.forecast(fixed(**given), 4, model=model, random_seed=1).predictions
    assert found["y"].dims == ("chain", "draw", "month")
    expected = pd.date_range("2021-01-01", periods=4, freq="MS")
    assert pd.DatetimeIndex(found["month"].values).equals(expected)


def test_garch_goes_on_from_its_last_variance() -> None:
    with pm.Model() as model:
        pm.GARCH11("y", 0.1, pm.Flat("a"), 0.3, 0.8, observed=Y)
    variance = 0.64
    for value in Y:
        variance = 0.1 + 0.5 * value**2 + 0.3 * variance
    draws = later(model, 2, posterior=fixed(a=0.5))
    expected = np.array([variance, 0.1 + 0.8 * variance])
    np.testing.assert_allclose((draws**2).mean(0), expected, rtol=0.15)
    assert_normal(draws[:, 0], 0.0, np.sqrt(variance))


def test_observed_variables_follow_walks_that_were_not_seen() -> None:
    with pm.Model(coords={"day": range(100, 112)}) as model:
        level = pm.GaussianRandomWalk("level", sigma=pm.Flat("s"), init_dist=pm.Normal.dist(), dims="day")
        twice = pm.Deterministic("twice", 2.0 * level, dims="day")
        pm.Normal("y", twice, 0.3, observed=2.0 * Y, dims="day")
    posterior = fixed(s=0.5, level=Y)
    draws = later(model, 3, posterior=posterior)
    deviation = np.sqrt(4.0 * 0.25 * np.arange(1, 4) + 0.09)
    assert_normal(draws, 2.0 * Y[-1], deviation)
    found = pm.forecast(posterior, 3, model=model, var_names=["level", "twice"], random_seed=1).predictions
    np.testing.assert_allclose(found["twice"], 2.0 * found["level"])
    assert found["day"].values.tolist() == [112, 113, 114]


def test_walks_of_vectors_go_on() -> None:
    chol = np.array([[1.0, 0.0], [0.5, 0.2]])
    with pm.Model() as model:
        pm.MvGaussianRandomWalk("y", pm.Flat("mu") * np.ones(2), chol=chol, observed=Y.reshape(6, 2))
    draws = later(model, 2, posterior=fixed(mu=0.1))
    assert draws.shape == (N, 2, 2)
    assert_normal(draws[:, 1], Y[-2:] + 0.2, np.sqrt(2.0 * np.diag(chol @ chol.T)))
    np.testing.assert_allclose(np.cov(draws[:, 0].T), chol @ chol.T, atol=0.06)


def with_data(size: int = 12) -> pm.Model:
    """A regression on data and on the last value."""
    with pm.Model(coords={"day": range(12)}) as model:
        x = pm.Data("x", np.arange(float(size)), dims="day")
        slope = pm.Flat("slope")
        pm.CustomDist(
            "y", slope, x, observed=Y, dims="day",
            dist=lambda slope, x, size: scan(
                lambda x, last: pm.Normal.dist(slope * x + 0.5 * last, 0.3),
                sequences=x, outputs_info=pt.as_tensor(0.0), n_steps=None,
            ),
        )  # fmt: skip
    return model


def test_later_data_enter_the_loop() -> None:
    draws = later(with_data(), 2, posterior=fixed(slope=0.1), exog={"x": [20.0, 30.0]})
    first = 2.0 + 0.5 * Y[-1]
    assert_normal(draws, [first, 3.0 + 0.5 * first], 0.3 * np.sqrt([1.0, 1.25]))


def test_regressions_on_time_are_forecast() -> None:
    with pm.Model(coords={"day": range(12)}) as model:
        x = pm.Data("x", np.arange(12.0), dims="day")
        pm.Normal("y", pm.Flat("slope") * x, 0.3, observed=Y, dims="day")
    draws = later(model, 2, posterior=fixed(slope=0.1), exog={"x": [20.0, 30.0]})
    assert_normal(draws, [2.0, 3.0], np.full(2, 0.3))


def test_prediction_draws_the_series_from_its_beginning() -> None:
    with pm.Model() as model:
        pm.CustomDist("y", pm.Flat("theta"), dist=PATTERNS["AR(1)"].program, observed=np.full(7, 50.0))
        drawn = pm.sample_posterior_predictive(fixed(theta=0.5), random_seed=1, progressbar=False)
    assert drawn.posterior_predictive["y"].shape[-1] == 7
    assert drawn.posterior_predictive["y"].values.max() < 30.0
    assert later(model, 1, posterior=fixed(theta=0.5)).mean() > 20.0


def constant_sequence() -> pm.Model:
    with pm.Model() as model:
        pm.CustomDist("y", pm.Flat("theta"), dist=PATTERNS["regression"].program, observed=Y[:7])
    return model


def joint_event() -> pm.Model:
    with pm.Model() as model:
        pm.MvNormal("y", pm.Flat("theta") * np.ones(12), np.eye(12), observed=Y)
    return model


def dated(labels: Any) -> pm.Model:
    with pm.Model(coords={"day": labels}) as model:
        pm.AR("y", pm.Flat("theta"), 1.0, init_dist=pm.Normal.dist(), observed=Y, dims="day")
    return model


BAD = {
    "no later data": (with_data, {"slope": 0.1}, {}, "needs `x` for 2 more times along `day`"),
    "short data": (with_data, {"slope": 0.1}, {"exog": {"x": [1.0]}}, r"shape \(1,\), and \(2,\) is needed"),
    "data with gaps": (with_data, {"slope": 0.1}, {"exog": {"x": [1.0, np.nan]}}, "not finite"),
    "unknown data": (with_data, {"slope": 0.1}, {"exog": {"z": [1.0, 2.0]}}, "`z`, which is no `pm.Data`"),
    "sequence of constants": (constant_sequence, {"theta": 0.1}, {}, "make its numbers `pm.Data`"),
    "one event": (joint_event, {"theta": 0.1}, {}, "one event over all times"),
    "unequal dates": (lambda: dated(MONTHS.delete(3).insert(11, MONTHS[-1] + MONTHS.freq * 3)), {"theta": 0.1}, {},
                      "do not tell how they go on"),
    "texts": (lambda: dated(list("abcdefghijkl")), {"theta": 0.1}, {}, r"coords=\{'day': labels\}"),
    "too few labels": (lambda: dated(MONTHS), {"theta": 0.1}, {"coords": {"day": [1]}}, "1 labels for 2 periods"),
    "labels of another dim": (lambda: dated(MONTHS), {"theta": 0.1}, {"coords": {"week": [1, 2]}}, "names `week`"),
    "no draws": (lambda: dated(MONTHS), {"other": 0.1}, {}, "hold no"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_forecast_is_refused_with_the_remedy(name: str) -> None:
    make, posterior, named, message = BAD[name]
    with pytest.raises((ModelError, MissingRuleError), match=message):
        pm.forecast(fixed(**posterior), 2, model=make(), random_seed=1, **named)


def test_periods_are_a_whole_number() -> None:
    for wrong in (0, -1, 2.5, "3"):
        with pytest.raises(pm.SamplingError, match="`periods` must be an integer"):
            pm.forecast(fixed(theta=0.1), wrong, model=dated(MONTHS))


def test_labels_may_be_given() -> None:
    found = pm.forecast(fixed(theta=0.1), 2, model=dated(list("abcdefghijkl")), coords={"day": ["m", "n"]})
    assert found.predictions["day"].values.tolist() == ["m", "n"]
