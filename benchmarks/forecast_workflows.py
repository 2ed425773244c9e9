"""Workflows of pymc-forecast, whose forecasters take `nuts_sampler=`.

As in `client_workflows`: arguments of `pm.sample` in, the result out, on small made-up data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.client_workflows import rng, workflow


def weekly(weeks: int = 48) -> Any:
    """A series with a trend and a season of a year's quarter."""
    import pandas as pd

    t = np.arange(weeks)
    values = 10 + 0.1 * t + 2 * np.sin(2 * np.pi * t / 13) + rng().normal(0, 0.5, weeks)
    return pd.Series(values, index=pd.date_range("2024-01-07", periods=weeks, freq="W"))


def forecasted(build: Callable[[Any], None], keywords: Mapping[str, Any]) -> Any:
    """A model fitted to all weeks but the last eight, and its forecast of these."""
    import pymc_forecast as pf

    def model(covariates: Any, data: Any = None) -> None:
        build(pf.Horizon.from_data(covariates, data))

    series = weekly()
    train = series.iloc[:40]
    own = {name: keywords[name] for name in ("draws", "tune", "chains", "nuts_sampler", "random_seed", "progressbar")}
    rest = {name: value for name, value in keywords.items() if name not in own}
    found = pf.fit_mcmc(model, train, sample_kwargs=rest, **own)
    drawn = pf.draw_posterior(found, 100, random_seed=0)
    ahead = pf.forecast(model, drawn, train, pf.null_covariates(series.index), random_seed=0)
    assert np.isfinite(ahead["predictions"]["forecast"].values).all()
    return found.idata


@workflow
def forecast_local_level(k: Mapping[str, Any]) -> Any:
    """A level that moves each week."""
    import pymc
    import pymc_forecast as pf
    import pytensor.tensor as pt

    def build(h: Any) -> None:
        drift = pf.innovations(h, "drift", pymc.Normal.dist(0.0, 0.5))
        pf.predict(h, pymc.Normal.dist(0.0, pymc.HalfNormal("sigma", 1.0)), 10 + pt.cumsum(drift))

    return forecasted(build, k)


@workflow
def forecast_trend(k: Mapping[str, Any]) -> Any:
    """A straight line."""
    import pymc
    import pymc_forecast as pf

    def build(h: Any) -> None:
        level, slope = pymc.Normal("level", 10, 5), pymc.Normal("slope", 0, 0.5)
        noise = pymc.Normal.dist(0.0, pymc.HalfNormal("sigma", 2.0))
        pf.predict(h, noise, level + slope * np.arange(h.duration))

    return forecasted(build, k)


@workflow
def forecast_seasons(k: Mapping[str, Any]) -> Any:
    """A line and a wave of a quarter."""
    import pymc
    import pymc_forecast as pf

    def build(h: Any) -> None:
        level, slope = pymc.Normal("level", 10, 5), pymc.Normal("slope", 0, 0.5)
        waves = pymc.Normal("waves", 0, 2, shape=2)
        t = np.arange(h.duration)
        wave = waves[0] * np.sin(2 * np.pi * t / 13) + waves[1] * np.cos(2 * np.pi * t / 13)
        noise = pymc.Normal.dist(0.0, pymc.HalfNormal("sigma", 2.0))
        pf.predict(h, noise, level + slope * t + wave)

    return forecasted(build, k)


@workflow
def forecast_heavy_tails(k: Mapping[str, Any]) -> Any:
    """A line with outliers."""
    import pymc
    import pymc_forecast as pf

    def build(h: Any) -> None:
        level, slope = pymc.Normal("level", 10, 5), pymc.Normal("slope", 0, 0.5)
        noise = pymc.StudentT.dist(nu=4, mu=0.0, sigma=pymc.HalfNormal("sigma", 2.0))
        pf.predict(h, noise, level + slope * np.arange(h.duration))

    return forecasted(build, k)


@workflow
def forecast_with_priors_as_data(k: Mapping[str, Any]) -> Any:
    """A level whose moves have a common scale, as a nested prior."""
    import pymc
    import pymc_forecast as pf
    import pytensor.tensor as pt
    from pymc_extras.prior import Prior

    def build(h: Any) -> None:
        drift = pf.innovations(h, "drift", Prior("Normal", mu=0, sigma=Prior("Gamma", mu=0.5, sigma=0.1)))
        pf.predict(h, pymc.Normal.dist(0.0, pymc.HalfNormal("sigma", 1.0)), 10 + pt.cumsum(drift))

    return forecasted(build, k)
