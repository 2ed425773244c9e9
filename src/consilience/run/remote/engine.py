"""Chains on workers of an executor: an engine as that on threads, but what a thread does is to wait for a worker.

A chain's faults, what it began ahead, its windows and their order are those of threads. So are the draws: they depend
neither on workers nor on what becomes of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from consilience.events import WorkerNotice
from consilience.inference.kernel import MarkovChain
from consilience.inference.messages import Matrix, Segment, Window
from consilience.run.engine import Chains, Overseer
from consilience.run.monitor import Monitored
from consilience.run.remote.chain import RemoteChain, RemoteWorker, StopFlag
from consilience.run.remote.dispatcher import Dispatcher
from consilience.run.remote.segment import Recipe as Recipe
from consilience.run.threads.chain_worker import ChainWorker
from consilience.run.threads.engine import ThreadEngine
from consilience.run.threads.thread_pool import Crew


class RemoteEngine(ThreadEngine):
    """See `ThreadEngine`.

    makes     make the chains as they are here, given a stop flag, and a point other than their own
    executor  see `cluster.Workers`
    recipe    what workers make chains of
    """

    def __init__(
        self,
        chains: Chains,
        makes: Sequence[Callable[..., MarkovChain]],
        executor: Any,
        recipe: Recipe,
        watched: Monitored,
        budget: int | None,
        starts: Callable[[int, int], Matrix] | None = None,
    ) -> None:
        self.dispatcher = dispatcher = Dispatcher(executor, recipe)

        workers: list[ChainWorker] = []
        for number, make in enumerate(makes):
            stop = StopFlag()
            remote = functools.partial(_remote, make, dispatcher, stop)
            workers.append(RemoteWorker(number, remote, stop, chains.columns, chains.dimension, watched.without_turns))
        super().__init__(chains, workers, Crew(len(makes), len(makes)), watched.names, budget, starts)
        self._tell: Callable[[str], None] = lambda words: None

    @contextmanager
    def working(self) -> Iterator[None]:
        self.lost = ""
        self.dispatcher.start(self._fail, lambda words: self._tell(words))
        try:
            with super().working():
                yield
        finally:
            self.dispatcher.close()

    def advance(self, segment: Segment, overseer: Overseer) -> dict[int, Window] | None:
        self._tell = lambda words: overseer.tell(WorkerNotice(words))
        return super().advance(segment, overseer)

    def _fail(self, words: str) -> None:
        if not self.stopping:
            self.lost = words
            self.stop()


def _remote(make: Callable[..., MarkovChain], dispatcher: Dispatcher, stop: StopFlag, *point: Matrix) -> RemoteChain:
    return RemoteChain(make(np.zeros(1, np.int64), *point), dispatcher, stop)
