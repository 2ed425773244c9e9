"""Regression trees on Friedman's function: time, error at rows held out, coverage, and how chains mix.

`python -m benchmarks.regression_trees [ROWSxCOLUMNS | bernoulli] ...`: four chains of 1,000 + 1,000 sweeps over 50
trees, one thread, processor seconds. RMSE and coverage of 90 % intervals are of the function at 1,000 other rows;
effective sample sizes of the function at 50 rows.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import consilience as pm
from consilience.diagnostics import ess_bulk, split_rhat

USUAL = ("200x10", "1000x10", "bernoulli")
ROWS = 1000


def friedman(rng: np.random.Generator, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Covariates and the function."""
    X = rng.uniform(size=(n, p))
    return X, 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def measured(case: str, draws: int = 1000) -> dict[str, Any]:
    """Figures of one run."""
    rng = np.random.default_rng(0)
    binary = case == "bernoulli"
    n, p = (1000, 10) if binary else map(int, case.split("x"))
    (X, f), (new, truth) = friedman(rng, n, p), friedman(rng, ROWS, p)
    with pm.Model() as model:
        x = pm.Data("x", X)
        if binary:
            f, truth = (1 / (1 + np.exp(-(g - 14.4) / 5)) for g in (f, truth))
            y = (rng.uniform(size=n) < f).astype(int)
            mu = pm.BART("mu", x, y, m=50)
            pm.Bernoulli("y", logit_p=mu, observed=y, shape=mu.shape)
        else:
            y = f + rng.normal(size=n)
            mu = pm.BART("mu", x, y, m=50)
            pm.Normal("y", mu, pm.HalfNormal("sigma", 2.0), observed=y, shape=mu.shape)
        begun = time.process_time()
        result = pm.sample(
            draws, tune=draws, chains=4, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
        seconds = time.process_time() - begun
    begun = time.process_time()
    found = pm.bart.predict(result, new, model=model).reshape(-1, ROWS)
    predicting = time.process_time() - begun
    found = 1 / (1 + np.exp(-found)) if binary else found
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
    measured("50x5", 5)  # loads and compiles
    for one in sys.argv[1:] or USUAL:
        print(one, measured(one), flush=True)
