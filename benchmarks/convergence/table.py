"""What plain `pm.sample` costs on every target and how it ends, beside the published figures of the method.

`python -m benchmarks.convergence.table [--runs N] [--targets TARGET ...]`. Under each row stand the published figures.
The last columns are runs of fixed length of the same kernel; under them those of Stan's and of nutpie's warmup.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.convergence.columns import Columns, arguments, thousands, verdict
from benchmarks.convergence.measure import Outcome, fixed_gradients, run
from benchmarks.convergence.targets import TARGETS, Paper, Target

MOST = 1.3  # of the published gradients
FIXED = ((1000, 1000), (400, 1000))
FIXED_RUNS = 2

COLUMNS = (
    ("runs", 4),
    ("warmup", 6),
    ("gradients", 8),
    ("in all", 8),
    ("ratio", 5),
    ("draws", 5),
    ("stopped", 5),
    ("clean", 5),
    ("wrong (clean)", 6),
    ("retuned", 5),
    ("coverage", 5),
    ("1000+1000", 8),
    ("400+1000", 8),
    ("", 6),
)


def mean(outcomes: Sequence[Outcome], figure: Callable[[Outcome], float]) -> float:
    """The mean of a figure over runs; NaN without runs."""
    return float(np.mean([figure(outcome) for outcome in outcomes])) if outcomes else math.nan


def share(value: float) -> str:
    """A share of runs or of intervals."""
    return "-" if math.isnan(value) else f"{value:.2f}"


def measured(outcomes: Sequence[Outcome], paper: Paper, fixed: Sequence[float]) -> list[str]:
    """The cells of one target's row."""
    stopped = [outcome for outcome in outcomes if outcome.stopped]
    wrong = [outcome for outcome in stopped if outcome.wrong]
    gradients = mean(outcomes, lambda outcome: outcome.gradients)
    ratio = gradients / (1e3 * paper.gradients)
    coverage = mean(stopped, lambda outcome: outcome.coverage)
    return [
        str(len(outcomes)),
        f"{mean(outcomes, lambda outcome: outcome.warmup):.0f}",
        thousands(mean(outcomes, lambda outcome: outcome.warmup_gradients)),
        thousands(gradients),
        f"{ratio:.2f}",
        f"{mean(outcomes, lambda outcome: outcome.draws):.0f}",
        share(len(stopped) / len(outcomes)),
        share(mean(outcomes, lambda outcome: outcome.clean)),
        f"{len(wrong)} ({sum(outcome.clean for outcome in wrong)})",
        share(mean(outcomes, lambda outcome: outcome.retuned)),
        "-" if math.isnan(coverage) else f"{coverage:.3f}",
        *(thousands(each) for each in fixed),
        verdict(ratio <= MOST),
    ]


def published(paper: Paper, runs: int) -> list[str]:
    """The cells under it."""
    return [
        str(runs),
        str(paper.warmup),
        thousands(1e3 * paper.warmup_gradients),
        thousands(1e3 * paper.gradients),
        "",
        str(paper.draws),
        share(paper.stopped),
        share(paper.clean),
        f"{paper.wrong} ({paper.wrong_clean})",
        share(paper.retuned),
        "-" if math.isnan(paper.coverage) else f"{paper.coverage:.3f}",
        *("-" if math.isnan(each) else thousands(1e3 * each) for each in (paper.stan, paper.nutpie)),
    ]


def outcomes_of(target: Target, runs: int, seed: int) -> list[Outcome]:
    """Runs until convergence, or until the most draws that the published runs were allowed."""
    return [run(target, seed + i, max_draws=target.paper.most_draws) for i in range(runs)]


def main() -> None:
    """Print the table."""
    options = arguments(__doc__)
    table = Columns("Until converged: gradients of four chains, beside the published", ("target", 13), COLUMNS)
    for name in options.targets:
        target = TARGETS[name]()
        outcomes = outcomes_of(target, options.runs or target.runs, options.seed)
        fixed = [
            float(np.mean([fixed_gradients(target, options.seed + i, tune, draws) for i in range(FIXED_RUNS)]))
            for tune, draws in FIXED
        ]
        table.row(name, measured(outcomes, target.paper, fixed))
        table.row("  published", published(target.paper, target.runs))


if __name__ == "__main__":
    main()
