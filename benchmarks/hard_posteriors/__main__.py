"""The command: rows of two trees and of PyMC, a process each, and what files of rows come to.

`python -m benchmarks.hard_posteriors [ROW ...] [--src SRC] [--pymc PYTHON] [--limit S] [--out FILE]`. Trees are `now`,
the one this file is in, `then`, another one whose `src` is named, and `PyMC`, with nutpie, by an interpreter that has
both. `--public` takes the models of `tests/public_models` in place of the hard ones, `--growing` walks and fields of
three sizes, beside INLA. `--summary FILES` prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.hard_posteriors.models import MODELS
from benchmarks.hard_posteriors.one import table
from benchmarks.report import number

ROOT = Path(__file__).resolve().parents[2]
TREES = ("then", "now", "PyMC", "INLA")
BY = {"PyMC": "pymc", "INLA": "inla"}
WRONG = 0.25  # of a standard deviation, as in the study of certificates


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
                os.killpg(process.pid, signal.SIGKILL)
                return about | {"status": "killed", "reason": f"after {limit:g} s", "seconds": limit}
            finally:
                whole = time.perf_counter() - begun
        if process.returncode:
            errors.seek(0)
            said = errors.read().strip().splitlines() or [f"exit status {process.returncode}"]
            return about | {"status": "failed", "reason": said[-1][:300], "seconds": whole}
    found: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return about | found | {"whole": whole}


def line(row: dict[str, Any]) -> str:
    """A row as it is done."""
    head = f"{row['name']:<32} {row['tree']:<5} {row['seed']}  {number(row['seconds']):>7} s  "
    return head + cell(row) + ("" if row["status"] == "converged" else f"  {row.get('reason', '')[:120]}")


def cell(row: dict[str, Any] | None) -> str:
    """What a row says, without its name."""
    if row is None:
        return ""
    if "ess" not in row:
        return f"{row['status']} ({row['reason']})" if "reason" in row else str(row["status"])
    parts = [row["status"] or f"R-hat {row['rhat']:.2f}", f"{number(row['ess_per_second'])} ESS/s"]
    if "gradients" in row:
        parts.append(f"{number(row['gradients_per_ess'])} gradients/ESS")
    if row.get("divergences"):
        parts.append(f"{row['divergences']} divergences")
    if row.get("restarts"):
        parts.append(f"{len(row['restarts'])} restarts")
    return ", ".join(parts)


def spent(row: dict[str, Any] | None) -> str:
    """Seconds by the clock, those of all processors together, and peak memory."""
    if row is None:
        return ""
    figures = f"{number(row['seconds'])} s"
    return f"{figures} ({number(row['cpu'])}), {row['peak_mb']:.0f} MB" if "cpu" in row else figures


def middle(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """For each name and tree the run of the median seconds."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["name"], row["tree"]), []).append(row)
    return {key: sorted(group, key=lambda r: r["seconds"])[len(group) // 2] for key, group in groups.items()}


def gain(then: dict[str, Any] | None, now: dict[str, Any] | None) -> str:
    """How many times the effective draws per second; of a run without draws, at least its seconds over ours."""
    if then is None or now is None or "ess" not in now:
        return ""
    if "ess" in then:
        return f"{number(now['ess_per_second'] / then['ess_per_second'])}x"
    return f"> {number(then['seconds'] / now['seconds'])}x"


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table of the hard models: then, now, PyMC."""
    found = middle(rows)
    trees = [tree for tree in TREES if any(key[1] == tree for key in found)]
    gains = [tree for tree in trees if tree != "now" and "now" in trees]
    head = ["model", "coordinates", *(f"{tree}: seconds (of processors), peak MB | {tree}" for tree in trees)]
    head += [f"now over {tree}" for tree in gains]
    text = ["| " + " | ".join(head) + " |", "|---|--:|" + "--:|---|" * len(trees) + "--:|" * len(gains)]
    for name, model in MODELS.items():
        per = {tree: found.get((name, tree)) for tree in trees}
        if not any(per.values()):
            continue
        cells = [name.replace("_", " "), f"{model.coordinates:,}"]
        for row in per.values():
            cells += [spent(row), cell(row)]
        text.append("| " + " | ".join([*cells, *(gain(per[tree], per.get("now")) for tree in gains)]) + " |")
    return "\n".join(text)


def grown(rows: list[dict[str, Any]]) -> str:
    """Seconds to 400 effective draws of everything, and the distance from INLA's answer."""
    found = middle(rows)
    text = [
        "| model | tree | seconds | draws | least ESS | seconds to 400 | INLA, seconds | means of the field | scale |",
        "|---|---|--:|--:|--:|--:|--:|---|---|",
    ]
    for (name, tree), row in sorted(found.items(), key=lambda item: list(table("growing")).index(item[0][0])):
        if tree == "INLA":
            continue
        other = found.get((name, "INLA"))
        laplace = "" if other is None else f"{number(other['seconds'])} s" if "values" in other else cell(other)
        cells = [name, tree, f"{number(row['seconds'])} s", cell(row), "", "", laplace, "", ""]
        if "ess" in row:
            least = row["ess"]
            needed = row["seconds"] * max(1.0, 400 / least)
            cells[3:6] = [f"{row['draws']}", f"{least:.0f} ({row['status']})", f"{number(needed)} s"]
            if other is not None and "values" in other:
                cells[7], cells[8] = (distance(row["values"][key], other["values"][key]) for key in ("field", "scale"))
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


def distance(own: list[list[float]], other: list[list[float]]) -> str:
    """Root mean square distance of means, in deviations, and the mean ratio of deviations."""
    (mean, sd), (there, width) = own, other
    squares = [((a - b) / s) ** 2 for a, b, s in zip(mean, there, width, strict=True)]
    ratio = statistics.geometric_mean(a / b for a, b in zip(sd, width, strict=True))
    return f"{statistics.mean(squares) ** 0.5:.2f} sd apart, sd x {ratio:.2f}"


def geometric_mean(values: Sequence[float]) -> str:
    """Of ratios, with their number."""
    return f"{statistics.geometric_mean(values):.3f} ({len(values)})" if values else "none"


def compared(rows: list[dict[str, Any]]) -> str:
    """The public models: statuses, how often each is wrong, cost of now over then, and where statuses changed."""
    text = []
    for tree in dict.fromkeys(row["tree"] for row in rows):
        of = [row for row in rows if row["tree"] == tree]
        text.append(f"\n{tree}: {len(of)} runs, {number(sum(row['seconds'] for row in of))} s in all")
        for status, count in Counter(row["status"] for row in of).most_common():
            known = [row for row in of if row["status"] == status and "off" in row]
            wrong = sum(row["off"] > WRONG for row in known)
            text.append(f"  {status:<28} {count:>4} ({100 * count / len(of):.1f} %), wrong {wrong} of {len(known)}")
    pairs = {(row["name"], row["seed"]): row for row in rows if row["tree"] == "then"}
    both = [
        (pairs[row["name"], row["seed"]], row)
        for row in rows
        if row["tree"] == "now" and (row["name"], row["seed"]) in pairs
    ]
    for what in ("gradients", "seconds", "gradients_per_ess"):
        ratios = [now[what] / then[what] for then, now in both if then.get(what) and now.get(what)]
        text.append(f"now over then, {what}, geometric mean: {geometric_mean(ratios)}")
        if what == "gradients":
            dearer = [(n["gradients"] / t["gradients"], n["name"]) for t, n in both if t.get(what) and n.get(what)]
            text += [f"  {ratio:6.2f} {name}" for ratio, name in sorted(dearer, reverse=True)[:10] if ratio > 1.05]
    for then, now in both:
        if then["status"] != now["status"]:
            text.append(
                f"  {now['name']} ({now['seed']}): {then['status']} -> {now['status']}: {now.get('reason', '')[:150]}"
            )
    return "\n".join(text)


def show(rows: list[dict[str, Any]]) -> None:
    """Everything that rows come to."""
    for kind, said in (("hard", markdown), ("growing", grown), ("public", compared)):
        of = [row for row in rows if row["kind"] == kind]
        if of:
            print("\n" + said(of), flush=True)


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
    parser.add_argument("--processes", type=int, default=1, help="at a time, each with its own threads")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to which rows of JSON are added")
    parser.add_argument("--summary", nargs="+", type=Path, metavar="FILE", help="print what files come to")
    given = parser.parse_args()
    if given.summary:
        show([json.loads(text) for file in given.summary for text in file.read_text(encoding="utf-8").splitlines()])
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
    rows = []
    print(f"{len(jobs)} runs, {given.processes} at a time, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with ThreadPoolExecutor(given.processes) as pool:
        for done in as_completed(pool.submit(measured, job, given.limit) for job in jobs):
            rows.append(done.result())
            print(line(rows[-1]), flush=True)
            if given.out:
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    show(rows)


if __name__ == "__main__":
    main()
