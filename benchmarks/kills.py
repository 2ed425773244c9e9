"""Kill -9 at random moments, over and over: does every run end with the bits of one that nobody killed?

`python -m benchmarks.kills [--kills 1000] [--kind WORD] [--seed 1]` prints a line for each kind of run. A run is
killed, goes on in a fresh process, is killed again and so on until a process lives long enough to end it; its digest is
then compared with that of a run without kills.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.workers.killed_run import KINDS

ROOT = Path(__file__).resolve().parent.parent
MOST_IN_A_ROW: Final = 16


class Count(NamedTuple):
    """What came of one kind of run: runs that ended, kills, and runs that ended with other bits or an error."""

    runs: int
    kills: int
    wrong: list[str]


def once(kind: str, folder: Path, seconds: float | None) -> tuple[dict[str, Any] | None, float]:
    """A process that goes on with the run: what it tells, None where it was killed after so many seconds; its time."""
    command = [sys.executable, "-m", "benchmarks.workers.killed_run", kind, str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    ) as process:
        assert process.stdout is not None
        if process.stdout.readline() != "begun\n":
            raise RuntimeError(process.communicate()[1])
        began = time.perf_counter()
        try:
            told, error = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its workers, too
            process.communicate()
            return None, time.perf_counter() - began
    if process.returncode:
        return {"error": error.strip().splitlines()[-1]}, time.perf_counter() - began
    return json.loads(told.splitlines()[-1]), time.perf_counter() - began


def killed(kind: str, kills: int, random_numbers: random.Random) -> Count:
    """Kill runs of a kind until there were so many kills and the last run has ended."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "whole").mkdir()
        expected, longest = once(kind, Path(folder) / "whole", None)
        done, runs, wrong = 0, 0, []
        while done < kills:
            own = Path(folder) / f"run{runs}"
            own.mkdir()
            in_a_row = 0
            while True:
                # a run that is killed again and again must come to its end some time
                latest = longest * (0.3 + 0.1 * in_a_row)
                told, _ = once(kind, own, None if in_a_row >= MOST_IN_A_ROW else random_numbers.random() * latest)
                if told is not None:
                    break
                done, in_a_row = done + 1, in_a_row + 1
            runs += 1
            if told != expected:
                wrong.append(f"run {runs} after {in_a_row} kills: {told}, not {expected}")
    return Count(runs, done, wrong)


def study(kills: int, kinds: Iterable[str], seed: int) -> dict[str, Count]:
    """Kills of all kinds, an equal share each, with a line printed for each."""
    chosen, found = list(kinds), {}
    for number, kind in enumerate(chosen):
        share = kills * (number + 1) // len(chosen) - kills * number // len(chosen)
        one = found[kind] = killed(kind, share, random.Random(f"{seed} {kind}"))
        print(f"{kind:55} {one.runs:4} runs {one.kills:5} kills {len(one.wrong):3} wrong", *one.wrong, flush=True)
    runs, done = (sum(getattr(one, name) for one in found.values()) for name in ("runs", "kills"))
    wrong = sum(len(one.wrong) for one in found.values())
    print(f"{'all ' + str(len(found)) + ' kinds':55} {runs:4} runs {done:5} kills {wrong:3} wrong", flush=True)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--kind", default="", help="a part of the name of kinds")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counted = study(given.kills, [kind for kind in KINDS if given.kind in kind], given.seed)
    sys.exit(any(one.wrong for one in counted.values()))
