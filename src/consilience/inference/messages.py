"""What passes between a run and its chains: a segment of work goes out, a window of each chain comes back.

Messages are immutable; a window holds all that may be known of the work done, and the chain's state after it.
Commands are a kernel's own: a run hands them on without looking inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from consilience.inference.metric import Scales
from consilience.record import Record, replace

Matrix = NDArray[np.float64]
Snapshot = Mapping[str, Any]  # numbers and arrays by name; see `snapshot`
Command = Any  # what a tuner tells a chain; None: nothing new


class Stopped(Exception):
    """A stop was asked for while something was looked for: what was found by then is not whole."""


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


class JointWindows(Mapping[int, Window]):
    """What chains that move all at once did in one segment: arrays with a chain axis, and a window of each when asked.

    `draws`: float64 (chain, transition, coordinate); the transitions may be none where draws are not kept.
    `statistics`: float64 (chain, statistic, transition).
    `divergences`: of the chains that have some.
    `step_size`, `evaluations`, `seconds`, `snapshot`: of each chain, as in `Window`.
    """

    def __init__(
        self,
        draws: Matrix,
        statistics: Matrix,
        divergences: Mapping[int, Divergences],
        step_size: float,
        evaluations: int,
        seconds: float,
        snapshot: Snapshot,
    ) -> None:
        self.draws, self.statistics, self.divergences = draws, statistics, divergences
        self.step_size, self.evaluations, self.seconds, self.snapshot = step_size, evaluations, seconds, snapshot
        nothing = np.empty((0, draws.shape[2]))
        self._none = Divergences(np.empty(0, np.int64), nothing, nothing)

    def __len__(self) -> int:
        return len(self.draws)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __contains__(self, chain: object) -> bool:
        return isinstance(chain, int) and 0 <= chain < len(self)

    def __getitem__(self, chain: int) -> Window:
        if chain not in self:
            raise KeyError(chain)
        return Window(
            self.draws[chain],
            self.statistics[chain],
            None,
            self.divergences.get(chain, self._none),
            self.step_size,
            self.evaluations,
            self.seconds,
            self.snapshot,
        )

    def with_draws(self, draws: Matrix) -> JointWindows:
        """The same with other draws, without snapshot."""
        numbers = self.step_size, self.evaluations, self.seconds
        return JointWindows(draws, self.statistics, self.divergences, *numbers, {})


def draws_by_chain(windows: Mapping[int, Window], chains: Sequence[int]) -> Sequence[Matrix] | Matrix:
    """Draws (transition, coordinate) of each chain where they lie, or an array (chain, transition, coordinate)."""
    if isinstance(windows, JointWindows):
        return windows.draws if len(chains) == len(windows) else windows.draws[list(chains)]
    return [windows[c].draws for c in chains]


def statistics_by_chain(windows: Mapping[int, Window], chains: Sequence[int]) -> Sequence[Matrix] | Matrix:
    """Statistics (statistic, transition) of each chain where they lie, or an array (chain, statistic, transition)."""
    if isinstance(windows, JointWindows):
        return windows.statistics if len(chains) == len(windows) else windows.statistics[list(chains)]
    return [windows[c].statistics for c in chains]


def statistic(windows: Mapping[int, Window], chains: Sequence[int], place: int) -> Matrix:
    """One of the statistics, (chain, transition)."""
    if isinstance(windows, JointWindows):
        return np.asarray(statistics_by_chain(windows, chains))[:, place]
    return np.stack([windows[c].statistics[place] for c in chains])


def evaluations_by_chain(windows: Mapping[int, Window]) -> dict[int, int]:
    """Evaluations of the log density since the chains were made."""
    if isinstance(windows, JointWindows):
        return dict.fromkeys(windows, windows.evaluations)
    return {c: w.evaluations for c, w in windows.items()}


def seconds_spent(windows: Mapping[int, Window]) -> float:
    """By all chains."""
    if isinstance(windows, JointWindows):
        return windows.seconds * len(windows)
    return sum(w.seconds for w in windows.values())


def in_order(windows: Mapping[int, Window]) -> Mapping[int, Window]:
    """The windows in the order of chains."""
    return windows if isinstance(windows, JointWindows) else dict(sorted(windows.items()))


def without_draws(windows: Mapping[int, Window]) -> Mapping[int, Window]:
    """The windows without draws, gradients and snapshots."""
    if isinstance(windows, JointWindows):
        return windows.with_draws(windows.draws[:, :0])
    return {c: replace(w, draws=w.draws[:0], gradients=None, snapshot={}) for c, w in windows.items()}
