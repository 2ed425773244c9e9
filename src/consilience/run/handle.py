"""A run as a person holds it: start, stop, pause, wait, where it is, and who is told; Ctrl-C asks it to end."""

from __future__ import annotations

import math
import queue
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from consilience.errors import ConsilienceWarning, SamplingError
from consilience.events import Event, Listener, Progress
from consilience.native.beside import WORKSHOP
from consilience.run.monitor import Monitored
from consilience.run.plan import RunPlan
from consilience.run.result import Run
from consilience.run.supervisor import Supervisor

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
        """Call the listeners whose time has come, if there are any, with an event made for them, now."""
        now = time.perf_counter()
        due = [one for one in self._listeners if now >= self._told.get(id(one), -math.inf) + getattr(one, "every", 0.0)]
        if due:  # where thousands of chains are takes its time to say
            self._told.update((id(one), now) for one in due)
            self._call(due, make())

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


class Running:
    """A run at work in a thread of its own.

    `supervisor`: the run; whoever only wants to use it has no need to know it. `waited_seconds`: time until the chains
    could begin, since what they need was still being compiled.
    """

    def __init__(self, supervisor: Supervisor, listeners: Iterable[Listener]) -> None:
        self.supervisor = supervisor
        self.listeners = Listeners(listeners, self.stop)
        supervisor.send = self.listeners.post
        self.listeners.post(supervisor.started())
        self.waited_seconds = 0.0
        self._result: Run | None = None
        self._failure: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="consilience-supervisor", daemon=True)
        self._pump: threading.Thread | None = None
        self._paused_at: float | None = None

    def start(self, background: bool) -> None:
        """Begin. In the background a thread calls the listeners; else `wait` does."""
        self._thread.start()
        if background:
            self._pump = threading.Thread(target=self._tell_all, name="consilience-listeners", daemon=True)
            self._pump.start()

    def again(self, plan: RunPlan, listeners: Iterable[Listener]) -> Running:
        """The same chains, ready to go on under another plan once this run is over."""
        supervisor = self.supervisor.again(plan)
        running = Running(supervisor, listeners)
        running.waited_seconds = self.waited_seconds
        return running

    def _work(self) -> None:
        try:
            # Chains that begin before would not be through earlier: they would wait at their first check, and for the
            # interpreter and the processors until then.
            began = time.perf_counter()
            WORKSHOP.finish()
            self.waited_seconds += time.perf_counter() - began
            self._result = self.supervisor.run()
            while (successor := self.supervisor.successor) is not None:
                WORKSHOP.finish()
                self._go_on_as(successor)
                self._result = successor.run()
        except BaseException as failure:  # belongs to whoever waits
            self._failure = failure
        finally:
            self._over.set()

    def _go_on_as(self, successor: Supervisor) -> None:
        """Let another run, in other coordinates, be this one from now on."""
        before = self.supervisor
        successor.send = self.listeners.post
        self.supervisor = successor
        successor.follow(before)
        if self._paused_at is not None:
            successor.engine.pause()

    def _tell_all(self) -> None:
        while not self._over.wait(TICK):
            self.listeners.deliver()
            self.listeners.tell(self.supervisor.progress)
        self.listeners.deliver()

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        return self._over.is_set()

    @property
    def monitored(self) -> Monitored:
        """What is watched."""
        return self.supervisor.course.monitored

    @property
    def living(self) -> tuple[int, ...]:
        """Numbers of the chains that were not left out."""
        return self.supervisor.course.living

    @property
    def chains(self) -> int:
        """How many chains began."""
        return self.supervisor.engine.chains.count

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.supervisor.seed

    def so_far(self) -> Run:
        """What all chains have made until now."""
        present = self.supervisor
        return (present.successor or present).so_far()

    @property
    def drawn(self) -> int | None:
        """Draws of each chain; None where the run ended before any could be made."""
        attempt = self.supervisor.course.attempt
        return None if attempt is None else attempt.count

    @property
    def progress(self) -> Progress:
        """Where the chains are."""
        return self.supervisor.progress()

    def pause(self) -> None:
        """Let chains rest after the few milliseconds they are at; `resume` lets them go on."""
        if self._paused_at is None and not self.finished:
            self._paused_at = time.perf_counter()
            self.supervisor.engine.pause()
            self.listeners.post(self.progress)

    def resume(self) -> None:
        """Go on after a pause."""
        if self._paused_at is not None:
            since = max(self._paused_at, self.supervisor.began)  # before the run began no time was counted
            self.supervisor.paused_seconds += time.perf_counter() - since
            self._paused_at = None
            self.supervisor.engine.resume()
            self.listeners.post(self.progress)

    def stop(self) -> None:
        """Ask the run to end with the draws it has; `wait` gives them."""
        asked = self.supervisor
        asked.stop()
        if self.supervisor is not asked:  # which may have come to its end meanwhile
            self.supervisor.stop()
        self.resume()

    def wait(self, timeout: float | None = None) -> Run:
        """The result, once the run is over.

        `timeout`: seconds to wait at most; then TimeoutError, and the run goes on. Raises InitialPointError. Raises
        SamplingError where no chain was left.
        """
        end = None if timeout is None else time.perf_counter() + timeout
        if self._pump is None:
            self._wait_and_tell(end)
        else:
            self._over.wait(timeout)
        if not self.finished:
            raise TimeoutError(f"the run was not over after {timeout} seconds; it goes on.")
        if self._pump is not None:
            self._pump.join()
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        if self._result is None:
            raise SamplingError("the run ended without a result.")
        return self._result

    def _wait_and_tell(self, end: float | None) -> None:
        """Call the listeners in this thread, the one Ctrl-C comes to."""
        with interrupts_stop(self.stop):
            while not self.finished and (end is None or time.perf_counter() < end):
                try:
                    self._over.wait(TICK if end is None else min(TICK, max(0.0, end - time.perf_counter())))
                    self.listeners.deliver()
                    if not self.finished:
                        self.listeners.tell(self.supervisor.progress)
                except KeyboardInterrupt:  # comes only where `interrupts_stop` could not take the signal over
                    self.stop()
            self.listeners.deliver()
