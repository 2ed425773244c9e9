"""Simulated fields with known hyperparameters: how often 90 % intervals hold the truth.

`python -m benchmarks.hard_posteriors.known [--runs N] [--processes P] [--out FILE]`, or `--summary FILES`.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from scipy.stats import binom

import consilience as pm
import consilience.tensor as pt
from benchmarks.hard_posteriors.growing import edges
from benchmarks.rows_of_processes import made, parser_of, read

MASS: Final = 0.9
ALPHA: Final = 0.01  # of each share being called wrong although it is right
DAYS, SIDE = 1_000, 20


def volatility(seed: int) -> tuple[pm.Model, dict[str, Any]]:
    """Returns of 1,000 days whose log volatility is a random walk."""
    rng = np.random.default_rng([31, seed])
    truth = {"step": 0.1, "nu": 8.0}
    level = 0.5 * rng.normal() + truth["step"] * np.concatenate([[0.0], rng.normal(size=DAYS - 1).cumsum()])
    returns = np.exp(level) * rng.standard_t(truth["nu"], DAYS)
    with pm.Model() as model:
        step, nu = pm.Exponential("step", 10), pm.Gamma("nu", 2, 0.1)
        field = pm.GaussianRandomWalk("field", sigma=step, init_dist=pm.Normal.dist(0, 0.5), shape=DAYS)
        pm.StudentT("returns", nu=nu, lam=pt.exp(-2 * field), observed=returns)
    return model, truth | {"field": level}


def autoregression(seed: int) -> tuple[pm.Model, dict[str, Any]]:
    """Counts in 400 cells whose log rate is a conditional autoregression."""
    rng = np.random.default_rng([32, seed])
    truth = {"level": 1.0, "sigma": 0.6, "alpha": 0.95}
    first, second = edges(np, SIDE)
    W = np.zeros((SIDE * SIDE, SIDE * SIDE))
    W[first, second] = W[second, first] = 1.0
    factor = np.linalg.cholesky(np.diag(W.sum(1)) - truth["alpha"] * W)
    field = truth["sigma"] * np.linalg.solve(factor.T, rng.normal(size=SIDE * SIDE))
    counts = rng.poisson(np.exp(truth["level"] + field))
    with pm.Model() as model:
        level, sigma, alpha = pm.Normal("level", 0, 2), pm.HalfNormal("sigma", 1), pm.Uniform("alpha", 0, 1)
        phi = pm.CAR("field", mu=0.0, W=W, alpha=alpha, tau=sigma**-2)
        pm.Poisson("counts", pt.exp(level + phi), observed=counts)
    return model, truth | {"field": field}


MODELS: Final = {"stochastic volatility": volatility, "conditional autoregression": autoregression}


def one(work: tuple[str, int]) -> dict[str, Any]:
    """A simulation: what share of each variable's elements is between its quantiles of 5 and 95 %."""
    name, seed = work
    model, truth = MODELS[name](seed)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pm.sample(model=model, random_seed=seed, cores=1, progressbar=False)
    held = {}
    for variable, value in truth.items():
        low, high = np.quantile(result.posterior[variable].values, [(1 - MASS) / 2, (1 + MASS) / 2], axis=(0, 1))
        held[variable] = float(np.mean((low <= value) & (value <= high)))
    return {
        "model": name,
        "seed": seed,
        "held": held,
        "status": str(result.status),
        "reason": str(result.reason),
        "gradients": int(result.posterior.attrs["gradients"]),
        "seconds": time.perf_counter() - began,
    }


def show(rows: Iterable[dict[str, Any]]) -> None:
    """Shares of intervals that hold the truth, with what chance allows; of fields the mean share over elements."""
    of: dict[str, list[dict[str, Any]]] = {}
    for row in {(row["model"], row["seed"]): row for row in rows}.values():
        of.setdefault(row["model"], []).append(row)
    for name, runs in of.items():
        statuses, seconds = Counter(run["status"] for run in runs), sum(run["seconds"] for run in runs) / len(runs)
        print(f"\n{name}: {len(runs)} simulations, {seconds:.1f} s each; {dict(statuses)}")
        for variable in runs[0]["held"]:
            shares = np.array([run["held"][variable] for run in runs])
            if set(shares) <= {0.0, 1.0}:
                low, high = binom.interval(1 - ALPHA, len(runs), MASS)
                kept = low <= shares.sum() <= high
                said = f"{shares.sum():.0f} of {len(runs)} (by chance {low:.0f} to {high:.0f})"
            else:
                error = 2.6 * shares.std(ddof=1) / len(shares) ** 0.5 if len(shares) > 1 else np.inf
                kept = abs(shares.mean() - MASS) <= error
                said = f"{100 * shares.mean():.1f} % of elements (90 +- {100 * error:.1f})"
            print(f"  {variable:8s} {said}  {'kept' if kept else 'MISSED'}")


def main() -> None:
    """Run or read."""
    given = parser_of("benchmarks.hard_posteriors.known", __doc__, list(MODELS), "simulations").parse_args()
    work = [(name, seed) for seed in range(given.runs) for name in given.models]
    show(read(given.summary) if given.summary else made(one, work, given))


if __name__ == "__main__":
    main()
