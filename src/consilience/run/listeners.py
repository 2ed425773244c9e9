"""Who is told of what is at work: listeners are called beside it, and Ctrl-C asks it to end."""

from __future__ import annotations

import math
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from consilience.errors import warn
from consilience.events import Event, Listener, RunEnded

TICK = 0.1  # seconds between two reports


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


class Listeners:
    """The listeners of one run: events go through a queue, so that a slow listener slows no chain.

    `post` may be called from any thread; `deliver` calls the listeners.

    `stop`: called when a listener asks for the end of the run by raising KeyboardInterrupt.

    A listener may have `every`: the seconds between two reports of progress that it can do with.
    """

    def __init__(self, listeners: Iterable[Listener], stop: Callable[[], None]) -> None:
        self._listeners = list(listeners)
        self._stop = stop
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.faults: list[tuple[Listener, Exception]] = []
        self._told: dict[int, float] = {}
        self._ended = False

    def add(self, listeners: Iterable[Listener]) -> None:
        """Further listeners, before the run begins."""
        self._listeners += listeners

    def post(self, event: Event) -> None:
        """Put an event in the queue."""
        self._events.put(event)

    def deliver(self, between: Callable[[], Event] | None = None) -> None:
        """Call the listeners with all events that wait, and `tell` them of what `between` makes, after each.

        Else those that write much, whom events reach faster than they can take them, would hear of no progress.
        """
        while not self._events.empty():
            self.send(self._events.get())
            if between is not None:
                self.tell(between)

    def send(self, event: Event) -> None:
        """Call the listeners with one event, now."""
        self._ended = isinstance(event, RunEnded)
        self._call(list(self._listeners), event)

    def _call(self, listeners: Iterable[Listener], event: Event) -> None:
        for listener in listeners:
            try:
                listener(event)
            except KeyboardInterrupt:
                self._stop()
            except Exception as fault:  # its own affair: the chains and their draws have no part in it
                self.faults.append((listener, fault))
                self._listeners.remove(listener)

    def tell(self, make: Callable[[], Event]) -> None:
        """Call the listeners whose time has come with an event made for them, now; nothing follows the end of a run."""
        if self._ended:
            return
        now = time.perf_counter()
        due = [one for one in self._listeners if now >= self._told.get(id(one), -math.inf) + getattr(one, "every", 0.0)]
        if due:  # where thousands of chains are takes its time to say
            self._told.update((id(one), now) for one in due)
            self._call(due, make())

    def warn(self) -> None:
        """Say which listeners failed."""
        for listener, fault in self.faults:
            name = getattr(listener, "__qualname__", type(listener).__qualname__)
            warn(
                f"the callback {name} raised {type(fault).__name__}: {fault}. It was not called again; the run and its "
                "draws are complete. To end a run from a callback raise KeyboardInterrupt."
            )
        self.faults.clear()
