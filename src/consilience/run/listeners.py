"""From the supervisor to the listeners: events go through a queue, so that a slow listener slows no chain."""

from __future__ import annotations

import queue
import warnings
from collections.abc import Callable, Iterable

from consilience.errors import ConsilienceWarning
from consilience.events import Event, Listener


class Listeners:
    """The listeners of one run. `post` may be called from any thread; `deliver` calls the listeners.

    stop   called when a listener asks for the end of the run by raising KeyboardInterrupt
    """

    def __init__(self, listeners: Iterable[Listener], stop: Callable[[], None]) -> None:
        self._listeners = list(listeners)
        self._stop = stop
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.faults: list[tuple[Listener, Exception]] = []

    def add(self, listeners: Iterable[Listener]) -> None:
        """Further listeners, before the run begins."""
        self._listeners += listeners

    def post(self, event: Event) -> None:
        """Put an event in the queue."""
        self._events.put(event)

    def deliver(self) -> None:
        """Call the listeners with all events that wait."""
        while not self._events.empty():
            self.send(self._events.get())

    def send(self, event: Event) -> None:
        """Call the listeners with one event, now."""
        for listener in list(self._listeners):
            try:
                listener(event)
            except KeyboardInterrupt:
                self._stop()
            except Exception as fault:  # its own affair: the chains and their draws have no part in it
                self.faults.append((listener, fault))
                self._listeners.remove(listener)

    def warn(self, stacklevel: int) -> None:
        """Say which listeners failed."""
        for listener, fault in self.faults:
            name = getattr(listener, "__qualname__", type(listener).__qualname__)
            warnings.warn(
                f"the callback {name} raised {type(fault).__name__}: {fault}. It was not called again; the run and its "
                "draws are complete. To end a run from a callback raise KeyboardInterrupt.",
                ConsilienceWarning,
                stacklevel=stacklevel + 1,
            )
        self.faults.clear()
