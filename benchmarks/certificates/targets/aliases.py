"""Sinusoids whose frequencies regular times do not tell apart: regions of equal or nearly equal mass, known exactly.

Amplitudes are integrated out in closed form, frequencies on a grid; phases, where there are some, on another one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from benchmarks.certificates.exact import chosen, normalised
from benchmarks.certificates.target import Array, Draws, Target

NOISE = 0.5
EVENLY = np.arange(24.0)
UNEVENLY = EVENLY + np.random.default_rng(3).uniform(-0.1, 0.1, 24)
CELLS = 8_000
PAIRS = 800  # of each of two frequencies
AMPLITUDES, PHASES = 60, 120


def clean(times: Array) -> Array:
    """The signal that all data have."""
    return np.sin(2 * np.pi * 0.23 * times + 0.5)


def columns(frequency: Array, times: Array) -> Array:
    """Sines and cosines (..., time, 2 for each frequency) of frequencies (..., frequency)."""
    angles = 2 * np.pi * times[:, None] * frequency[..., None, :]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


def given_frequency(frequency: Array, times: Array, y: Array) -> tuple[Array, Array, Array]:
    """Log evidence of frequencies (..., frequency), and mean and precision of their amplitudes, standard before."""
    x = columns(frequency, times)
    precision = np.swapaxes(x, -1, -2) @ x / NOISE**2 + np.eye(x.shape[-1])
    inner = np.einsum("...tk,t->...k", x, y) / NOISE**2
    mean = np.linalg.solve(precision, inner[..., None])[..., 0]
    return 0.5 * (inner * mean).sum(-1) - 0.5 * np.linalg.slogdet(precision)[1], mean, precision


def folded(name: str, most: float) -> Callable[[Draws], Draws]:
    """The frequency, and in which half unit of it the draws are."""

    def measure(draws: Draws) -> Draws:
        place = np.floor(2.0 * draws[name])
        return {"f": draws[name], **{f"alias {k}": place == k for k in range(round(2.0 * most))}}

    return measure


def sinusoid(prior: Any, density: Callable[[Array], Array], most: float, times: Array = EVENLY) -> Target:
    """One frequency and two amplitudes; `density`: log prior of the frequency, which is negligible beyond `most`."""
    y = clean(times)

    def make() -> pm.Model:
        with pm.Model() as model:
            f, a = prior(), pm.Normal("a", 0.0, 1.0, shape=2)
            wave = a[0] * pt.sin(2 * np.pi * f * times) + a[1] * pt.cos(2 * np.pi * f * times)
            pm.Normal("y", wave, NOISE, observed=y)
        return model

    def draw(rng: np.random.Generator, count: int) -> Draws:
        width = most / CELLS
        grid = width * (np.arange(CELLS) + 0.5)
        logs, mean, precision = given_frequency(grid[:, None], times, y)
        place = rng.choice(CELLS, count, p=normalised(logs + density(grid)))
        factors = np.linalg.cholesky(np.linalg.inv(precision))[place]
        a = mean[place] + (factors @ rng.normal(size=(count, 2, 1)))[..., 0]
        return {"f": grid[place] + width * (rng.random(count) - 0.5), "a": a}

    return Target(make, draw, folded("f", most))


def period() -> Target:
    """The same by its period, which divides times."""
    y = clean(EVENLY)

    def make() -> pm.Model:
        with pm.Model() as model:
            length, a = pm.Uniform("length", 0.5, 6.0), pm.Normal("a", 0.0, 1.0, shape=2)
            angles = 2 * np.pi * EVENLY / length
            pm.Normal("y", a[0] * pt.sin(angles) + a[1] * pt.cos(angles), NOISE, observed=y)
        return model

    def draw(rng: np.random.Generator, count: int) -> Draws:
        width = (2.0 - 1.0 / 6.0) / CELLS
        grid = 1.0 / 6.0 + width * (np.arange(CELLS) + 0.5)
        logs = given_frequency(grid[:, None], EVENLY, y)[0]
        place = rng.choice(CELLS, count, p=normalised(logs - 2.0 * np.log(grid)))
        return {"length": 1.0 / (grid[place] + width * (rng.random(count) - 0.5))}

    def measure(draws: Draws) -> Draws:
        return folded("f", 2.0)({"f": 1.0 / draws["length"]})

    return Target(make, draw, measure)


def two_sinusoids() -> Target:
    """Two frequencies below one: two aliases of each, and their order."""
    y = clean(EVENLY) + 0.8 * np.sin(2 * np.pi * 0.41 * EVENLY + 1.2)

    def make() -> pm.Model:
        with pm.Model() as model:
            f, a = pm.Uniform("f", 0.0, 1.0, shape=2), pm.Normal("a", 0.0, 1.0, shape=(2, 2))
            angles = 2 * np.pi * f[:, None] * EVENLY
            wave = pt.sum(a[:, :1] * pt.sin(angles) + a[:, 1:] * pt.cos(angles), axis=0)
            pm.Normal("y", wave, NOISE, observed=y)
        return model

    @cache
    def evidence() -> Array:
        grid = (np.arange(PAIRS) + 0.5) / PAIRS
        return np.stack([given_frequency(np.stack([np.full(PAIRS, f), grid], axis=-1), EVENLY, y)[0] for f in grid])

    def draw(rng: np.random.Generator, count: int) -> Draws:
        place = rng.choice(PAIRS**2, count, p=normalised(evidence()).ravel())
        cells = np.stack(np.unravel_index(place, (PAIRS, PAIRS)), axis=-1)
        return {"f": (cells + rng.random((count, 2))) / PAIRS}

    def measure(draws: Draws) -> Draws:
        first, second = (draws["f"][..., k] for k in (0, 1))
        corners = {f"{a}{b}": ((first > 0.5) == a) & ((second > 0.5) == b) for a in (0, 1) for b in (0, 1)}
        lower = np.minimum(first, 1.0 - first) < np.minimum(second, 1.0 - second)
        return {"f": draws["f"], "order": lower, **corners}

    return Target(make, draw, measure)


def phase() -> Target:
    """An amplitude and a phase in place of two amplitudes."""
    y = clean(EVENLY)

    def make() -> pm.Model:
        with pm.Model() as model:
            f, a = pm.Uniform("f", 0.0, 2.0), pm.HalfNormal("a", 1.0)
            angle = pm.Uniform("angle", -np.pi, np.pi)
            pm.Normal("y", a * pt.sin(2 * np.pi * f * EVENLY + angle), NOISE, observed=y)
        return model

    @cache
    def evidence() -> tuple[Array, Array, Array, Array]:
        f = 2.0 * (np.arange(CELLS // 4) + 0.5) / (CELLS // 4)
        a = 3.0 * (np.arange(AMPLITUDES) + 0.5) / AMPLITUDES
        angle = 2.0 * np.pi * ((np.arange(PHASES) + 0.5) / PHASES - 0.5)
        parts = np.stack([a[:, None] * np.cos(angle), a[:, None] * np.sin(angle)]).reshape(2, -1)
        logs = []
        for one in f:
            x = columns(np.array([one]), EVENLY)
            misfit = -2.0 * (y @ x) @ parts + ((x.T @ x @ parts) * parts).sum(0)
            logs.append(-0.5 * misfit / NOISE**2 + np.repeat(stats.norm.logpdf(a), PHASES))
        return f, a, angle, np.stack(logs)

    def draw(rng: np.random.Generator, count: int) -> Draws:
        f, a, angle, logs = evidence()
        peaks = logs.max(axis=1, keepdims=True)
        along = peaks[:, 0] + np.log(np.exp(logs - peaks).sum(axis=1))
        place = rng.choice(len(f), count, p=normalised(along))
        cell = np.array([chosen(rng, logs[k]) for k in place])
        steps = [2.0 / len(f), 3.0 / AMPLITUDES, 2.0 * np.pi / PHASES]
        noise = (rng.random((3, count)) - 0.5) * np.array(steps)[:, None]
        return {
            "f": f[place] + noise[0],
            "a": a[cell // PHASES] + noise[1],
            "angle": angle[cell % PHASES] + noise[2],
        }

    def measure(draws: Draws) -> Draws:
        return {**folded("f", 2.0)(draws), "a": draws["a"]}

    return Target(make, draw, measure)


ALIASES = {
    "four aliases": sinusoid(lambda: pm.Uniform("f", 0.0, 2.0), np.zeros_like, 2.0),
    "four aliases, unequal times": sinusoid(lambda: pm.Uniform("f", 0.0, 2.0), np.zeros_like, 2.0, UNEVENLY),
    "aliases without end": sinusoid(lambda: pm.Exponential("f", 1.0), np.negative, 12.0),
    "aliases, gamma prior": sinusoid(lambda: pm.Gamma("f", 2.0, 2.0), stats.gamma(2.0, scale=0.5).logpdf, 8.0),
    "aliases of two frequencies": two_sinusoids(),
    "aliases by phase": phase(),
    "aliases by period": period(),
    "aliases, longer series": sinusoid(lambda: pm.Uniform("f", 0.0, 2.0), np.zeros_like, 2.0, np.arange(60.0)),
}
