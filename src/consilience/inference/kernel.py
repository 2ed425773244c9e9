"""What a run needs to know of a sampler: how to make a chain, and what a chain can do.

A kernel is a small immutable value that holds settings. A chain is one sequence of transitions with all its
memory; it is driven by one thread at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from consilience.inference.density import LogDensity


@dataclass(frozen=True, slots=True)
class Rows:
    """The memory a chain writes to, allocated by whoever runs it.

    draws        float64 (transition, coordinate), C-contiguous
    statistics   float64 (statistic, transition), C-contiguous
    """

    draws: NDArray[np.float64]
    statistics: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Divergences:
    """The divergences of one chain.

    transitions   int64 (divergence,): the transitions that diverged, tuning included, counted from 0
    begins, ends  float64 (divergence, coordinate): where the leapfrog step that diverged began and ended; the
                  end may hold numbers that are not finite
    """

    transitions: NDArray[np.int64]
    begins: NDArray[np.float64]
    ends: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a chain has learnt.

    step_size   step size (for Metropolis: scale of the proposal)
    variance    the metric's variances, float64 (coordinate,)
    """

    step_size: float
    variance: NDArray[np.float64]


class Chain(Protocol):
    """One chain at work."""

    def begin(self) -> None:
        """Evaluate the starting point and prepare; InitialPointError if its log density is not finite."""
        ...

    def advance(self, count: int) -> int:
        """Make up to `count` transitions and give the number made, smaller only once a stop was requested."""
        ...

    @property
    def evaluations(self) -> int:
        """Evaluations of the log density so far."""
        ...

    def divergences(self) -> Divergences:
        """Divergences so far."""
        ...

    def tuning(self) -> Tuning:
        """What the chain has learnt so far."""
        ...


class Kernel(Protocol):
    """A sampler with its settings."""

    @property
    def statistics(self) -> Mapping[str, str]:
        """Names of the statistics of a transition, in the order of the rows, with NumPy element types."""
        ...

    def chain(
        self,
        density: LogDensity,
        position: NDArray[np.float64],
        key: int,
        tune: int,
        rows: Rows,
        stop: NDArray[np.int64],
    ) -> Chain:
        """A new chain.

        position   its starting point, float64 (coordinate,)
        key        key of its random numbers, see `streams.chain_key`
        tune       number of tuning transitions, at the beginning of `rows`
        rows       where its draws and statistics go
        stop       int64 (1,); once it is not 0 the chain ends after at most one more evaluation
        """
        ...
