"""A run in a notebook: one output that is replaced, and one static line that is saved."""

from __future__ import annotations

import html.parser
import itertools
import json
import sys
import types
from typing import Any

import pytest
from hypothesis import given

from consilience.events import ChainLost, Restarted
from consilience.output.display import Reporter, reporter
from consilience.output.display.notebook import COLOURS, Notebook, in_notebook
from tests.ui.simulated import FIXED, UNHURRIED, Clock, chains, check, ended, now, runs, started


class Cell:
    """The outputs of a cell as a notebook saves them, built from the messages that a kernel sends."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self.messages = 0
        self.numbers = itertools.count()

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        self.messages += 1
        self.outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        return Handle(self, len(self.outputs) - 1)

    @property
    def saved(self) -> str:
        return json.dumps(self.outputs)


class Handle:
    """Replaces one output."""

    def __init__(self, cell: Cell, number: int) -> None:
        self.cell = cell
        self.number = number

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.cell.messages += 1
        self.cell.outputs[self.number]["data"] = data


class Reading(html.parser.HTMLParser):
    """The text of a page; fails where its marks do not match."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.marks: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.marks.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A cell of a notebook in which the test runs."""
    return cell_of(monkeypatch)


def cell_of(patch: pytest.MonkeyPatch) -> Cell:
    """Make the program believe that a kernel runs it."""
    cell = Cell()
    shell = types.SimpleNamespace(kernel=object())
    patch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    patch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=cell.display))
    return cell


def test_one_output_is_replaced_in_place_and_one_static_line_remains(cell: Cell) -> None:
    """It appears with the begin of the run, so that it belongs to its cell."""
    clock = Clock()
    report = Reporter(Notebook(), clock)
    report(started())
    assert len(cell.outputs) == 1
    assert Reading(cell.outputs[0]["data"]["text/html"]).text.startswith("Starting 4 chains")
    clock.now += 1.0
    report(ChainLost(2, "the density raised <ValueError>"))
    report(now(chains("sampling", 520, 320), check(), 3.0))
    live = cell.outputs[0]["data"]["text/html"]
    assert "<progress" in live
    assert Reading(live).text.endswith("chain 2 was left out: the density raised <ValueError>")
    assert "R-hat 1.02 tau · ESS 187/400 theta[C]" in Reading(live).text
    report(ended("not_converged", "theta[C] < 400"))
    data = cell.outputs[0]["data"]
    end = Reading(data["text/html"])
    assert end.marks == {"div", "b", "span"}
    assert end.text.startswith("Not converged: 3 × 500 draws in 12 s · R-hat 1.02 tau · ESS 187/400 theta[C]")
    assert end.text.endswith("theta[C] < 400")
    assert data["text/plain"].startswith("Not converged: 3 × 500 draws in 12 s, R-hat 1.02 tau, ")
    assert len(cell.outputs) == 1


def test_saved_notebook_does_not_grow_with_the_run(cell: Cell) -> None:
    """Ten minutes at ten events a second: at most two messages a second, and less than a kilobyte saved."""
    clock = Clock()
    report = Reporter(Notebook(), clock)
    report(FIXED)
    for tenth in range(6_000):
        clock.now += 0.1
        report(now(chains("sampling", tenth, tenth), None, tenth / 10))
    assert len(cell.saved) < 4000
    assert 1000 <= cell.messages <= 1201
    report(ended())
    assert len(cell.saved) < 1000


@UNHURRIED
@given(runs())
def test_any_run_leaves_one_small_output_of_sound_html(events: list[tuple[float, object]]) -> None:
    """Whatever the names and reasons hold, marks match and nothing but ours is among them."""
    with pytest.MonkeyPatch.context() as patch:
        cell = cell_of(patch)
        clock, display = Clock(), Notebook()
        report = Reporter(display, clock)
        for seconds, event in events:
            clock.now += seconds
            report(event)
            (output,) = cell.outputs
            page = Reading(output["data"]["text/html"])
            assert page.marks <= {"div", "b", "span", "progress", "br"}
            assert len(cell.saved) < 4000 + 12 * 500 * len(display._notices)
        assert report._display is display
        assert page.marks <= {"div", "b", "span"}
        assert len(cell.saved) < 4000


def test_run_that_fails_leaves_an_empty_output(cell: Cell) -> None:
    """The error stands below; nothing claims that the run goes on."""
    with Reporter(Notebook()) as report:
        report(started())
    assert cell.outputs[0]["data"] == {"text/html": "", "text/plain": ""}


def test_each_run_has_its_output(cell: Cell) -> None:
    """What was said about the first does not appear in the second."""
    with reporter() as report:
        report(started())
        report(Restarted("because"))
        report(ended())
        report(started())
        assert "because" not in cell.outputs[1]["data"]["text/html"]
        report(ended())
    assert len(cell.outputs) == 2


def test_an_output_that_cannot_be_replaced_is_shown_once(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where IPython gives no handle the display is switched off, or each frame would be saved."""
    shown: list[object] = []
    monkeypatch.setattr(sys.modules["IPython.display"], "display", lambda data, **_: shown.append(data))
    report = reporter()
    for event in (started(), now(chains("sampling", 90, 10)), ended()):
        report(event)
    assert len(shown) == 1
    assert report._display is None


def test_ipython_is_not_imported_to_find_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that has not loaded it does not run in it."""
    monkeypatch.setitem(sys.modules, "IPython", None)  # an import would fail now
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace())
    assert not in_notebook()


@pytest.mark.parametrize("page", [(255, 255, 255), (17, 17, 17)])
def test_colours_can_be_read_on_light_and_on_dark_pages(page: tuple[int, int, int]) -> None:
    """Contrast ratio after WCAG 2 of at least 3.5 to 1; the other text has the colour of the page."""

    def luminance(colour: tuple[int, ...]) -> float:
        parts = [part / 255 for part in colour]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert COLOURS[""] == ""
    for colour in filter(None, COLOURS.values()):
        own = luminance(tuple(bytes.fromhex(colour[1:])))
        low, high = sorted((own, luminance(page)))
        assert (high + 0.05) / (low + 0.05) >= 3.5
