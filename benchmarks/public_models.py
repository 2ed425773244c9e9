"""Public models of others, built from one source in PyMC and here: time to a posterior, agreement, statuses.

A process per model, in an interpreter that has PyMC and nutpie. Ours is `pm.sample()`, nothing else given; theirs is
`pymc.sample(nuts_sampler="nutpie", cores=1, chains=4)`, compilation of both included. Models of which PyMC cannot draw
by nutpie (whole numbers among the free variables) go to its own step methods. Without PyMC, or with `--recorded`, the
means are compared with those recorded in `tests/public_models/reference.json`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.from_pymc import compared, line, measured
from benchmarks.report import Row, number, show
from tests.public_models.registry import FOLDER
from tests.public_models.summaries import elements
from tests.public_models.table import MODELS

ERRORS = 5.0


def own(name: str) -> tuple[Any, float]:
    """Draws of our plain `pm.sample()`, and the seconds from the model's definition to them."""
    import consilience as pm
    import consilience.tensor as pt

    begun = time.perf_counter()
    model = MODELS[name].build(pm, pt, np)
    result = pm.sample(model=model, random_seed=1, progressbar=False)
    return result, time.perf_counter() - begun


def others(name: str) -> tuple[Any, Any, float]:
    """PyMC's model, its draws and seconds."""
    import pymc
    import pytensor.tensor as pt

    begun = time.perf_counter()
    model = MODELS[name].build(pymc, pt, np)
    discrete = any(v.dtype.startswith("int") for v in model.free_RVs)
    result = pymc.sample(
        model=model, chains=4, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False,
        nuts_sampler="pymc" if discrete else "nutpie",
    )  # fmt: skip
    return model, result, time.perf_counter() - begun


def both(name: str) -> dict[str, Any]:
    """One model in this process, sampled here and there."""
    ours, seconds = own(name)
    model, theirs, other = others(name)
    rows = {
        v.name: compared(ours.posterior[v.name].values, theirs.posterior[v.name].values)
        for v in model.free_RVs
        if v.name in ours.posterior  # variables that were summed out have no draws
    }
    widest = max(rows, key=lambda v: rows[v][0])
    return {
        "ours": seconds,
        "theirs": other,
        "z": rows[widest][0],
        "where": widest,
        "deviation": max(d for _, d, _ in rows.values()),
        "rhat": max(r for *_, r in rows.values()),
        "status": str(ours.status),
        "divergences": int(theirs.sample_stats["diverging"].sum()) if "diverging" in theirs.sample_stats else 0,
    }


def against_record(name: str, recorded: dict[str, Any]) -> dict[str, Any]:
    """One model sampled here, its means beside the recorded ones."""
    ours, seconds = own(name)
    worst, where = 0.0, ""
    for variable, row in recorded["values"].items():
        if variable not in ours.posterior:
            continue
        found = elements(ours.posterior[variable].values)
        error = np.hypot(found["se"], np.ravel(row["se"])) + 1e-4 * np.ravel(row["sd"]) + 1e-12
        z = float(np.max(abs(found["mean"] - np.ravel(row["mean"])) / error))
        if z > worst:
            worst, where = z, variable
    return {"ours": seconds, "theirs": recorded["seconds"], "z": worst, "where": where, "status": str(ours.status)}


def summary(found: dict[str, dict[str, Any]], asked: int) -> None:
    """Number, agreement, geometric mean of the ratios of seconds, statuses."""
    done = [f for f in found.values() if "failed" not in f]
    if not done:
        return
    ratios = [f["theirs"] / f["ours"] for f in done]
    rows = [
        Row("models compared", len(done), "", note=f"of {asked}"),
        Row("means that agree", sum(f["z"] <= ERRORS for f in done), "", len(done), at_least=True),
        Row("PyMC's seconds over ours, geometric mean", statistics.geometric_mean(ratios), ""),
        Row("seconds here, all models", sum(f["ours"] for f in done), "s"),
        Row("seconds of PyMC, all models", sum(f["theirs"] for f in done), "s"),
        *(Row(f"status {status}", count, "") for status, count in Counter(f["status"] for f in done).most_common()),
    ]
    show("Public models, time to posterior", rows)


def main() -> None:
    """Print a row per model as it is done, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="models by name")
    parser.add_argument("--first", type=int, metavar="N", help="the first N models")
    parser.add_argument("--recorded", action="store_true", help="sample here only, beside the recorded posteriors")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.inside:
        print(json.dumps(both(given.inside)))
        return
    unknown = set(given.only or ()) - set(MODELS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    names = (given.only or list(MODELS))[: given.first]
    found: dict[str, dict[str, Any]] = {}
    if given.recorded or importlib.util.find_spec("pymc") is None:
        reference = json.loads((FOLDER / "reference.json").read_text(encoding="utf-8"))
        names = [name for name in names if "posterior" in reference.get(name, {})]
        for name in names:
            try:
                found[name] = against_record(name, reference[name]["posterior"])
            except Exception as error:
                found[name] = {"failed": f"{type(error).__name__}: {error}"}
                print(f"{name:<34} {found[name]['failed']}", flush=True)
                continue
            f = found[name]
            seconds = f"{number(f['ours']):>6} s {number(f['theirs']):>6} s"
            print(f"{name:<34} {seconds}  z {f['z']:5.2f} ({f['where']})  {f['status']}", flush=True)
    else:
        with tempfile.TemporaryDirectory() as folder:
            environment = {
                **os.environ,
                "CONSILIENCE_CACHE": str(Path(folder, "ours")),
                "PYTENSOR_FLAGS": ",".join(
                    filter(None, [os.environ.get("PYTENSOR_FLAGS"), f"base_compiledir={folder}"])
                ),
            }
            measured(names[-1], environment, "benchmarks.public_models")  # what every model needs is compiled
            for name in names:
                found[name] = measured(name, environment, "benchmarks.public_models")
                print(line(name, found[name]), flush=True)
    summary(found, len(names))


if __name__ == "__main__":
    main()
