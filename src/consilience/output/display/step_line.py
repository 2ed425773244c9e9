"""What is shown of an estimator that advances in steps: one line, redrawn in place on a terminal."""

from __future__ import annotations

import sys
from typing import Final, TextIO

from consilience.events import Event, StepProgress
from consilience.output.display.stream import columns_of, is_terminal, spelled

FIRST: Final = (0.3, 10.0)  # seconds before the first line, on a terminal and elsewhere
GROWTH: Final = 1.5  # of the time between two lines that stay


class StepLine:
    """A listener that shows one line about how far the steps are."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._redrawn = is_terminal(self._stream)
        self._due = FIRST[0 if self._redrawn else 1]
        self._last: StepProgress | None = None  # of those that were shown

    def __call__(self, event: Event) -> None:
        """If it is time to."""
        if isinstance(event, StepProgress) and event.seconds >= self._due:
            self._write(event)
            self._due = event.seconds if self._redrawn else GROWTH * event.seconds

    def say(self, words: str) -> None:
        """Words that stay, before the line."""
        text, room = spelled(words, self._stream), columns_of(self._stream) - 1
        self._stream.write(f"\r{text:<{room}}\n" if self._redrawn else f"{text}\n")
        self._stream.flush()

    def finish(self, event: StepProgress) -> None:
        """The last line, if there was one before; it stays."""
        if self._last is not None:
            self._write(event)
            if self._redrawn:
                self._stream.write("\n")
                self._stream.flush()
        self._last = None

    def _write(self, event: StepProgress) -> None:
        self._last = event
        paused = " · paused" if event.paused else ""
        text = spelled(f"{event.words} · {event.seconds:.0f} s{paused}", self._stream)
        if self._redrawn:
            room = columns_of(self._stream) - 1
            self._stream.write(f"\r{text[:room]:<{room}}")
        else:
            self._stream.write(text + "\n")
        self._stream.flush()
