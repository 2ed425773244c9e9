"""Whole jobs of state space models beside pymc-extras with nutpie: processor seconds, and whether posteriors agree.

    python -m benchmarks.state_spaces_beside_pymc --pymc PYTHON [--only NAME ...]

PYTHON has pymc, nutpie and pymc-extras. A process per job: the model is built, compiled and sampled, imports left out;
both have the same priors, covariances of the first state and data of 144 times. Ours is plain `pm.sample`, with an
empty cache and in a second process with what the first one kept; theirs, whose compiler keeps nothing, is 4 chains of
1,000 draws behind 1,000 of tuning. Effective draws are counted by the same function.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

TIMES, FIRST = 144, 10.0  # number of times, and variance of the first states
STATES = {"level": 1, "level and trend": 2, "ARMA(1, 1)": 0}


def data(name: str) -> np.ndarray:
    """The series of a model, shape (times, 1)."""
    rng = np.random.default_rng(1)
    shocks = rng.normal(size=(3, TIMES))
    if name == "ARMA(1, 1)":
        y, before = np.zeros(TIMES), 0.0
        for t in range(TIMES):
            y[t] = 0.7 * y[t - 1] * (t > 0) + shocks[0, t] + 0.4 * before
            before = shocks[0, t]
        return y[:, None]
    trend = np.cumsum(0.05 * shocks[1]) * (STATES[name] == 2)
    return (np.cumsum(0.3 * shocks[0] + trend) + 0.5 * shocks[2])[:, None]


def own(name: str) -> dict[str, Any]:
    """Draws by plain `pm.sample`."""
    import consilience as pm
    import consilience.tensor as pt

    began = time.process_time()
    n = STATES[name]
    with pm.Model() as model:
        if n:
            sigma = pm.HalfNormal("sigma_level_trend", 1.0, shape=n)
            noise = pm.HalfNormal("sigma_error", 1.0)
            T = np.triu(np.ones((n, n)))
            space = {
                "Z": np.eye(1, n),
                "Q": pt.diag(sigma**2),
                "H": (noise**2).reshape((1, 1)),
                "P0": FIRST * np.eye(n),
            }
            pm.LinearGaussianStateSpace("y", T=T, **space, observed=data(name))
        else:
            rho, theta = pm.Uniform("ar_params", -1, 1, shape=1), pm.Uniform("ma_params", -1, 1, shape=1)
            sigma = pm.HalfNormal("sigma_state", 1.0)
            T = pt.stack([pt.stack([rho[0], 1.0]), pt.zeros(2)])
            space = {"R": pt.stack([pt.ones(1), theta]), "Q": (sigma**2).reshape((1, 1)), "H": np.zeros((1, 1))}
            pm.LinearGaussianStateSpace("y", T=T, Z=np.eye(1, 2), **space, initial="stationary", observed=data(name))
    result = pm.sample(model=model, random_seed=1, progressbar=False)
    seconds = time.process_time() - began
    return {"seconds": seconds, "status": str(result.status), **described(result.posterior)}


def theirs(name: str) -> dict[str, Any]:
    """Draws of pymc-extras by nutpie."""
    import nutpie  # noqa: F401 - imports are left out of the time
    import pymc as pm
    import pytensor.tensor as pt
    from pymc_extras.statespace import BayesianSARIMAX, structural

    began = time.process_time()
    n = STATES[name]
    if n:
        level = structural.LevelTrend(order=n, innovations_order=n)
        space = (level + structural.MeasurementError("error")).build(verbose=False)
    else:
        space = BayesianSARIMAX((1, 0, 1), stationary_initialization=True, verbose=False)
    with pm.Model(coords=space.coords):
        if n:
            pm.Deterministic("P0", pt.eye(n) * FIRST)
            pm.Deterministic("initial_level_trend", pt.zeros(n))
            pm.HalfNormal("sigma_level_trend", 1.0, shape=n)
            pm.HalfNormal("sigma_error", 1.0)
        else:
            pm.Uniform("ar_params", -1, 1, shape=1)
            pm.Uniform("ma_params", -1, 1, shape=1)
            pm.HalfNormal("sigma_state", 1.0)
        space.build_statespace_graph(data(name))
        result = pm.sample(nuts_sampler="nutpie", chains=4, cores=1, random_seed=1, progressbar=False)
    return {"seconds": time.process_time() - began, "status": "", **described(result.posterior)}


def described(posterior: Any) -> dict[str, Any]:
    """Means and standard deviations of the parameters, and their draws for counting."""
    names = sorted(n for n in posterior.data_vars if n.startswith("sigma") or n.endswith("params"))
    arrays = [posterior[n].values.reshape(*posterior[n].shape[:2], -1) for n in names]
    return {"names": names, "draws": np.concatenate(arrays, 2).round(6).tolist()}


BY: dict[str, Callable[[str], dict[str, Any]]] = {"own": own, "pymc": theirs}


def job(python: str, by: str, name: str, cache: str) -> dict[str, Any]:
    """A job in a process of its own."""
    flags = f"base_compiledir={cache}/pytensor"
    environment = {**os.environ, "CONSILIENCE_CACHE": f"{cache}/own", "PYTENSOR_FLAGS": flags, "OMP_NUM_THREADS": "1"}
    command = [python, "-m", "benchmarks.state_spaces_beside_pymc", "--inside", by, "--only", name]
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(f"{by}, {name}: {found.stderr[-2000:]}")
    made: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return made


def main() -> None:
    """A row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pymc", metavar="PYTHON", help="interpreter that has pymc, nutpie and pymc-extras")
    parser.add_argument("--only", nargs="+", choices=list(STATES), default=list(STATES))
    parser.add_argument("--inside", choices=list(BY), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        warnings.simplefilter("ignore")
        print(json.dumps(BY[given.inside](given.only[0])))
        return
    from consilience.diagnostics import ess_bulk, mcse_mean

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"commit {commit}; processor seconds new, again and of pymc-extras, effective draws, distance of means")
    for name in given.only:
        with tempfile.TemporaryDirectory() as cache:
            first = job(sys.executable, "own", name, cache)
            rows = {"own": job(sys.executable, "own", name, cache), "pymc": job(given.pymc, "pymc", name, cache)}
        draws = {by: np.array(row["draws"]) for by, row in rows.items()}

        assert rows["own"]["names"] == rows["pymc"]["names"], rows["pymc"]["names"]
        ess = {by: min(float(ess_bulk(x[..., k])) for k in range(x.shape[2])) for by, x in draws.items()}
        errors = {by: np.array([float(mcse_mean(x[..., k])) for k in range(x.shape[2])]) for by, x in draws.items()}
        means = {by: x.mean((0, 1)) for by, x in draws.items()}
        far = np.abs(means["own"] - means["pymc"]) / np.hypot(errors["own"], errors["pymc"])
        new, again, other = first["seconds"], rows["own"]["seconds"], rows["pymc"]["seconds"]
        print(
            f"{name:18}{new:8.2f}{again:8.2f}{other:9.1f}{other / new:8.1f} and {other / again:.1f} times   ESS "
            f"{ess['own']:.0f} / {ess['pymc']:.0f}   z {far.max():.2f}   {rows['own']['status']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
