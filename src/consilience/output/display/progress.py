"""Progress of a run: its events enter, and one display shows its state, not too often.

A terminal has two lines redrawn in place, a notebook one piece of HTML, and files and pipes have plain lines. A
display that fails is switched off; it never ends a run.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self, TextIO

from consilience.errors import ConsilienceWarning, warn
from consilience.events import ChainLost, ChainMoved, Progress, Restarted, RunEnded, RunStarted, WorkerNotice
from consilience.output.display.lines import Lines
from consilience.output.display.notebook import Notebook, in_notebook
from consilience.output.display.state import State
from consilience.output.display.stream import is_terminal
from consilience.output.display.terminal import Terminal
from consilience.output.display.words import plain

MOST_NOTICES = 8
"""What happened beyond so many times is counted, not told."""

LONGEST_NOTICE = 300


class Display(Protocol):
    """Shows a run.

    `first`: seconds from the begin of a run to the first call of `show`. `interval`: seconds that should lie between
    this and the next call of `show`; it may change.
    """

    first: float
    interval: float

    def show(self, state: State) -> None:
        """Show the state of a run that goes on."""

    def notice(self, text: str) -> None:
        """Say something that happened, one line without control characters."""

    def finish(self, state: State | None) -> None:
        """Show the end of a run, or only tidy up for None."""


class Reporter:
    """A listener of a run, called with each event in one thread; events it does not know are passed over.

    To be used as a context, so that the terminal is left tidy also when the run fails:

        with reporter(progressbar) as report:
            run_chains(..., listeners=[report])

    The state is shown when progress is told and it is time to; the end of the run is always shown.
    """

    def __init__(self, display: Display | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Show on `display`, nothing if it is None, by the seconds of the `clock`."""
        self._display = display
        self._clock = clock
        self._due = 0.0
        self._notices = 0
        self._state: State | None = None

    def __call__(self, event: object) -> None:
        """Take note of an event, and show the state of the run if it is time to."""
        if self._display is None:
            return
        try:
            self._take(event, self._display)
        except Exception as error:  # whatever a display does, the run goes on
            self._switch_off(error)

    def _take(self, event: object, display: Display) -> None:
        if isinstance(event, RunStarted):
            if self._state is not None:  # the end of the last run was not told
                display.finish(None)
            self._state = State(event)
            self._notices = 0
            self._due = self._clock() + display.first
        state = self._state
        if state is None:
            return
        state.take(event)
        match event:
            case RunStarted() | Progress():
                if self._clock() >= self._due:
                    display.show(state)
                    self._due = self._clock() + display.interval
            case RunEnded():
                self._state = None
                display.finish(state)
            case ChainLost():
                self._notice(display, f"chain {event.chain} was left out: {event.reason}")
            case ChainMoved():
                self._notice(display, f"chain {event.chain} {event.reason}")
            case Restarted() | WorkerNotice():
                self._notice(display, event.reason)

    def _notice(self, display: Display, text: str) -> None:
        self._notices += 1
        if self._notices <= MOST_NOTICES:
            display.notice(plain(text)[:LONGEST_NOTICE])

    def _switch_off(self, error: Exception) -> None:
        """Say that the display failed and show nothing any more."""
        broken, self._display = self._display, None
        if broken is not None:
            with contextlib.suppress(Exception):  # the terminal should not stay in its hands
                broken.finish(None)
        with contextlib.suppress(ConsilienceWarning):  # where warnings are errors too
            warn(
                f"progress cannot be shown ({type(error).__name__}: {error}); the run continues without. "
                "progressbar=False switches it off."
            )

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
        if self._state is not None and self._display is not None:
            self._state = None
            try:
                self._display.finish(None)
            except Exception as error:
                self._switch_off(error)
        self._display = None


def reporter(progressbar: bool = True, stream: TextIO | None = None) -> Reporter:
    """The reporter that fits where its output goes; with `progressbar=False` one that shows nothing.

    stream: where to show it. By default the cell's output in a notebook, elsewhere standard error, so that what a
    program prints stays by itself.
    """
    if not progressbar:
        return Reporter(None)
    if stream is None:
        if in_notebook():
            return Reporter(Notebook())
        stream = sys.stderr
    if stream is None:  # a program without a console has no streams
        return Reporter(None)
    return Reporter(Terminal(stream) if is_terminal(stream) else Lines(stream))
