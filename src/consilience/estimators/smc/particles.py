"""Particles, and their log densities in batches on threads.

A model's density and points in; the log densities of prior and data there, and gradients, out. Each row's result
depends on that row alone, and so not on the number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from consilience.record import Record

Floats = npt.NDArray[np.float64]

LEAST_ROWS: Final = 64  # of a batch that is worth a thread


class Particles(Record, eq=False):
    """Points float64[particles, dimension], and at each the log density of the prior and that of the data."""

    points: Floats
    prior: Floats
    likelihood: Floats

    def chosen(self, places: npt.NDArray[Any]) -> Particles:
        """Some of them, perhaps several times."""
        return Particles(self.points[places], self.prior[places], self.likelihood[places])

    def replaced(self, where: npt.NDArray[np.bool_], others: Particles) -> Particles:
        """With others in some places."""
        return Particles(
            np.where(where[:, None], others.points, self.points),
            np.where(where, others.prior, self.prior),
            np.where(where, others.likelihood, self.likelihood),
        )

    def log_density(self, beta: float) -> Floats:
        """Of prior times likelihood ** beta; a likelihood of 0 has weight 0 at every temperature."""
        found: Floats = self.prior + tempered(self.likelihood, beta)
        return found


def tempered(likelihood: Floats, beta: float) -> Floats:
    """The log of a power of the likelihood, of which 0 stays 0."""
    found: Floats = beta * np.where(np.isneginf(likelihood), 0.0, likelihood)
    return np.where(np.isneginf(likelihood), -np.inf, found)


def joined(parts: Sequence[Particles]) -> Particles:
    """All of them, one after the other."""
    return Particles(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("points", "prior", "likelihood")))


class TwoFactors(Protocol):
    """Two log densities of points, such as a `ModelDensity` has of the prior and of the data; see there."""

    @property
    def dimension(self) -> int: ...

    @property
    def simulated(self) -> Sequence[str]: ...

    def tempered(self, positions: Floats, seeds: npt.NDArray[np.int64] | None = None) -> tuple[Floats, Floats]: ...

    def tempered_slopes(self, positions: Floats, power: float) -> tuple[Floats, Floats, Floats]: ...


class TemperedDensity:
    """The log densities of the prior and of the data.

    `pool`: threads among which the rows of a batch are divided. `threads`: how many of them one batch may take.
    """

    def __init__(self, density: TwoFactors, pool: Executor | None = None, threads: int = 1) -> None:
        self.density, self._pool, self._threads = density, pool, threads

    def at(self, points: Floats, generator: np.random.Generator) -> Particles:
        """Particles at points; where densities are random, by the generator."""
        seeds = generator.integers(2**62, size=len(points)) if self.density.simulated else None
        found = self._batches(
            len(points), lambda s: self.density.tempered(points[s], None if seeds is None else seeds[s])
        )
        return Particles(points, *found)

    def slopes(self, points: Floats, beta: float) -> tuple[Particles, Floats]:
        """Particles at points, and gradients of the log of prior times likelihood ** beta."""
        prior, likelihood, slopes = self._batches(len(points), lambda s: self.density.tempered_slopes(points[s], beta))
        return Particles(points, prior, likelihood), slopes

    def _batches(self, rows: int, function: Callable[[slice], tuple[Floats, ...]]) -> list[Floats]:
        count = min(self._threads, rows // LEAST_ROWS)
        if count <= 1 or self._pool is None:
            return list(function(slice(0, rows)))
        ends = [rows * i // count for i in range(count + 1)]
        runs = [self._pool.submit(function, slice(a, b)) for a, b in itertools.pairwise(ends)]
        return [np.concatenate(parts) for parts in zip(*(run.result() for run in runs), strict=True)]
