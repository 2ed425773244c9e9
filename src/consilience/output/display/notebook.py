"""A run in a notebook: one piece of HTML that is replaced in place, and by one static line when the run is over.

As only the last piece is saved with the notebook, its size does not depend on the length of the run. Colours
are those of the page, and for the few others shades that can be read on light and on dark pages.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from consilience.errors import ConsilienceError
from consilience.output.display.facts import BETWEEN, Fact, Tone, ending, figures, headline, line
from consilience.output.display.state import State

SECONDS_BETWEEN_FRAMES = 0.5

MOST_NOTICES = 5

BOX = "font-family:monospace;font-size:90%;line-height:1.5"
COLOURS: dict[Tone, str] = {"": "", "good": "#2e8b57", "bad": "#c2700f"}
BAR = "width:12em;height:.8em;vertical-align:middle;accent-color:#3b82c4"
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


class Notebook:
    """One output, replaced in place. It appears at once, so that it belongs to the cell that started the run."""

    first = 0.0
    interval = SECONDS_BETWEEN_FRAMES

    def __init__(self) -> None:
        self._handle: Any = None  # what IPython gives to replace an output
        self._notices: list[str] = []

    def show(self, state: State) -> None:
        """Replace the output."""
        self._put(page(state, self._notices), line(state))

    def notice(self, text: str) -> None:
        """Keep a line for the next frames."""
        self._notices.append(text)

    def finish(self, state: State | None) -> None:
        """Replace the output by one line; by nothing for None."""
        if state is not None:
            self._put(last_page(state), line(state))
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


def page(state: State, notices: list[str]) -> str:
    """The state of a run that goes on, as HTML: what goes on, the figures, what happened."""
    what, *others = headline(state)
    fraction = 0.0 if state.stage == "starting" else state.fraction
    value = "" if fraction is None else f' value="{fraction:.3f}"'
    bar = f'<progress style="{BAR}" max="1"{value}></progress>'
    rows = [f"<b>{what}</b> {bar} {BETWEEN.join(others)}", facts_as_html(figures(state))]
    rows += [colour(Fact(text, "bad")) for text in notices[-MOST_NOTICES:]]
    return f'<div style="{BOX}">{"<br>".join(row for row in rows if row)}</div>'


def last_page(state: State) -> str:
    """The end of a run as one static line of HTML."""
    end, made, reason = ending(state)
    facts = [Fact(f": {made}"), *figures(state), Fact(reason, "bad")]
    return f'<div style="{BOX}"><b>{end.translate(ESCAPES)}</b>{facts_as_html(facts)}</div>'


def facts_as_html(facts: list[Fact]) -> str:
    """Facts beside each other."""
    return BETWEEN.join(colour(fact) for fact in facts if fact.text)


def colour(fact: Fact) -> str:
    """A fact in the colour of its tone."""
    text = fact.text.translate(ESCAPES)
    return f'<span style="color:{COLOURS[fact.tone]}">{text}</span>' if fact.tone else text


def in_notebook() -> bool:
    """Whether the program is cells sent to a kernel; IPython is asked only if it is loaded already."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None
