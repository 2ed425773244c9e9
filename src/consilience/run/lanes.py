"""One chain at work: the round it is in, the rows it fills, and how it begins again after a fault.

A round enters, a window leaves. A lane is touched by one thread at a time: a worker that took it, or the
supervisor while no worker has it.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.kernel import Chain, Rows, Snapshot
from consilience.run.messages import Round, Window

CHUNK_SECONDS = 0.01  # of one native call: long against the cost of a call, short against a user's patience
LARGEST_GROWTH = 4  # of the number of transitions per call
FEWEST_BROKEN = 10  # transitions without a single finite energy, after which a chain counts as broken


class Lane:
    """A chain and its present work.

    index     the chain's number
    round     what it is to do, or None
    number    number of that round
    done      transitions made in it
    total     transitions made in all
    failures  faults so far, in words
    lost      whether it is left out
    """

    def __init__(self, index: int, chain: Chain, stop: NDArray[np.int64], columns: int, dimension: int) -> None:
        self.index = index
        self.chain = chain
        self.stop = stop
        self.columns = columns
        self.dimension = dimension
        self.round: Round | None = None
        self.number = -1
        self.rows: Rows | None = None
        self.done = 0
        self.total = 0
        self.chunk = 1
        self.ready = False  # whether orders were given and rows are in place
        self.seconds = 0.0
        self.round_seconds = 0.0
        self.life = 0  # changes when the chain goes back: what it delivered before does not count any more
        self.origin = chain.snapshot()  # before its first evaluation
        self.snapshot: Snapshot | None = None  # after the last window that was taken in
        self.after: tuple[int, int] = (0, 0)  # transitions and evaluations then
        self.evaluations_before = 0  # of the present round
        self.failures: list[str] = []
        self.settled_failures = 0  # those of rounds that were taken in
        self.lost = False
        self.budget: int | None = None

    def give(self, round: Round, number: int) -> None:
        """Set the work to do."""
        self.round, self.number = round, number
        self.done = 0
        self.ready = False
        self.round_seconds = 0.0

    def work(self) -> Window | None:
        """Do a part of the work, some milliseconds long; the window, once it is complete."""
        round = self.round
        assert round is not None
        before = time.perf_counter()
        try:
            if not self.ready:
                self._prepare(round)
            left = round.count - self.done
            made = self.chain.advance(min(self.chunk, left))
        finally:
            elapsed = time.perf_counter() - before
            self.seconds += elapsed
            self.round_seconds += elapsed
        self.done += made
        self.total += made
        if made:
            wanted = made * CHUNK_SECONDS / max(elapsed, 1e-9)
            self.chunk = max(1, min(int(wanted), LARGEST_GROWTH * self.chunk))
        self._check_budget()
        return self._window() if self.done == round.count and not self.stop[0] else None

    def _prepare(self, round: Round) -> None:
        self.evaluations_before = self.chain.evaluations
        if round.begin and self.snapshot is None:
            self.chain.begin(descend=round.descend)
        if round.orders:
            self.chain.obey(round.orders[self.index])
        shape = (round.count, self.dimension)
        self.rows = Rows(
            np.empty(shape),
            np.empty((self.columns, round.count)),
            np.empty(shape) if round.gradients else None,
        )
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
            draws=rows.draws,
            statistics=rows.statistics,
            gradients=rows.gradients,
            divergences=chain.divergences(),
            step_size=chain.tuning().step_size,
            evaluations=chain.evaluations,
            seconds=self.round_seconds,
            snapshot=chain.snapshot(),
        )

    def settle(self, window: Window, total: int) -> None:
        """The window was taken in, `total` transitions after the beginning: a fault from now on leads back there."""
        self.snapshot = window.snapshot
        self.after = (total, window.evaluations)
        self.settled_failures = len(self.failures)

    def go_back(self) -> None:
        """Return to the end of the last window that was taken in."""
        self.life += 1
        self.total = self.after[0]
        self.round = None
        self.done = 0
        self.ready = False
        self.chain.restore(self.origin if self.snapshot is None else self.snapshot)

    def begin_again(self, round: Round, number: int) -> None:
        """Return there with other random numbers, and do the work of this round once more."""
        self.go_back()
        self.chain.reseed(len(self.failures))
        self.give(round, number)
