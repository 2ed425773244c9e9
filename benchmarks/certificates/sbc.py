"""Simulation-based calibration of `pm.sample`: several modes, discrete variables, many coordinates, latent fields.

`python -m benchmarks.certificates.sbc [--runs N] [--processes P] [--out FILE]`; `--summary FILES` for earlier runs.
Parts of the replications go to processes; ranks are tested together, so the number of processes changes nothing.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.rows_of_processes import made, parser_of, read
from consilience.errors import ConsilienceWarning
from consilience.estimators.calibration.uniformity import uniformity

PART = 10
DRAWS = 99
ALPHA = 0.01  # of all tests of a model together


def square() -> pm.Model:
    """Two modes of unequal mass, as far apart as the data say."""
    with pm.Model() as model:
        x = pm.Normal("x", 0.5, 2.0)
        pm.Normal("y", x**2, 0.5, observed=np.array([4.0, 3.0]))
    return model


def slopes() -> pm.Model:
    """A mixture of two lines, which weights of 60 and 40 % tell apart."""
    x = np.linspace(-1.5, 1.5, 15)
    with pm.Model() as model:
        slope = pm.Normal("slope", np.array([0.5, -0.5]), 2.0, shape=2)
        pm.NormalMixture("y", np.array([0.6, 0.4]), slope * x[:, None], 0.4, observed=np.zeros(15))
    return model


def step() -> pm.Model:
    """A change point."""
    with pm.Model() as model:
        k, level = pm.DiscreteUniform("k", 1, 39), pm.Normal("level", 0.0, 1.0, shape=2)
        pm.Normal("y", pt.switch(np.arange(40) < k, level[0], level[1]), 0.7, observed=np.zeros(40))
    return model


def groups() -> pm.Model:
    """Values in two groups, memberships as Bernoulli variables."""
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.4, shape=12)
        mu = pm.Normal("mu", np.array([-1.0, 1.0]), 1.5, shape=2)
        pm.Normal("y", mu[z], 0.6, observed=np.zeros(12))
    return model


def many() -> pm.Model:
    """A hundred effects of groups with three values each."""
    which = np.repeat(np.arange(100), 3)
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0.0, 2.0), pm.HalfNormal("tau", 1.0)
        z = pm.Normal("z", 0.0, 1.0, shape=100)
        pm.Normal("y", mu + tau * z[which], 1.0, observed=np.zeros(300))
    return model


def walk() -> pm.Model:
    """A random walk of 300 steps as log volatility, its scale unknown."""
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", 0.15)
        level = pm.GaussianRandomWalk("level", sigma=scale, init_dist=pm.Normal.dist(0.0, 1.0), shape=300)
        pm.Deterministic("last", level[-1])
        pm.Deterministic("middle", level[150])
        pm.Normal("y", 0.0, pt.exp(level), observed=np.zeros(300))
    return model


def areas() -> pm.Model:
    """Counts in a grid of 16 x 16 cells, their log rates an autoregression in space of unknown scale and strength."""
    number = np.arange(256).reshape(16, 16)
    W = np.zeros((256, 256))
    for first, second in ((number[1:], number[:-1]), (number[:, 1:], number[:, :-1])):
        W[first, second] = W[second, first] = 1.0
    with pm.Model() as model:
        level, sigma = pm.Normal("level", 0.0, 1.0), pm.HalfNormal("sigma", 0.7)
        alpha = pm.Beta("alpha", 8.0, 1.0)
        phi = pm.CAR("phi", mu=0.0, W=W, alpha=alpha, tau=1.0 / sigma**2)
        pm.Deterministic("corner", phi[0])
        pm.Deterministic("centre", phi[136])
        pm.Poisson("y", pt.exp(level + phi), observed=np.zeros(256, int))
    return model


MODELS = {
    "square": square, "slopes": slopes, "step": step, "groups": groups, "hundred effects": many, "walk": walk,
    "areas": areas,
}  # fmt: skip
RANKED = {
    "hundred effects": ["mu", "tau"],
    "walk": ["scale", "middle", "last"],
    "areas": ["level", "sigma", "alpha", "corner", "centre"],
}


def sampler(model: pm.Model, seed: int) -> Any:
    """`pm.sample` as users call it, on one thread."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        return pm.sample(model=model, random_seed=seed, cores=1, progressbar=False)


def part(work: tuple[str, int, int]) -> dict[str, Any]:
    """Ranks of some replications of a model."""
    name, seed, count = work
    began = time.perf_counter()
    found = pm.sbc(MODELS[name](), sampler, count, var_names=RANKED.get(name), draws=DRAWS, random_seed=seed, cores=1)
    ranks = {}
    for label, array in found.ranks.data_vars.items():
        values = array.to_numpy().reshape(array.sizes["replication"], -1).T.tolist()
        ranks |= {f"{label}[{i}]" if len(values) > 1 else str(label): one for i, one in enumerate(values)}
    seconds = round(time.perf_counter() - began, 2)
    return {"model": name, "part": seed, "ranks": ranks, "failures": found.failures, "seconds": seconds}


def show(rows: Iterable[dict[str, Any]]) -> None:
    """Tests of each quantity, over all parts of a model."""
    ranks: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    failures: dict[str, Counter[str]] = defaultdict(Counter)
    for row in {(row["model"], row["part"]): row for row in rows}.values():
        failures[row["model"]].update(row["failures"])
        for label, values in row["ranks"].items():
            ranks[row["model"]][label] += values
    for name, quantities in ranks.items():
        least = ALPHA / (2 * len(quantities))
        print(f"\n{name}: {len(next(iter(quantities.values())))} replications; {dict(failures[name]) or 'no failures'}")
        for label, values in quantities.items():
            found = uniformity(np.asarray(values), DRAWS + 1)
            share = (np.asarray(values) + 0.5) / (DRAWS + 1)
            uniform = min(found.chi_square_p, found.ecdf_p) >= least
            print(
                f"  {label:20s} mean {share.mean():.3f} sd {share.std():.3f} (0.5, 0.289)  p {found.chi_square_p:.3f} "
                f"{found.ecdf_p:.3f}  {'kept' if uniform else 'MISSED'}"
            )


def main() -> None:
    """Run or read."""
    parser = parser_of("benchmarks.certificates.sbc", __doc__, list(MODELS), "replications")
    parser.add_argument("--part", type=int, default=PART, help="replications that a process does at once")
    options = parser.parse_args()
    cuts = range(0, options.runs, options.part)
    work = [(name, k // options.part, min(options.part, options.runs - k)) for k in cuts for name in options.models]
    show(read(options.summary) if options.summary else made(part, work, options))


if __name__ == "__main__":
    main()
