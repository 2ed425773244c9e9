"""Ten thousand parameters, and many runs in a row: memory and the time that watching convergence takes.

`python -m benchmarks.convergence.large [--runs N]`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile

from benchmarks.convergence.measure import sample
from benchmarks.convergence.targets import gaussian, schools
from benchmarks.fresh import ask
from benchmarks.memory import MEGABYTE, SETTLE, peak, resident
from benchmarks.report import Row, show

PARAMETERS = 10_000
CHAINS = 4
RUNS = 100
LARGEST_SHARE = 0.5  # of the run's time, where the gradient is nearly free
LARGEST_GROWTH = 2.0  # MB
LARGEST_MULTIPLE = 8  # of the draws: they, their gradients, order and scores, and the result


def many_parameters() -> dict[str, float]:
    """Figures of one run of independent normal variables."""
    model = gaussian.standard_normal(PARAMETERS)
    model.log_density()
    before = peak()
    tree, seconds = sample(model, 1)
    attributes = tree["posterior"].attrs
    draws = tree["posterior"].sizes["draw"]
    return {
        "converged": float(attributes["status"] == "converged"),
        "draws": draws,
        "seconds": seconds,
        "checks": float(attributes["time_checks"]),
        "memory": peak() - before,
        "stored": CHAINS * draws * PARAMETERS * 8 / MEGABYTE,
    }


def growth(runs: int) -> dict[str, float]:
    """Growth of resident memory over `runs` runs until convergence, after SETTLE."""
    model = schools.non_centred().model
    for i in range(SETTLE + runs):
        if i == SETTLE:
            before = resident()
        sample(model, i)
    return {"growth": resident() - before}


def main() -> None:
    """Print the table, or as a process of its own the figures of one measurement."""
    if len(sys.argv) > 1 and sys.argv[1] in ("many", "growth"):
        print(json.dumps(many_parameters() if sys.argv[1] == "many" else growth(int(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs in a row")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as cache:
        many = ask("benchmarks.convergence.large", "many", cache=cache)
        grown = ask("benchmarks.convergence.large", "growth", str(runs), cache=cache)
    show(
        f"{PARAMETERS} parameters, {CHAINS} chains",
        [
            Row("converged", many["converged"], "", 1, at_least=True),
            Row("draws per chain", many["draws"], ""),
            Row("time of the run", many["seconds"], "s"),
            Row("of it, checks of convergence", many["checks"], "s", LARGEST_SHARE * many["seconds"]),
            Row("growth of peak memory", many["memory"], "MB"),
            Row("of it, draws", many["stored"], "MB"),
            Row("growth over draws", many["memory"] / many["stored"], "", LARGEST_MULTIPLE),
            Row(f"growth over {runs} runs of eight schools", grown["growth"], "MB", LARGEST_GROWTH),
        ],
    )


if __name__ == "__main__":
    main()
