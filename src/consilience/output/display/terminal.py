"""A run on a terminal: two lines redrawn in place, and one when it is over.

The library that draws, rich, is loaded when the first frame is due, so that short runs do without.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, TextIO

from consilience.output.display.facts import BETWEEN, ROOM_FOR_NAMES, Fact, ending, figures, fit
from consilience.output.display.state import State
from consilience.output.display.stream import columns_of, spelled

if TYPE_CHECKING:
    from consilience.output.display.bar import Bar

LEAST_COLUMNS = 20


class Terminal:
    """Two lines redrawn in place."""

    first = 0.3
    interval = 0.2

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._bar: Bar | None = None

    def show(self, state: State) -> None:
        """Redraw the lines."""
        if self._bar is None:
            from consilience.output.display.bar import Bar

            self._bar = Bar(self.stream)
        self._bar.show(state)
        self._bar.start()

    def notice(self, text: str) -> None:
        """Write a line that stays, above those that are redrawn."""
        self._print(textwrap.wrap(text, self._columns))

    def finish(self, state: State | None) -> None:
        """Remove the lines and leave one about the end, and below it the reason of an end not wished for."""
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.stop()
        if state is not None:
            end, made, reason = ending(state)
            facts = fit([Fact(f"{end}: {made}"), *figures(state, ROOM_FOR_NAMES)], self._columns)
            indented = textwrap.wrap(reason, self._columns, initial_indent="  ", subsequent_indent="  ")
            self._print([BETWEEN.join(fact.text for fact in facts), *indented])

    def _print(self, lines: list[str]) -> None:
        text = spelled("\n".join(lines), self.stream)
        if self._bar is None:
            print(text, file=self.stream, flush=True)
        else:
            self._bar.console.print(text, soft_wrap=True)

    @property
    def _columns(self) -> int:
        """Columns for text; the last of the terminal stays free, as some wrap there."""
        return max(columns_of(self.stream) - 1, LEAST_COLUMNS)
