"""The command: rows of two trees and of PyMC, a process each, and what files of rows come to.

`python -m benchmarks.hard_posteriors [ROW ...] [--src SRC] [--pymc PYTHON] [--limit S] [--out FILE]`. Trees are `now`,
the one this file is in, `then`, another one whose `src` is named, and `PyMC`, with nutpie, by an interpreter that has
both. `--public` takes the models of `tests/public_models` in place of the hard ones, `--growing` walks and fields of
three sizes, beside INLA. `--summary FILES` prints Markdown, `--publish FILES` puts it on the page.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.hard_posteriors.one import table
from benchmarks.hard_posteriors.page import TREES, line, publish, tables

ROOT = Path(__file__).resolve().parents[2]
LEAST = 5.0  # seconds in which a run is worth beginning
BY = {"PyMC": "pymc", "INLA": "inla"}


class Job(NamedTuple):
    """A row to be measured."""

    kind: str
    name: str
    seed: int
    tree: str
    source: Path
    python: str


def measured(job: Job, limit: float) -> dict[str, Any]:
    """The row of a job, from a process that is killed at the limit."""
    about = {"kind": job.kind, "name": job.name, "seed": job.seed, "tree": job.tree}
    command = [job.python, "-m", "benchmarks.hard_posteriors.one", job.kind, job.name, str(job.seed)]
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Path(folder, "errors").open("w+", encoding="utf-8") as errors:
        environment = os.environ | {
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(job.source),
            "CONSILIENCE_CACHE": str(Path(folder, "cache")), "PYTENSOR_FLAGS": f"base_compiledir={folder}",
        }  # fmt: skip
        with subprocess.Popen(
            [*command, "--by", BY.get(job.tree, "own")], stdout=subprocess.PIPE, stderr=errors, text=True,
            stdin=subprocess.DEVNULL, env=environment, cwd=ROOT, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                output, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                spent = processor_seconds(process.pid)
                os.killpg(process.pid, signal.SIGKILL)
                return about | {"status": "killed", "reason": f"after {limit:g} s", "seconds": limit} | spent
            finally:
                whole = time.perf_counter() - begun
        if process.returncode:
            errors.seek(0)
            said = errors.read().strip().splitlines() or [f"exit status {process.returncode}"]
            return about | {"status": "failed", "reason": said[-1][:300], "seconds": whole}
    found: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return about | found | {"whole": whole}


def processor_seconds(pid: int) -> dict[str, float]:
    """Of all threads of a process so far, where the system tells (Linux)."""
    place = Path(f"/proc/{pid}/stat")
    if not place.exists():
        return {}
    user, system = place.read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return {"cpu": (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")}


def within(job: Job, limit: float, until: float) -> dict[str, Any] | None:
    """The row of a job where there is time for one."""
    left = until - time.monotonic()
    if left < LEAST:
        return None
    row = measured(job, min(limit, left))
    return None if row["status"] == "killed" and left < limit else row


def main() -> None:
    """Measure, or read."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hard_posteriors", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("rows", nargs="*", metavar="ROW", help="models by name; all by default")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--public", action="store_true", help="the models of tests/public_models")
    chosen.add_argument("--growing", action="store_true", help="walks of 10^3 to 10^5 steps, grids to 300 x 300")
    parser.add_argument("--seed", type=int, nargs="+", default=[1], metavar="N", help="seeds, a run each")
    parser.add_argument("--src", type=Path, help="`src` of another tree, which is called `then`")
    parser.add_argument("--pymc", metavar="PYTHON", help="an interpreter with PyMC and nutpie")
    parser.add_argument("--trees", nargs="+", choices=TREES, default=list(TREES), help="of these, those that are given")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds of a process")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds of all, after which nothing runs")
    parser.add_argument("--processes", type=int, default=1, help="at a time, each with its own threads")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to which rows of JSON are added")
    parser.add_argument("--summary", nargs="+", type=Path, metavar="FILE", help="print what files come to")
    parser.add_argument("--publish", nargs="+", type=Path, metavar="FILE", help="write the tables of docs")
    given = parser.parse_args()
    files = given.summary or given.publish
    if files:
        rows = [json.loads(text) for file in files for text in file.read_text(encoding="utf-8").splitlines()]
        if given.publish:
            publish(rows)
        print("\n\n".join(tables(rows).values()))
        return
    kind = "public" if given.public else "growing" if given.growing else "hard"
    known = table(kind)
    unknown = [name for name in given.rows if name not in known]
    if unknown:
        parser.error(f"there is no model {unknown[0]!r}; there are {', '.join(known)}")
    places = {"now": (ROOT / "src", sys.executable)}
    if given.src:
        places["then"] = (given.src.resolve(), sys.executable)
    if given.growing:
        places["INLA"] = places["now"]
    if given.pymc:
        places["PyMC"] = (ROOT / "src", given.pymc)
    jobs = [
        Job(kind, name, seed, tree, *places[tree])
        for seed in given.seed
        for name in given.rows or known
        for tree in given.trees
        if tree in places
    ]
    rows: list[dict[str, Any]] = []
    until = time.monotonic() + given.budget
    print(f"{len(jobs)} runs, {given.processes} at a time, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with ThreadPoolExecutor(given.processes) as pool:
        for done in as_completed(pool.submit(within, job, given.limit, until) for job in jobs):
            row = done.result()
            if row is None:
                continue
            rows.append(row)
            print(line(rows[-1]), flush=True)
            if given.out:
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    print("\n" + "\n\n".join(tables(rows).values()))


if __name__ == "__main__":
    main()
