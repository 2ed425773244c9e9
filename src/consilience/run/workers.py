"""Threads that drive lanes: each takes the chain that is furthest behind, works on it for some milliseconds, and
puts it back.

Lanes with work enter; windows leave through a queue. Which thread does which part of a chain, and how long the
parts are, has no influence on the draws: a chain's result is a function of its own state and commands only.
"""

from __future__ import annotations

import heapq
import os
import queue
import threading

from consilience.inference.messages import Window
from consilience.record import Record, replace
from consilience.run.lanes import Lane


def usable_cores() -> int:
    """Processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Delivery(Record):
    """What a lane hands over: a window of a round, or what went wrong in it.

    life    of the lane when it did the work: see `Lane`
    total   transitions the chain had made by then
    """

    lane: Lane
    number: int
    life: int
    total: int
    window: Window | None
    failure: BaseException | None = None


class Workers:
    """A fixed number of threads and the lanes they share.

    deliveries   a queue of `Delivery`
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.deliveries: queue.SimpleQueue[Delivery | None] = queue.SimpleQueue()
        self._condition = threading.Condition()
        self._waiting: list[tuple[int, int]] = []
        self._lanes: dict[int, Lane] = {}
        self._held: set[int] = set()  # lanes in the hands of a thread
        self._ended = False
        self._paused = False
        self._threads = [
            threading.Thread(target=self._run, name=f"consilience-{i}", daemon=True) for i in range(threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def put(self, lane: Lane) -> None:
        """Give a lane that has work to the threads."""
        with self._condition:
            self._lanes[lane.index] = lane
            heapq.heappush(self._waiting, (lane.total, lane.index))
            self._condition.notify()

    def withdraw(self, lane: Lane) -> None:
        """Take a lane back, whatever it is doing: it stops at its next evaluation of the density."""
        lane.stop[0] = 1
        with self._condition:
            self._waiting = [entry for entry in self._waiting if entry[1] != lane.index]
            heapq.heapify(self._waiting)
            while lane.index in self._held:
                self._condition.wait()
            self._waiting = [entry for entry in self._waiting if entry[1] != lane.index]
            heapq.heapify(self._waiting)
        lane.stop[0] = 0

    def pause(self) -> None:
        """No lane is taken from now on."""
        with self._condition:
            self._paused = True

    def wake(self) -> None:
        """Let whoever waits for deliveries look around."""
        self.deliveries.put(None)

    def resume(self) -> None:
        """Go on."""
        with self._condition:
            self._paused = False
            self._condition.notify_all()

    @property
    def paused(self) -> bool:
        return self._paused

    def end(self) -> None:
        """Let all threads leave, after the part they are at, and wait for them."""
        with self._condition:
            self._ended = True
            self._condition.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _take(self) -> Lane | None:
        with self._condition:
            while not self._ended and (self._paused or not self._waiting):
                self._condition.wait()
            if self._ended:
                return None
            lane = self._lanes[heapq.heappop(self._waiting)[1]]
            self._held.add(lane.index)
            return lane

    def _let_go(self, lane: Lane, again: bool) -> None:
        with self._condition:
            self._held.discard(lane.index)
            if again:
                heapq.heappush(self._waiting, (lane.total, lane.index))
            self._condition.notify_all()

    def _run(self) -> None:
        while (lane := self._take()) is not None:
            number, life = lane.number, lane.life
            try:
                window = lane.work()
            except BaseException as failure:  # the supervisor decides what becomes of the chain
                delivery = Delivery(lane, number, life, lane.total, None, failure)
                self._let_go(lane, again=False)
                self.deliveries.put(delivery)
                continue
            if lane.stop[0]:
                self._let_go(lane, again=False)
                continue
            if window is None:
                self._let_go(lane, again=True)
                continue
            # Let go before anybody can hear of the window: whoever does may give the lane its next work.
            delivery = Delivery(lane, number, life, lane.total, window)
            round = lane.round
            assert round is not None
            if round.ahead:
                # what follows if nothing else is decided; gradients were wanted at most for this round
                lane.give(replace(round, count=round.ahead, commands=(), begin=False, ahead=0), number + 1)
            self._let_go(lane, again=round.ahead > 0)
            self.deliveries.put(delivery)
