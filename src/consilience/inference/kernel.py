"""What a run needs to know of a sampler: how to make a chain, and what a chain can do.

A kernel is a small immutable value that holds settings. A chain is one sequence of transitions with all its
memory; it is driven by one thread at a time. What passes between a chain and its run are the messages below.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from consilience.inference.density import LogDensity
from consilience.inference.metric import Scales
from consilience.record import Record

Snapshot = Mapping[str, Any]  # numbers and arrays by name; see `snapshot`


class Learning(IntEnum):
    """What a chain learns from its transitions."""

    NOTHING = 0
    SCHEDULE = 1  # metric and step size, by itself, on a schedule of fixed length
    ALONE = 2  # metric and step size, by itself, for as long as it is told to
    STEP = 3  # the step size; the metric comes from the run


class Rows(Record):
    """The memory a chain writes to, allocated by whoever runs it.

    draws        float64 (transition, coordinate), C-contiguous
    statistics   float64 (statistic, transition), C-contiguous
    gradients    float64 (transition, coordinate), C-contiguous, or None where nobody needs them
    """

    draws: NDArray[np.float64]
    statistics: NDArray[np.float64]
    gradients: NDArray[np.float64] | None = None


class Divergences(Record):
    """The divergences of one chain in one window.

    transitions   int64 (divergence,): rows of the window
    begins, ends  float64 (divergence, coordinate): where the leapfrog step that diverged began and ended; the
                  end may hold numbers that are not finite
    """

    transitions: NDArray[np.int64]
    begins: NDArray[np.float64]
    ends: NDArray[np.float64]


class Tuning(Record):
    """What a chain has learnt.

    step_size   step size (for Metropolis: scale of the proposal)
    scales      the metric (for Metropolis: of the proposal)
    """

    step_size: float
    scales: Scales

    @property
    def variance(self) -> NDArray[np.float64]:
        """The metric's variances, float64 (coordinate,)."""
        return self.scales.variance


class Averaging(Record):
    """A state of dual averaging: see `dual_averaging.StepSize`."""

    step: float
    anchor: float
    count: int


class Orders(Record):
    """What a run tells a chain between two windows. What is None stays as it is.

    learning        what is learnt from now on
    max_treedepth   greatest depth of a tree
    scales          the metric
    step            the state of the step size
    target_accept   acceptance probability that the step size is tuned for
    search          a step size from which to search another one before the window begins
    jumps, archive  differential-evolution jumps after every transition, and the points they are made of,
                    float64 (point, coordinate)
    """

    learning: Learning | None = None
    max_treedepth: int | None = None
    scales: Scales | None = None
    step: Averaging | None = None
    target_accept: float | None = None
    search: float | None = None
    jumps: int | None = None
    archive: NDArray[np.float64] | None = None


class MarkovChain(Protocol):
    """One chain at work."""

    def begin(self, descend: bool = False) -> None:
        """Evaluate the starting point and prepare; InitialPointError if its log density is not finite.

        descend   climb to where most of the probability is, before
        """
        ...

    def obey(self, orders: Orders) -> None:
        """Take in what the run has decided. Raises SamplingError for what this kernel cannot do."""
        ...

    def write_to(self, rows: Rows) -> None:
        """From now on transitions are written to these rows, from the first one on."""
        ...

    def advance(self, count: int) -> int:
        """Make up to `count` transitions and give the number made, smaller only once a stop was requested."""
        ...

    @property
    def evaluations(self) -> int:
        """Evaluations of the log density so far."""
        ...

    @property
    def finite(self) -> bool:
        """Whether all draws in the rows written to now are finite; False also where that is not known."""
        ...

    def divergences(self) -> Divergences:
        """Divergences among the rows written to now."""
        ...

    def tuning(self) -> Tuning:
        """What the chain has learnt so far."""
        ...

    def snapshot(self) -> Snapshot:
        """All that decides how the chain goes on, copied."""
        ...

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this chain or of one made alike."""
        ...

    def reseed(self, attempt: int) -> None:
        """Other random numbers from now on, a function of the chain's key and `attempt`."""
        ...


class Kernel(Protocol):
    """A sampler with its settings."""

    @property
    def statistics(self) -> Mapping[str, str]:
        """Names of the statistics of a transition, in the order of the rows, with NumPy element types."""
        ...

    @property
    def poolable(self) -> bool:
        """Whether its chains obey all orders, so that a run can tune them together."""
        ...

    def prepare(self) -> None:
        """Begin to prepare for `chain` beside what the caller does next, such as compiling a model."""
        ...

    def chain(
        self,
        density: LogDensity,
        position: NDArray[np.float64],
        key: int,
        tune: int,
        stop: NDArray[np.int64],
    ) -> MarkovChain:
        """A new chain.

        position   its starting point, float64 (coordinate,)
        key        key of its random numbers, see `streams.chain_key`
        tune       number of transitions at the beginning in which it tunes itself, on a schedule; 0 for none
        stop       int64 (1,); once it is not 0 the chain ends after at most one more evaluation
        """
        ...
