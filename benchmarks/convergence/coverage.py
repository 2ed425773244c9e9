"""Whether the stated errors are honest: coverage of 95 % intervals of means, mean +- 1.96 standard errors.

`python -m benchmarks.convergence.coverage [--runs N] [--targets TARGET ...]`. Runs are plain `pm.sample` with fresh
seeds; only those that stopped count. The error of a coverage is counted over runs, since a run's scalars are not
independent.
"""

from __future__ import annotations

import numpy as np

from benchmarks.convergence.columns import Columns, arguments, verdict
from benchmarks.convergence.measure import run
from benchmarks.convergence.targets import TARGETS

RUNS = {"iid10": 200, "8schools_nc": 200, "gp": 200, "logistic_corr": 200, "logistic": 50, "student5": 50}
LEAST, MOST = 0.92, 0.97

COLUMNS = (
    ("scalars", 4),
    ("runs", 4),
    ("stopped", 4),
    ("coverage", 5),
    ("error", 5),
    ("rms of z", 5),
    ("rms distance / sd", 5),
    ("mean sd ratio", 5),
    ("wanted", 9),
    ("", 6),
)


def main() -> None:
    """Print the table."""
    options = arguments(__doc__, tuple(RUNS))
    table = Columns("Coverage of 95 % intervals of means", ("target", 13), COLUMNS)
    for name in options.targets:
        target = TARGETS[name]()
        runs = options.runs or RUNS[name]
        outcomes = [run(target, options.seed + i) for i in range(runs)]
        stopped = [outcome for outcome in outcomes if outcome.stopped]
        if not stopped:
            table.row(name, [str(target.dimension), str(runs), "0", *["-"] * 6, verdict(False)])
            continue
        shares = np.array([outcome.coverage for outcome in stopped])
        z = np.array([outcome.z for outcome in stopped])
        distance = np.array([outcome.distance for outcome in stopped])
        error = shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
        cells = [
            str(target.dimension),
            str(runs),
            str(len(stopped)),
            f"{shares.mean():.3f}",
            f"{error:.3f}",
            f"{np.sqrt(np.mean(np.square(z))):.2f}",
            f"{np.sqrt(np.mean(np.square(distance))):.3f}",
            f"{np.mean([outcome.ratio for outcome in stopped]):.3f}",
            f"{LEAST}-{MOST}",
            verdict(bool(LEAST <= shares.mean() <= MOST)),
        ]
        table.row(name, cells)


if __name__ == "__main__":
    main()
