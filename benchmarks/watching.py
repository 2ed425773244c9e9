"""What an open watch page costs a large run, by processor time: 16 chains of 5,000 parameters.

    python -m benchmarks.watching [--chains 16] [--parameters 5000] [--seconds 60]

The page is asked as a browser asks: for the run at each change, for four traces, and, after fifteen seconds and then
every fifteen, for the summary and the pairs. Shares are of the processor time of the process, in its first six seconds
and over all; times of answers are of the threads that make them.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
import urllib.parse
import urllib.request
import warnings
from typing import Any

import numpy as np

import consilience as pm
from benchmarks.report import Row, show

MINE = ("consilience-watch", "consilience-listeners", "AnyIO")
FIRST = 6.0  # seconds of the process
HERTZ = 100


class Spent:
    """Processor seconds of threads by their names, as far as they were seen."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.seconds: dict[int, float] = {}

    def now(self) -> float:
        """Of all threads that make the page."""
        self.names |= {t.native_id: t.name for t in threading.enumerate() if t.native_id is not None}
        for number, name in self.names.items():
            if name.startswith(MINE):
                try:
                    with open(f"/proc/self/task/{number}/stat", "rb") as file:
                        fields = file.read().rsplit(b")", 1)[1].split()
                    self.seconds[number] = (int(fields[11]) + int(fields[12])) / HERTZ
                except OSError:
                    pass
        return sum(self.seconds.values())

    def by_name(self) -> dict[str, float]:
        """The same by the first word of names."""
        found: dict[str, float] = {}
        for number, seconds in self.seconds.items():
            name = next(own for own in MINE if self.names[number].startswith(own))
            found[name] = found.get(name, 0.0) + seconds
        return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--chains", type=int, default=16)
    parser.add_argument("--parameters", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    with pm.Model():
        a = pm.Normal("a", 0, 1, shape=given.parameters)
        pm.StudentT("y", 4, a, 1, observed=rng.normal(size=given.parameters))
        run = pm.sample(chains=given.chains, stop=pm.Stop(ess=1e9, max_time=3600), remedies=(), integrate=False,
                        random_seed=1, progressbar=False, blocking=False)  # fmt: skip
    shown, spent = run.watch(port=0), Spent()
    base = shown.address.split("#")[0]
    answers: dict[str, list[float]] = {}

    def ask(what: str, **query: str) -> bytes:
        before, begun = spent.now(), time.perf_counter()
        told = urllib.parse.urlencode({"run": "this run", **query})
        found: bytes = urllib.request.urlopen(f"{base}api/{what}?{told}", timeout=120).read()
        answers.setdefault(what, []).append(spent.now() - before)
        answers.setdefault(f"{what}, by the wall", []).append(time.perf_counter() - begun)
        return found

    def update(everything: bool) -> None:
        worst: list[dict[str, Any]] = json.loads(ask("run"))["worst"][:4]
        asked = [json.dumps([e["variable"], e["place"]]) for e in worst]
        for of in asked:
            ask("trace", of=of)
        if everything and asked:
            ask("summary")
            ask("pairs", of=f"[{','.join(asked)}]")

    process, mine, first = time.process_time(), spent.now(), None
    stream = urllib.request.urlopen(f"{base}api/events?run=this+run", timeout=120)
    begun = slow = time.monotonic()
    updates = 0
    try:
        while time.process_time() - process < given.seconds:
            if stream.readline().startswith(b"event: change"):
                everything = time.monotonic() - slow > 15.0
                slow = time.monotonic() if everything else slow
                update(everything)
                updates += 1
            if first is None and time.process_time() - process >= FIRST:
                first = (spent.now() - mine) / (time.process_time() - process)
        share = (spent.now() - mine) / (time.process_time() - process)
    finally:
        stream.close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run.stop()
        shown.close()
    wall = time.monotonic() - begun
    rows = [
        Row("cost in the first six seconds", 100.0 * (first or 0.0), "%", 2.0),
        Row("cost over all", 100.0 * share, "%", 2.0, note=f"{updates} updates in {wall:.0f} s of the wall"),
    ]
    total = time.process_time() - process
    rows += [Row(f"threads: {name}", 100.0 * own / total, "%", None) for name, own in spent.by_name().items()]
    rows += [Row(f"answer: {what}", 1e3 * float(np.median(times)), "ms", None, note=f"largest {1e3 * max(times):.0f}")
             for what, times in answers.items()]  # fmt: skip
    show(f"An open page: {given.chains} chains of {given.parameters:,} parameters, processor time", rows)


if __name__ == "__main__":
    main()
