"""Regression trees on Friedman's function: time, error at rows held out, coverage, and how chains mix.

`python -m benchmarks.regression_trees [ROWSxCOLUMNS | bernoulli | probit | poisson | scales] ... [--seeds 0 1 2]`: four
chains of 1,000 + 1,000 sweeps over 50 trees, one thread, processor seconds. RMSE and coverage of 90 % intervals are of
the function at 1,000 other rows; effective sample sizes of the function at 50 rows. The cases with a name have 1,000
rows and 10 columns: binary responses, counts, and a mean and a log scale that are both sums of trees (the function is
the mean).
`--peer PYTHON`, an interpreter that has stochtree, runs it in turn on the same data where the noise is normal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

import consilience as pm
from consilience.diagnostics import ess_bulk, split_rhat

USUAL = ("200x10", "1000x10", "bernoulli")
ROWS = 1000


def friedman(rng: np.random.Generator, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Covariates and the function."""
    X = rng.uniform(size=(n, p))
    return X, 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def likelihood(case: str, x: Any, f: np.ndarray, rng: np.random.Generator) -> None:
    """Data of a case, and a model of them whose function is `mu`."""
    if case in ("bernoulli", "probit"):
        y = (rng.uniform(size=len(f)) < f).astype(int)
        mu = pm.BART("mu", x, y, m=50)
        p = pm.math.invlogit(mu) if case == "bernoulli" else pm.math.invprobit(mu)
        pm.Bernoulli("y", p, observed=y, shape=mu.shape)
    elif case == "poisson":
        y = rng.poisson(np.exp(f))
        mu = pm.BART("mu", x, np.log(y + 0.5), m=50)
        pm.Poisson("y", pm.math.exp(mu), observed=y, shape=mu.shape)
    else:
        y = f + rng.normal(size=len(f)) * (np.exp((f - 14.4) / 10) if case == "scales" else 1.0)
        mu = pm.BART("mu", x, y, m=50)
        if case == "scales":
            scale = pm.math.exp(pm.BART("log_scale", x, np.log(np.abs(y - y.mean())), m=50))
        else:
            scale = pm.HalfNormal("sigma", 2.0)
        pm.Normal("y", mu, scale, observed=y, shape=mu.shape)


def on_the_scale_of_data(case: str, f: np.ndarray) -> np.ndarray:
    """What a function of the covariates means in a case: a probability for binary data."""
    if case == "bernoulli":
        return 1 / (1 + np.exp(-f))
    return ndtr(f) if case == "probit" else f


def peer(python: str, case: str, draws: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Figures of stochtree on the data of `measured`."""
    rng = np.random.default_rng(seed)
    n, p = map(int, case.split("x"))
    (X, f), (new, truth) = friedman(rng, n, p), friedman(rng, ROWS, p)
    worker = Path(__file__).parent / "workers" / "stochtree_run.py"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, X=X, y=f + rng.normal(size=n), new=new, truth=truth)
        done = subprocess.run(
            [python, worker, file, str(draws), str(seed)], capture_output=True, text=True, check=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(case: str, draws: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Figures of one run."""
    rng = np.random.default_rng(seed)
    n, p = map(int, case.split("x")) if case[0].isdigit() else (1000, 10)
    (X, f), (new, truth) = friedman(rng, n, p), friedman(rng, ROWS, p)
    if case in ("bernoulli", "probit", "poisson"):
        f, truth = (g / 10 if case == "poisson" else 1 / (1 + np.exp(-(g - 14.4) / 5)) for g in (f, truth))
    with pm.Model() as model:
        x = pm.Data("x", X)
        likelihood(case, x, f, rng)
        begun = time.process_time()
        result = pm.sample(
            draws, tune=draws, chains=4, cores=1, random_seed=seed + 1, progressbar=False,
            compute_convergence_checks=False,
        )  # fmt: skip
        seconds = time.process_time() - begun
    begun = time.process_time()
    found = pm.bart.predict(result, new, "mu", model=model).reshape(-1, ROWS)
    predicting = time.process_time() - begun
    found = on_the_scale_of_data(case, found)
    low, high = np.quantile(found, [0.05, 0.95], axis=0)
    some = result.posterior["mu"].to_numpy()[:, :, np.linspace(0, n - 1, 50).astype(int)]
    sizes, rhat = ess_bulk(some), split_rhat(some)
    words = result.sample_stats["mu_trees"].to_numpy()
    return {
        "seconds": round(seconds, 1),
        "us per tree": round(seconds * 1e6 / (8 * draws * 50), 1),
        "rmse": round(float(np.sqrt(np.mean((found.mean(axis=0) - truth) ** 2))), 3),
        "coverage": round(float(np.mean((low < truth) & (truth < high))), 3),
        "width": round(float(np.mean(high - low)), 2),
        "ess": f"{np.median(sizes):.0f} (least {sizes.min():.0f})",
        "rhat": f"{np.median(rhat):.3f} (most {rhat.max():.3f})",
        "prediction seconds": round(predicting, 1),
        "MB of trees": round(words.nbytes / 1e6, 1),
        "MB in use": round(np.count_nonzero(words) * 8 / 1e6, 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=USUAL)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--peer", metavar="PYTHON")
    parser.add_argument("--draws", type=int, default=1000)
    given = parser.parse_args()
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout
    print("commit", commit.strip())
    measured("50x5", 5)  # loads and compiles
    for case in given.cases:
        for seed in given.seeds:
            print(case, seed, measured(case, given.draws, seed), flush=True)
            if given.peer and case[0].isdigit():
                print(case, seed, "stochtree", peer(given.peer, case, given.draws, seed), flush=True)
