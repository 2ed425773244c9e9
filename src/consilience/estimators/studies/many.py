"""Many computations of one kind, on the workers of any executor: shown while they go on, some of them failing.

A value that all need and the numbers of what is to be done in; what came of each out, by number, whatever their order.
What one of them is, and what is made of all, stays outside. Long ones go piece by piece: see `moved_by_pieces`.
"""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from consilience.cluster.workers import MOST_LOSSES, Task, Workers
from consilience.errors import (
    ConsilienceError,
    ConsilienceWarning,
    ConvergenceWarning,
    SamplingError,
    WorkerLostError,
    warn,
)
from consilience.events import Listener
from consilience.output.display.words import clock
from consilience.output.storage.study_file import StudyFile
from consilience.run.steps import Stepwise

R = TypeVar("R")


class Many(Stepwise[R]):
    """What `function(value, item)` gives for each of `count` items, as a mapping of plain values; each is a step.

    `title`: what they are, in words: "data sets".
    `executor`: where it is computed, see `consilience.cluster.Workers`; None for `cores` threads of this process.
    `limit`: seconds that each may take.
    `tolerated`: errors that make {"error": message} of an item, where others end the study.
    `done`: what there is, by number.
    `file`: where it is kept as it comes, if anywhere.
    """

    def __init__(
        self,
        title: str,
        count: int,
        *,
        executor: Any,
        cores: int | None,
        limit: float | None = None,
        tolerated: type[Exception] = ConsilienceError,
        progressbar: bool = False,
        callback: Listener | None = None,
    ) -> None:
        super().__init__(progressbar, callback)
        if count < 1 or (cores is not None and cores < 1):
            raise ValueError(f"`n` and `cores` must be at least 1, got {count} and {cores}.")
        if limit is not None and not limit > 0:
            raise ValueError(f"the time of each must be above 0 seconds, got {limit}.")
        self._title, self._count, self._executor, self._cores = title, count, executor, cores
        self._limit, self._tolerated = limit, tolerated
        self.done: dict[int, dict[str, Any]] = {}
        self.file: StudyFile | None = None
        self._here, self._first = 0, 0.0  # those of this call, and when the first of them came

    @abstractmethod
    def shared(self) -> Any:
        """The value that goes to each worker once."""

    @abstractmethod
    def function(self) -> Callable[[Any, Any], Mapping[str, Any]]:
        """What is computed; importable by its name."""

    def item(self, number: int) -> Any:
        """What one computation is told."""
        return number

    def keep(self, number: int, found: Mapping[str, Any]) -> None:
        """Something has come."""
        self.done[number] = dict(found)
        if self.file is not None:
            self.file.append(number, found)

    @abstractmethod
    def of_all(self, found: dict[int, dict[str, Any]]) -> R:
        """What is made of what there is."""

    def release(self) -> None:
        """Let others write the file."""
        if self.file is not None:
            self.file.close()

    def work(self) -> None:
        """All that there isn't yet."""
        missing = [k for k in range(self._count) if k not in self.done]
        try:
            if missing:
                self._compute(missing)
        finally:
            self.release()

    def _compute(self, missing: Sequence[int]) -> None:
        threads = max(1, min(len(missing), self._cores or os.cpu_count() or 1))
        with Workers(self._executor, threads) as workers, contextlib.ExitStack() as quiet:
            value = workers.share(self.shared(), self._what)
            # Filters are the whole process's: a thread of its own must not exchange them under the feet of others.
            if not self.in_background:
                quiet.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore", ConsilienceWarning)  # what they tell is counted
                warnings.filterwarnings("default", ".* has no workers", ConsilienceWarning)
            for task in workers.each(_numbered, self._items(missing), value, self.function(), limit=self._limit):
                if task is not None:
                    self._note(task.item[0], task)
                elif self.stopping:
                    return
                self.say(workers.news())
                self.tell()

    @property
    def _what(self) -> str:
        return f"the study of {self._title}"

    def _items(self, missing: Sequence[int]) -> Iterator[tuple[int, Any]]:
        for k in missing:
            if not self.step_and_tell():
                return
            yield k, self.item(k)

    def _note(self, k: int, task: Any) -> None:
        if task.error is None:
            self.keep(k, task.result())
        elif self.stopping:
            return  # it may have been stopped itself
        elif isinstance(task.error, self._tolerated):
            self.keep(k, {"error": f"{type(task.error).__name__}: {task.error}"})
        else:
            raise task.error
        self._here += 1
        self._first = self._first or time.perf_counter()

    def result(self) -> R:
        """What was found; ConvergenceWarning where it was stopped before the last."""
        if len(self.done) < self._count:
            warn(
                f"the study was stopped after {len(self.done)} of {self._count} {self._title}; this is what they tell.",
                ConvergenceWarning,
            )
        return self.so_far()

    def so_far(self) -> R:
        """Of those that are done; SamplingError as long as there is none."""
        if not self.done:
            raise SamplingError(f"none of the {self._title} is done yet.")
        return self.of_all(dict(sorted(self.done.items())))

    def where(self) -> tuple[int, int, str]:
        """How many are done, how many of them failed, and how long the others take at the pace since the first came."""
        done = list(self.done.values())
        failed = sum("error" in one for one in done)
        parts = [f"{len(done)} of {self._count} {self._title}", f"{failed} failed"]
        if self._here > 1 and len(done) < self._count:
            pace = (time.perf_counter() - self._first) / (self._here - 1)
            parts.append(f"{clock(pace * (self._count - len(done)))} left")
        return len(done), self._count, " · ".join(parts)


def _numbered(
    value: Any, function: Callable[[Any, Any], Mapping[str, Any]], item: tuple[int, Any]
) -> Mapping[str, Any]:
    return function(value, item[1])


def moved_by_pieces(
    run: Stepwise[Any],
    executor: Any,
    value: Any,
    what: str,
    function: Callable[[Any, int, Any], Any],
    states: Mapping[int, Any],
    take: Callable[[int, Task], Any],
) -> None:
    """Things that workers move on by `function(value, number, state)`, each some way at a time, until all are there.

    value    goes to each worker once; `what` is its name in errors
    states   where they begin, by number
    take     called with a number and its task that has ended; gives the state to go on from, None where it is there

    A piece that its executor gives up, with the workers that died of it, is sent again, `MOST_LOSSES` times in all.
    """
    with Workers(executor) as workers:
        shared = workers.share(value, what)
        latest, losses = dict(states), dict.fromkeys(states, 0)

        def send(number: int) -> None:
            workers.submit(function, shared, number, latest[number], item=number)

        for number in states:
            send(number)
        while workers.pending and not run.stopping:
            for task in workers.finished():
                number = task.item
                if isinstance(task.error, WorkerLostError):
                    losses[number] += 1
                    if losses[number] == MOST_LOSSES:
                        raise WorkerLostError(
                            f"a piece of the run was given up {MOST_LOSSES} times: {task.error} What workers write to "
                            "their logs says why; the usual reason is too little memory."
                        )
                    run.say([f"a worker was lost; what it was at is done again ({task.error})"])
                    send(number)
                    continue
                losses[number] = 0
                state = take(number, task)
                if state is not None and run.step_and_tell():
                    latest[number] = state
                    send(number)
            run.say(workers.news())
            run.tell()
