"""A run of one of several kinds, which goes on from what a killed process left, and tells its result in one line.

`python -m benchmarks.workers.killed_run KIND FOLDER`; `benchmarks/kills.py` starts and kills it.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import consilience as pm
from consilience.run import checkpoint

DATA: Final = np.random.default_rng(0).normal(size=24) + np.repeat([0.0, 3.0], [16, 8])
TIMES: Final = ("seconds", "time", "perf", "process")  # statistics that are another number in each run


def regression() -> pm.Model:
    """Two coefficients and a scale."""
    with pm.Model() as model:
        b = pm.Normal("b", 0.0, 2.0, shape=2)
        sigma = pm.HalfNormal("sigma", 2.0)
        pm.Normal("y", b[0] + b[1] * np.linspace(-1.0, 1.0, 24), sigma, observed=DATA)
    return model


def groups() -> pm.Model:
    """Binary assignments with a probability and a distance that are not known."""
    with pm.Model() as model:
        p = pm.Beta("p", 2.0, 2.0)
        mu = pm.Normal("mu", 2.0, 1.0)
        z = pm.Bernoulli("z", p, shape=24)
        pm.Normal("y", mu * z, 1.0, observed=DATA)
    return model


def counts() -> pm.Model:
    """A count that Metropolis moves, and a level."""
    with pm.Model() as model:
        k = pm.Poisson("k", 3.0)
        level = pm.Normal("level", 0.0, 1.0)
        pm.Normal("y", level + 0.1 * k, 1.0, observed=DATA)
    return model


def schools() -> pm.Model:
    """A hierarchy whose coordinates a run may change."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfCauchy("tau", 5.0)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("y", theta, [15, 10, 16, 11, 9, 11, 10, 18], observed=[28, 8, -3, 7, -1, 1, 18, 12])
    return model


def few_counts() -> pm.Model:
    """Counts of groups that say little of how far these differ: a run goes on in coordinates of the block."""
    counted = np.random.default_rng(5)
    counted = counted.poisson(2.0 * np.exp(0.15 * counted.normal(size=300)))
    with pm.Model() as model:
        a = pm.Normal("a", pm.Normal("mu", 0.0, 3.0), pm.HalfNormal("tau", 1.0), shape=300)
        pm.Poisson("y", 2.0 * pm.math.exp(a), observed=counted)
    return model


def trees() -> pm.Model:
    """A sum of regression trees beside a scale."""
    rows = np.random.default_rng(1).uniform(size=(24, 2))
    with pm.Model() as model:
        pm.Normal("y", pm.BART("f", rows, DATA, m=10), pm.HalfNormal("sigma", 2.0), observed=DATA)
    return model


def chains(
    folder: Path, model: Callable[[], pm.Model], store: str | None = None, step: Any = None, **settings: Any
) -> Any:
    """Begin or go on with a run of chains."""
    with model() as own:
        if (folder / "run").exists():
            return pm.resume(folder / "run", own, progressbar=False, executor=settings.get("executor"))
        save = pm.Save(checkpoint=folder / "run", store=None if store is None else folder / store, overwrite=True)
        chosen = None if step is None else step()
        settings = {"draws": 3000, "tune": 600, "chains": 4, "cores": 2, **settings}
        return pm.sample(random_seed=3, save=save, step=chosen, progressbar=False, **settings)


