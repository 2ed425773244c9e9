"""The driver's side: tasks go to workers, a few ahead of those that run, and come back in any order.

Functions and values in; what came of each task out. A worker that dies costs a repetition, a task that kills its
workers fails alone. Nothing happens but in the calls of one thread: `submit` queues, `finished` moves everything on.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import pickle
import queue
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from consilience.cluster import tasks
from consilience.cluster.executors import adapted
from consilience.cluster.pickles import sent
from consilience.errors import SamplingError, TimeLimitError, WorkerLostError, warn
from consilience.native.blas import single_threaded
from consilience.native.threads import Mailbox

I = TypeVar("I")  # noqa: E741  # an item
TICK: Final = 0.1
"""Seconds that `finished` waits, unless told otherwise."""
TRIALS: Final = 3
"""Deaths of workers with a task until it is the task's fault; the last time it runs alone."""
MOST_LOSSES: Final = 4
"""Tasks that a piece of a run may be in which lost their workers so often, until the run ends."""


class Broadcast:
    """A value that goes to each worker once, by the digest of its pickle; `Workers.share` makes it of a value.

    A thread of a worker has its own copy (`copy.copy`, so a class may say what that means by `__copy__`) and keeps it
    between tasks, with whatever the function has stored in its attributes.

    digest: Of the pickle.
    value: The value.
    data (bytes or None): The pickle; None where workers are threads of this process.
    See Workers: Sends it.
    >>> from consilience.cluster import Workers
    >>> with Workers(cores=2) as workers:
    ...     offset = workers.share(10, "the offset")
    ...     tasks = [task for task in workers.each(lambda n, offset: n + offset, range(3), offset) if task]
    >>> sorted(task.result() for task in tasks)
    [10, 11, 12]
    """

    def __init__(self, digest: str, value: Any, data: bytes | None) -> None:
        self.digest, self.value, self.data = digest, value, data
        self.placed: Any = None


class Task:
    """A call on its way; `Workers.each` makes one of each item.

    function: What is called.
    arguments (tuple): Its arguments.
    limit (float or None): Seconds that it may take.
    item: What `Workers.each` made it for.

    Attributes
    ----------
    error : Exception or None
        Why it has no result: what the function raised, TimeLimitError, WorkerLostError.

    See Workers: Runs it.
    >>> from consilience.cluster import Workers
    >>> with Workers(cores=2) as workers:
    ...     ended = [task for task in workers.each(lambda n: 1 / n, [1, 0]) if task]
    >>> {task.item: type(task.error).__name__ for task in ended if task.error}
    {0: 'ZeroDivisionError'}
    """

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], limit: float | None, item: Any
    ) -> None:
        self.function, self.arguments, self.limit, self.item = function, arguments, limit, item
        self.done, self.error, self.cancelled = False, None, False  # type: bool, BaseException | None, bool
        self._result: Any = None
        self.losses, self.began, self.attach = 0, 0.0, False
        self.inner: Any = None  # the executor's future, while it is there

    def result(self) -> Any:
        """What the function gave; raises `error` where there is one."""
        if self.error is not None:
            raise self.error
        if not self.done:
            raise SamplingError("the task has not ended; `Workers.finished` says which have.")
        return self._result

    def end(self, result: Any = None, error: BaseException | None = None) -> None:
        """What came of it."""
        self.done, self._result, self.error, self.inner = True, result, error, None


class _Left:
    """How many tasks have not ended; the file that stops them goes with the last."""

    def __init__(self, count: int, where: Path) -> None:
        self._ended, self._where, self.over = itertools.count(count - 1, -1), where, threading.Event()

    def one(self, _: Any) -> None:
        if next(self._ended) == 0:
            self._where.unlink(missing_ok=True)
            self.over.set()


