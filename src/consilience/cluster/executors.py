"""Executors of all kinds behind one face: how many workers, how a call is sent, what the death of a worker looks like.

What a user gave as `executor=` in; an `Adapter` out. No package is loaded to find out what it is.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from typing import Any

from consilience.cluster.tasks import halt
from consilience.errors import SamplingError, WorkerLostError

INLINE = 4 * 2**20
"""Bytes below which a value goes with each task that asks for it."""
PATIENCE = 3.0
"""Seconds to wait for a scheduler's word on how many workers it has."""
VACANT = 5.0
"""Seconds without a worker that are told; a cluster that was asked for just now has none yet."""
LOSSES = {"KilledWorker", "WorkerCrashedError", "RayActorError", "NodeDiedError", "OwnerDiedError", "CommClosedError"}


class Adapter:
    """An executor of the standard protocol.

    inside     whether it runs in this process: nothing is pickled
    isolates   whether the death of a worker fails that worker's task alone, after trials elsewhere
    """

    inside = isolates = False
    vacant = ""
    """That there is no worker though what is sent is taken, in words; as `count` found it."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor
        self.news: list[str] = []
        """What became of workers, in words, as `count` found it; whoever tells of it empties the list."""

    @property
    def name(self) -> str:
        """Of its kind, for errors."""
        return type(self.executor).__name__

    def count(self) -> int:
        """Workers, as many as tasks run at once."""
        for name in ("_max_workers", "num_workers"):
            if isinstance(found := getattr(self.executor, name, None), int) and found > 0:
                return found
        return os.cpu_count() or 1

    def away(self) -> str:
        """Why nothing can be sent for now, in words, or nothing; WorkerLostError where that will not change."""
        return ""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A future of the call: `add_done_callback`, `result` and `cancel`."""
        return self.executor.submit(function, *arguments)

    def place(self, data: bytes) -> Any:
        """What stands for bytes among the arguments of `submit`."""
        return data

    def cancel(self, future: Any) -> bool:
        """Take back a call; False where it may be running."""
        return bool(future.cancel())

    def lost(self, error: BaseException) -> bool:
        """Whether an error says that a worker died, and nothing of the task."""
        names = {kind.__name__ for kind in type(error).__mro__}
        return isinstance(error, BrokenExecutor | CancelledError) or bool(names & LOSSES)

    def halt(self, stop: str) -> None:
        """Stop the tasks of a name that are running where the file of `tasks.flag` is not seen."""

    def renewed(self) -> Adapter | None:
        """One like it in the place of one that broke, whose processes are the caller's to end; None if there's none."""
        pool = self.executor
        if isinstance(pool, ProcessPoolExecutor):
            return Adapter(
                ProcessPoolExecutor(
                    pool._max_workers,  # type: ignore[attr-defined]  # no public name says what it was made with
                    mp_context=pool._mp_context,
                    initializer=pool._initializer,
                    initargs=pool._initargs,
                    max_tasks_per_child=pool._max_tasks_per_child,  # type: ignore[attr-defined]  # as above
                )
            )
        if type(pool).__module__.startswith("loky."):
            loky = import_module("loky")
            return Adapter(loky.ProcessPoolExecutor(pool._max_workers, context=pool._context))
        return None

    def close(self) -> None:
        """End what `renewed` made, when its last task has ended."""
        self.executor.shutdown(wait=False)


class Threads(Adapter):
    """Threads of this process."""

    inside = True


class Dask(Adapter):
    """A `dask.distributed.Client`."""

    isolates = True

    def __init__(self, executor: Any) -> None:
        super().__init__(executor)
        if executor.asynchronous:
            raise SamplingError("the Dask client is asynchronous; give one that is made without `asynchronous=True`.")
        self._scheduler = getattr(executor.scheduler, "address", None)  # None: it is closed
        self._workers: dict[str, int] = {}  # threads by address, at the last look
        self._empty = math.inf  # since when there is none

    def count(self) -> int:
        client = self.executor
        # As `client.nthreads()`, which waits for half a minute where the scheduler is gone.
        with contextlib.suppress(OSError, TimeoutError, AttributeError):  # the last of a client that is closed
            before, self._workers = self._workers, client.sync(client.scheduler.ncores, callback_timeout=PATIENCE)
            if before or self.vacant:
                self._tell(sorted(before.keys() - self._workers), "gone; what was done there is done again elsewhere")
                self._tell(sorted(self._workers.keys() - before), "new")
            self._look_for_workers()
        return max(1, sum(self._workers.values()))

    def _look_for_workers(self) -> None:
        # No end of patience: jobs wait in queues for hours, and adaptive clusters begin workers once there is work.
        now = time.monotonic()
        self._empty = math.inf if self._workers else min(self._empty, now)
        before, self.vacant = self.vacant, ""
        if now - self._empty >= VACANT:
            self.vacant = f"the Dask cluster at {self._scheduler} has no workers; this waits until there is one"
            if not before:
                self.news.append(self.vacant)

    def _tell(self, places: list[str], words: str) -> None:
        """Dask sends what a lost worker was at to another, and says nothing."""
        if places:
            listed = ", ".join(places[:3]) + ", …" * (len(places) > 3)
            self.news.append(f"{listed}: {'a worker is' if len(places) == 1 else f'{len(places)} workers are'} {words}")

    def away(self) -> str:
        status = self.executor.status
        if status == "connecting":
            return f"the Dask scheduler at {self._scheduler} does not answer; its client tries to connect again"
        if status != "running" and self._scheduler is not None:
            raise WorkerLostError(
                f"the client of the Dask scheduler at {self._scheduler} is closed, which it does by itself where the "
                "scheduler is gone."
            )
        return ""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self.executor.status != "running":
            raise RuntimeError(f"the client is {self.executor.status}")
        return self.executor.submit(function, *arguments, pure=False)

    def place(self, data: bytes) -> Any:
        if len(data) < INLINE:  # what lies with one worker is lost, or waited for, with that worker
            return data
        return self.executor.scatter([data], hash=False)[0]

    def cancel(self, future: Any) -> bool:
        return self.executor.status == "running" and super().cancel(future)  # a closed client has let go of all

    def halt(self, stop: str) -> None:
        # Beside: the call waits for all workers, and one may be frozen.
        threading.Thread(target=self._halt, args=(stop,), daemon=True).start()

    def _halt(self, stop: str) -> None:
        with contextlib.suppress(Exception):  # workers, or the scheduler, that are gone have stopped
            self.executor.run(halt, stop, on_error="ignore")


def adapted(executor: Any) -> Adapter:
    """The adapter of what a user gave.

    raises   TypeError for what is no executor
    """
    if isinstance(executor, Adapter):
        return executor
    if isinstance(executor, ThreadPoolExecutor):
        return Threads(executor)
    if all(hasattr(executor, name) for name in ("submit", "scatter", "nthreads", "scheduler_info")):
        return Dask(executor)
    if isinstance(executor, Executor) or (hasattr(executor, "submit") and hasattr(executor, "shutdown")):
        return Adapter(executor)
    if type(executor).__name__ == "Shards":
        raise TypeError(
            "`pm.cluster.shards` says where the rows of a model are, for `pm.sample` and `pm.resume`; here `executor` "
            "must be what computes, as that which the shards were given."
        )
    raise TypeError(
        "`executor` must be an executor of `concurrent.futures` (threads, processes, loky, MPI), a Dask client or "
        f"`pm.cluster.ray()`, got {type(executor).__name__}."
    )
