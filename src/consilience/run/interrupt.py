"""Ctrl-C as a request: while a run is going on it sets the stop flag instead of raising somewhere."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import numpy as np
from numpy.typing import NDArray


class StopRequest:
    """The stop flag of one run, read by native code.

    flag   int64[1]; not 0 once the run is to stop
    """

    def __init__(self) -> None:
        self.flag: NDArray[np.int64] = np.zeros(1, np.int64)
        self.by_user = False

    @property
    def made(self) -> bool:
        return bool(self.flag[0])

    def make(self) -> None:
        """Ask all chains to stop; asking twice is harmless."""
        self.flag[0] = 1

    def interrupt(self) -> None:
        """The user asks to stop."""
        self.by_user = True
        self.make()


@contextmanager
def interrupts_stop(request: StopRequest) -> Iterator[None]:
    """Within this context Ctrl-C makes the request, and does nothing else, however often it comes.

    Only Python's own handler is replaced, and only in the main thread, the one place where Python allows it;
    elsewhere KeyboardInterrupt goes its usual way and the run catches it.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        request.interrupt()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