class Workers:
    """The workers of an executor, as a context: leaving it stops what still runs, and leaves the executor as it was.

    executor (Executor): Of `concurrent.futures`, a Dask client, `pm.cluster.ray()`; None for threads of this process.
    cores: Number of threads, where `executor` is None.
    See sample_many: Fits on workers.
    >>> from consilience.cluster import Workers
    >>> with Workers(cores=2) as workers:
    ...     tasks = [task for task in workers.each(lambda n: n * n, range(4)) if task]
    >>> sorted(task.result() for task in tasks)
    [0, 1, 4, 9]
    """

    def __init__(self, executor: Any = None, cores: int = 1) -> None:
        self._owned = ThreadPoolExecutor(cores) if executor is None else None
        self._adapter = adapted(self._owned or executor)
        self._quiet = contextlib.ExitStack()
        if self._adapter.inside:
            self._quiet.enter_context(single_threaded())
        self._renewed = self._broken = False
        self._stop = secrets.token_hex(8)
        self._waiting: deque[Task] = deque()
        self._flying: set[Task] = set()
        self._ended: list[Task] = []
        self._arrived: Mailbox[tuple[Task | None, Any]] = Mailbox()
        self._shared: list[Broadcast] = []
        self._counted = (0, -1.0)
        self._warned = False  # that there are none
        self.losses = 0

    @property
    def inside(self) -> bool:
        """Whether they are threads of this process."""
        return self._adapter.inside

    @property
    def count(self) -> int:
        """How many there are, which may change; at least 1."""
        now = time.monotonic()
        if now - self._counted[1] > 1.0 and not self.away:
            self._counted = (self._adapter.count(), now)
            if self._adapter.vacant and not self._warned:
                self._warned = True
                warn(f"{self._adapter.vacant}.")
        return max(1, self._counted[0])

    def news(self) -> list[str]:
        """What became of workers since it was asked last, in words, where their executor does not make it errors."""
        _ = self.count  # which looks, from time to time
        told, self._adapter.news = self._adapter.news, []
        return told

    @property
    def vacant(self) -> bool:
        """Whether there has been no worker for some seconds."""
        return bool(self._adapter.vacant)

    @property
    def away(self) -> str:
        """Why nothing can be sent for now, in words, or nothing; WorkerLostError where that will not change."""
        return self._adapter.away()

    @property
    def pending(self) -> int:
        """Tasks that have not ended."""
        return len(self._waiting) + len(self._flying) + len(self._ended)

    def share(self, value: Any, what: str) -> Broadcast:
        """Let tasks have a large value; see `Broadcast`.

        Parameters
        ----------
        value : object
            The value.
        what : str
            Its name in errors.

        Returns
        -------
        Broadcast
            An argument of `submit` and `each`.

        Raises
        ------
        SamplingError
            Where it does not pickle, with the part that doesn't.
        """
        if self.inside:
            made = Broadcast(secrets.token_hex(16), value, None)
            tasks.keep(made.digest, value)
        else:
            data = sent(value, what)
            made = Broadcast(hashlib.sha256(data).hexdigest(), None, data)
        self._shared.append(made)
        return made

    def submit(
        self, function: Callable[..., Any], *arguments: Any, limit: float | None = None, item: Any = None
    ) -> Task:
        """A task that is begun when a worker is free for it.

        Parameters
        ----------
        function : callable
            Importable on the worker, or for cloudpickle to write out.
        *arguments : object
            Of the function; those that are `Broadcast` arrive as their values.
        limit : float, optional
            Seconds until it is interrupted and ends with TimeLimitError.
        item : object, optional
            What the task is known by.

        Returns
        -------
        Task
            What goes wrong is its `error`, or raised by `finished` if it concerns all tasks.
        """
        task = Task(function, arguments, limit, item)
        self._waiting.append(task)
        return task

    def each(
        self, function: Callable[..., Any], items: Iterable[I], *shared: Any, limit: float | None = None
    ) -> Iterator[Task | None]:
        """Tasks of `function(*shared, item)` as they end, and None now and then; items are taken as they are needed."""
        left = iter(items)
        while True:
            ahead = self.count * (2 if limit is None else 1) - len(self._flying) - len(self._waiting)
            for item in itertools.islice(left, max(0, ahead)):
                self.submit(function, *shared, item, limit=limit, item=item)
            if not self.pending:
                return
            yield from self.finished()
            yield None

    def finished(self, timeout: float = TICK) -> list[Task]:
        """Tasks that ended since it was asked last, but for those that were cancelled; waits for one at most so long.

        Parameters
        ----------
        timeout : float, default 0.1
            Seconds to wait.

        Returns
        -------
        list of Task
            In the order in which they ended.

        Raises
        ------
        SamplingError
            Where no task can run: the executor is shut down, workers have other versions.
        """
        self._feed()
        if self._flying and not self._ended:
            with contextlib.suppress(queue.Empty):
                self._receive(*self._arrived.get(timeout=timeout))
        while not self._arrived.empty():
            self._receive(*self._arrived.get())
        self._overdue()
        self._feed()
        ended, self._ended = self._ended, []
        return [task for task in ended if not task.cancelled]

    def wake(self) -> None:
        """Have `finished` return where it is waiting; from any thread."""
        self._arrived.put((None, None))

    def cancel(self, task: Task) -> None:
        """Forget a task; if it is running its result is thrown away."""
        task.cancelled = True
        with contextlib.suppress(ValueError):
            self._waiting.remove(task)
        if task.inner is not None:
            self._adapter.cancel(task.inner)

    def close(self) -> None:
        """Stop what still runs, within seconds where it is Python that runs."""
        running = [task for task in self._flying if not self._adapter.cancel(task.inner)]
        self._waiting.clear()
        if running:
            where = Path(tasks.flag(self._stop))
            where.touch()
            self._adapter.halt(self._stop)
            left = _Left(len(running), where)
            for task in running:
                task.inner.add_done_callback(left.one)  # what waits in a pool's own queue begins later, and is to end
            left.over.wait(3.0)
        self._flying.clear()
        for shared in self._shared:
            if self.inside:
                tasks.forget(shared.digest)
            shared.placed = None
        if self._renewed:
            self._adapter.close()
        if self._owned is not None:
            self._owned.shutdown(cancel_futures=True)
        self._quiet.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # --- out

    def _feed(self) -> None:
        if self._broken and not self._flying:
            self._renew()
        while self._waiting and not self._broken and not self.away:
            alone = any(task.losses >= TRIALS - 1 for task in self._flying)
            task = self._waiting[0]
            most = 1 if task.losses >= TRIALS - 1 else self.count * (2 if task.limit is None else 1)
            if alone or len(self._flying) >= most:
                return
            self._waiting.popleft()
            try:
                self._send(task)
            except BrokenExecutor:
                self._broken = True
                self._waiting.appendleft(task)
                if not self._flying:
                    self._renew()

    def _send(self, task: Task) -> None:
        adapter = self._adapter
        task.began = time.monotonic()
        shared = [a for a in task.arguments if isinstance(a, Broadcast)]
        arguments = tuple(tasks.Kept(a.digest) if isinstance(a, Broadcast) else a for a in task.arguments)
        settings = (task.limit, self._stop)
        try:
            if adapter.inside:
                inner = adapter.submit(tasks.called, task.function, arguments, *settings, 0)
            else:
                call = sent((task.function, arguments), "a task")
                if task.attach:
                    for one in shared:
                        one.placed = adapter.place(one.data) if one.placed is None else one.placed  # type: ignore[arg-type]  # it leaves the process
                given = [one.placed for one in shared] if task.attach else []
                inner = adapter.submit(
                    tasks.run, tasks.versions(), tuple(s.digest for s in shared), call, settings, *given
                )
        except BrokenExecutor:
            raise
        except RuntimeError as error:
            raise SamplingError(
                f"the executor ({adapter.name}) takes no more work ({error}); give one that has not been shut down."
            ) from error
        task.inner = inner
        self._flying.add(task)
        inner.add_done_callback(lambda done: self._arrived.put((task, done)))

    def _renew(self) -> None:
        renewed = self._adapter.renewed()
        if renewed is None:
            raise WorkerLostError(
                f"a worker of the executor ({self._adapter.name}) died, which ends it. Give "
                "a new one; with `store=` a study goes on from what is finished."
            )
        if self._renewed:
            self._adapter.close()
        self._adapter, self._renewed, self._broken = renewed, True, False

    # --- back

    def _receive(self, task: Task | None, inner: Any) -> None:
        if task is None or task.inner is not inner:
            return  # it was given up before
        self._flying.discard(task)
        task.inner = None
        try:
            answer = inner.result()
        except (Exception, CancelledError) as error:
            if self._adapter.lost(error) and not task.cancelled:
                self._lost(task, error)
            else:
                self._end(task, error=error)
            return
        if self._adapter.inside:
            self._end(task, answer)
            return
        match answer:
            case "done", data:
                self._end(task, pickle.loads(data))
            case "raised", error, text:
                error.add_note(text)
                self._end(task, error=error)
            case "missing", _:
                task.attach = True
                self._waiting.appendleft(task)
            case "refused", there:
                here = tasks.versions()
                differing = [
                    f"{name} {there.get(name)} where this process has {here[name]}"
                    for name in here
                    if here[name] != there.get(name)
                ]
                raise SamplingError(
                    f"workers have {', '.join(differing)}; give them the same, or results could not be trusted."
                )

    def _lost(self, task: Task, error: BaseException) -> None:
        if self.away:  # with what stands between: the task had no part in it
            self._waiting.appendleft(task)
            return
        self.losses += 1
        task.losses += 1
        for one in self._shared:
            one.placed = None  # it may have been on the worker that died
        late = task.limit is not None and time.monotonic() - task.began >= task.limit
        if late:
            self._end(task, error=TimeLimitError(f"it did not end within {task.limit:g} s, and its worker was ended."))
        elif self._adapter.isolates or task.losses >= TRIALS:
            self._end(
                task, error=WorkerLostError(f"its worker died ({type(error).__name__}), and so did others with it.")
            )
        elif task.losses >= TRIALS - 1:
            self._waiting.append(task)  # alone, when all others are done
        else:
            self._waiting.appendleft(task)
        self._broken = self._broken or not self._adapter.isolates

    def _overdue(self) -> None:
        """Threads that stay deaf after their time can't be ended: what they were at is given up."""
        if not self._adapter.inside:
            return
        now = time.monotonic()
        for task in [t for t in self._flying if t.limit is not None and now > t.began + t.limit + tasks.GRACE]:
            self._flying.discard(task)
            self._end(
                task, error=TimeLimitError(f"it did not end within {task.limit:g} s; its thread could not be stopped.")
            )

    def _end(self, task: Task, result: Any = None, error: BaseException | None = None) -> None:
        task.end(result, error)
        self._ended.append(task)
