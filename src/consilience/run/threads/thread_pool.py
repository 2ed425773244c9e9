"""Threads that drive workers: each takes the chain that is furthest behind, works on it for some milliseconds, and
puts it back. Threads without a chain take chunks of the evaluations of others, where evaluations have such.

Lanes with work enter; windows leave through a queue. Which thread does which part of a chain, and how long the
parts are, has no influence on the draws: a chain's result is a function of its own state and commands only.
"""

from __future__ import annotations

import heapq
import threading
from typing import TYPE_CHECKING

import numpy as np

from consilience.diagnostics.measurement import usable_processors
from consilience.errors import ArgumentError
from consilience.inference.messages import Window
from consilience.native.threads import Mailbox
from consilience.record import Record, replace
from consilience.run.threads.chain_worker import ChainWorker

if TYPE_CHECKING:
    from consilience.native.shared_work import IdleThreads


class Crew(Record):
    """How many threads there are, and how many of them may have chains of their own.

    `helping`: whether those without a chain take chunks of evaluations.
    """

    threads: int
    chains: int
    helping: bool = False


def crew(chains: int, cores: int | None, threads_per_chain: int | None, chunks: int) -> Crew:
    """The threads of a run.

    `cores`: greatest number; None: the processors this process may use. `threads_per_chain`: for one evaluation of the
    log density; None: as many as chains leave idle. `chunks`: that an evaluation is cut into; below 2: it is not.
    """
    most = max(1, usable_processors() if cores is None else cores)
    if chunks < 2 or threads_per_chain == 1:
        return Crew(min(chains, most), min(chains, most))
    if threads_per_chain is None:
        at_once = min(chains, most)
        return Crew(min(most, at_once * chunks), at_once, most > 1)
    if cores is None:
        most = max(most, threads_per_chain)
    at_once = max(1, min(chains, most // threads_per_chain))
    return Crew(min(most, at_once * threads_per_chain), at_once, most > 1)


def threads(cores: int | None) -> int:
    """How many threads work where work is divided at will: as many as asked for, and as there are processors."""
    if cores is None:
        return usable_processors()
    if not isinstance(cores, int | np.integer) or cores < 1:
        raise ArgumentError(f"`cores` must be an integer of at least 1, got {cores!r}.")
    return min(int(cores), usable_processors())


class Delivery(Record):
    """What a worker hands over: a window of a segment, or what went wrong in it.

    `life`: of the worker when it did the work: see `ChainWorker`. `total`: transitions the chain had made by then.
    """

    worker: ChainWorker
    number: int
    life: int
    total: int
    window: Window | None
    failure: BaseException | None = None


class ThreadPool:
    """A fixed number of threads and the workers they share.

    `deliveries`: a queue of `Delivery`.
    """

    def __init__(self, crew: Crew) -> None:
        self.threads = crew.threads
        self._at_once = crew.chains
        self._helpers = _helpers() if crew.helping else None
        self.deliveries: Mailbox[Delivery | None] = Mailbox()
        self._condition = threading.Condition()
        self._waiting: list[tuple[int, int]] = []
        self._workers: dict[int, ChainWorker] = {}
        self._held: set[int] = set()  # workers in the hands of a thread
        self._ended = False
        self._paused = False
        self._threads = [
            threading.Thread(target=self._run, name=f"consilience-{i}", daemon=True) for i in range(crew.threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def put(self, worker: ChainWorker) -> None:
        """Give a worker that has work to the threads."""
        with self._condition:
            self._workers[worker.index] = worker
            heapq.heappush(self._waiting, (worker.total, worker.index))
            self._call()

    def withdraw(self, worker: ChainWorker) -> None:
        """Take a worker back, whatever it is doing: it stops at its next evaluation of the density."""
        worker.stop[0] = 1
        with self._condition:
            self._waiting = [entry for entry in self._waiting if entry[1] != worker.index]
            heapq.heapify(self._waiting)
            while worker.index in self._held:
                self._condition.wait()
            self._waiting = [entry for entry in self._waiting if entry[1] != worker.index]
            heapq.heapify(self._waiting)
        worker.stop[0] = 0

    def pause(self) -> None:
        """No worker is taken from now on."""
        with self._condition:
            self._paused = True

    def wake(self) -> None:
        """Let whoever waits for deliveries look around."""
        self.deliveries.put(None)

    def resume(self) -> None:
        """Go on."""
        with self._condition:
            self._paused = False
            self._call()

    @property
    def paused(self) -> bool:
        return self._paused

    def end(self) -> None:
        """Let all threads leave, after the part they are at, and wait for them."""
        with self._condition:
            self._ended = True
            self._call()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _call(self) -> None:
        """Have all threads without a chain look around; the condition is held."""
        self._condition.notify_all()
        if self._helpers is not None:
            self._helpers.call_back()

    def _take(self) -> ChainWorker | None:
        while True:
            with self._condition:
                while not self._ended and (self._paused or not self._free()):
                    if self._helpers is not None and self._held and not self._paused:
                        calls = self._helpers.calls
                        break
                    self._condition.wait()
                else:
                    if self._ended:
                        return None
                    worker = self._workers[heapq.heappop(self._waiting)[1]]
                    self._held.add(worker.index)
                    if self._helpers is not None:
                        self._condition.notify_all()  # there is somebody to help
                    return worker
            self._helpers.help(calls)

    def _free(self) -> bool:
        """Whether a chain waits that a thread may have."""
        return bool(self._waiting) and len(self._held) < self._at_once

    def _let_go(self, worker: ChainWorker, again: bool) -> None:
        with self._condition:
            self._held.discard(worker.index)
            if again:
                heapq.heappush(self._waiting, (worker.total, worker.index))
            self._condition.notify_all()

    def _run(self) -> None:
        while (worker := self._take()) is not None:
            number, life = worker.number, worker.life
            try:
                window = worker.work()
            except BaseException as failure:  # the engine decides what becomes of the chain
                delivery = Delivery(worker, number, life, worker.total, None, failure)
                self._let_go(worker, again=False)
                self.deliveries.put(delivery)
                continue
            if worker.stop[0]:
                self._let_go(worker, again=False)
                continue
            if window is None:
                self._let_go(worker, again=True)
                continue
            # Let go before anybody can hear of the window: whoever does may give the worker its next work.
            delivery = Delivery(worker, number, life, worker.total, window)
            segment = worker.segment
            assert segment is not None
            if segment.ahead:
                # what follows if nothing else is decided; gradients were wanted at most for this segment
                worker.give(replace(segment, count=segment.ahead, commands=(), begin=False, ahead=0), number + 1)
            self._let_go(worker, again=segment.ahead > 0)
            self.deliveries.put(delivery)


def _helpers() -> IdleThreads:
    from consilience.native.shared_work import IdleThreads  # few densities take long enough

    return IdleThreads()
