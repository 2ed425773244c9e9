"""Threads that run machine code side by side, each with a BLAS of one thread, and what one waits for from others."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from consilience.native.blas import single_threaded

T = TypeVar("T")


class Mailbox(Generic[T]):
    """A queue with one reader, whose waits end in time whatever signals come; anybody may put, signal handlers too.

    Those of `queue` do not do: after a signal near the end of a wait, `SimpleQueue.get` of CPython waits without end (a
    time left that is below 0 means no limit), and `Queue.put` in a handler may wait for a lock of the very thread that
    the handler interrupts.
    """

    def __init__(self) -> None:
        self._waiting: deque[T] = deque()
        self._put = threading.Lock()  # held when nothing came since the last look

    def put(self, item: T) -> None:
        """Add an item at the end."""
        self._waiting.append(item)
        with contextlib.suppress(RuntimeError):  # it is free already
            self._put.release()

    def empty(self) -> bool:
        """Whether there is none."""
        return not self._waiting

    def get(self, timeout: float | None = 0.0) -> T:
        """The first item, after at most so many seconds; queue.Empty where none came. None waits for one."""
        self._put.acquire(blocking=False)
        if not self._waiting:
            self._put.acquire(timeout=-1 if timeout is None else max(0.0, timeout))
        try:
            return self._waiting.popleft()
        except IndexError:
            raise queue.Empty from None


class NativeThreads(ThreadPoolExecutor):
    """An executor for machine code: from the beginning to `shutdown` BLAS has one thread, see `single_threaded`.

    count  threads, at least 1; ValueError for fewer
    name   how the names of the threads begin
    """

    def __init__(self, count: int, name: str = "") -> None:
        super().__init__(count, name)
        self._alone = contextlib.ExitStack()
        self._alone.enter_context(single_threaded())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End as an executor does; BLAS is as it was."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._alone.close()
