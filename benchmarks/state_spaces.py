"""Linear Gaussian state spaces: value and gradient of the log density, compilation, and a forecast.

    python -m benchmarks.state_spaces

Processor time of one thread, the least of several rounds. Trend and season: 13 diffuse states, 4 parameters. SARIMA:
(1,1,1)(1,0,1,12), 15 states, 14 of them stationary.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import consilience as pm
from consilience import statespace


def microseconds(function: Callable[[], Any], count: int) -> float:
    """Processor time of one call, once its machine code has been made in full."""
    found, started = [], time.perf_counter()
    while time.perf_counter() < started + 2.0:
        function()
    for _ in range(7):
        started = time.process_time()
        for _ in range(count):
            function()
        found.append(1e6 * (time.process_time() - started) / count)
    return min(found)


def walk(times: int, series: int = 1) -> np.ndarray:
    """A level that wanders, with a season."""
    rng = np.random.default_rng(0)
    season = 0.3 * np.sin(2 * np.pi * np.arange(times) / 12)[:, None]
    return np.cumsum(0.1 * rng.normal(size=(times, series)), 0) + season + 0.1 * rng.normal(size=(times, series))


def structural() -> statespace.LevelTrend:
    """Level, trend, season of 12 and noise."""
    return statespace.LevelTrend(2) + statespace.TimeSeasonality(12) + statespace.MeasurementError()


def model_of(space: Any, y: np.ndarray) -> pm.Model:
    """A model of one series."""
    with pm.Model() as model:
        space.build_statespace_graph(y)
    return model


def panel(y: np.ndarray) -> pm.Model:
    """All series with the same parameters, as one batch."""
    space = structural()
    with pm.Model() as model:
        values = {p.name: pm.HalfNormal(p.name, 1, shape=len(p.labels) or ()) for p in space.parameters}
        pm.LinearGaussianStateSpace("y", **space.arguments(values, None), observed=y.T[:, :, None])
    return model


def forecasts(count: int = 6) -> list[float]:
    """Processor seconds of forecasts of 24 periods for 4,000 draws of 13 states, the first of them apart."""
    space, rng, found = structural(), np.random.default_rng(0), []
    model = model_of(space, walk(144))
    shapes = {v.name: (4, 1000, *model.named[v.name].static_shape) for v in model.free_RVs}
    draws = pm.to_inference_data({n: 0.02 + 0.1 * np.abs(rng.normal(size=s)) for n, s in shapes.items()}, model=model)
    for _ in range(count):
        started = time.process_time()
        space.forecast(draws, 24, random_seed=1)
        found.append(time.process_time() - started)
    return found


def main() -> None:
    """Print the table."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"commit {commit}; microseconds of processor time")
    sarima = statespace.SARIMAX((1, 1, 1), (1, 0, 1, 12))
    rows: dict[str, tuple[Callable[[], pm.Model], int]] = {
        "level, 144": (lambda: model_of(statespace.LevelTrend(1) + statespace.MeasurementError(), walk(144)), 500),
        "trend and season, 13 states, 144": (lambda: model_of(structural(), walk(144)), 300),
        "SARIMA, 15 states, 144": (lambda: model_of(sarima, walk(144)), 300),
        "trend and season, 10,000": (lambda: model_of(structural(), walk(10_000)), 5),
        "100 series of trend and season, 144": (lambda: panel(walk(144, 100)), 3),
    }
    print(f"{'':40}{'compile, ms':>14}{'value':>12}{'gradient':>12}")
    for name, (make, count) in rows.items():
        model = make()
        started = time.process_time()
        value, slopes = model.compile_logp(), model.compile_dlogp()
        point = model.initial_point()
        value(point), slopes(point)
        compiled = 1e3 * (time.process_time() - started)
        times = [microseconds(partial(f, point), count) for f in (value, slopes)]
        print(f"{name:40}{compiled:14.0f}{times[0]:12.1f}{times[1]:12.1f}", flush=True)
    first, *again = forecasts()
    print(f"forecast of 24 periods, 4,000 draws: {min(again):.2f} s of processor time, the first one {first:.2f} s")


if __name__ == "__main__":
    main()
