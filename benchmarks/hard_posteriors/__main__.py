"""The command: rows of two trees and of PyMC, a process each, and what files of rows come to.

`python -m benchmarks.hard_posteriors [ROW ...] [--before COMMIT] [--pymc PYTHON] [--limit S] [--out FILE]`. Trees are
`now`, the one this file is in, `then`, that of a commit (or another one, whose `src` is named), `plain`, that of
`now` without blocks that are integrated out or carried along, and `PyMC`, with nutpie, by an interpreter that has
both. Models whose runs are short come first, each by all trees in turn. Rows that FILE has of the same commits are
not measured again, so a command that was ended goes on where it was. `--public` takes the models of
`tests/public_models` in place of the hard ones, `--growing` walks and fields of three sizes, beside INLA. `--summary
FILES` prints Markdown, `--publish FILES` puts it on the page.
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
BY = {"PyMC": "pymc", "INLA": "inla", "plain": "plain"}


class Tree(NamedTuple):
    """What samples: sources, an interpreter, and the commit of the sources."""

    source: Path
    python: str
    commit: str = ""


class Job(NamedTuple):
    """A row to be measured."""

    kind: str
    name: str
    seed: int
    tree: str
    by: Tree

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        """What a row of it says of itself."""
        return self.kind, self.name, self.seed, self.tree, self.by.commit


def git(*words: str) -> bytes:
    """What a command of git writes."""
    return subprocess.run(["git", *words], capture_output=True, cwd=ROOT, check=True).stdout


def commit_of(name: str) -> str:
    """Ten digits of a commit; a plus behind those of HEAD where sources differ from it."""
    found = git("rev-parse", "--short=10", name).decode().strip()
    return found + "+" * (name == "HEAD" and bool(git("status", "--porcelain", "src")))


def exported(commit: str) -> Path:
    """The sources of a commit, in a folder that later calls find again."""
    folder = Path(tempfile.gettempdir(), f"consilience-{commit}")
    if not (folder / "src").is_dir():
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            subprocess.run(["tar", "-x", "-C", made], input=git("archive", commit, "src"), check=True)
            folder.mkdir(exist_ok=True)
            Path(made, "src").rename(folder / "src")
    return folder / "src"


def measured(job: Job, limit: float) -> dict[str, Any]:
    """The row of a job, from a process that is killed at the limit."""
    about = dict(zip(("kind", "name", "seed", "tree", "commit"), job.key, strict=True))
    about |= {"limit": limit, "load": os.getloadavg()[0]}
    command = [job.by.python, "-m", "benchmarks.hard_posteriors.one", job.kind, job.name, str(job.seed)]
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Path(folder, "errors").open("w+", encoding="utf-8") as errors:
        environment = os.environ | {
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(job.by.source),
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


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    return [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines()]


def written(file: Path, limit: float) -> list[dict[str, Any]]:
    """Rows that a file has, but those that were killed sooner than they would be now."""
    rows = read(file) if file.exists() else []
    return [row for row in rows if row["status"] != "killed" or row["seconds"] >= limit]


def key_of(row: dict[str, Any]) -> tuple[str, str, int, str, str]:
    """The key of the job that a row is of."""
    return row["kind"], row["name"], row["seed"], row["tree"], row.get("commit", "")


def has_block(job: Job, rows: list[dict[str, Any]]) -> bool:
    """Whether the run of `now` has a block that is integrated out or carried along: without one `plain` is the same."""
    own = [row for row in rows if (row["name"], row["seed"], row["tree"]) == (job.name, job.seed, "now")]
    return any("blocks" not in row or row["blocks"] for row in own)


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
    parser.add_argument("--before", metavar="COMMIT", help="a commit, whose sources are called `then`")
    parser.add_argument("--src", type=Path, help="`src` of another tree, which is called `then`")
    parser.add_argument("--plain", action="store_true", help="also without blocks, where a run has one")
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
        rows = [row for file in files for row in read(file)]
        if given.publish:
            publish(rows)
        print("\n\n".join(tables(rows).values()))
        return
    kind = "public" if given.public else "growing" if given.growing else "hard"
    known = table(kind)
    unknown = [name for name in given.rows if name not in known]
    if unknown:
        parser.error(f"there is no model {unknown[0]!r}; there are {', '.join(known)}")
    places = {"now": Tree(ROOT / "src", sys.executable, commit_of("HEAD"))}
    if given.before:
        commit = commit_of(given.before)
        places["then"] = Tree(exported(commit), sys.executable, commit)
    elif given.src:
        places["then"] = Tree(given.src.resolve(), sys.executable)
    if given.plain:
        places["plain"] = places["now"]
    if given.growing:
        places["INLA"] = places["now"]
    if given.pymc:
        places["PyMC"] = Tree(ROOT / "src", given.pymc)
    names = sorted(given.rows or known, key=lambda name: getattr(known[name], "seconds", 0.0))
    jobs = [
        Job(kind, name, seed, tree, places[tree])
        for seed in given.seed
        for name in names
        for tree in given.trees
        if tree in places
    ]
    before = [] if given.out is None else written(given.out, given.limit)
    done_before = {key_of(row) for row in before}
    rows = [row for row in before if key_of(row) in {job.key for job in jobs}]
    jobs = [job for job in jobs if job.key not in done_before]
    until = time.monotonic() + given.budget
    said = ", ".join(f"{tree} {by.commit}".strip() for tree, by in places.items())
    print(f"{said}; {len(jobs)} runs to do, {len(rows)} done, {given.processes} at a time, {os.cpu_count()} cores")
    with ThreadPoolExecutor(given.processes) as pool:
        for plain in (False, True):
            asked = [job for job in jobs if (job.tree == "plain") is plain and (not plain or has_block(job, rows))]
            for done in as_completed(pool.submit(within, job, given.limit, until) for job in asked):
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
