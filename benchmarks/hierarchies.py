"""Centred hierarchies as people write them: how runs end, with and without other coordinates, over several seeds.

For each model the runs that ended with draws that can be used (converged, perhaps with a few divergences), and medians
of the seconds that a run took and of the evaluations of the density. The density as written is compiled before. The
reference is the same run with `reparametrize=False`.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable

import numpy as np

import consilience as pm
from benchmarks.report import Row, show
from consilience.sample.groups import REMEDIES

SEEDS = range(int(os.environ.get("SEEDS", "10")))
FINE = ("converged", "converged_with_divergences")
RNG = np.random.default_rng(0)


def eight_schools() -> None:
    mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
    theta = pm.Normal("theta", mu, tau, shape=8)
    errors = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]
    pm.Normal("y", theta, errors, observed=[28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])


def funnel() -> None:
    v = pm.Normal("v", 0.0, 3.0)
    pm.Normal("x", 0.0, pm.math.exp(v / 2.0), shape=9)


def few_rows() -> None:
    group, x = np.repeat(np.arange(50), 3), RNG.normal(size=150)
    y = RNG.normal(1.0, 0.3, 50)[group] + 0.5 * x + RNG.normal(size=150)
    theta = pm.Normal("theta", pm.Normal("mu", 0.0, 5.0), pm.HalfNormal("tau", 2.0), shape=50)
    pm.Normal("y", theta[group] + pm.Normal("b", 0.0, 2.0) * x, pm.HalfNormal("sigma", 2.0), observed=y)


def many_rows() -> None:
    group = np.repeat(np.arange(50), 100)
    y = RNG.normal(size=50)[group] + RNG.normal(size=5000)
    theta = pm.Normal("theta", pm.Normal("mu", 0.0, 5.0), pm.HalfNormal("tau", 2.0), shape=50)
    pm.Normal("y", theta[group], pm.HalfNormal("sigma", 2.0), observed=y)


def uneven() -> None:
    rows = np.array([1, 1, 2, 2, 3, 4, 6, 8, 12, 20, 40, 100, 1, 1, 1, 2, 2, 2, 3, 3])
    group = np.repeat(np.arange(20), rows)
    y = RNG.normal(1.0, 0.2, 20)[group] + RNG.normal(size=rows.sum())
    theta = pm.Normal("theta", pm.Normal("mu", 0.0, 5.0), pm.HalfNormal("tau", 2.0), shape=20)
    pm.Normal("y", theta[group], pm.HalfNormal("sigma", 2.0), observed=y)


def nested() -> None:
    region, county = np.repeat(np.arange(5), 8), np.repeat(np.arange(40), 3)
    y = 0.3 * RNG.normal(size=5)[region[county]] + 0.2 * RNG.normal(size=40)[county] + RNG.normal(size=120)
    a = pm.Normal("a", pm.Normal("mu", 0.0, 2.0), pm.HalfNormal("of_regions", 1.0), shape=5)
    b = pm.Normal("b", a[region], pm.HalfNormal("of_counties", 1.0), shape=40)
    pm.Normal("y", b[county], pm.HalfNormal("sigma", 1.0), observed=y)


def crossed() -> None:
    i, j = RNG.integers(0, 60, 600), RNG.integers(0, 20, 600)
    u, v = 0.2 * RNG.normal(size=60), 0.8 * RNG.normal(size=20)
    y = RNG.binomial(1, 1.0 / (1.0 + np.exp(-u[i] - v[j])))
    first = pm.Normal("u", 0.0, pm.Exponential("of_u", 1.0), shape=60)
    second = pm.Normal("v", 0.0, pm.Exponential("of_v", 1.0), shape=20)
    pm.Bernoulli("y", logit_p=pm.Normal("b", 0.0, 2.0) + first[i] + second[j], observed=y)


def slopes() -> None:
    group, x = np.repeat(np.arange(30), 6), RNG.normal(size=180)
    own = RNG.multivariate_normal([1.0, 0.5], [[0.09, 0.02], [0.02, 0.04]], size=30)
    y = own[group, 0] + own[group, 1] * x + RNG.normal(size=180)
    factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
    effects = pm.MvNormal("effects", mu=pm.Normal("mean", 0.0, 2.0, shape=2), chol=factor, shape=(30, 2))
    pm.Normal("y", effects[group, 0] + effects[group, 1] * x, pm.HalfNormal("sigma", 1.0), observed=y)


def volatility() -> None:
    returns = RNG.standard_t(5, size=400) * np.exp(np.cumsum(0.1 * RNG.normal(size=400)) / 2.0)
    first = pm.Normal.dist(0.0, 1.0)
    level = pm.GaussianRandomWalk("level", sigma=pm.Exponential("step", 10.0), init_dist=first, shape=400)
    pm.StudentT("y", nu=pm.Exponential("nu", 0.1), mu=0.0, sigma=pm.math.exp(level / 2.0), observed=returns)


MODELS: dict[str, Callable[[], None]] = {
    "eight schools": eight_schools,
    "Neal's funnel, 10 dimensions": funnel,
    "50 groups of 3 rows": few_rows,
    "50 groups of 100 rows": many_rows,
    "20 groups of 1 to 100 rows": uneven,
    "counties in regions": nested,
    "crossed effects, Bernoulli": crossed,
    "varying intercepts and slopes, LKJ": slopes,
    "stochastic volatility, 400 days": volatility,
}


def main() -> None:
    """Measure all models, each with a run before that compiles what all of them need."""
    for title, write in MODELS.items():
        with pm.Model() as model:
            write()
        rows = []
        for told, may in (("other coordinates", REMEDIES), ("as written", REMEDIES[1:])):
            seconds, sizes, good = [], [], 0
            for seed in (-1, *SEEDS):
                begun = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = pm.sample(model=model, remedies=may, random_seed=seed + 1, progressbar=False)
                if seed < 0:
                    continue
                seconds.append(time.perf_counter() - begun)
                sizes.append(found.posterior.attrs["gradients"])
                good += found.status in FINE
            rows += [
                Row(f"{told}: usable", good, f"of {len(SEEDS)}"),
                Row(f"{told}: a run", float(np.median(seconds)), "s"),
                Row(f"{told}: evaluations", float(np.median(sizes)), ""),
            ]
        show(title, rows)


if __name__ == "__main__":
    main()
