"""The two lines of a run on a terminal, drawn by rich, which this module loads: states enter, frames leave."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from consilience.output.display.facts import BETWEEN, ROOM_FOR_NAMES, Fact, figures, fit, headline
from consilience.output.display.state import State
from consilience.output.display.stream import columns_of, is_terminal, spelled

USUAL_WORDS = len("320 draws, check at 390 · 0:03, 0:05 left")
LONGEST_BAR = 30
STYLES = {"": "", "good": "green", "bad": "yellow"}


class Bar(Progress):
    """What goes on with a bar that makes way first, and the figures below it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.figures = Text()
        self.longest = USUAL_WORDS
        super().__init__(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(LONGEST_BAR, complete_style="cyan", finished_style="cyan"),
            TextColumn("{task.fields[beside]}", markup=False),
            console=Console(file=stream, width=columns_of(stream), highlight=False, markup=False, emoji=False),
            auto_refresh=False,  # frames are drawn when there is news; no thread of its own is needed
            transient=True,
            # What is printed meanwhile appears above the lines, but what goes to a file goes there still.
            redirect_stdout=is_terminal(sys.stdout),
            redirect_stderr=is_terminal(sys.stderr),
        )
        self.headline = self.add_task("", total=1.0, beside="")

    def get_renderables(self) -> Iterable[RenderableType]:
        """The lines, the first with the bar."""
        yield from super().get_renderables()
        if self.figures:
            yield self.figures

    def show(self, state: State) -> None:
        """Redraw the lines, as wide as the terminal is now."""
        self.console.width = columns_of(self.stream)
        room = self.console.width - 1
        what, *others = (fact.text for fact in fit([Fact(text) for text in headline(state)], room))
        beside = spelled(BETWEEN.join(others), self.stream)
        # Room for the longest words so far, or the bar would jump about.
        self.longest = max(self.longest, len(beside))
        text = Text(no_wrap=True, overflow="ellipsis")
        for number, fact in enumerate(fit(figures(state, ROOM_FOR_NAMES), room)):
            text.append(spelled(BETWEEN, self.stream) if number else "", "dim")
            text.append(spelled(fact.text, self.stream), STYLES[fact.tone])
        self.figures = text
        self.update(
            self.headline,
            description=what,
            completed=state.fraction or 0.0,
            beside=beside.ljust(min(self.longest, room - len(what) - 1)),
            refresh=True,
        )
