"""Progress of a run: its events enter, one line about all chains is shown, not too often.

A display that fails is switched off; it never ends a run.
"""

from __future__ import annotations

import collections
import contextlib
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Protocol, Self, TextIO, runtime_checkable

from consilience.errors import ConsilienceWarning
from consilience.ui.displays import Bar, Display, Lines
from consilience.ui.overview import Overview

SECONDS_BEFORE_FIRST = 0.3
"""A shorter run shows its last line only, and does not wait for the library that draws on terminals."""

SECONDS_OF_RATE = 3.0
"""The time left is judged by the speed in so many last seconds."""


@runtime_checkable
class RunStarts(Protocol):
    """Event at the begin of a run: `chains`, and `tune` and `draws`, the transitions of each of them."""

    @property
    def chains(self) -> int: ...
    @property
    def tune(self) -> int: ...
    @property
    def draws(self) -> int: ...


@runtime_checkable
class ChainProgress(Protocol):
    """Event while a run goes on: how far one chain is.

    chain         number of the chain, from 0
    done          transitions made, tuning included
    divergences   divergences after tuning
    step_size     current step size; NaN if there is none
    tree_depth    mean depth of the trees of late; NaN if there are none
    gradients     evaluations of the density so far
    """

    @property
    def chain(self) -> int: ...
    @property
    def done(self) -> int: ...
    @property
    def divergences(self) -> int: ...
    @property
    def step_size(self) -> float: ...
    @property
    def tree_depth(self) -> float: ...
    @property
    def gradients(self) -> int: ...


@runtime_checkable
class RunEnds(Protocol):
    """Event at the end of a run: whether the user stopped it, and its `seconds`."""

    @property
    def interrupted(self) -> bool: ...
    @property
    def seconds(self) -> float: ...


class Reporter:
    """A listener of a run, called with each event in one thread; events it does not know are passed over.

    To be used as a context, so that the terminal is left tidy also when the run fails:

        with reporter(progressbar) as report:
            run_chains(..., listeners=[report])
    """

    def __init__(
        self,
        display: Display | None,
        first: float = SECONDS_BEFORE_FIRST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show on `display`, nothing if it is None, not before `first` seconds of the `clock` have passed."""
        self._display = display
        self._first = first
        self._clock = clock
        self._run: RunStarts | None = None
        self._began = self._due = 0.0
        self._latest: dict[int, ChainProgress] = {}
        self._history: collections.deque[tuple[float, int]] = collections.deque()

    def __call__(self, event: object) -> None:
        """Take note of an event, and show the state of the run if it is time to."""
        if self._display is None:
            return
        if isinstance(event, ChainProgress):
            self._latest[event.chain] = event
            now = self._clock()
            if self._run is not None and now >= self._due:
                self._due = now + self._display.interval
                overview = self._overview(self._run, now - self._began)
                self._attempt(lambda display: display.show(overview))
        elif isinstance(event, RunStarts):
            self._run = event
            self._latest.clear()
            self._history.clear()
            self._began = self._clock()
            self._due = self._began + self._first
        elif isinstance(event, RunEnds) and self._run is not None:
            end = self._overview(self._run, event.seconds, event.interrupted)
            self._run = None
            self._attempt(lambda display: display.finish(end))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Show nothing any more; a run whose end was not told leaves no line behind."""
        if self._run is not None:
            self._attempt(lambda display: display.finish(None))
        self._display = None

    def _attempt(self, show: Callable[[Display], None]) -> None:
        """Show something; at the first failure say so and show nothing any more."""
        if self._display is None:
            return
        try:
            show(self._display)
        except Exception as error:  # whatever a display does, the run goes on
            broken, self._display = self._display, None
            with contextlib.suppress(Exception):  # the terminal should not stay in its hands
                broken.finish(None)
            with contextlib.suppress(ConsilienceWarning):  # where warnings are errors too
                warnings.warn(
                    f"progress cannot be shown ({type(error).__name__}: {error}); the run goes on without. "
                    "progressbar=False switches it off.",
                    ConsilienceWarning,
                    stacklevel=4,
                )

    def _overview(self, run: RunStarts, seconds: float, interrupted: bool = False) -> Overview:
        events = self._latest.values()
        done = sum(event.done for event in events)
        total = run.chains * (run.tune + run.draws)
        return Overview(
            chains=run.chains,
            tune=run.tune,
            draws=run.draws,
            tuning=len(events) < run.chains or any(event.done < run.tune for event in events),
            done=done,
            divergences=sum(event.divergences for event in events),
            step_size=mean(event.step_size for event in events),
            tree_depth=mean(event.tree_depth for event in events),
            gradients=sum(event.gradients for event in events),
            seconds=seconds,
            remaining=self._remaining(seconds, done, total),
            interrupted=interrupted,
        )

    def _remaining(self, seconds: float, done: int, total: int) -> float | None:
        """Seconds left at the speed of late; None before anything was done."""
        history = self._history
        history.append((seconds, done))
        while len(history) > 2 and history[1][0] < seconds - SECONDS_OF_RATE:
            history.popleft()
        begin, before = history[0] if len(history) > 1 else (0.0, 0)
        if done <= before or seconds <= begin:
            return None
        return (total - done) * (seconds - begin) / (done - before)


def mean(values: Iterable[float]) -> float:
    """Mean of the numbers among the values; NaN if there are none."""
    numbers = [value for value in values if not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else math.nan


def reporter(progressbar: bool = True, stream: TextIO | None = None) -> Reporter:
    """The reporter that fits where its output goes: a bar, plain lines, or nothing with `progressbar=False`.

    stream: where to show it; by default standard error, so that what a program prints stays by itself, and in
    a notebook the cell's output.
    """
    notebook = stream is None and "ipykernel" in sys.modules
    target: TextIO | None = stream or (sys.stdout if notebook else sys.stderr)
    if not progressbar or target is None:  # a program without a console has no streams
        return Reporter(None)
    return Reporter(Bar(target) if notebook or is_terminal(target) else Lines(target))


def is_terminal(stream: TextIO) -> bool:
    """Whether a line can be redrawn there."""
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # it has no such method, or is closed
        return False
