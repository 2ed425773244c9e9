"""Simulation-based calibration of ten models through all that moves chains or particles.

`python -m benchmarks.certificates.sbc [--runs N] [--engines threads jax …] [--processes P] [--out FILE]`; `--summary
FILES` for earlier runs. Models: several modes, discrete variables, groups, many coordinates, latent fields, a process.
Engines: chains on `threads`, in lock step by `jax`, on `workers` in processes of their own (`--processes 0`; their
draws are those of threads, and ranks that differ are told), and `smc`, particles. PyTorch, Numba, StableHLO and C
compute functions and move no chains. Parts of the replications go to processes; ranks are tested together, so the
number of processes changes nothing.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.rows_of_processes import Row, made, parser_of, read
from consilience.errors import ConsilienceError, ConsilienceWarning
from consilience.estimators.calibration.uniformity import uniformity

PART = 10
DRAWS = 99
CHAINS = 128  # in lock step
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


def schools() -> pm.Model:
    """Eight groups, of which little is known."""
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfNormal("tau", 5.0)
        z = pm.Normal("z", 0.0, 1.0, shape=8)
        errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
        pm.Normal("y", mu + tau * z, errors, observed=np.zeros(8))
    return model


def logistic() -> pm.Model:
    """A logistic regression on four predictors, two of which are nearly one."""
    x = np.random.default_rng(4).normal(size=(60, 4))
    x[:, 1] = x[:, 0] + 0.3 * x[:, 1]
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 1.0, shape=4)
        pm.Bernoulli("y", logit_p=pt.dot(x, beta), observed=np.zeros(60, int))
    return model


def process() -> pm.Model:
    """A Gaussian process of unknown length and height at twenty points, seen with noise."""
    x = np.linspace(0.0, 1.0, 20)[:, None]
    with pm.Model() as model:
        length, height = pm.InverseGamma("length", 5.0, 1.5), pm.HalfNormal("height", 2.0)
        found = pm.gp.Marginal(cov_func=height**2 * pm.gp.cov.ExpQuad(1, ls=length))
        found.marginal_likelihood("y", X=x, y=np.zeros(20), sigma=pm.HalfNormal("sigma", 1.0))
    return model


MODELS = {
    "square": square, "slopes": slopes, "step": step, "groups": groups, "schools": schools, "logistic": logistic,
    "process": process, "hundred effects": many, "walk": walk, "areas": areas,
}  # fmt: skip
RANKED = {
    "hundred effects": ["mu", "tau"],
    "walk": ["scale", "middle", "last"],
    "areas": ["level", "sigma", "alpha", "corner", "centre"],
}


Engine = Callable[[pm.Model, int], Any]


def threads(model: pm.Model, seed: int, **more: Any) -> Any:
    """`pm.sample` as users call it, on one thread."""
    return pm.sample(model=model, random_seed=seed, cores=1, progressbar=False, **more)


def lock_step(model: pm.Model, seed: int) -> Any:
    """A hundred chains together, by JAX."""
    return pm.sample(model=model, random_seed=seed, backend="jax", chains=CHAINS, progressbar=False)


@cache
def pool() -> ProcessPoolExecutor:
    """One for all runs."""
    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))


def workers(model: pm.Model, seed: int) -> Any:
    """The chains of `threads` in two other processes."""
    return threads(model, seed, executor=pool())


def smc(model: pm.Model, seed: int) -> Any:
    """Particles, from the prior to the posterior."""
    return pm.sample_smc(1000, model=model, chains=2, random_seed=seed, cores=1, progressbar=False)


ENGINES: dict[str, Engine] = {"threads": threads, "jax": lock_step, "workers": workers, "smc": smc}


def part(work: tuple[str, str, int, int]) -> Row:
    """Ranks of some replications of a model, by an engine."""
    name, engine, seed, count = work
    began, before = time.perf_counter(), time.process_time()
    row = {"model": name, "engine": engine, "part": seed, "ranks": {}, "failures": {}, "error": ""}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        try:
            found = pm.sbc(
                MODELS[name](), ENGINES[engine], count, var_names=RANKED.get(name), draws=DRAWS, random_seed=seed,
                cores=1, progressbar=False,
            )  # fmt: skip
        except ConsilienceError as error:  # no replication has ranks
            return row | {"failures": {"error": count}, "error": str(error), "seconds": 0.0, "cpu": 0.0}
    ranks = {}
    for label, array in found.ranks.data_vars.items():
        values = array.to_numpy().reshape(array.sizes["replication"], -1).T.tolist()
        ranks |= {f"{label}[{i}]" if len(values) > 1 else str(label): one for i, one in enumerate(values)}
    return row | {
        "ranks": ranks, "failures": found.failures, "error": next(iter(found.errors.values()), ""),
        "seconds": round(time.perf_counter() - began, 2), "cpu": round(time.process_time() - before, 2),
    }  # fmt: skip


def show(rows: Iterable[Row]) -> None:
    """Tests of each quantity, over all parts of a model and an engine; ranks of workers beside those of threads."""
    parts = {(row["model"], row["engine"], row["part"]): row for row in rows}
    of: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for (name, engine, _), row in sorted(parts.items()):
        of[name, engine].append(row)
    for (name, engine), some in of.items():
        ranks: dict[str, list[int]] = defaultdict(list)
        for row in some:
            for label, values in row["ranks"].items():
                ranks[label] += values
        failures = dict(sum((Counter(row["failures"]) for row in some), Counter()))
        errors = Counter(row["error"] for row in some if row["error"])
        least, count = ALPHA / (2 * max(1, len(ranks))), len(next(iter(ranks.values()), []))
        told = f"{count} replications, {sum(row['cpu'] for row in some) / max(1, count):.2f} s of a processor each"
        print(f"\n{name} by {engine}: {told}; {failures or 'no failures'}")
        for error, times in errors.items():
            print(f"  {times} times {error}")
        for label, ranked in ranks.items():
            found = uniformity(np.asarray(ranked), DRAWS + 1)
            share = (np.asarray(ranked) + 0.5) / (DRAWS + 1)
            uniform = min(found.chi_square_p, found.ecdf_p) >= least
            print(
                f"  {label:20s} mean {share.mean():.3f} sd {share.std():.3f} (0.5, 0.289)  p {found.chi_square_p:.3f} "
                f"{found.ecdf_p:.3f}  {'kept' if uniform else 'MISSED'}"
            )
    both = [(row, beside) for at, row in parts.items()
            if at[1] == "workers" and (beside := parts.get((at[0], "threads", at[2])))]  # fmt: skip
    for row, beside in both:
        if row["ranks"] != beside["ranks"]:
            print(f"DIFFERENT: {row['model']}, part {row['part']}, by workers and by threads")
    if both:
        print(f"\n{len(both)} parts made by workers and by threads were compared")


def main() -> None:
    """Run or read."""
    parser = parser_of("benchmarks.certificates.sbc", __doc__, list(MODELS), "replications")
    parser.add_argument("--part", type=int, default=PART, help="replications that a process does at once")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=["threads"])
    given = parser.parse_args()
    cuts = [(k // given.part, min(given.part, given.runs - k)) for k in range(0, given.runs, given.part)]
    work = [(name, engine, *cut) for cut in cuts for engine in given.engines for name in given.models]
    show(read(given.summary) if given.summary else made(part, work, given))


if __name__ == "__main__":
    main()
