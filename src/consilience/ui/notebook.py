"""A run in a notebook: one piece of HTML that is replaced in place, and by one static line when the run is over.

As only the last piece is saved with the notebook, its size does not depend on the length of the run. Colours
are those of the page, and for the few others shades that can be read on light and on dark pages.
"""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any, Protocol

from consilience.errors import ConsilienceError
from consilience.ui.facts import (
    BETWEEN,
    NOT_A_LIMIT,
    ROOM_WITHOUT_LIMIT,
    Fact,
    Tone,
    ending,
    figures,
    fit,
    headline,
    last_line,
    last_reason,
    line,
)
from consilience.ui.overview import Overview

SECONDS_BETWEEN_FRAMES = 0.5

MOST_NOTICES = 5

BOX = "font-family:monospace;font-size:90%;line-height:1.5"
COLOURS: dict[Tone, str] = {"": "", "good": "#2e8b57", "bad": "#c2700f"}
BAR = "width:12em;height:.8em;vertical-align:middle;accent-color:#3b82c4"
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


class Handle(Protocol):
    """What IPython gives to replace an output."""

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        """Replace the output."""


class Notebook:
    """One output, replaced in place. It appears at once, so that it belongs to the cell that started the run."""

    first = 0.0
    interval = SECONDS_BETWEEN_FRAMES

    def __init__(self) -> None:
        self._handle: Handle | None = None
        self._notices: list[str] = []

    def show(self, now: Overview) -> None:
        """Replace the output."""
        self._put(page(now, self._notices), line(now))

    def notice(self, text: str) -> None:
        """Keep a line for the next frames."""
        self._notices.append(text)

    def finish(self, now: Overview | None) -> None:
        """Replace the output by one line; by nothing for None."""
        if now is not None:
            self._put(last_page(now), last_line(now))
        elif self._handle is not None:
            self._put("", "")
        self._handle = None
        self._notices.clear()

    def _put(self, html: str, text: str) -> None:
        data = {"text/html": html, "text/plain": text}
        if self._handle is None:
            display: Any = importlib.import_module("IPython.display").display
            self._handle = display(data, raw=True, display_id=True)
            if self._handle is None:  # else each frame would be an output of its own
                raise ConsilienceError("IPython displays nothing that can be replaced later")
        else:
            self._handle.update(data, raw=True)


def page(now: Overview, notices: list[str]) -> str:
    """The state of a run that goes on, as HTML: what goes on, the figures, what happened."""
    what, *others = (text for text, _ in fit(headline(now), NOT_A_LIMIT))
    value = ""
    if now.fraction is not None and math.isfinite(now.fraction):
        value = f' value="{min(1.0, max(0.0, now.fraction)):.3f}"'
    elif now.stage == "starting":
        value = ' value="0"'
    bar = f'<progress style="{BAR}" max="1"{value}></progress>'
    rows = [f"<b>{what}</b> {bar} {BETWEEN.join(others)}", facts_as_html(figures(now, ROOM_WITHOUT_LIMIT))]
    rows += [colour(text, "bad") for text in notices[-MOST_NOTICES:]]
    return f'<div style="{BOX}">{"<br>".join(row for row in rows if row)}</div>'


def last_page(now: Overview) -> str:
    """The end of a run as one static line of HTML."""
    what, *others = ending(now, ROOM_WITHOUT_LIMIT)
    head, colon, rest = what.forms[0].partition(":")
    reason = colour(last_reason(now), "bad")
    said = BETWEEN.join(text for text in (facts_as_html(others), reason) if text)
    return f'<div style="{BOX}"><b>{head.translate(ESCAPES)}</b>{colon}{rest}{BETWEEN if said else ""}{said}</div>'


def facts_as_html(facts: list[Fact]) -> str:
    """Facts beside each other."""
    return BETWEEN.join(colour(text, tone) for text, tone in fit(facts, NOT_A_LIMIT))


def colour(text: str, tone: Tone) -> str:
    """A text in the colour of its tone."""
    text = text.translate(ESCAPES)
    return f'<span style="color:{COLOURS[tone]}">{text}</span>' if text and tone else text


def in_notebook() -> bool:
    """Whether the program is cells sent to a kernel; IPython is asked only if it is loaded already."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None
