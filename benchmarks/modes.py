"""Separate regions found before sampling: false ones, missed ones, masses, visits, and what the search costs.

`python -m benchmarks.modes [--seeds N] [--budget N]`. Twelve posteriors without a second region are searched with many
seeds each; mixtures are turned, scaled and moved anew for each seed. Found: every component is a region of its own that
chains would begin in. Wrongly blamed: draws of the whole mixture are said to have missed a region; caught: draws of its
first component alone are.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field

import numpy as np

from benchmarks.report import Row, show
from consilience.inference.modes.regions import Regions
from consilience.inference.modes.search import BUDGET, find_regions
from consilience.inference.modes.visits import visits
from tests.inference.mixtures import Mixture, affine
from tests.inference.unimodal import UNIMODAL, density_of

DRAWS = 1600


@dataclass(frozen=True)
class Case:
    """Components on a line: places, weights and widths in deviations; `found` is the least share of searches."""

    places: tuple[float, ...]
    weights: tuple[float, ...]
    widths: tuple[float, ...]
    dimension: int
    found: float | None = 0.98


CASES = {
    **{
        f"95/5 at {place} sd, d = {n}": Case((0, place), (0.95, 0.05), (1, 1), n)
        for place in (5, 6, 8)
        for n in (2, 20, 50)
    },
    **{f"equal at 10 sd, d = {n}": Case((0, 10), (0.5, 0.5), (1, 1), n) for n in (2, 20, 50)},
    **{f"50/30/20 at 8 sd, d = {n}": Case((0, 8, 16), (0.5, 0.3, 0.2), (1, 1, 1), n) for n in (2, 20, 50)},
    "70 % in sd 0.2 at 6, d = 2": Case((0, 6), (0.3, 0.7), (1, 0.2), 2, 0.85),
    "70 % in sd 0.2 at 6, d = 5": Case((0, 6), (0.3, 0.7), (1, 0.2), 5, None),
    "70 % in sd 0.2 at 6, d = 20": Case((0, 6), (0.3, 0.7), (1, 0.2), 20, None),
}


@dataclass
class Tally:
    """What the searches of one case came to."""

    found: int = 0
    blamed: int = 0
    caught: int = 0
    gradients: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    visiting: list[int] = field(default_factory=list)

    def add(self, found: Regions, seconds: float) -> None:
        """Count the cost of one search."""
        self.gradients.append(found.gradients)
        self.seconds.append(seconds)

    @property
    def cost(self) -> str:
        """In words."""
        mean, most = np.mean(self.gradients), max(self.gradients)
        return f"{mean:.0f} gradients (at most {most}), {1e3 * np.median(self.seconds):.1f} ms"


def components(found: Regions, target: Mixture) -> list[int]:
    """The component of the mixture nearest to each region that counts."""
    return [
        int(np.linalg.norm(target.modes - region.mode, axis=1).argmin())
        for region in found.regions
        if region.substantial
    ]


def draws_of(target: Mixture, widths: tuple[float, ...], chosen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A draw of each of these components."""
    n = target.dimension
    mix = np.linalg.inv(np.asarray(target.record.unmix).reshape(n, n))
    z = rng.standard_normal((len(chosen), n)) * np.array(widths)[chosen, None]
    return np.asarray(target.modes[chosen] + z @ mix.T)


def mixture(case: Case, seeds: int, budget: int) -> Tally:
    """Searches of one mixture, and visits by draws of all of it and of its first component."""
    tally = Tally()
    for seed in range(seeds):
        target = affine(case.places, case.weights, case.widths, case.dimension, seed)
        begin = time.perf_counter()
        found = find_regions(target, np.zeros(case.dimension), seed=seed, budget=budget)
        tally.add(found, time.perf_counter() - begin)
        order = components(found, target)
        if sorted(order) != list(range(len(case.places))):
            continue
        tally.found += 1
        shares = np.array([region.share for region in found.regions[: len(order)]])
        odds = np.log(shares / target.weights[order])
        tally.errors += list(odds[1:] - odds[0])
        rng = np.random.default_rng(seed)
        for chosen in (rng.choice(len(order), DRAWS, p=case.weights), np.zeros(DRAWS, int)):
            seen = visits(target, found, draws_of(target, case.widths, chosen, rng), seed=seed)
            tally.visiting.append(seen.gradients)
            missed = bool(seen.unvisited(found))
            tally.blamed += missed and bool(chosen.any())
            tally.caught += missed and not chosen.any()
    return tally


def multimodal(seeds: int, budget: int) -> None:
    """The table of mixtures."""
    rows, sampled = [], []
    for name, case in CASES.items():
        tally = mixture(case, seeds, budget)
        error = f"; log odds off by {np.sqrt(np.mean(np.square(tally.errors))):.3f} rms" if tally.errors else ""
        rows.append(
            Row(name, 100 * tally.found / seeds, "%", case.found and 100 * case.found, True, tally.cost + error)
        )
        if tally.found:
            note = f"wrongly blamed {tally.blamed} of {tally.found}, {np.mean(tally.visiting):.0f} gradients"
            sampled.append(Row(name, 100 * tally.caught / tally.found, "%", 95, True, note))
    show(f"Every component found, of {seeds} searches", rows)
    show("Draws of one component alone, caught", sampled)


def unimodal(seeds: int, budget: int) -> None:
    """The table of posteriors without a second region."""
    rows = []
    for name in UNIMODAL:
        target, tally, false = density_of(name), Tally(), 0
        find_regions(target, np.zeros(target.dimension), seed=0)
        for seed in range(seeds):
            begin = time.perf_counter()
            found = find_regions(target, np.zeros(target.dimension), seed=seed, budget=budget)
            tally.add(found, time.perf_counter() - begin)
            false += sum(region.substantial for region in found.regions) > 1
        rows.append(Row(f"{name}, d = {target.dimension}", false, "", 0, note=tally.cost))
    show(f"Searches of {seeds} that take one region for several", rows)


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--budget", type=int, default=BUDGET)
    options = parser.parse_args()
    unimodal(options.seeds, options.budget)
    multimodal(options.seeds, options.budget)


if __name__ == "__main__":
    main()
