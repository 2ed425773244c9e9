"""How often a wrong answer is called converged, where R-hat and effective sizes are known to be blind.

`python -m benchmarks.convergence.certificates [--runs N] [--targets CASE ...]`. Certified is a run that ends as
"converged", the one status that is silent; wrong is a mean off by more than 0.25 standard deviations or a standard
deviation off by more than 35 %. Where two modes are far apart, all chains start in one of them with a probability that
cannot be argued away: 2 x 0.5^chains. With jumps, runs count in which some chain has seen each mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scipy.stats import binom

from benchmarks.convergence.columns import Columns, arguments, verdict
from benchmarks.convergence.measure import WITH_DIVERGENCES, compare, sample
from benchmarks.convergence.targets import TARGETS, Target

COLUMNS = (
    ("runs", 4),
    ("certified", 4),
    ("wrong", 4),
    ("with divergences", 4),
    ("wrong", 4),
    ("in one mode", 4),
    ("weighted", 4),
    ("limit", 22),
    ("", 6),
)

BOTH_MODES = 20  # runs with jumps in which both modes were seen
WELL_WEIGHTED = 18
WEIGHT_ERROR = 0.1
MOST_TRIES = 4  # runs per run that counts
RARE = 0.975  # quantile of the binomial distribution that a share explained by chance stays below


@dataclass
class Tally:
    """Counts over the runs of one case.

    certified, wrong            runs that ended as converged, and those of them that are wrong
    reserved, reserved_wrong    the same for "converged_with_divergences"
    one_mode                    certified runs all of whose draws are in one mode
    both, weighted              runs that have seen both modes, and those of them that weighted them well
    """

    runs: int = 0
    certified: int = 0
    wrong: int = 0
    reserved: int = 0
    reserved_wrong: int = 0
    one_mode: int = 0
    both: int = 0
    weighted: int = 0

    def add(self, target: Target, tree: Any, seconds: float) -> None:
        """Count one run."""
        outcome = compare(target, tree, seconds)
        self.runs += 1
        self.certified += outcome.clean
        self.wrong += outcome.clean and outcome.wrong
        self.reserved += outcome.status == WITH_DIVERGENCES
        self.reserved_wrong += outcome.status == WITH_DIVERGENCES and outcome.wrong
        if target.name == "mix10":
            left = target.scalars(tree["posterior"])[:, :, 0] < 0
            self.one_mode += outcome.clean and bool(left.all() or not left.any())
            seen = bool(left.any() and not left.all())
            self.both += seen
            self.weighted += seen and bool(abs(left.mean() - 0.5) <= WEIGHT_ERROR)


@dataclass(frozen=True)
class Case:
    """A target with settings, a number of runs, and what the tally must show.

    limit    in words, for the number of runs
    kept     whether a tally meets it
    """

    target: str
    runs: int
    settings: dict[str, Any]
    limit: Callable[[int], str]
    kept: Callable[[Tally], bool]


def one_mode_at_most(runs: int, chains: int) -> int:
    """Most runs with all chains in one of two equal modes, short of the rarest 2.5 %."""
    return int(binom.ppf(RARE, runs, 2 * 0.5**chains))


def two_modes(chains: int, runs: int) -> Case:
    """Wrong certificates are explained by all chains starting in one mode."""
    return Case(
        "mix10",
        runs,
        {"chains": chains},
        lambda count: f"wrong <= {one_mode_at_most(count, chains)}, in one mode",
        lambda tally: tally.wrong <= one_mode_at_most(tally.runs, chains) and tally.wrong == tally.one_mode,
    )


def none_wrong(target: str, runs: int) -> Case:
    """No certified run is wrong."""
    return Case(target, runs, {}, lambda _: "wrong 0", lambda tally: tally.wrong == 0)


CASES = {
    "8schools_nc": none_wrong("8schools_nc", 200),
    "banana": none_wrong("banana", 200),
    "8schools_c": Case("8schools_c", 50, {}, lambda _: "", lambda _: True),
    "funnel": Case("funnel10", 20, {}, lambda _: "certified 0", lambda tally: tally.certified == 0),
    "two modes, 4 chains": two_modes(4, 100),
    "two modes, 8 chains": two_modes(8, 100),
    "two modes, jumps": Case(
        "mix10",
        BOTH_MODES,
        {"jumps": "auto"},
        lambda count: f"weighted >= {WELL_WEIGHTED * count // BOTH_MODES} of {count}",
        lambda tally: tally.both > 0 and tally.weighted * BOTH_MODES >= WELL_WEIGHTED * tally.both,
    ),
}


def tally_of(case: Case, runs: int, seed: int) -> Tally:
    """Run a case; with jumps until `runs` runs have seen both modes."""
    target = TARGETS[case.target]()
    tally = Tally()
    for i in range(MOST_TRIES * runs):
        if (tally.both if "jumps" in case.settings else tally.runs) >= runs:
            break
        tally.add(target, *sample(target.model, seed + i, **case.settings))
    return tally


def main() -> None:
    """Print the table."""
    options = arguments(__doc__, tuple(CASES))
    table = Columns("Wrong answers that are called converged", ("case", 20), COLUMNS)
    for name in options.targets:
        case = CASES[name]
        runs = options.runs or case.runs
        tally = tally_of(case, runs, options.seed)
        modes = case.target == "mix10"
        cells = [
            str(tally.runs),
            str(tally.certified),
            str(tally.wrong),
            str(tally.reserved),
            str(tally.reserved_wrong),
            str(tally.one_mode) if modes else "-",
            f"{tally.weighted} of {tally.both}" if modes else "-",
            case.limit(runs),
            verdict(case.kept(tally)) if case.limit(runs) else "",
        ]
        table.row(name, cells)


if __name__ == "__main__":
    main()
