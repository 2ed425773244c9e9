"""A run in the background: what a person may ask of it while it goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from consilience.errors import SamplingError
from consilience.events import Listener, Progress
from consilience.native.beside import WORKSHOP
from consilience.run.interrupt import interrupts_stop
from consilience.run.listeners import Listeners
from consilience.run.monitor import Monitored
from consilience.run.options import Options
from consilience.run.result import Run
from consilience.run.supervisor import Supervisor

TICK = 0.1  # seconds between two reports


class Running:
    """A run at work in a thread of its own.

    supervisor       the run; whoever only wants to use it has no need to know it
    waited_seconds   time until the chains could begin, since what they need was still being compiled
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

    def again(self, options: Options, listeners: Iterable[Listener]) -> Running:
        """The same chains, ready to go on under other options once this run is over."""
        supervisor = self.supervisor.again(options)
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
            self.listeners.send(self.supervisor.progress())
        self.listeners.deliver()

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        return self._over.is_set()

    @property
    def monitored(self) -> Monitored:
        """What is watched."""
        return self.supervisor.controller.setting.monitored

    @property
    def living(self) -> tuple[int, ...]:
        """Numbers of the chains that were not left out."""
        return self.supervisor.controller.living

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
        sampling = self.supervisor.controller.sampling
        return None if sampling is None else sampling.count

    @property
    def progress(self) -> Progress:
        """Where the chains are."""
        return self.supervisor.progress()

    def pause(self) -> None:
        """Let chains rest after the few milliseconds they are at; `resume` lets them go on."""
        if self._paused_at is None and not self.finished:
            self._paused_at = time.perf_counter()
            self.supervisor.engine.pause()

    def resume(self) -> None:
        """Go on after a pause."""
        if self._paused_at is not None:
            since = max(self._paused_at, self.supervisor.began)  # before the run began no time was counted
            self.supervisor.paused_seconds += time.perf_counter() - since
            self._paused_at = None
            self.supervisor.engine.resume()

    def stop(self) -> None:
        """Ask the run to end with the draws it has; `wait` gives them."""
        asked = self.supervisor
        asked.stop()
        if self.supervisor is not asked:  # which may have come to its end meanwhile
            self.supervisor.stop()
        self.resume()

    def wait(self, timeout: float | None = None) -> Run:
        """The result, once the run is over.

        timeout   seconds to wait at most; then TimeoutError, and the run goes on
        raises    InitialPointError, SamplingError where no chain was left
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
                        self.listeners.send(self.supervisor.progress())
                except KeyboardInterrupt:  # comes only where `interrupts_stop` could not take the signal over
                    self.stop()
            self.listeners.deliver()
