"""Progress of a run: its events enter, and one display shows its state, not too often.

A terminal has two lines redrawn in place, a notebook one piece of HTML, and files and pipes have plain lines. A
display that fails is switched off; it never ends a run.
"""

from __future__ import annotations

import contextlib
import sys
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from consilience.errors import ConsilienceWarning
from consilience.ui.display import Display, Lines
from consilience.ui.events import ChainFails, RunEnds, RunGoesOn, RunRestarts, RunStarts
from consilience.ui.notebook import Notebook, in_notebook
from consilience.ui.overview import overview
from consilience.ui.pace import Pace
from consilience.ui.terminal import Terminal, is_terminal
from consilience.ui.words import crop, plain

MOST_NOTICES = 8
"""What happened beyond so many times is counted, not told."""

LONGEST_NOTICE = 300


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
        self._run: RunStarts | None = None
        self._forget()

    def _forget(self) -> None:
        """Nothing is known of a run."""
        self._now: RunGoesOn | None = None
        self._pace = Pace()
        self._lost: set[int] = set()
        self._notices = 0
        self._restarted = False

    def __call__(self, event: object) -> None:
        """Take note of an event, and show the state of the run if it is time to."""
        if self._display is None:
            return
        try:
            self._take(event, self._display)
        except Exception as error:  # whatever a display does, the run goes on
            self._switch_off(error)

    def _take(self, event: object, display: Display) -> None:
        if isinstance(event, RunStarts):
            if self._run is not None:  # the end of the last run was not told
                display.finish(None)
            self._forget()
            self._run = event
            self._due = self._clock() + display.first
            self._show(event, display)
        elif self._run is None:
            return
        elif isinstance(event, RunGoesOn):
            self._now = event
            if event.paused:
                self._pace.forget()
            else:
                done = sum(state.done for state in event.chains)
                self._pace.note(event.seconds, done, sum(state.gradients for state in event.chains))
            self._show(self._run, display)
        elif isinstance(event, RunEnds):
            run, self._run = self._run, None
            state = overview(run, self._now, self._pace, lost=len(self._lost), restarted=self._restarted, end=event)
            display.finish(state)
        elif isinstance(event, ChainFails):
            self._lost.add(event.chain)
            self._notice(display, f"chain {event.chain} was left out: {event.reason}")
        elif isinstance(event, RunRestarts):
            self._restarted = True
            self._notice(display, event.reason)

    def _show(self, run: RunStarts, display: Display) -> None:
        """Show the state of the run if it is time to."""
        now = self._clock()
        if now >= self._due:
            display.show(overview(run, self._now, self._pace, lost=len(self._lost), restarted=self._restarted))
            self._due = now + display.interval

    def _notice(self, display: Display, text: str) -> None:
        self._notices += 1
        if self._notices <= MOST_NOTICES:
            display.notice(crop(plain(text), LONGEST_NOTICE))

    def _switch_off(self, error: Exception) -> None:
        """Say that the display failed and show nothing any more."""
        broken, self._display = self._display, None
        if broken is not None:
            with contextlib.suppress(Exception):  # the terminal should not stay in its hands
                broken.finish(None)
        with contextlib.suppress(ConsilienceWarning):  # where warnings are errors too
            warnings.warn(
                f"progress cannot be shown ({type(error).__name__}: {error}); the run goes on without. "
                "progressbar=False switches it off.",
                ConsilienceWarning,
                stacklevel=3,
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
        if self._run is not None and self._display is not None:
            self._run = None
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
