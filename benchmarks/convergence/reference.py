"""Moments that no formula gives, by long runs: `python -m benchmarks.convergence.reference [TARGET ...]`.

Runs of eight chains of fixed length at a small step size are added up until every scalar has the effective size asked
for. Centred models get theirs from the draws of the non-centred ones.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks.convergence.measure import sample
from benchmarks.convergence.targets import TARGETS, Target
from consilience.diagnostics import ess_bulk, ess_mean, split_rhat

CHAINS = 8
TUNE = 1000
TARGET_ACCEPT = 0.95
NUMBERS = 25_000_000  # kept at a time: 200 MB
LONGEST = 50_000  # draws per chain and run
FEWEST = 10_000  # effective draws
LARGEST_RHAT = 1.01
MOST_RUNS = 200
# Coverage needs a truth whose own error is small beside that of a run with an effective size of 400 to 1000.
EFFECTIVE = 200_000
EFFECTIVE_LARGE = 40_000  # where one scalar costs hundreds of gradients per effective draw
LARGE = 100
DIGITS = 7


class Sums:
    """Moments of one target's scalars, added up over runs."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.count = 0
        self.effective = np.zeros(target.dimension)
        self.rhat = 0.0
        self.first = np.zeros(target.dimension)
        self.second = np.zeros(target.dimension)
        self.origin: Any = None

    def add(self, posterior: Any) -> None:
        """Add the draws of one run."""
        draws = self.target.scalars(posterior)
        if self.origin is None:
            self.origin = draws.mean(axis=(0, 1))
        deviation = draws - self.origin
        self.first += deviation.sum(axis=(0, 1))
        self.second += np.square(deviation).sum(axis=(0, 1))
        self.count += draws.shape[0] * draws.shape[1]
        self.effective += np.minimum(ess_bulk(draws), ess_mean(draws))
        self.rhat = max(self.rhat, float(split_rhat(draws).max()))

    def write(self, runs: int, divergences: int) -> None:
        """Keep the moments in the target's file."""
        shift = self.first / self.count
        sd = np.sqrt(self.second / self.count - np.square(shift))
        found = {
            "scalars": self.target.scalar_names(),
            "mean": [float(f"{value:.{DIGITS}g}") for value in self.origin + shift],
            "sd": [float(f"{value:.{DIGITS}g}") for value in sd],
            "ess": int(self.effective.min()),
            "rhat": round(self.rhat, 4),
            "runs": runs,
            "chains": CHAINS,
            "draws": self.count,
            "divergences": divergences,
        }
        self.target.reference_file.parent.mkdir(exist_ok=True)
        self.target.reference_file.write_text(json.dumps(found) + "\n", encoding="utf-8")


def make(name: str) -> None:
    """Write the references of a target and of those that take theirs from it."""
    target = TARGETS[name]()
    others = [other for other in (build() for build in TARGETS.values()) if other.source == name]
    sums = [Sums(each) for each in (target, *others)]
    goal = EFFECTIVE_LARGE if target.dimension > LARGE else EFFECTIVE
    draws = min(LONGEST, NUMBERS // (CHAINS * target.dimension * len(sums)))
    began = time.perf_counter()
    runs = divergences = 0
    while min(each.effective.min() for each in sums) < goal and runs < MOST_RUNS:
        tree, _ = sample(
            target.model,
            runs,
            chains=CHAINS,
            tune=TUNE,
            draws=draws,
            target_accept=TARGET_ACCEPT,
            compute_convergence_checks=False,
        )
        runs += 1
        divergences += int(tree["sample_stats"]["diverging"].sum())
        for each in sums:
            each.add(tree["posterior"])
    for each in sums:
        effective = each.effective.min()
        print(
            f"{each.target.name}: effective size {effective:.0f}, R-hat {each.rhat:.4f} in {runs} runs of "
            f"{CHAINS} x {draws}, {divergences} divergences, {time.perf_counter() - began:.0f} s",
            flush=True,
        )
        if effective < FEWEST or each.rhat > LARGEST_RHAT:
            raise RuntimeError(f"the draws of {each.target.name} do not serve as a reference")
        each.write(runs, divergences)


def main() -> None:
    """Make the references named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    wanted = parser.parse_args().targets
    built = {name: build() for name, build in TARGETS.items()}
    sampled = [name for name, target in built.items() if target.known is None and target.source is None]
    for name in wanted or sampled:
        if name not in sampled:
            parser.error(f"no reference is sampled for {name!r}; they are for {', '.join(sampled)}")
        make(name)


if __name__ == "__main__":
    main()