def on_processes(folder: Path) -> Any:
    """Chains on a pool of processes."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        return chains(folder, regression, executor=pool, draws=1500)


def particles(folder: Path, kernel: Any, **settings: Any) -> Any:
    """Begin or go on with a run of particles."""
    with regression() as own:
        if (folder / "run").exists():
            return pm.smc.resume(folder / "run", own, progressbar=False)
        save = pm.Save(checkpoint=folder / "run", overwrite=True)
        return pm.sample_smc(600, kernel, random_seed=5, chains=2, save=save, progressbar=False, **settings)


def shop(sales: list[int]) -> pm.Model:
    """The model of one fit of a study."""
    with pm.Model() as model:
        pm.Poisson("sales", pm.Gamma("rate", 2.0, 0.1), observed=sales)
    return model


def study(folder: Path) -> Any:
    """Many fits in a folder."""
    rows = {f"shop {i}": [20 + i, 23 + 2 * i] for i in range(8)}
    return pm.sample_many(shop, rows, store=folder / "study", random_seed=1, draws=300, tune=300, chains=2, cores=1)


def ascent(folder: Path) -> Any:
    """A variational fit that is kept as a pickle every few steps, as its page shows."""
    place = folder / "fit.pickle"
    method = pickle.loads(place.read_bytes()) if place.exists() else pm.ADVI(model=regression(), random_seed=7)
    while method.taken < 20_000:
        method.refine(1000, check=False)
        part = place.with_suffix(".part")
        part.write_bytes(pickle.dumps(method))
        os.replace(part, place)
    return method


KINDS: Final[Mapping[str, Callable[[Path], Any]]] = {
    "NUTS on threads": lambda folder: chains(folder, regression),
    "NUTS that changes coordinates and decides its length": lambda folder: chains(
        folder, schools, draws=None, tune=None, stop=pm.Stop(ess=2000)
    ),
    "NUTS that carries a block along and restarts": lambda folder: chains(
        folder, few_counts, draws=None, tune=None, stop=pm.Stop(ess=3000)
    ),
    "NUTS and regression trees": lambda folder: chains(folder, trees, draws=1500),
    "NUTS on processes": on_processes,
    "NUTS and binary Gibbs": lambda folder: chains(
        folder, groups, step=lambda: [pm.NUTS(["p", "mu"]), pm.BinaryGibbsMetropolis(["z"])], draws=1500
    ),
    "discrete variables summed out": lambda folder: chains(folder, groups, draws=1500),
    "NUTS and Metropolis": lambda folder: chains(folder, counts, draws=2000),
    "DEMetropolisZ": lambda folder: chains(folder, regression, step=pm.DEMetropolisZ, draws=8000),
    "parallel tempering": lambda folder: chains(folder, regression, step=pm.ParallelTempering, draws=1000),
    "growing Zarr store": lambda folder: chains(folder, regression, store="run.zarr"),
    "netCDF file at the end": lambda folder: chains(folder, regression, store="run.nc"),
    "particles (SMC)": lambda folder: particles(folder, pm.smc.HMC),
    "a study of many fits": study,
    "a variational fit": ascent,
}


def digest(result: Any) -> str:
    """A hash of all numbers of a result that are no times."""
    hashed = hashlib.sha256()
    if hasattr(result, "hist"):  # a variational method
        for array in (result.approx.parameters, result.hist):
            hashed.update(np.ascontiguousarray(array).tobytes())
        return hashed.hexdigest()[:16]
    trees = {"": result} if "posterior" in result else dict(result)
    for name in sorted(trees):
        for group in ("posterior", "sample_stats"):
            for variable, values in sorted(trees[name][group].data_vars.items()):
                if not any(word in variable for word in TIMES):
                    hashed.update(f"{name}/{group}/{variable} {values.dtype} {values.shape}".encode())
                    hashed.update(np.ascontiguousarray(values.values).tobytes())
    return hashed.hexdigest()[:16]


def main(kind: str, folder: Path) -> None:
    """Go on with the run in a folder, and print the digests of the result and of its store."""
    checkpoint.SHARE = 1.0  # type: ignore[misc]  # kills shall meet many moments of writing
    warnings.simplefilter("ignore")
    print("begun", flush=True)
    found = {"result": digest(KINDS[kind](folder))}
    for store, engine in (("run.zarr", "zarr"), ("run.nc", "h5netcdf")):
        if (folder / store).exists():
            import xarray

            with xarray.open_datatree(folder / store, engine=engine) as tree:
                found["store"] = digest(tree.load())
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
