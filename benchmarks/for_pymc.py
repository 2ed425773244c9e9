"""Libraries that build on PyMC, with its own sampler and with ours behind `pm.sample`: seconds, and whether they agree.

A process per workflow, in an interpreter that has PyMC and the library; what is not installed is left out. Both
samplers make as many draws, by `nuts_sampler="pymc"` and by `nuts_sampler="consilience"`. The seconds are those of all
that the workflow does, compilation included; ours come first, so imports are made before either. The means are
compared in standard errors of both runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks import extras_workflows, forecast_workflows, marketing_workflows  # noqa: F401 - they enter theirs
from benchmarks.client_workflows import WORKFLOWS
from benchmarks.from_pymc import ERRORS, LIMIT, compared, measured
from benchmarks.report import Row, number, show

PACKAGES = {
    "marketing": "pymc_marketing",
    "extras": "pymc_extras",
    "forecast": "pymc_forecast",
}  # where the name is another


def both(name: str, draws: int) -> dict[str, Any]:
    """One workflow in this process: seconds of both samplers, and by how much the means differ."""
    import pymc

    from consilience.errors import ConsilienceError
    from consilience.for_pymc import install

    install()
    importlib.import_module(package(name))  # its import is neither sampler's
    keywords = {"draws": draws, "tune": draws, "chains": 2, "cores": 2, "random_seed": 1, "progressbar": False}
    found: dict[str, Any] = {"version": pymc.__version__}
    results = {}
    for sampler in ("consilience", "pymc"):
        begun = time.perf_counter()
        try:
            results[sampler] = WORKFLOWS[name]({**keywords, "nuts_sampler": sampler}).posterior
        except ConsilienceError as error:
            found["refused"] = " ".join([str(error), *getattr(error, "__notes__", ())]).splitlines()[0]
        found[sampler] = time.perf_counter() - begun
    if "refused" not in found:
        own, other = results["consilience"], results["pymc"]
        names = [v for v in other.data_vars if other[v].dtype.kind == "f"]
        distances = {v: compared(own[v].values, other[v].values) for v in names}
        found["where"] = max(distances, key=lambda v: distances[v][0])
        found["z"] = distances[found["where"]][0]
        found["rhat"] = max(r for *_, r in distances.values())
        found["status"] = own.attrs["status"]
    return found


def package(name: str) -> str:
    """The library that a workflow belongs to."""
    library = name.split("_")[0]
    return PACKAGES.get(library, library)


def line(name: str, found: dict[str, Any]) -> str:
    """The row of one workflow."""
    if "failed" in found:
        return f"{name:<48}  failed: {found['failed']}"
    if "refused" in found:
        return f"{name:<48}  refused: {found['refused']}"
    own, other = found["consilience"], found["pymc"]
    return (
        f"{name:<48} {number(own):>6} s {number(other):>6} s {number(other / own):>6} x   z {found['z']:>5.2f} "
        f"({found['where']})  R-hat of PyMC {found['rhat']:.3f}  {found['status']}"
    )


def main() -> None:
    """Print a row per workflow as it is done, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="workflows, or the beginnings of their names")
    parser.add_argument("--draws", type=int, default=1000, metavar="N", help="draws, and tuning draws, per chain")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="S", help="seconds for a workflow by both")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.inside:
        print(json.dumps(both(given.inside, int(os.environ["WORKFLOW_DRAWS"]))))
        return
    names = [n for n in WORKFLOWS if not given.only or any(n.startswith(begin) for begin in given.only)]
    absent = sorted({package(n) for n in names if importlib.util.find_spec(package(n)) is None})
    if absent:
        print(f"\nNot measured, since {sys.executable} does not have them: {', '.join(absent)}.")
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "MPLBACKEND": "Agg",
            "WORKFLOW_DRAWS": str(given.draws),
            "CONSILIENCE_CACHE": str(Path(folder, "ours")),
            "PYTENSOR_FLAGS": ",".join(filter(None, [os.environ.get("PYTENSOR_FLAGS"), f"base_compiledir={folder}"])),
        }
        print("workflow, seconds here and of PyMC, ratio, largest distance of means in standard errors")
        for name in names:
            if package(name) not in absent:
                found[name] = measured(name, environment, "benchmarks.for_pymc", given.limit)
                print(line(name, found[name]), flush=True)
    done = [f for f in found.values() if "z" in f]
    if done:
        rows = [
            Row("workflows sampled by both", len(done), "", note=f"of {len(found)}"),
            Row("refused by name", sum("refused" in f for f in found.values()), ""),
            Row(
                f"means within {ERRORS:g} standard errors",
                sum(f["z"] <= ERRORS for f in done),
                "",
                len(done),
                at_least=True,
            ),
            Row("PyMC's seconds over ours, median", statistics.median(f["pymc"] / f["consilience"] for f in done), ""),
            Row("seconds here, all", sum(f["consilience"] for f in done), "s"),
            Row("seconds of PyMC, all", sum(f["pymc"] for f in done), "s"),
        ]
        show("Libraries on PyMC, by either sampler", rows)


if __name__ == "__main__":
    main()
