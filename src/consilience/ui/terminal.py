"""A run on a terminal: two lines redrawn in place, and one when it is over.

The library that draws, rich, is loaded when the first frame is due, so that short runs do without.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from typing import TextIO

from consilience.ui.display import speller
from consilience.ui.facts import BETWEEN, Tone, ending, figures, fit, headline, last_reason, sentence
from consilience.ui.overview import Overview
from consilience.ui.words import cells, wrapped

SECONDS_BEFORE_FIRST = 0.3
SECONDS_BETWEEN_FRAMES = 0.2

USUAL_COLUMNS = 80
USUAL_WORDS = len("320 draws, check at 390 · 0:03, 0:05 left")
SHORTEST_BAR = 6
LONGEST_BAR = 30

STYLES: dict[Tone, str] = {"": "", "good": "green", "bad": "yellow"}

Frame = list[list[tuple[str, str]]]
"""Lines of texts with their styles."""


class Terminal:
    """Two lines redrawn in place.

    columns   width of the terminal, asked for at each frame; that of the stream by default
    """

    first = SECONDS_BEFORE_FIRST
    interval = SECONDS_BETWEEN_FRAMES

    def __init__(self, stream: TextIO, columns: Callable[[], int] | None = None) -> None:
        self.stream = stream
        self.columns = columns or (lambda: columns_of(stream))
        self.spell = speller(stream)
        self.longest = USUAL_WORDS
        self._draw: Callable[[Frame], None] | None = None
        self._say: Callable[[str], None] | None = None
        self._stop: Callable[[], None] | None = None

    def show(self, now: Overview) -> None:
        """Redraw the lines."""
        if self._draw is None:
            self._draw = self._start()
        self._draw(self.frame(now))

    def notice(self, text: str) -> None:
        """Write a line that stays, above those that are redrawn."""
        (self._say or self._print)(text)

    def finish(self, now: Overview | None) -> None:
        """Remove the lines and leave one about the end, and below it the reason of an end not wished for."""
        if self._stop is not None:
            self._stop()
        self._draw = self._say = self._stop = None
        self.longest = USUAL_WORDS
        if now is not None:
            self._print(sentence(ending(now), self.columns() - 1, BETWEEN))
            if reason := last_reason(now):
                self._print(reason, "  ")

    def frame(self, now: Overview) -> Frame:
        """The lines to be drawn, none wider than the terminal; its last column stays free, as some wrap there."""
        room = self.columns() - 1
        lines = [self._headline(now, room)]
        if facts := figures(now):
            styled: list[tuple[str, str]] = []
            for text, tone in fit(facts, room):
                styled += [(BETWEEN, "dim"), (text, STYLES[tone])]
            lines.append(styled[1:])
        return [[(self.spell(text), style) for text, style in styled] for styled in lines]

    def _headline(self, now: Overview, room: int) -> list[tuple[str, str]]:
        """What goes on, with a bar if there is room."""
        (what, _), *others = fit(headline(now), room)
        beside = BETWEEN.join(text for text, _ in others)
        # Room for the longest words so far, or the bar would jump about.
        self.longest = max(self.longest, cells(beside))
        bar = min(room - cells(what) - self.longest - 2, LONGEST_BAR)
        if bar < SHORTEST_BAR:
            return [(what, "bold"), (f"{BETWEEN}{beside}" if beside else "", "")]
        full, rest = parts_of_bar(bar, now.fraction)
        return [(what, "bold"), (f" {full}", "cyan"), (rest, "dim"), (f" {beside}", "")]

    def _print(self, text: str, margin: str = "") -> None:
        for line in self._lines(text, margin):
            print(line, file=self.stream, flush=True)

    def _lines(self, text: str, margin: str = "") -> list[str]:
        room = self.columns() - 1 - len(margin)
        return [self.spell(margin + line) for line in wrapped(text, room)]

    def _start(self) -> Callable[[Frame], None]:
        """Begin to draw; gives what draws a frame."""
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console(file=self.stream, highlight=False, markup=False, emoji=False)
        live = Live(
            console=console,
            auto_refresh=False,  # frames are drawn when there is news; no thread of its own is needed
            transient=True,
            # What is printed meanwhile appears above the lines, but what goes to a file goes there still.
            redirect_stdout=is_terminal(sys.stdout),
            redirect_stderr=is_terminal(sys.stderr),
        )

        def draw(frame: Frame) -> None:
            text = Text(no_wrap=True, overflow="crop")
            for number, styled in enumerate(frame):
                if number:
                    text.append("\n")
                for part, style in styled:
                    text.append(part, style)
            live.update(text, refresh=True)

        def say(text: str) -> None:
            console.print(Text("\n".join(self._lines(text)), no_wrap=True, overflow="crop"))

        self._say = say
        self._stop = live.stop
        live.start()
        return draw


def parts_of_bar(width: int, fraction: float | None) -> tuple[str, str]:
    """A bar of so many columns: the part that is over, and the rest."""
    over = 0.0 if fraction is None or not math.isfinite(fraction) else min(1.0, max(0.0, fraction))
    halves = math.floor(2 * width * over)
    full = "━" * (halves // 2) + "╸" * (halves % 2)
    return full, "─" * (width - len(full))


def columns_of(stream: TextIO) -> int:
    """Columns of the terminal behind a stream; those that the variable COLUMNS asks for if it is set."""
    try:
        asked = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        asked = 0
    if asked > 0:
        return asked
    try:
        found = os.get_terminal_size(stream.fileno()).columns
    except (AttributeError, OSError, ValueError):  # not a terminal, or closed
        found = 0
    return found or USUAL_COLUMNS


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a line can be redrawn there."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # it has no such method, or is closed
        return False
