"""Regions of a posterior with discrete variables that chains move: one for each combination of their values.

Looked for before the chains begin, as `separate_modes` does where all variables are continuous. Of few combinations
all are looked at: chains then begin in those that hold the mass, and one that no draw has forbids to call the run
converged. Of many, chains jump between the heaviest that were found.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from consilience.inference.modes.combinations import Combinations, look_at_combinations
from consilience.inference.modes.regions import NEGLIGIBLE
from consilience.inference.modes.starting_points import chains_per_region
from consilience.model.blocks import values_of
from consilience.model.log_density import ModelDensity
from consilience.model.starting_point import starting_position
from consilience.record import replace
from consilience.run import Monitored

if TYPE_CHECKING:
    from consilience.inference.modes.symmetries import Quotient

Floats = npt.NDArray[np.float64]
FEW: Final = 128  # combinations that are all looked at
MOST_ELEMENTS: Final = 30  # discrete coordinates, beyond which the neighbours of a combination are too many
MOST_CONTINUOUS: Final = 100  # coordinates, beyond which their curvatures cost more than they tell
CLOSE: Final = 2  # the range of values that are all next to each other
KNOWN: Final = 0.02  # share that a combination surely has if its curvature says so
PURPOSE: Final = 5  # of the random numbers


class DiscreteRegions:
    """The search of one run: the same regions whenever it is asked, as they depend on density and seed alone."""

    def __init__(self, density: ModelDensity, monitored: Monitored, seed: int, threads: int) -> None:
        self.density = density
        self.monitored = monitored
        self.seed = seed
        self.threads = threads
        stretches = density.layout.stretches
        sizes = [s.size for s in stretches]
        discrete = np.repeat([not s.variable.continuous for s in stretches], sizes)
        self.places, self.whole = np.flatnonzero(~discrete), np.flatnonzero(discrete)
        bounds = np.repeat([values_of(s.variable) for s in stretches if not s.variable.continuous],
                           [s.size for s in stretches if not s.variable.continuous], axis=0)  # fmt: skip
        self.lower, self.upper = bounds[:, 0], bounds[:, 1]

    @property
    def few(self) -> bool:
        """Whether all combinations are looked at."""
        return bool(np.prod(self.upper - self.lower + 1.0) <= FEW)

    @cached_property
    def found(self) -> Combinations:
        """All that were looked at."""
        density = self.density
        names = tuple(v.name for v in density.model.free if v.continuous)
        base = starting_position(density.model, density.layout, density.lengths)
        small = len(self.whole) <= MOST_ELEMENTS
        if len(self.places) > MOST_CONTINUOUS or not (self.few or small):
            return Combinations((), self.places, self.whole, False, 0)
        return look_at_combinations(
            density.restricted((), "logp"),
            density.restricted(names, "gradient") if len(self.places) else None,
            self.places,
            self.whole,
            base,
            self._all() if self.few else [base[self.whole]],
            neighbours=None if self.few else self._next_to,
            seed=self.seed,
            threads=self.threads,
        )

    def _all(self) -> Iterator[Floats]:
        ranges = [np.arange(low, high + 1.0) for low, high in zip(self.lower, self.upper, strict=True)]
        return (np.array(values) for values in itertools.product(*ranges))

    def _next_to(self, values: Floats) -> Iterator[Floats]:
        """Combinations with one value changed, or with two exchanged."""
        for i, value in enumerate(values):
            close = self.upper[i] - self.lower[i] <= CLOSE
            others = np.arange(self.lower[i], self.upper[i] + 1.0) if close else [value - 1.0, value + 1.0]
            for other in others:
                if other != value and self.lower[i] <= other <= self.upper[i]:
                    changed = values.copy()
                    changed[i] = other
                    yield changed
        for i, j in itertools.combinations(range(len(values)), 2):
            exchangeable = self.lower[i] == self.lower[j] and self.upper[i] == self.upper[j]
            if exchangeable and values[i] != values[j]:
                changed = values.copy()
                changed[[i, j]] = values[[j, i]]
                yield changed

    def spread(self, points: Floats, seed: int | None = None) -> Floats:
        """Starting points (chain, coordinate): where all combinations are known in those that hold the mass.

        `seed`: of the random numbers, in place of the run's.
        """
        found, density = self.found, self.density
        if not found.complete or not found.found:
            return points
        kept = int((found.shares > NEGLIGIBLE).sum())
        spread = points.copy()
        counts = chains_per_region(found.shares[:kept].tolist(), len(points))
        seed = self.seed if seed is None else seed
        generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), PURPOSE]))
        for chain, k in enumerate(np.repeat(np.arange(kept), counts)):
            one = found.found[k]
            for width in (1.0, 0.5, 0.0):
                point = points[chain].copy()
                point[self.whole] = one.values
                point[self.places] = one.mode + width * one.factor @ generator.standard_normal(len(one.mode))
                logp, gradient = density(point)
                if np.isfinite(logp) and np.isfinite(gradient).all():
                    spread[chain] = point
                    break
        return spread

    def watched(self, monitored: Monitored) -> Monitored:
        """What is monitored, with combinations that are missed, and the normals that chains jump between."""
        return replace(monitored, missed=self.missed, normals=self.found.normals, searched=lambda: self.found.complete)

    def missed(self, draws: Floats, quotient: Quotient | None = None) -> str:
        """In words, the heaviest combination that no draw (chain, draw, coordinate) has; empty if there is none."""
        found = self.found
        if not found.complete:
            return ""
        seen = {row.tobytes() for row in np.unique(draws[..., self.whole].reshape(-1, len(self.whole)), axis=0)}
        for one, share in zip(found.found, found.shares, strict=True):
            if share > KNOWN and np.ascontiguousarray(one.values).tobytes() not in seen:
                names = self.monitored.names
                listed = [f"`{names[i]}` = {v:.0f}" for i, v in zip(self.whole, one.values, strict=True)]
                return (
                    f"discrete values with about {100.0 * share:.2g} % of the posterior's mass, {', '.join(listed)}, "
                    "were found before sampling, but no draw reached them; do not use these draws: leave out "
                    "`step=`, so that these variables are summed out, or try more chains"
                )
        return ""
