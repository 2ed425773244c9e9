"""The regions of a density of continuous and discrete coordinates: one for each combination of the discrete values.

For each combination that is looked at, the continuous coordinates ascend to a mode, and the curvature there tells the
mass. Where combinations are too many, those next to the heaviest ones found are looked at, as far as the budget goes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consilience.inference.density import LogDensity
from consilience.inference.modes.ascent import scaled_by
from consilience.inference.modes.evaluations import Evaluations, Floats
from consilience.inference.modes.normals import RegionNormals
from consilience.inference.modes.region_mass import curvature_at, laplace
from consilience.record import Record

Neighbours = Callable[[Floats], Iterable[Floats]]
"""Combinations, float64 (discrete,), that differ from a given one by a small move."""

BUDGET: Final = 15_000
STARTS: Final = 3  # ascents from around the starting position, and one from the heaviest mode found before
SCALES: Final = (0.5, 1.0, 3.0)
ASCENT, POLISH = 60, 100  # evaluations at most
TOLERANCE, POLISH_TOLERANCE = 1e-2, 1e-6
CONVERGED: Final = 1e-2  # g' H^-1 g
LEAST_SHARE: Final = 1e-3  # of the mass, of regions that chains jump between
MOST_NORMALS: Final = 64
PURPOSE: Final = 4  # of the random numbers


class ValueCombination(Record, eq=False):
    """One combination of the discrete values.

    `values`: float64 (discrete,). `mode`: of the continuous coordinates, float64 (continuous,). `factor`: Cholesky
    factor of their covariance there, float64 (continuous, continuous). `mass`: logarithm, up to a constant that is the
    same for all; -inf where the density is 0.
    """

    values: Floats
    mode: Floats
    factor: Floats
    mass: float


class Combinations(Record, eq=False):
    """The combinations that were looked at.

    `found`: those of known mass, the heaviest first.
    `places`: of the continuous coordinates, int64.
    `whole`: of the discrete ones, int64.
    `complete`: whether they are all there are, and the mass of each is known.
    `evaluations`: of the log density.
    """

    found: tuple[ValueCombination, ...]
    places: NDArray[np.int64]
    whole: NDArray[np.int64]
    complete: bool
    evaluations: int

    @property
    def shares(self) -> Floats:
        """Of the mass of all that were found, float64 (combination,)."""
        masses = np.array([one.mass for one in self.found])
        return np.asarray(np.exp(masses - np.logaddexp.reduce(masses)))

    def normals(self) -> RegionNormals | None:
        """Normals of those with more than a thousandth of the mass, 64 at most; None where there are fewer than two."""
        kept = int(min(MOST_NORMALS, (self.shares > LEAST_SHARE).sum())) if self.found else 0
        if kept < 2:
            return None
        some = self.found[:kept]
        return RegionNormals(
            places=self.places,
            modes=np.stack([one.mode for one in some]),
            factors=np.stack([one.factor for one in some]),
            shares=self.shares[:kept],
            whole=self.whole,
            values=np.stack([one.values for one in some]),
        )


def look_at_combinations(
    joint: LogDensity,
    continuous: LogDensity | None,
    places: NDArray[np.int64],
    whole: NDArray[np.int64],
    position: Floats,
    first: Iterable[Floats],
    *,
    neighbours: Neighbours | None,
    seed: int,
    budget: int = BUDGET,
    threads: int = 1,
) -> Combinations:
    """Look at the first combinations, and at neighbours of the heaviest ones found.

    `joint`: log density of the whole position.
    `continuous`: that of the continuous coordinates given all others, with its gradient; None where there are none.
    `places`, `whole`: where the continuous and the discrete coordinates lie in the position, int64.
    `position`: around which ascents begin, float64 (coordinate,).
    `first`: combinations, float64 (discrete,) each.
    `neighbours`: of a combination; None: `first` are all combinations there are.
    `seed`: of the starting points, any integer.
    `budget`: greatest number of evaluations.
    """
    base = np.ascontiguousarray(position, np.float64).copy()
    with Evaluations(joint, budget, 1) as levels:
        if continuous is None:
            search = _CombinationSearch(levels, None, places, whole, base, seed, budget)
            return search.run(first, neighbours)
        with Evaluations(continuous, budget, threads, position=base) as evaluations:
            return _CombinationSearch(levels, evaluations, places, whole, base, seed, budget).run(first, neighbours)


class _CombinationSearch:
    """One search; `base` is the position that ascents take the discrete values from."""

    def __init__(
        self,
        levels: Evaluations,
        evaluations: Evaluations | None,
        places: NDArray[np.int64],
        whole: NDArray[np.int64],
        base: Floats,
        seed: int,
        budget: int,
    ) -> None:
        self.levels, self.evaluations = levels, evaluations
        self.places, self.whole, self.base = places, whole, base
        self.centre = base[places].copy()
        self.generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), PURPOSE]))
        self.budget = budget
        self.found: dict[bytes, ValueCombination] = {}
        self.unknown = 0  # combinations whose mass is not known
        self.best: ValueCombination | None = None

    @property
    def spent(self) -> int:
        return self.levels.spent + (0 if self.evaluations is None else self.evaluations.spent)

    def run(self, first: Iterable[Floats], neighbours: Neighbours | None) -> Combinations:
        waiting: list[tuple[float, int, ValueCombination]] = []
        through = self._look_at(first, waiting, STARTS)
        while neighbours is not None and waiting and through:
            through = self._look_at(neighbours(heapq.heappop(waiting)[2].values), waiting, 0)
        known = [one for one in self.found.values() if np.isfinite(one.mass)]
        return Combinations(
            found=tuple(sorted(known, key=lambda one: (-one.mass, tuple(one.values)))),
            places=self.places,
            whole=self.whole,
            complete=neighbours is None and through and not self.unknown,
            evaluations=self.spent,
        )

    def _look_at(self, some: Iterable[Floats], waiting: list[tuple[float, int, ValueCombination]], starts: int) -> bool:
        """Look at those that are new; False once the budget is spent."""
        for values in some:
            key = np.ascontiguousarray(values, np.float64).tobytes()
            if key in self.found:
                continue
            if self.spent + (starts + 1) * ASCENT + POLISH + 2 * len(self.places) > self.budget:
                return False
            one = self._combination(np.array(values, np.float64), starts)
            if one is None:
                self.unknown += 1
                continue
            self.found[key] = one
            if np.isfinite(one.mass):
                heapq.heappush(waiting, (-one.mass, len(self.found), one))
                if self.best is None or one.mass > self.best.mass:
                    self.best = one
        return True

    def _combination(self, values: Floats, starts: int) -> ValueCombination | None:
        """One combination; None where its mass cannot be known."""
        self.base[self.whole] = values
        n = len(self.centre)
        if self.evaluations is None:
            return ValueCombination(values, self.centre, np.zeros((0, 0)), self._level(self.centre))
        mode = self._mode(self.evaluations, starts)
        if mode is None:
            return ValueCombination(values, self.centre, np.eye(n), -np.inf)
        curvature = curvature_at(self.evaluations, mode)
        if curvature is None or curvature.decrement > CONVERGED:
            return None
        return ValueCombination(values, mode, curvature.factor, laplace(self._level(mode), curvature))

    def _level(self, mode: Floats) -> float:
        point = self.base.copy()
        point[self.places] = mode
        return float(self.levels.at(point[None])[0])

    def _mode(self, evaluations: Evaluations, starts: int) -> Floats | None:
        """The highest end of some ascents; None where no starting point has a finite log density."""
        widths = np.resize(SCALES, starts)
        begins = self.centre + widths[:, None] * self.generator.standard_normal((starts, len(self.centre)))
        near = self.centre if self.best is None else self.best.mode
        begins, longest = np.concatenate([near[None], begins]), np.append(max(SCALES), 2.0 * widths)
        coordinates = scaled_by(np.ones(len(near)))
        ends = evaluations.ascend(begins, coordinates, longest, self.centre, ASCENT, TOLERANCE)
        highest = int(np.argmax(ends.logps))
        if not np.isfinite(ends.logps[highest]):
            return None
        begin = ends.points[highest][None]
        end = evaluations.ascend(begin, coordinates, longest[:1], self.centre, POLISH, POLISH_TOLERANCE)
        return np.asarray(end.points[0] if np.isfinite(end.logps[0]) else begin[0])
