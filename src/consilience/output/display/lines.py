"""A run in a file or pipe: plain lines, each below the last, more and more seldom."""

from __future__ import annotations

from typing import TextIO

from consilience.output.display.facts import line
from consilience.output.display.state import State
from consilience.output.display.stream import spelled

SECONDS_BEFORE_LINES = 10.0
SECONDS_BETWEEN_LINES = 600.0
GROWTH_OF_INTERVALS = 1.5


class Lines:
    """Plain lines: a display for files and pipes."""

    first = SECONDS_BEFORE_LINES

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.interval = SECONDS_BEFORE_LINES

    def show(self, state: State) -> None:
        """Write one line."""
        self.notice(line(state))
        self.interval = min(GROWTH_OF_INTERVALS * self.interval, SECONDS_BETWEEN_LINES)

    def notice(self, text: str) -> None:
        """Write one line."""
        print(spelled(text, self.stream), file=self.stream, flush=True)

    def finish(self, state: State | None) -> None:
        """Write the last line."""
        self.interval = SECONDS_BEFORE_LINES
        if state is not None:
            self.notice(line(state))
