"""Densities of a million rows by their sufficient statistics, and row by row.

    python -m benchmarks.sufficient_statistics [ROWS]

Processor time of one gradient and of compiling, with statistics and without, and the greatest relative difference of
the gradients. The last rows sample a regression as it is, and with its effects of groups integrated out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from unittest import mock

import numpy as np

import consilience as pm
from benchmarks.native import one_core
from benchmarks.report import Row, show
from consilience.model import row_statistics
from consilience.model.log_density import ModelDensity, model_density
from consilience.transforms import equal_rows

RNG = np.random.default_rng(0)
COLUMNS, GROUPS, LEVELS = 20, 500, 12


def cases(rows: int) -> dict[str, Callable[[], None]]:
    """Models by name; each declares its variables in the model around it."""
    x = RNG.normal(size=(rows, COLUMNS))
    group, level = RNG.integers(0, GROUPS, rows), RNG.integers(0, LEVELS, rows)
    y, count, exposure = x[:, 0] + RNG.normal(size=rows), RNG.poisson(2.0, rows), RNG.gamma(2.0, 1.0, rows)

    def normal() -> None:
        pm.Normal("y", pm.Normal("a") + x @ pm.Normal("b", shape=COLUMNS), pm.HalfNormal("s"), observed=y)

    def categories() -> None:
        u, v = pm.Normal("u", shape=GROUPS), pm.Normal("v", shape=LEVELS)
        pm.Normal("y", u[group] + v[level], pm.HalfNormal("s"), observed=y)

    def mixed() -> None:
        u = pm.Normal("u", 0.0, pm.HalfNormal("t"), shape=GROUPS)
        pm.Normal("y", u[group] + x @ pm.Normal("b", shape=COLUMNS), pm.HalfNormal("s"), observed=y)

    def bernoulli() -> None:
        u, v = pm.Normal("u", shape=GROUPS), pm.Normal("v", shape=LEVELS)
        pm.Bernoulli("y", logit_p=u[group] + v[level], observed=count > 1)

    def poisson() -> None:
        u, v = pm.Normal("u", shape=GROUPS), pm.Normal("v", shape=LEVELS)
        pm.Poisson("y", exposure * pm.math.exp(u[group] + v[level]), observed=count)

    return {
        f"normal, {COLUMNS} predictors": normal,
        f"normal, categories {GROUPS} + {LEVELS}": categories,
        f"normal, {GROUPS} groups and {COLUMNS} predictors": mixed,
        f"Bernoulli, categories {GROUPS} + {LEVELS}": bernoulli,
        f"Poisson with exposure, {GROUPS} + {LEVELS}": poisson,
    }


def compiled(write: Callable[[], None]) -> tuple[float, ModelDensity]:
    """Processor time of compiling, and the density."""
    with pm.Model() as model:
        write()
    began = time.process_time()
    density = model_density(model)
    return time.process_time() - began, density


def per_gradient(density: ModelDensity, position: np.ndarray) -> float:
    """The shortest processor time of several series of gradients, for one of them."""
    began = time.process_time()
    density(position)
    count = max(1, int(0.1 / max(time.process_time() - began, 1e-5)))
    best = np.inf
    for _ in range(5):
        began = time.process_time()
        for _ in range(count):
            density(position)
        best = min(best, (time.process_time() - began) / count)
    return float(best)


def main(rows: int) -> None:
    """All cases, and a run."""
    found: list[Row] = []
    one_core()
    for name, write in cases(rows).items():
        with (
            mock.patch.object(row_statistics, "by_statistics", list),
            mock.patch.object(equal_rows, "_counted", return_value=None),
        ):
            before, slow = compiled(write)
        after, fast = compiled(write)
        position = RNG.normal(0, 0.1, fast.dimension)
        (old, slopes), (new, wanted) = fast(position), slow(position)
        difference = max(abs(old / new - 1), float(np.abs(slopes - wanted).max() / np.abs(wanted).max()))
        times = [per_gradient(density, position) for density in (slow, fast)]
        note = f"{1e6 * times[0]:.0f} us a gradient before, compiled in {after:.2f} s ({before:.2f} s), "
        found.append(Row(name, 1e6 * times[1], "us", 1e6 * times[0] / 10, note=f"{note}differs by {difference:.1g}"))
    with pm.Model() as model:
        cases(rows // 100)[f"normal, {GROUPS} groups and {COLUMNS} predictors"]()
    for name, one in (("as it is", model), ("u collapsed", pm.collapse(model, "u"))):
        began = time.process_time()
        result = pm.sample(model=one, random_seed=1, progressbar=False)
        note = result.posterior.attrs["status"]
        found.append(Row(f"sampled, {rows // 100} rows, {name}", time.process_time() - began, "s", note=note))
    show(f"Sums over {rows} rows", found)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
