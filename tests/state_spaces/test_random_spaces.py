"""Random models of `pm.statespace`, with gaps, regressors, holidays and dates: forecasts against densities.

The density of one more value is that of all less that of those before it: three values of a quadratic function of it
tell mean and variance of the forecast, by another road than the forecast takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import statespace as ss
from tests.rows import holds_for_each

pd = pytest.importorskip("pandas")
N = 3000


def components(rng: np.random.Generator, times: Any) -> Any:
    """A sum of components; holidays lie on some of the times and behind them."""
    order = int(rng.integers(1, 3))
    space: Any = ss.LevelTrend(order, innovations_order=[int(x) for x in rng.integers(0, 2, order)])
    others = {
        "season": lambda: ss.TimeSeasonality(int(rng.integers(2, 5)), innovations=bool(rng.integers(2))),
        "waves": lambda: ss.FrequencySeasonality(4, n=int(rng.integers(1, 3)), innovations=bool(rng.integers(2))),
        "cycle": lambda: ss.Cycle(cycle_length=float(rng.uniform(3, 6)), dampen=False),
        "AR": lambda: ss.Autoregressive(int(rng.integers(1, 3))),
        "regression": lambda: ss.Regression(["a", "b"][: rng.integers(1, 3)], innovations=bool(rng.integers(2))),
        "holidays": lambda: ss.Holidays({"one": times[[3, -1]], "two": [times[5]]}, innovations=bool(rng.integers(2))),
    }
    for name in rng.permutation(list(others))[: rng.integers(0, 4)]:
        if not (name == "waves" and "seasonal" in str(space.param_names)):
            space = space + others[str(name)]()
    return space + ss.MeasurementError()


def named(rng: np.random.Generator, times: Any) -> Any:
    """A model by name."""
    del times
    season = (1, int(rng.integers(2)), int(rng.integers(2)), 3) if rng.random() < 0.4 else (0, 0, 0, 0)
    p, d, q = (int(x) for x in rng.integers(0, [3, 2, 3]))
    order, noisy = (max(p, 1 - q), d, q), bool(rng.integers(2))
    kinds: list[Any] = [
        lambda: ss.SARIMAX(order, season if season[0] else None, measurement_error=noisy),
        lambda: ss.ETS(("A", str(rng.choice(["N", "A", "Ad"])), "A"), 3),
        lambda: ss.VARMAX((1, int(rng.integers(2))), ["a", "b"], measurement_error=True),
        lambda: ss.DynamicFactor(1, int(rng.integers(1, 3)), ["a", "b"]),
    ]
    return kinds[rng.integers(len(kinds))]()


def one_step(space: Any, values: dict[str, Any], y: Any, exog: Any) -> tuple[Any, Any]:
    """Mean and covariance of the last row of a series given those before, by log densities."""
    given = space.arguments({name: pt.as_tensor(v) for name, v in values.items()}, exog)
    moving = set(given.get("varying") or ())
    before = {name: pt.as_tensor(x)[:-1] if name in moving else x for name, x in given.items()}
    p = y.shape[1]
    shifts = [np.zeros(p), *np.eye(p), *-np.eye(p), *([np.ones(p)] if p > 1 else [])]
    places = [np.concatenate([y[:-1], y[-1:] + shift]) for shift in shifts]
    rv = pm.LinearGaussianStateSpace.dist(**given, steps=len(y) - 1)
    past = pm.LinearGaussianStateSpace.dist(**before, steps=len(y) - 2)
    found = np.array([pm.logp(rv, series).eval() for series in places]) - pm.logp(past, y[:-1]).eval()
    slopes = (found[1 : 1 + p] - found[1 + p : 1 + 2 * p]) / 2
    curves = np.diag(found[1 : 1 + p] + found[1 + p : 1 + 2 * p] - 2 * found[0])
    if p > 1:
        curves = curves + (found[-1] - found[0] - slopes.sum() - np.trace(curves) / 2) * (1 - np.eye(p)) / (p - 1)
    covariance = np.linalg.inv(-curves)
    mean = y[-1] + covariance @ slopes
    peak = -0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    assert found[0] == pytest.approx(peak - 0.5 * slopes @ covariance @ slopes, abs=1e-6)  # it is normal
    return mean, covariance


def check(seed: int) -> None:
    """A random model."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(22, 30))
    times = pd.date_range("2024-01-31", periods=count + 1, freq=str(rng.choice(["D", "ME", "W"])))
    space = (components if rng.random() < 0.6 else named)(rng, times)
    y = 0.3 * rng.normal(size=(count + 1, space.columns)).cumsum(0) + rng.normal(size=(count + 1, space.columns))
    y[:-1][rng.random((count, space.columns)) < rng.choice([0.0, 0.1])] = np.nan
    exog = rng.normal(size=(count + 1, len(space.exog_names)))
    table = pd.DataFrame(exog, times, columns=list(space.exog_names)) if space.exog_names else None
    with pm.Model() as model:
        space.build_statespace_graph(pd.DataFrame(y[:-1], times[:-1]), exog=None if table is None else table.iloc[:-1])
    prior = pm.sample_prior_predictive(1, model=model, random_seed=seed)["prior"]
    values = {name: np.asarray(prior[name].values[0, 0]) for name in space.param_names}
    whole = space.regressors(exog if space.exog_names else None, times)
    mean, covariance = one_step(space, values, y, whole)
    free = {v.name: prior[v.name].values[:, 0] for v in model.free_RVs}
    draws = {name: np.broadcast_to(v[:, None], (1, N, *v.shape[1:])) for name, v in free.items()}
    ahead = space.forecast(draws, 1, exog=None if table is None else table.iloc[-1:], random_seed=seed)
    assert ahead["time_ahead"].to_index()[0] == times[-1]
    found = ahead["forecast_observed"].values[0, :, 0]
    deviation = np.sqrt(np.diag(covariance))
    np.testing.assert_array_less(np.abs(found.mean(0) - mean), 5 * deviation / np.sqrt(N) + 1e-9)
    standard = np.cov(found.T).reshape(covariance.shape) / np.outer(deviation, deviation)
    expected = covariance / np.outer(deviation, deviation)
    np.testing.assert_array_less(np.abs(standard - expected), 6 * np.sqrt(2 / N))


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 120), marks=pytest.mark.slow)])
def test_forecasts_of_random_models_have_the_density_of_what_follows(seeds: range) -> None:
    holds_for_each([(str(seed), seed) for seed in seeds], check)
