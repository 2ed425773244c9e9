"""Models with discrete variables, in PyMC and here: time to a certificate, effective draws, agreement.

A process per model, in an interpreter that has PyMC. Ours is plain `pm.sample()`, theirs is too (NUTS beside Gibbs and
Metropolis steps, 1000 draws after 1000 of tuning in each of four chains); compilation of both included. Without PyMC
ours are printed alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.from_pymc import compared, measured
from benchmarks.report import number
from tests.public_models.table import MODELS as PUBLIC

Build = Callable[[Any, Any], Any]
MODELS: dict[str, Build] = {}


def published(name: str) -> Build:
    """A model with discrete variables from the table of public models."""
    return lambda pm, pt: PUBLIC[name].build(pm, pt, np)


MODELS |= {name: published(name) for name in ("coal_mining", "stagnant")}


def written(build: Build) -> Build:
    """Enter a model into the table."""
    MODELS[build.__name__] = build
    return build


@written
def one_step_for_two(pm: Any, pt: Any) -> Any:
    """A change point where the series has two of about the same weight."""
    y = np.random.default_rng(11).normal(0.0, 0.35, 100) + np.repeat([0.0, 1.0, 2.0], [30, 40, 30])
    with pm.Model() as model:
        k = pm.DiscreteUniform("k", 1, 99)
        level = pm.Normal("level", 0.0, 3.0, shape=2)
        pm.Normal("y", pt.switch(np.arange(100) < k, level[0], level[1]), 0.5, observed=y)
    return model


@written
def two_groups(pm: Any, pt: Any) -> Any:
    """Eleven values in two groups, the memberships as Bernoulli variables."""
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.5, shape=11)
        mu = pm.Normal("mu", 0.0, 3.0, shape=2)
        pm.Normal("y", mu[z], 0.5, observed=[-2.1, -1.9, -2.3, -1.7, -2.0, -2.2, 1.8, 2.2, 2.0, 1.9, 2.1])
    return model


@written
def selection(pm: Any, pt: Any) -> Any:
    """Two collinear predictors, each in or out (spike and slab)."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 1)) + 0.1 * rng.normal(size=(60, 2))
    with pm.Model() as model:
        inside = pm.Bernoulli("inside", 0.5, shape=2)
        beta, sigma = pm.Normal("beta", 0.0, 1.0, shape=2), pm.HalfNormal("sigma", 1.0)
        pm.Normal("y", pt.dot(x, inside * beta), sigma, observed=x[:, 0] + 0.5 * rng.normal(size=60))
    return model


@written
def abundance(pm: Any, pt: Any) -> Any:
    """Animals at 25 sites, counted three times (Royle 2004)."""
    rng = np.random.default_rng(1)
    y = rng.binomial(rng.poisson(8.0, 25)[:, None], 0.4, (25, 3))
    with pm.Model() as model:
        rate, seen = pm.Gamma("rate", 2.0, 0.2), pm.Beta("seen", 1.0, 1.0)
        there = pm.Poisson("there", rate, shape=(25, 1), initval=y.max(axis=1, keepdims=True) + 2)
        pm.Binomial("y", there, seen, observed=y)
    return model


@written
def occupancy(pm: Any, pt: Any) -> Any:
    """Sites that are occupied or not, each visited four times (MacKenzie et al. 2002)."""
    rng = np.random.default_rng(2)
    y = (rng.random((40, 4)) < 0.4) * (rng.random(40) < 0.6)[:, None]
    with pm.Model() as model:
        psi, seen = pm.Beta("psi", 1.0, 1.0), pm.Beta("seen", 1.0, 1.0)
        z = pm.Bernoulli("z", psi, shape=(40, 1), initval=np.ones((40, 1), int))
        pm.Bernoulli("y", z * seen, observed=y.astype(int))
    return model


@written
def messages(pm: Any, pt: Any) -> Any:
    """Messages a day whose rate changes once, as books for beginners have it."""
    rng = np.random.default_rng(4)
    counts = np.concatenate([rng.poisson(18.0, 45), rng.poisson(23.0, 29)])
    with pm.Model() as model:
        before, after = pm.Exponential("before", 1 / counts.mean()), pm.Exponential("after", 1 / counts.mean())
        tau = pm.DiscreteUniform("tau", lower=0, upper=len(counts) - 1)
        pm.Poisson("observed", pm.math.switch(tau > np.arange(len(counts)), before, after), observed=counts)
    return model


@written
def assignments(pm: Any, pt: Any) -> Any:
    """A mixture of two normals with an assignment per value, as books for beginners have it."""
    rng = np.random.default_rng(5)
    y = np.concatenate([rng.normal(120.0, 30.0, 120), rng.normal(200.0, 22.0, 180)])
    with pm.Model() as model:
        share = pm.Uniform("share", 0.0, 1.0)
        assignment = pm.Categorical("assignment", pt.stack([share, 1.0 - share]), shape=300)
        sds, centers = pm.Uniform("sds", 0.0, 100.0, shape=2), pm.Normal("centers", np.array([120, 190]), 10.0, shape=2)
        pm.Normal("y", mu=centers[assignment], sigma=sds[assignment], observed=y)
    return model


