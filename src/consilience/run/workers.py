"""Threads that drive chains: each takes the chain that is furthest behind, works on it for some milliseconds,
and puts it back.

Chains enter; they leave finished, stopped or failed. Which thread does which part of a chain, and how long
the parts are, has no influence on the draws: a chain's result is a function of its own state only.
"""

from __future__ import annotations

import heapq
import os
import threading
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from consilience.inference.kernel import Chain
from consilience.run.interrupt import StopRequest

CHUNK_SECONDS = 0.01  # long against the cost of a call, short against a user's patience
LARGEST_GROWTH = 4  # of the number of transitions per call


def usable_cores() -> int:
    """Processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(slots=True)
class Job:
    """One chain and how far it is.

    index        the chain's number
    statistics   names of the rows of `table`
    table        the chain's statistics, float64 (statistic, transition), filled up to `done`
    rows         transitions to make
    tune         how many of them are tuning
    done         transitions made
    started      whether the starting point was evaluated
    chunk        transitions of the next call
    seconds      time spent
    tuning_seconds   time spent until the end of tuning
    failure      what the chain raised
    """

    index: int
    chain: Chain
    statistics: tuple[str, ...]
    table: NDArray[np.float64]
    rows: int
    tune: int
    done: int = 0
    started: bool = False
    chunk: int = 1
    seconds: float = 0.0
    tuning_seconds: float = 0.0
    failure: BaseException | None = None

    @property
    def finished(self) -> bool:
        return self.started and self.done >= self.rows

    def work(self) -> None:
        """Begin the chain, or make its next few transitions."""
        before = time.perf_counter()
        if not self.started:
            self.chain.begin()
            self.started = True
            self.tuning_seconds = self.seconds = time.perf_counter() - before
            return
        tuning = self.done < self.tune
        left = (self.tune if tuning else self.rows) - self.done
        made = self.chain.advance(min(self.chunk, left))
        elapsed = time.perf_counter() - before
        self.seconds += elapsed
        if tuning:
            self.tuning_seconds = self.seconds
        self.done += made
        wanted = made * CHUNK_SECONDS / max(elapsed, 1e-9)
        self.chunk = max(1, min(int(wanted), LARGEST_GROWTH * self.chunk))


class Workers:
    """A fixed number of threads and the jobs they share."""

    def __init__(self, jobs: list[Job], threads: int, request: StopRequest) -> None:
        self.jobs = jobs
        self.request = request
        self.idle = threading.Event()  # set when the last thread has left
        self._lock = threading.Lock()
        self._waiting = [(job.done, job.index) for job in jobs]
        self._threads = [
            threading.Thread(target=self._run, name=f"consilience-{i}", daemon=True) for i in range(threads)
        ]
        self._working = threads

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop all chains at their next transition and wait until no thread touches them any more."""
        self.request.make()
        while True:
            try:
                for thread in self._threads:
                    if thread.ident is not None:
                        thread.join()
                return
            except KeyboardInterrupt:  # their memory must not be freed under the threads: wait all the same
                self.request.interrupt()

    def _take(self) -> Job | None:
        with self._lock:
            if self.request.made or not self._waiting:
                return None
            return self.jobs[heapq.heappop(self._waiting)[1]]

    def _give_back(self, job: Job) -> None:
        with self._lock:
            heapq.heappush(self._waiting, (job.done, job.index))

    def _run(self) -> None:
        try:
            while (job := self._take()) is not None:
                try:
                    job.work()
                except BaseException as failure:  # belongs to the caller's thread, which raises it
                    job.failure = failure
                    self.request.make()
                    return
                if not job.finished:
                    self._give_back(job)
        finally:
            with self._lock:
                self._working -= 1
                if self._working == 0:
                    self.idle.set()
