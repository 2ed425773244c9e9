"""Particle filters beside the same in plain NumPy: seconds for each filter, and what backward simulation takes.

Poisson counts of an autoregressive state, 500 times; one filter on one thread, after the first call, and a filter that
keeps no particles. NumPy's steps are whole-array operations on all particles, with the same rule of resampling.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.report import Row, show

TIMES, RHO, NOISE = 500, 0.95, 0.3
REPEATS = 7
DRAWS = 200


def series() -> pm.StateSpaceModel:
    """States that return to 0, and counts."""
    return pm.StateSpaceModel(
        lambda: pm.Normal.dist(0, 1),
        lambda x: pm.Normal.dist(RHO * x, NOISE),
        lambda x: pm.Poisson.dist(pt.exp(x)),
    )


def by_numpy(y: np.ndarray, particles: int, seed: int) -> float:
    """The log of the likelihood's estimate, with systematic resampling below half of the particles."""
    generator = np.random.default_rng(seed)
    x, logs, total = generator.normal(size=particles), np.full(particles, -np.log(particles)), 0.0
    factorials = np.array([np.log(np.arange(1, n + 1)).sum() for n in y])
    for t, count in enumerate(y):
        if t:
            weights = np.exp(logs - logs.max())
            weights /= weights.sum()
            if 1 / (weights**2).sum() < 0.5 * particles:
                shares = (np.arange(particles) + generator.random()) / particles
                x = x[np.minimum(np.searchsorted(np.cumsum(weights), shares, side="right"), particles - 1)]
                logs = np.full(particles, -np.log(particles))
            x = RHO * x + NOISE * generator.normal(size=particles)
        logs = logs + count * x - np.exp(x) - factorials[t]
        highest = logs.max()
        increment = highest + np.log(np.exp(logs - highest).sum())
        total += increment
        logs = logs - increment
    return float(total)


def backwards(x: np.ndarray, logs: np.ndarray, seed: int) -> np.ndarray:
    """Paths drawn backwards through particles (time, particle)."""
    generator = np.random.default_rng(seed)
    weights = np.exp(logs[-1])
    paths = np.empty((DRAWS, len(x)))
    paths[:, -1] = generator.choice(x[-1], DRAWS, p=weights / weights.sum())
    for t in range(len(x) - 2, -1, -1):
        found = logs[t] - 0.5 * ((paths[:, t + 1, None] - RHO * x[t]) / NOISE) ** 2
        sums = np.cumsum(np.exp(found - found.max(1, keepdims=True)), axis=1)
        places = (sums < generator.random((DRAWS, 1)) * sums[:, -1:]).sum(1)
        paths[:, t] = x[t][places]
    return paths


def fastest(function: Callable[[int], object]) -> float:
    """Seconds of one call."""
    function(0)
    times = []
    for i in range(REPEATS):
        begun = time.perf_counter()
        function(i)
        times.append(time.perf_counter() - begun)
    return min(times)


def main() -> None:
    """Print all."""
    rows = []
    for particles in (200, 1000, 10000):
        model = series()
        y = model.simulate(TIMES, random_seed=1)["prior"]["y"].values[0, 0]
        settings = {"particles": particles, "chains": 1, "keep_particles": False}
        begun = time.perf_counter()
        model.filter(y, random_seed=0, **settings)
        first = time.perf_counter() - begun
        own = fastest(lambda i, m=model, y=y, s=settings: m.filter(y, random_seed=i, **s))
        plain = fastest(lambda i, y=y, n=particles: by_numpy(y, n, i))
        ours = model.filter(y, random_seed=5, **{**settings, "chains": 20})["sample_stats"].attrs
        theirs = np.array([by_numpy(y, particles, i) for i in range(20)])
        gap = ours["log_marginal_likelihood"] - np.log(np.exp(theirs - theirs.max()).mean()) - theirs.max()
        rows += [
            Row(f"{particles} particles: compiling and the first filter", first, "s"),
            Row(f"{particles} particles: a filter", own * 1e3, "ms"),
            Row(
                f"{particles} particles: NumPy's time over ours", plain / own, "", note=f"evidences differ by {gap:.2f}"
            ),
        ]
    kept = model.filter(y, random_seed=0, particles=1000, chains=1)
    x, logs = (kept["particles"][name].values[0] for name in ("x", "log_weight"))
    own = fastest(lambda i: model.smooth(kept, draws=DRAWS, random_seed=i))
    plain = fastest(lambda i: backwards(x, logs, i))
    rows += [
        Row(f"{DRAWS} paths backwards through 1000 particles", own * 1e3, "ms"),
        Row("paths backwards: NumPy's time over ours", plain / own, ""),
    ]
    show(f"Particle filters of {TIMES} counts, one thread", rows)


if __name__ == "__main__":
    main()
