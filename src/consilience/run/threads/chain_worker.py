"""One chain at work: the segment it is in, the rows it fills, and how it begins again after a fault.

A segment enters, a window leaves. A worker is touched by one thread at a time: a worker that took it, or the
engine while no worker has it.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.columns import Columns
from consilience.inference.kernel import MarkovChain
from consilience.inference.messages import Divergences, Matrix, Rows, Segment, Snapshot, Window
from consilience.record import Record, as_plain, replace

LEAST = 1 << 20  # bytes: below it a mapping's own cost would show
CHUNK_SECONDS = 0.01  # of one native call: long against the cost of a call, short against a user's patience
LARGEST_GROWTH = 4  # of the number of transitions per call
RECENT = 50  # transitions over which the progress of a chain is averaged
OF_COPIES = 64  # numbers of seeds, by which a chain that goes on from the state of another is none of its own
FEWEST_BROKEN = 10  # transitions without a single finite energy, after which a chain counts as broken


def pages(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An array of this shape, its contents undefined; pages of large ones go back to the system at once.

    An allocator keeps what is freed between blocks that live on, and threads do not share what they keep. Rows of
    windows come and go by the megabyte, from several threads, so large ones are mapped from the system one by one.
    """
    size = 8 * math.prod(shape)
    if size < LEAST:
        return np.empty(shape)
    if sys.platform == "win32":
        memory = mmap.mmap(-1, size)
    else:  # private: a process that is forked must not write into these draws
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, np.float64).reshape(shape)


