"""Threads that run machine code side by side, each with a BLAS of one thread."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

from consilience.native.blas import single_threaded


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
