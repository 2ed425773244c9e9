"""What tunes the chains of a run: windows of draws enter, segments of work and a kernel's own commands leave.

A run knows tuners by these calls alone. What a tuner decides depends on the windows only, taken in the order of the
chains, so that neither threads nor their timing have a part in the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from consilience.inference.block import Block
from consilience.inference.columns import Columns
from consilience.inference.messages import Command, Segment, Window
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.inference.curvature import SparseCurvature

Reason = str  # why sampling may begin again: the name of a remedy of `run.remedies`
Windows = Sequence[Mapping[int, Window]]  # the windows of all chains, in the order in which they were made
SELF_TUNE: Final = 1000  # transitions, where chains tune themselves and nobody says for how long


class TuningLengths(Record):
    """How long chains are to tune.

    `tune`: transitions of each chain to tune with; None: the tuner decides. `min_tune`: transitions of each chain where
    it does. `max_tune`: transitions of each chain where it does. `pool`: whether chains may tune together.
    """

    tune: int | None = None
    min_tune: int = 50
    max_tune: int = 1500
    pool: bool = True


class TuningSetting(Record, eq=False):
    """What a tuner has to know of a run.

    `chains`, `dimension`: their number and the coordinates of the block.
    `columns`: the kernel's statistics.
    `lengths`: how long they are to tune.
    `operations`: floating-point operations of one evaluation with its gradient, if known.
    `blocks`: what each kernel moves.
    `curvature`: gives that of the log density, always the same one, where it may be sparse; None: not to be had.
    """

    chains: int
    dimension: int
    columns: Columns
    lengths: TuningLengths = TuningLengths()
    operations: float | None = None
    blocks: tuple[Block, ...] = ()
    curvature: Callable[[], SparseCurvature] | None = None


class Tuner(Protocol):
    """What tunes the chains of one run.

    length: Tuning transitions that a chain makes on a schedule of its own; 0 where it is told what to do.
    fixed: Transitions of tuning where they are known beforehand.
    finished: Whether tuning is over; `again` may change that.
    arrived: Chains that have come to where the others are.
    answers: Reasons to begin again that it has an answer to.
    interval: Draws between two calls of `between` while sampling; 0: none are needed.
    gradients: Draws of sampling of which it wants to see the gradients.
    reports: What it did, for the record.
    spent: Evaluations of the log density that it made itself, beside those of the chains.
    """

    @property
    def length(self) -> int: ...
    @property
    def fixed(self) -> int | None: ...
    @property
    def finished(self) -> bool: ...
    @property
    def arrived(self) -> tuple[int, ...]: ...
    @property
    def answers(self) -> frozenset[Reason]: ...
    @property
    def interval(self) -> int: ...
    @property
    def gradients(self) -> int: ...
    @property
    def reports(self) -> tuple[Any, ...]: ...
    @property
    def spent(self) -> int: ...

    def next(self) -> Segment:
        """What the chains do next, while tuning."""
        ...

    def take(self, windows: Mapping[int, Window]) -> None:
        """Learn from the windows of a segment of tuning, by chain; chains that were lost are missing."""
        ...

    def sample(self) -> tuple[Command, ...]:
        """Commands with which sampling begins, one for each chain."""
        ...

    def between(self, windows: Windows) -> tuple[Command, ...]:
        """Commands at every `interval` draws of sampling, from all windows of it so far."""
        ...

    def contradicted(self, windows: Windows) -> Reason | None:
        """What the draws so far say against the way they were made."""
        ...

    def again(self, reason: Reason, windows: Windows) -> None:
        """Begin again, with what all windows of sampling taught; they have become part of tuning."""
        ...

    def save(self) -> dict[str, Any]:
        """Its state as numbers, strings and arrays, in dictionaries and lists."""
        ...

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that was saved."""
        ...


class WrappingTuner:
    """What a tuner says that leaves this to another one.

    `inner`: the other one.
    """

    inner: Tuner

    @property
    def fixed(self) -> int | None:
        """See `Tuner`; so are those below."""
        return self.inner.fixed

    @property
    def finished(self) -> bool:
        """Whether tuning is over."""
        return self.inner.finished

    @property
    def arrived(self) -> tuple[int, ...]:
        """Chains that have come to where the others are."""
        return self.inner.arrived

    @property
    def answers(self) -> frozenset[Reason]:
        """Reasons to begin again that it has an answer to."""
        return self.inner.answers

    @property
    def interval(self) -> int:
        """Draws between two calls of `between`."""
        return self.inner.interval

    @property
    def gradients(self) -> int:
        """Draws of sampling of which it wants to see the gradients."""
        return self.inner.gradients

    @property
    def reports(self) -> tuple[Any, ...]:
        """What it did."""
        return self.inner.reports

    @property
    def spent(self) -> int:
        """Evaluations that it made itself."""
        return self.inner.spent
