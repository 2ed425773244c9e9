"""What advances in steps, as a person holds it: an estimator enters; its result, or a handle on it, leaves.

Estimators ask between two steps whether to go on. What they estimate stays outside.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from consilience.events import Listener, StepProgress
from consilience.output.display.step_line import StepLine
from consilience.run.listeners import TICK, Listeners, interrupts_stop

if TYPE_CHECKING:
    from consilience.run.run import Run

R = TypeVar("R")


class Background(Generic[R]):
    """Something at work, as `pm.sample`, `pm.sample_smc`, `pm.fit`, `pm.sbc` and `pm.power` give with `blocking=False`.

    run = pm.sample_smc(blocking=False)
    run.progress                  # where it is
    run.so_far()                  # what is there now
    run.pause(); run.resume()
    result = run.wait()           # or run.stop(): what there is
    """

    def __init__(
        self, at_work: Run | Stepwise[Any], finish: Callable[[float | None], R], so_far: Callable[[], R]
    ) -> None:
        self._at_work, self._finish, self._so_far = at_work, finish, so_far
        self._result: R | None = None

    @property
    def progress(self) -> Any:
        """Where it is: `consilience.events.Progress` of chains, `StepProgress` of what else there is."""
        return self._at_work.progress

    @property
    def finished(self) -> bool:
        """Whether it is over."""
        return self._at_work.finished

    def so_far(self) -> R:
        """What there is by now, as a result in its own right; without warnings."""
        return self.wait() if self.finished else self._so_far()

    def pause(self) -> None:
        """Let it rest after the step it is at; `resume` lets it go on. The result does not depend on it."""
        self._at_work.pause()

    def resume(self) -> None:
        """Go on after a pause."""
        self._at_work.resume()

    def stop(self) -> R:
        """End it and give what there is."""
        self._at_work.stop()
        return self.wait()

    def wait(self, timeout: float | None = None) -> R:
        """The result, once it is over."""
        if self._result is None:
            self._result = self._finish(timeout)
        return self._result

    def __repr__(self) -> str:
        now = self.progress
        state = "finished" if self.finished else "paused" if now.paused else "running"
        return f"<{type(self).__name__} {state}: {now}>"


class Stepwise(ABC, Generic[R]):
    """An estimator at work. It asks `step` before every step, and calls `tell` now and then.

    `progressbar`: whether a line is shown. `callback`: called with `StepProgress` in the thread that calls `tell`;
    KeyboardInterrupt raised in it is a stop. `stopping`: whether it is to end with what it has. `in_background`:
    whether it works in a thread of its own.
    """

    def __init__(self, progressbar: bool = False, callback: Listener | None = None) -> None:
        self._line = StepLine() if progressbar and sys.stderr is not None else None
        self.listeners = Listeners(filter(None, (self._line, callback)), self.stop)
        self.stopping = self.in_background = False
        self._free = threading.Event()
        self._free.set()
        self._began, self._told = time.perf_counter(), 0.0
        self._over = threading.Event()
        self._failure: BaseException | None = None

    @abstractmethod
    def work(self) -> None:
        """All steps, or as many as there is time for until `stop`."""

    @abstractmethod
    def result(self) -> R:
        """What has come of it, with the warnings that it deserves."""

    @abstractmethod
    def so_far(self) -> R:
        """What there is while it goes on; without warnings."""

    @abstractmethod
    def where(self) -> tuple[int, int | None, str]:
        """Steps that were made, of how many at most, and figures in words."""

    # --- for the estimator, from any of its threads

    def step(self) -> bool:
        """Rest while it is paused; whether to make another step."""
        self._free.wait()
        return not self.stopping

    def tell(self) -> None:
        """Call the listeners, if it is time to."""
        now = time.perf_counter()
        if now >= self._told + TICK:
            self._told = now
            self.listeners.send(self.progress)

    def step_and_tell(self) -> bool:
        """`step` where one thread does all: listeners are called during a pause, too."""
        self.tell()
        while not self._free.wait(TICK):
            self.tell()
        return not self.stopping

    def say(self, news: Iterable[str]) -> None:
        """Words that stay above the line, where one is shown."""
        if self._line is not None:
            for words in news:
                self._line.say(words)

    # --- for whoever holds it

    @property
    def progress(self) -> StepProgress:
        """Where it is."""
        done, most, words = self.where()
        return StepProgress(done, most, words, time.perf_counter() - self._began, not self._free.is_set())

    @property
    def finished(self) -> bool:
        """Whether it is over."""
        return self._over.is_set()

    def pause(self) -> None:
        """Rest before the next step."""
        if not (self.finished or self.stopping):
            self._free.clear()

    def resume(self) -> None:
        """Go on after a pause."""
        self._free.set()

    def stop(self) -> None:
        """Ask it to end with what it has."""
        self.stopping = True
        if not self._free.is_set():  # whose lock the interrupted thread may hold, where a signal asks for it
            self._free.set()

    @overload
    def delivered(self, blocking: Literal[True]) -> R: ...
    @overload
    def delivered(self, blocking: bool) -> R | Background[R]: ...
    def delivered(self, blocking: bool) -> R | Background[R]:
        """The result, for which Ctrl-C does not wait longer than for a step; or a handle on it."""
        self.in_background = not blocking
        if not blocking:
            threading.Thread(target=self._in_background, name="consilience-steps", daemon=True).start()
            return Background(self, self._wait, self.so_far)
        with interrupts_stop(self.stop):
            self._to_the_end()
        return self._finish()

    def _to_the_end(self) -> None:
        try:
            self.work()
            self.listeners.send(self.progress)
        except BaseException as failure:
            self._failure = failure
            raise
        finally:
            if self._line is not None:
                self._line.finish(self.progress)
            self._over.set()

    def _in_background(self) -> None:
        with contextlib.suppress(BaseException):  # belongs to whoever waits: `_failure`
            self._to_the_end()

    def _wait(self, timeout: float | None) -> R:
        with interrupts_stop(self.stop):
            if not self._over.wait(timeout):
                raise TimeoutError(f"it was not over after {timeout} seconds; it goes on.")
        if self._failure is not None:
            raise self._failure
        return self._finish()

    def _finish(self) -> R:
        self.listeners.warn()
        return self.result()
