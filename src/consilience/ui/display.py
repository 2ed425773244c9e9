"""What shows the state of a run: the contract of all displays, and the one that writes plain lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TextIO

from consilience.ui.facts import last_line, line
from consilience.ui.overview import Overview

SECONDS_BEFORE_LINES = 10.0
SECONDS_BETWEEN_LINES = 600.0
GROWTH_OF_INTERVALS = 1.5

ASCII = str.maketrans({"·": "|", "×": "x", "…": "~", "━": "=", "╸": "=", "─": "-"})
"""Signs that stand for those of ours that a stream cannot show."""


class Display(Protocol):
    """Shows a run.

    first      seconds from the begin of a run to the first call of `show`
    interval   seconds that should lie between this and the next call of `show`; it may change
    """

    first: float
    interval: float

    def show(self, now: Overview) -> None:
        """Show the state of a run that goes on."""

    def notice(self, text: str) -> None:
        """Say something that happened, one line without control characters."""

    def finish(self, now: Overview | None) -> None:
        """Show the end of a run, or only tidy up for None."""


class Lines:
    """Plain lines, each below the last, more and more seldom: for files and pipes."""

    first = SECONDS_BEFORE_LINES

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.spell = speller(stream)
        self.interval = SECONDS_BEFORE_LINES

    def show(self, now: Overview) -> None:
        """Write one line."""
        self.notice(line(now))
        self.interval = min(GROWTH_OF_INTERVALS * self.interval, SECONDS_BETWEEN_LINES)

    def notice(self, text: str) -> None:
        """Write one line."""
        print(self.spell(text), file=self.stream, flush=True)

    def finish(self, now: Overview | None) -> None:
        """Write the last line."""
        self.interval = SECONDS_BEFORE_LINES
        if now is not None:
            self.notice(last_line(now))


def speller(stream: TextIO) -> Callable[[str], str]:
    """What turns a text into one that the encoding of the stream can write, letter by letter."""
    encoding = getattr(stream, "encoding", None)
    if not isinstance(encoding, str):
        return lambda text: text
    try:
        "".join(map(chr, ASCII)).encode(encoding)
    except UnicodeError:
        table = ASCII
    else:
        table = {}
    return lambda text: text.translate(table).encode(encoding, "replace").decode(encoding)
