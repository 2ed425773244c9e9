"""What passes between a run and its chains: a segment of work goes out, one window per chain comes back.

Messages are immutable; a window holds all that may be known of the work done, and the chain's state after it.
Commands are a kernel's own: a run hands them on without looking inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from consilience.inference.metric import Scales
from consilience.record import Record

Matrix = NDArray[np.float64]
Snapshot = Mapping[str, Any]  # numbers and arrays by name; see `snapshot`
Command = Any  # what a tuner tells a chain; None: nothing new


class Rows(Record):
    """The memory a chain writes to, allocated by whoever runs it.

    `draws`: float64 (transition, coordinate), C-contiguous. `statistics`: int64 (transition, word), C-contiguous: see
    `columns.Columns.table`. `gradients`: float64 (transition, coordinate), C-contiguous, or None where nobody needs
    them.
    """

    draws: Matrix
    statistics: NDArray[np.int64]
    gradients: Matrix | None = None


class Divergences(Record):
    """The divergences of one chain in one window.

    transitions (ndarray): Int64 (divergence,): rows of the window.
    begins, ends (ndarray): Float64 (divergence, coordinate): where the leapfrog step that diverged began and ended; the
        end may hold numbers that are not finite.
    """

    transitions: NDArray[np.int64]
    begins: Matrix
    ends: Matrix


class ChainTuning(Record):
    """What a chain has learnt.

    step_size: Step size (for Metropolis: scale of the proposal); NaN for kernels without.
    scales: The metric (for Metropolis: of the proposal).
    """

    step_size: float
    scales: Scales

    @property
    def variance(self) -> NDArray[np.float64]:
        """The metric's variances, float64 (coordinate,)."""
        return self.scales.variance


class Segment(Record):
    """What all chains do next.

    phase: "tuning": the draws are not kept.
    count: Transitions.
    commands: What each chain is told before; empty: nothing new.
    begin: Whether chains evaluate their starting points first.
    gradients: Whether the windows should hold gradients.
    ahead: Transitions of the segment that follows if nothing else is decided: chains may begin with it.
    anew: Where chains have begun: what one is told that begins once more, elsewhere; None: none may.
    elsewhere: Chains that do so before it begins.
    """

    phase: Literal["tuning", "sampling"]
    count: int
    commands: tuple[Command, ...] = ()
    begin: bool = False
    gradients: bool = False
    ahead: int = 0
    anew: Command = None
    elsewhere: tuple[int, ...] = ()


class Window(Record):
    """What one chain did in one segment.

    `draws`: float64 (transition, coordinate).
    `statistics`: float64 (statistic, transition).
    `gradients`: float64 (transition, coordinate) or None.
    `divergences`: those of this window.
    `step_size`: step size that the next transition would use.
    `evaluations`: of the log density, since the chain was made.
    `seconds`: time spent.
    `snapshot`: the chain's state after it.
    """

    draws: Matrix
    statistics: Matrix
    gradients: Matrix | None
    divergences: Divergences
    step_size: float
    evaluations: int
    seconds: float
    snapshot: Snapshot