def give_back_memory() -> None:
    """Return to the system what the allocator has free between blocks that live on (glibc only)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


class Fault(Record):
    """What went wrong with a chain, and where it went on.

    `words`: what went wrong. `phase`: of the segment: "tuning" or "sampling". `answer`: "last state", "another start",
    "left out", or "chain 2": from the last state of that one.
    """

    words: str
    phase: str
    answer: str


class ChainWorker:
    """A chain and its present work.

    `index`: the chain's number.
    `make`: makes the chain, at another point than its own where one is given; once more where a worker that rested goes
        on.
    `folded`: gives equal positions (transition, coordinate) one form: angles without whole turns.
    `segment`: what it is to do, or None.
    `number`: number of that segment.
    `done`: transitions made in it.
    `total`: transitions made in all.
    `faults`: those so far.
    `lost`: whether it is left out.
    """

    def __init__(
        self,
        index: int,
        make: Callable[..., Any],
        stop: Any,
        columns: Columns,
        dimension: int,
        folded: Callable[[Matrix], Matrix],
    ) -> None:
        self.index = index
        self.make = make
        self._chain: MarkovChain | None = make()  # or what has its calls
        self.stop = stop
        self.columns = columns
        self.dimension = dimension
        self.folded = folded
        self.segment: Segment | None = None
        self.number = -1
        self.rows: Rows | None = None
        self.done = 0
        self.total = 0
        self.chunk = 1
        self.ready = False  # whether a command was given and rows are in place
        self.seconds = 0.0
        self.segment_seconds = 0.0
        self.life = 0  # changes when the chain goes back: what it delivered before does not count any more
        self.origin = self.chain.snapshot()  # before its first evaluation
        self.snapshot: Snapshot | None = None  # after the last window that was taken in
        self.after: tuple[int, int] = (0, 0)  # transitions and evaluations then
        self.evaluations_before = 0  # of the present segment
        self.faults: list[Fault] = []
        self.settled_faults = 0  # those of segments that were taken in
        self.lost = False
        self.budget: int | None = None
        self._evaluations = 0  # when it began to rest

    @property
    def chain(self) -> MarkovChain:
        """The chain, made anew in its last state where the worker has rested."""
        if self._chain is None:
            self._chain = self.make()
            self._chain.restore(self.origin if self.snapshot is None else self.snapshot)
        return self._chain

    @property
    def evaluations(self) -> int:
        """Of the log density so far."""
        return self._evaluations if self._chain is None else self._chain.evaluations

    def give(self, segment: Segment, number: int) -> None:
        """Set the work to do."""
        self.segment, self.number = segment, number
        self.done = 0
        self.ready = False
        self.segment_seconds = 0.0

    def work(self) -> Window | None:
        """Do a part of the work, some milliseconds long; the window, once it is complete."""
        segment = self.segment
        assert segment is not None
        before = time.perf_counter()
        try:
            if not self.ready:
                self._prepare(segment)
            left = segment.count - self.done
            made = self.chain.advance(min(self.chunk, left))
        finally:
            elapsed = time.perf_counter() - before
            self.seconds += elapsed
            self.segment_seconds += elapsed
        self.done += made
        self.total += made
        if made:
            wanted = made * CHUNK_SECONDS / max(elapsed, 1e-9)
            self.chunk = max(1, min(int(wanted), LARGEST_GROWTH * self.chunk))
        self._check_budget()
        return self._window() if self.done == segment.count and not self.stop[0] else None

    def _prepare(self, segment: Segment) -> None:
        self.evaluations_before = self.chain.evaluations
        own = segment.commands[self.index] if segment.commands else None
        first = self.snapshot is None
        if first:
            self.chain.begin(own if segment.begin else segment.anew)
        if not (first and segment.begin):
            self.chain.apply(own)
        shape = (segment.count, self.dimension)
        self.rows = Rows(
            pages(shape),
            np.empty((segment.count, len(self.columns.types)), np.int64),
            pages(shape) if segment.gradients else None,
        )
        if self.rows.gradients is not None and self.chain.kernel.joint:
            self.rows.gradients.fill(0.0)  # those of blocks without gradient stay so
        self.chain.write_to(self.rows)
        self.ready = True

    def _check_budget(self) -> None:
        spent = self.chain.evaluations - self.evaluations_before
        if self.budget is not None and spent > self.budget:
            raise SamplingError(
                f"it spent {spent} evaluations of the log density on one window; `window_budget` is {self.budget}"
            )

    def _window(self) -> Window:
        rows, chain = self.rows, self.chain
        assert rows is not None
        return Window(
            draws=self.folded(rows.draws),
            statistics=self.table(),
            gradients=rows.gradients,
            divergences=self.divergences(),
            step_size=chain.tuning().step_size,
            evaluations=chain.evaluations,
            seconds=self.segment_seconds,
            snapshot=chain.snapshot(),
        )

    def part(self) -> Window:
        """What was made of the present segment so far, after a stop."""
        assert self.rows is not None
        draws, chain = self.folded(self.rows.draws[: self.done]), self.chain
        size = chain.tuning().step_size
        return Window(draws, self.table(), None, self.divergences(), size, chain.evaluations, self.segment_seconds, {})

    def nothing(self) -> Window:
        """A window without transitions."""
        draws, table = np.empty((0, self.dimension)), np.empty((len(self.columns.types), 0))
        return Window(draws, table, None, self.divergences(), 0.0, self.chain.evaluations, 0.0, {})

    def divergences(self) -> Divergences:
        """Those of the transitions made in the present segment."""
        places = self.chain.divergences()
        return replace(places, begins=self.folded(places.begins), ends=self.folded(places.ends))

    def table(self) -> Matrix:
        """Statistics of the transitions made in the present segment, float64 (statistic, transition)."""
        assert self.rows is not None
        return self.columns.table(self.rows.statistics[: self.done])

    def settle(self, window: Window, total: int) -> None:
        """The window was taken in, `total` transitions after the beginning: a fault from now on leads back there."""
        self.snapshot, self.origin = window.snapshot, {}  # which is not needed again
        self.after = (total, window.evaluations)
        self.settled_faults = len(self.faults)

    def go_back(self) -> None:
        """Return to the end of the last window that was taken in."""
        self.life += 1
        self.total = self.after[0]
        self.segment = None
        self.done = 0
        self.ready = False
        self.chain.restore(self.origin if self.snapshot is None else self.snapshot)

    def drop_rows(self) -> None:
        """Let the rows of the last segment go but for those statistics that tell where the chain is."""
        if self.rows is not None:
            nothing = np.empty((0, self.dimension))
            self.rows = Rows(nothing, self.rows.statistics[: self.done][-RECENT:].copy())
            self.chain.write_to(Rows(nothing, np.empty((0, len(self.columns.types)), np.int64)))

    def drop_chain(self) -> None:
        """Let the chain go, which its last state gives back."""
        self._evaluations = self.chain.evaluations
        self._chain = None

    def begin_again(self, segment: Segment, number: int) -> None:
        """Return there with other random numbers, and do the work of this segment once more."""
        self.go_back()
        self.chain.reseed(len(self.faults))
        self.give(segment, number)

    def begin_elsewhere(self, point: Matrix) -> None:
        """Be a chain that begins at this point (coordinate,), with other random numbers; what it spent still counts."""
        spent = self.chain.snapshot()["evaluations"]
        self.go_back()
        self._chain = self.make(point)
        self.chain.reseed(len(self.faults))
        self.origin, self.snapshot = {**self.chain.snapshot(), "evaluations": spent}, None
        self.chain.restore(self.origin)

    def go_on_from(self, state: Snapshot) -> None:
        """Be where another chain was after the last window, with random numbers of its own; what it spent counts."""
        spent = self.chain.snapshot()["evaluations"]
        self.go_back()
        self.chain.restore({**state, "evaluations": spent})
        self.chain.reseed(OF_COPIES * (1 + self.index) + len(self.faults))
        self.snapshot = self.chain.snapshot()

    def save(self, living: bool) -> dict[str, Any]:
        """Its state after the last window that was taken in.

        `living`: whether it was one of the chains then: faults since will come again.
        """
        return {
            "snapshot": self.snapshot,
            "origin": self.origin if self.snapshot is None else None,
            "after": list(self.after),
            "faults": [as_plain(fault) for fault in self.faults[: self.settled_faults if living else None]],
            "lost": not living,
            "seconds": self.seconds,
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over a state that was saved."""
        self.snapshot = saved["snapshot"]
        self.after = (saved["after"][0], saved["after"][1])
        self.total = self.after[0]
        self.faults = [Fault(**fault) for fault in saved["faults"]]
        self.settled_faults = len(self.faults)
        self.lost = saved["lost"]
        self.seconds = saved["seconds"]
        if self.snapshot is None:
            self.origin = saved["origin"]
        self.chain.restore(self.origin if self.snapshot is None else self.snapshot)
