"""Log likelihoods, predictions and their judgement where they are larger than the memory that a process may have.

`python -m benchmarks.workers.larger_than_memory` limits its own address space to 1.5 GiB and computes 100,000 rows at
4,000 draws, 3.2 GB, into a store; then `pm.loo` and `pm.summary` of them, and says what memory that took.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import xarray

import consilience as pm


def main() -> None:
    """Arguments in, lines of figures out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--draws", type=int, default=1000, help="of each of four chains")
    parser.add_argument("--memory", type=float, default=1.5, help="GiB of address space")
    parser.add_argument("--judge", type=int, default=4_000, help="rows that `pm.loo` and `pm.summary` get; 0: all")
    parser.add_argument("--folder", type=Path, default=None, help="where the store is made")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (int(given.memory * 2**30),) * 2)
    generator = np.random.default_rng(1)
    with pm.Model() as model:
        slope, sigma = pm.Normal("slope"), pm.HalfNormal("sigma")
        x = generator.normal(size=given.rows)
        pm.Deterministic("mean", slope * x)
        pm.Normal("y", slope * x, sigma, observed=x + generator.normal(size=given.rows))
    draws = generator.normal(1.0, 0.003, (2, 4, given.draws))
    posterior = xarray.Dataset({"slope": (("chain", "draw"), draws[0]), "sigma": (("chain", "draw"), draws[1])})
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        store = Path(folder) / "result.zarr"
        result = timed(
            "log likelihood",
            lambda: pm.compute_log_likelihood(
                xarray.DataTree.from_dict({"posterior": posterior}), model=model, store=store
            ),
        )
        size = result["log_likelihood"]["y"].nbytes
        print(f"{size / 1e9:.2f} GB of log likelihoods, {given.memory} GiB of address space")
        part = result.copy()
        if given.judge:
            part["log_likelihood"] = xarray.DataTree(
                result["log_likelihood"].to_dataset().isel(y_dim_0=slice(0, given.judge))
            )
        print(timed(f"loo of {part['log_likelihood']['y'].shape[-1]} rows", lambda: pm.loo(part)))
        timed("summary", lambda: pm.summary(part, group="log_likelihood"))
        timed("predictions", lambda: pm.sample_posterior_predictive(
            posterior, model=model, random_seed=1, store=Path(folder) / "predictions.zarr"
        ))  # fmt: skip


def timed(what: str, function):  # type: ignore[no-untyped-def]  # of any result
    """Call a function, and say what it took."""
    began, wall = time.process_time(), time.perf_counter()
    found = function()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds = f"{time.process_time() - began:6.1f} s of processor time, {time.perf_counter() - wall:6.1f} s"
    print(f"{what:24} {seconds}, peak so far {peak:.2f} GiB", flush=True)
    return found


if __name__ == "__main__":
    main()
