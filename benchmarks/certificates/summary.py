"""Rows of runs in, per target and per status: how many, how many wrong, the rate with its interval, and the cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

from benchmarks import rows_of_processes
from benchmarks.certificates.judgement import MISSING
from benchmarks.certificates.targets import KINDS, TARGETS
from benchmarks.convergence.columns import Columns, thousands, verdict

CERTIFIED = "converged"
ORDER = (
    "converged",
    "converged_with_divergences",
    "not_converged",
    "chains_disagree",
    "interrupted",
    "completed",
    "error",
    "crash",
)
IMPROPER = "improper"
MOST_WRONG = 0.001  # of certified runs

Row = Mapping[str, Any]


class Rate(NamedTuple):
    """Wrong ones of a number of runs."""

    wrong: int
    runs: int

    def interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Bounds of the probability by Clopper and Pearson (1934)."""
        low = beta.ppf((1 - prob) / 2, self.wrong, self.runs - self.wrong + 1) if self.wrong else 0.0
        high = beta.ppf((1 + prob) / 2, self.wrong + 1, self.runs - self.wrong) if self.wrong < self.runs else 1.0
        return float(low), float(high)

    def __str__(self) -> str:
        if not self.runs:
            return "-"
        low, high = self.interval()
        return f"{self.wrong / self.runs:.2%} ({low:.2%} to {high:.2%})"


def read(files: Iterable[Path]) -> list[Row]:
    """Rows of several files; of two runs of one target and seed the later counts. Lines cut off are left out."""
    found = {(row["target"], row["seed"]): row for row in rows_of_processes.read(files) if row["target"] in TARGETS}
    return list(found.values())


def by(rows: Iterable[Row], key: str) -> dict[str, list[Row]]:
    """Rows in groups, in the order of the study."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    order = list(TARGETS) if key == "target" else list(ORDER)
    return {name: groups[name] for name in [*order, *sorted(set(groups) - set(order))] if name in groups}


def rate(rows: Sequence[Row]) -> Rate:
    """How many are wrong."""
    return Rate(sum(bool(row["wrong"]) for row in rows), len(rows))


def certified_of_right(rows: Iterable[Row]) -> Rate:
    """Of runs whose draws are right, how many are certified, those with divergences too."""
    right = [row for row in proper(rows) if not row["wrong"]]
    return Rate(sum(row["status"].startswith(CERTIFIED) for row in right), len(right))


def seen(rows: Iterable[Row]) -> list[Row]:
    """Those of targets that are not made to be invisible."""
    return [row for row in rows if not TARGETS[row["target"]].invisible]


def missing(rows: Iterable[Row]) -> int:
    """How many have a region missing; rows of targets without regions have none."""
    least = [row.get("least") for row in rows]
    return sum(one is not None and one < MISSING for one in least)


def proper(rows: Iterable[Row]) -> list[Row]:
    """Those of targets that have a posterior."""
    return [row for row in rows if row["target"] not in KINDS[IMPROPER]]


def statuses(rows: Iterable[Row]) -> dict[str, Rate]:
    """Wrong ones of each status, targets without a posterior left out: their certificates are counted by themselves."""
    return {status: rate(some) for status, some in by(proper(rows), "status").items()}


def ratios(rows: Sequence[Row], before: Sequence[Row], key: str) -> tuple[float, int]:
    """Geometric mean, over targets in both, of the ratio of mean costs of the seeds in both; and how many targets."""
    old = {(row["target"], row["seed"]): row for row in before}
    logs = []
    for some in by(rows, "target").values():
        pairs = [(row.get(key, 0), old[at].get(key, 0)) for row in some if (at := (row["target"], row["seed"])) in old]
        both = [(new, past) for new, past in pairs if new > 0 and past > 0]
        if both:
            now, then = np.array(both, dtype=np.float64).T
            logs.append(np.log(now.mean() / then.mean()))
    return (float(np.exp(np.mean(logs))), len(logs)) if logs else (float("nan"), 0)


def scores(rows: Sequence[Row]) -> list[float]:
    """Errors of means of certified runs that are right, in the standard errors that they claim."""
    return [z for row in rows if row["status"] == CERTIFIED and not row["wrong"] for z in row["z"]]


def spread_of_scores(rows: Sequence[Row]) -> float:
    """Root mean square of the scores of certified runs that are right: 1 where standard errors are as they claim."""
    z = scores(rows)
    return float(np.sqrt(np.mean(np.square(z)))) if z else float("nan")


def show(rows: Sequence[Row], before: Sequence[Row]) -> None:
    """Print tables of targets and of statuses, what is wrong, and the cost beside an earlier one."""
    columns = [("runs", 5), ("converged", 9), ("wrong", 5), ("missing", 7), ("diverged", 8), ("not", 5),
               ("disagree", 8), ("other", 5), ("wrong not cert.", 15), ("rms z", 7), ("gradients", 9), ("ms", 6),
               ("", 6)]  # fmt: skip
    table = Columns("Runs of each target", ("target", 40), columns)
    for name, some in by(rows, "target").items():
        groups = by(some, "status")
        certified = groups.get(CERTIFIED, [])
        counts = [len(groups.get(status, [])) for status in ORDER[1:4]]
        wrong = rate(certified).wrong
        table.row(name, [
            str(len(some)), str(len(certified)), str(wrong), str(missing(certified)), *map(str, counts),
            str(len(some) - len(certified) - sum(counts)), str(rate(some).wrong - wrong),
            f"{spread_of_scores(some):.2f}", thousands(float(np.median([row["gradients"] for row in some]))),
            f"{1e3 * np.median([row['seconds'] for row in some]):.0f}", verdict(wrong == 0),
        ])  # fmt: skip
    print("\nBy status, targets with a posterior: wrong of runs, rate and 95 % interval")
    for status, found in statuses(rows).items():
        print(f"  {status:28s} {found.wrong:5d} of {found.runs:6d}  {found}")
    without = [row for row in rows if row["target"] in KINDS[IMPROPER]]
    if without:
        bad = sum(row["status"] == CERTIFIED for row in without)
        print(f"  certified without a posterior {bad:4d} of {len(without):6d}  {Rate(bad, len(without))}")
    visible = rate([row for row in seen(rows) if row["status"] == CERTIFIED])
    some = certified_of_right(rows)
    print(f"  certified, without invisible {visible.wrong:5d} of {visible.runs:6d}  {visible}")
    print(f"  right that are certified     {some.wrong:5d} of {some.runs:6d}  {some}")
    print(f"  wrong certificates {verdict(visible.wrong <= MOST_WRONG * visible.runs)}")
    print(f"{sum(row['seconds'] for row in rows):.0f} seconds in all, {len(by(rows, 'target'))} targets")
    for row in rows:
        if row["wrong"] and row["status"].startswith(CERTIFIED):
            print(f"  WRONG {row['target']}, seed {row['seed']}, {row['status']}: {'; '.join(row['wrong'][:2])}")
    for row in [row for row in rows if row["status"] in ("error", "crash")][:20]:
        print(f"  {row['status']} {row['target']}, seed {row['seed']}: {row['reason'][:200]}")
    if before:
        for key in ("gradients", "cpu"):
            ratio, count = ratios(proper(rows), proper(before), key)
            name = "seconds of processors" if key == "cpu" else key
            print(f"{name}: {ratio:.3f} times those before (geometric mean of {count} targets)")
