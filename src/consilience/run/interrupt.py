"""Ctrl-C as a request: while a run is going on it asks the run to end instead of raising somewhere."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_stop(interrupt: Callable[[], None]) -> Iterator[None]:
    """Within this context Ctrl-C calls `interrupt`, and does nothing else, however often it comes.

    Only Python's own handler is replaced, and only in the main thread, the one place where Python allows it;
    elsewhere KeyboardInterrupt goes its usual way and the run catches it.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        interrupt()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
