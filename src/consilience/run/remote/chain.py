"""A chain that workers move: `MarkovChain`'s calls enter, orders for a worker leave, and what it did is taken over.

Here are its state, its rows and its place in the run; only transitions are made elsewhere.
"""

from __future__ import annotations

import queue
from typing import Any

import numpy as np

from consilience.inference.kernel import MarkovChain
from consilience.inference.messages import ChainTuning, Command, Divergences, Rows, Snapshot, Window
from consilience.run.remote.dispatcher import Dispatcher, Errand
from consilience.run.remote.segment import Order, Piece
from consilience.run.threads.chain_worker import ChainWorker


class StopFlag:
    """A chain's stop flag, in place of an array: whoever waits for an answer is woken when it is set."""

    def __init__(self) -> None:
        self._value = 0
        self.mail: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def __getitem__(self, place: int) -> int:
        return self._value

    def __setitem__(self, place: int, value: int) -> None:
        self._value = value
        if value:
            self.mail.put(None)  # such a queue may be used by a handler of signals


class RemoteChain:
    """See `MarkovChain`.

    own         the same chain here: what it knows, it does not move
    dispatcher  brings orders to workers
    seconds     that workers spent on it since it was given rows
    """

    def __init__(self, own: MarkovChain, dispatcher: Dispatcher, stop: StopFlag) -> None:
        self.own = own
        self.dispatcher = dispatcher
        self.stop = stop
        self.kernel = own.kernel
        self.seconds = 0.0
        self._rows: Rows | None = None
        self._filled = 0
        self._divergences: list[Divergences] = []
        self._commands: list[tuple[bool, Command]] = []  # that the next order begins with

    def begin(self, command: Command = None) -> None:
        self._commands.append((True, command))

    def apply(self, command: Command) -> None:
        if command is not None:
            self._commands.append((False, command))

    def write_to(self, rows: Rows) -> None:
        self._rows, self._filled = rows, 0
        self._divergences = []

    def advance(self, count: int) -> int:
        """Have a worker make up to `count` transitions; how many it made in its time, 0 once a stop is asked for."""
        rows = self._rows
        assert rows is not None
        self.stop.mail = mail = queue.SimpleQueue[Any]()
        order = Order(self.own.snapshot(), tuple(self._commands), count, rows.gradients is not None)
        request = Errand(order, mail.put)
        self.dispatcher.post(request)
        answer = None if self.stop[0] else mail.get()
        if answer is None:
            self.dispatcher.forget(request)
            return 0
        if isinstance(answer, BaseException):
            raise answer
        return self._take(answer, rows)

    def _take(self, piece: Piece, rows: Rows) -> int:
        made = len(piece.rows.draws)
        own = slice(self._filled, self._filled + made)
        rows.draws[own], rows.statistics[own] = piece.rows.draws, piece.rows.statistics
        if rows.gradients is not None:
            assert piece.rows.gradients is not None
            rows.gradients[own] = piece.rows.gradients
        if len(piece.divergences.transitions):
            found = piece.divergences
            self._divergences.append(Divergences(found.transitions + self._filled, found.begins, found.ends))
        self.own.restore(piece.state)
        self._commands.clear()
        self._filled += made
        self.seconds = piece.seconds
        return made

    @property
    def evaluations(self) -> int:
        return self.own.evaluations

    def divergences(self) -> Divergences:
        none = np.empty((0, self.own.walk.dimension))
        found = [Divergences(np.zeros(0, np.int64), none, none), *self._divergences]
        return Divergences(*(np.concatenate([getattr(d, name) for d in found]) for name in Divergences.__match_args__))

    def tuning(self) -> ChainTuning:
        return self.own.tuning()

    def snapshot(self) -> Snapshot:
        return self.own.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        self._commands.clear()
        self.own.restore(snapshot)

    def reseed(self, attempt: int) -> None:
        self.own.reseed(attempt)


class RemoteWorker(ChainWorker):
    """A chain that workers move, and its present work: parts of it are as long as a worker finds."""

    def work(self) -> Window | None:
        segment, chain = self.segment, self.chain
        assert segment is not None
        assert isinstance(chain, RemoteChain)
        if not self.ready:
            self._prepare(segment)
        made = chain.advance(segment.count - self.done)
        if made:
            self.seconds += chain.seconds
            self.segment_seconds += chain.seconds
        self.done += made
        self.total += made
        self._check_budget()
        return self._window() if self.done == segment.count and not self.stop[0] else None
