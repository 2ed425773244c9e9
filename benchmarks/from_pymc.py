"""PyMC's models sampled here and there: time to a posterior and the posteriors' agreement, for the tests' gallery.

A process per model, with nothing compiled for it before, in an interpreter that has PyMC. Ours is
`pm.sample(model=pm.from_pymc(theirs))`, translation included; theirs is `pymc.sample(cores=2, chains=4)`, compilation
included. Every element of a free variable is compared: the means within 5 standard errors of both runs, the
deviations within 15 %. Of tails too heavy for a standard error, bounded values are compared in place of the draws.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.report import Row, number, show

ERRORS, DEVIATION = 5.0, 0.15
LIMIT = 180  # seconds for both runs of a model
WARM_UP = "linear_regression_with_data"  # what every model needs is compiled by another one
FIRST = "eight_schools_noncentred"
NO_POSTERIOR = {"branches_and_parts"}  # a density whose integral is infinite: only its values can be compared


def gallery() -> dict[str, Any]:
    """The models of the tests, by name."""
    from tests.foreign import gallery_of_loops as gallery_of_loops  # adds its models
    from tests.foreign.gallery import MODELS

    return {name: model for name, model in MODELS.items() if name not in NO_POSTERIOR}


def both(name: str) -> dict[str, Any]:
    """One model in this process: seconds of both runs, and by how much the posteriors differ."""
    import pymc

    import consilience as pm

    theirs = gallery()[name](pymc)
    begun = time.perf_counter()
    own = pm.sample(model=pm.from_pymc(theirs), random_seed=1, progressbar=False)
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    with theirs:
        other = pymc.sample(chains=4, cores=2, random_seed=1, progressbar=False, compute_convergence_checks=False)
    others = time.perf_counter() - begun
    elements = {v.name: compared(own.posterior[v.name].values, other.posterior[v.name].values) for v in theirs.free_RVs}
    widest = max(elements, key=lambda v: elements[v][0])
    return {
        "ours": seconds,
        "theirs": others,
        "z": elements[widest][0],
        "where": widest,
        "deviation": max(d for _, d, _ in elements.values()),
        "rhat": max(r for *_, r in elements.values()),
        "status": str(own.status),
        "divergences": int(other.sample_stats["diverging"].sum()) if "diverging" in other.sample_stats else 0,
    }


def compared(own: Any, other: Any) -> tuple[float, float, float]:
    """Largest distance of means in standard errors, of deviations as a ratio less 1, and R-hat of the other run."""
    import numpy as np

    from consilience.diagnostics import mcse_mean, mcse_sd, split_rhat

    samples = [np.asarray(x, float).reshape(*np.shape(x)[:2], -1) for x in (own, other)]
    moving = np.ptp(samples[0], axis=(0, 1)) + np.ptp(samples[1], axis=(0, 1)) > 0
    own, other = (x[..., moving] for x in samples)
    if not own.shape[-1]:
        return 0.0, 0.0, 1.0
    heavy = ~np.isfinite(mcse_sd(own) + mcse_sd(other))
    low, middle, high = np.quantile(other, [0.25, 0.5, 0.75], axis=(0, 1))
    width = np.maximum(high - low, np.finfo(float).tiny)
    own, other = (np.where(heavy, np.arctan((x - middle) / width), x) for x in (own, other))
    error = np.sqrt(mcse_mean(own) ** 2 + mcse_mean(other) ** 2)
    z = abs(own.mean((0, 1)) - other.mean((0, 1))) / error
    ratio = abs(np.log(own.std((0, 1)) / other.std((0, 1))))
    return float(np.max(z)), float(np.expm1(ratio.max())), float(np.max(split_rhat(other)))


def measured(
    name: str, environment: dict[str, str], module: str = "benchmarks.from_pymc", limit: float = LIMIT
) -> dict[str, Any]:
    """The figures of one model from a process of its own, or what stopped it."""
    command = [sys.executable, "-m", module, "--inside", name]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, start_new_session=True
        ) as process,
    ):
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the processes of PyMC's chains
            return {"failed": f"more than {limit:g} s"}
        if process.returncode:
            errors.seek(0)
            return {"failed": (errors.read().strip().splitlines() or [f"exit status {process.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return found


def agrees(found: dict[str, Any]) -> bool:
    """Whether the posteriors are the same within the limits."""
    return bool(found["z"] <= ERRORS and found["deviation"] <= DEVIATION)


def line(name: str, found: dict[str, Any]) -> str:
    """The row of one model."""
    if "failed" in found:
        return f"{name:<46}  not compared: {found['failed']}"
    own, other = found["ours"], found["theirs"]
    verdict = "agrees" if agrees(found) else "DIFFERS"
    return (
        f"{name:<46} {number(own):>6} s {number(other):>6} s {number(other / own):>6} x   z {found['z']:>5.2f} "
        f"({found['where']})  deviation {100 * found['deviation']:>4.1f} %  R-hat {found['rhat']:.3f}  "
        f"{found['divergences']} divergences  {found['status']}  {verdict}"
    )


def main() -> None:
    """Print a row per model as it is done, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="models of the gallery by name")
    parser.add_argument("--first", type=int, metavar="N", help="the first N models")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.inside:
        print(json.dumps(both(given.inside)))
        return
    if importlib.util.find_spec("pymc") is None:
        print(f"\nPyMC is not measured: {sys.executable} does not have it; run this with an interpreter that does.")
        return
    known = list(gallery())
    unknown = set(given.only or ()) - set(known)
    if unknown:
        parser.error(f"the gallery has no {', '.join(sorted(unknown))}; it has {', '.join(known)}")
    names = (given.only or known)[: given.first]
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "CONSILIENCE_CACHE": str(Path(folder, "ours")),
            "PYTENSOR_FLAGS": ",".join(filter(None, [os.environ.get("PYTENSOR_FLAGS"), f"base_compiledir={folder}"])),
        }
        found: dict[str, dict[str, Any]] = {}
        measured(FIRST if names == [WARM_UP] else WARM_UP, environment)
        print("model, seconds here and of PyMC, ratio, largest distance of means in standard errors, of deviations")
        for name in names:
            found[name] = measured(name, environment)
            print(line(name, found[name]), flush=True)
    done = [f for f in found.values() if "failed" not in f]
    if done:
        agreeing = sum(map(agrees, done))
        rows = [
            Row("models compared", len(done), "", note=f"of {len(names)}"),
            Row("posteriors that agree", agreeing, "", len(done), at_least=True),
            Row("PyMC's seconds over ours, median", statistics.median(f["theirs"] / f["ours"] for f in done), ""),
            Row("seconds here, all models", sum(f["ours"] for f in done), "s"),
            Row("seconds of PyMC, all models", sum(f["theirs"] for f in done), "s"),
        ]
        show("Models of PyMC, time to posterior", rows)


if __name__ == "__main__":
    main()