@written
def fishing(pm: Any, pt: Any) -> Any:
    """Counts of visitors of whom some did not fish: zero inflation with a Bernoulli variable each."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=150)
    y = rng.poisson(np.exp(0.5 + 0.6 * x)) * (rng.random(150) < 0.6)
    with pm.Model() as model:
        fished = pm.Bernoulli("fished", pm.Beta("share", 1.0, 1.0), shape=150)
        beta = pm.Normal("beta", 0.0, 2.0, shape=2)
        pm.Poisson("y", fished * pm.math.exp(beta[0] + beta[1] * x), observed=y)
    return model


@written
def annotators(pm: Any, pt: Any) -> Any:
    """Items of three classes, labelled by five people who err in their own ways (Dawid and Skene 1979)."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 3, 60)
    confusion = 0.7 * np.eye(3) + 0.1
    labels = np.array([[rng.choice(3, p=confusion[t]) for _ in range(5)] for t in truth])
    with pm.Model() as model:
        prevalence = pm.Dirichlet("prevalence", np.ones(3))
        theta = pm.Dirichlet("theta", np.ones((3, 3)) + 3.0 * np.eye(3), shape=(5, 3, 3))
        category = pm.Categorical("category", prevalence, shape=60)
        pm.Categorical("label", theta[np.arange(5), category[:, None]], observed=labels)
    return model


@written
def which_model(pm: Any, pt: Any) -> Any:
    """A model index: the data are of one of two models, with parameters of either (Kruschke, chapter 10)."""
    y = np.random.default_rng(8).binomial(1, 0.62, 30)
    with pm.Model() as model:
        index = pm.Categorical("index", np.array([0.5, 0.5]))
        first, second = pm.Beta("first", 4.0, 12.0), pm.Beta("second", 12.0, 4.0)
        pm.Bernoulli("y", pm.math.switch(pm.math.eq(index, 0), first, second), observed=y)
    return model


@written
def population(pm: Any, pt: Any) -> Any:
    """The size of a population by capture and recapture, with data augmented by animals never seen."""
    rng = np.random.default_rng(9)
    caught = rng.binomial(5, 0.3, 80)
    y = np.concatenate([caught[caught > 0], np.zeros(90, int)])
    with pm.Model() as model:
        share, seen = pm.Beta("share", 1.0, 1.0), pm.Beta("seen", 1.0, 1.0)
        real = pm.Bernoulli("real", share, shape=len(y), initval=(y > 0).astype(int))
        pm.Binomial("y", 5, real * seen, observed=y)
        pm.Deterministic("size", pm.math.sum(real))
    return model


def effective(posterior: Any, names: list[str]) -> tuple[float, float]:
    """Least effective size and largest R-hat of all elements that vary."""
    from consilience.diagnostics import ess_bulk, split_rhat

    least, most = np.inf, 1.0
    for name in names:
        draws: npt.NDArray[np.float64] = np.asarray(posterior[name].values, float)
        draws = draws.reshape(*draws.shape[:2], -1)
        draws = draws[..., np.ptp(draws, axis=(0, 1)) > 0]
        if draws.shape[-1]:
            least = min(least, float(np.min(ess_bulk(draws))))
            most = max(most, float(np.max(split_rhat(draws))))
    return least, most


def both(name: str) -> dict[str, Any]:
    """One model in this process, sampled here and, where it is there, by PyMC."""
    import consilience as cs
    import consilience.tensor as pt

    begun = time.perf_counter()
    result = cs.sample(model=MODELS[name](cs, pt), random_seed=1, progressbar=False)
    seconds = time.perf_counter() - begun
    names = [str(n) for n in result.posterior.data_vars]
    size, _ = effective(result.posterior, names)
    found = {"ours": seconds, "ess": size, "status": str(result.status), "reason": str(result.reason)}
    if importlib.util.find_spec("pymc") is None:
        return found
    import pymc
    import pytensor.tensor

    begun = time.perf_counter()
    model = MODELS[name](pymc, pytensor.tensor)
    other = pymc.sample(
        model=model, chains=4, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False
    )
    found["theirs"] = time.perf_counter() - begun
    names = [n for n in names if n in other.posterior and n in {v.name for v in model.free_RVs}]
    found["their_ess"], found["rhat"] = effective(other.posterior, names)
    rows = {n: compared(result.posterior[n].values, other.posterior[n].values)[0] for n in names}
    found["where"] = max(rows, key=lambda n: rows[n])
    found["z"] = rows[found["where"]]
    return found


def main() -> None:
    """Print a row per model as it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(MODELS))
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.inside:
        print(json.dumps(both(given.inside)))
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CONSILIENCE_CACHE": folder}
        for name in given.only or MODELS:
            found = measured(name, environment, "benchmarks.discrete_variables")
            if "failed" in found:
                print(f"{name:<18} {found['failed']}", flush=True)
                continue
            own = f"{number(found['ours']):>5} s, {found['ess'] / found['ours']:7.0f} effective a second"
            print(f"{name:<18} {own}  {found['status']} {found['reason']}", flush=True)
            if "theirs" in found:
                other = f"{number(found['theirs']):>5} s, {found['their_ess'] / found['theirs']:7.1f}"
                print(
                    f"{'':<12} PyMC: {other}  R-hat {found['rhat']:.3f}  z {found['z']:.1f} ({found['where']})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
