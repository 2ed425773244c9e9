"""Pictures of graphs: every value a box, every operand an arrow, inner graphs inside; boxes do not overlap."""

from __future__ import annotations

import html.parser
import itertools
import re
import shutil
from pathlib import Path

import pytest

import consilience.tensor as pt
from consilience.backends.printing import pydotprint, to_dot, to_graphviz, to_html, to_mermaid
from consilience.backends.printing.layout import Drawing, arrange
from consilience.backends.printing.picture import Picture, picture
from consilience.errors import GraphError
from consilience.ir import Node, topological
from tests.printing.graphs import ALL, branch, loop, of_row


def boxes(drawn: Picture) -> int:
    """Boxes, those of inner graphs included."""
    return len(drawn.boxes) + sum(boxes(inside) for box in drawn.boxes for _, inside in box.inner)


def arrows(drawn: Picture) -> int:
    """Arrows, those of inner graphs included."""
    return len(drawn.arrows) + sum(arrows(inside) for box in drawn.boxes for _, inside in box.inner)


def check_places(drawing: Drawing) -> None:
    """Boxes lie apart and inside; arrows go down, from box to box; so in the drawings inside."""
    places = {p.box.key: p for p in drawing.boxes}
    for one, other in itertools.combinations(drawing.boxes, 2):
        apart = (
            one.x + one.width <= other.x
            or other.x + other.width <= one.x
            or one.y + one.height <= other.y
            or other.y + other.height <= one.y
        )
        assert apart, (one.box, other.box)
    for p in drawing.boxes:
        assert min(p.x, p.y) >= 0
        assert p.x + p.width <= drawing.width
        assert p.y + p.height <= drawing.height
        for _, x, y, inside in p.inner:
            assert x + inside.width <= p.width
            assert y + inside.height <= p.height
            check_places(inside)
    for start, end, _, points in drawing.arrows:
        heights = [y for _, y in points]
        assert heights == sorted(heights)
        assert points[0][1] == places[start].y + places[start].height
        assert points[-1][1] == places[end].y


def check_page(text: str) -> None:
    """All tags are closed, and nothing is loaded from elsewhere."""

    class Checker(html.parser.HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            if tag != "meta":
                self.open.append(tag)
            assert not {name for name, _ in attributes} & {"src", "href"}

        def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            pass

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    checker = Checker()
    checker.feed(text)
    assert not checker.open
    assert not re.findall(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)\w+\.", text)


def check(outputs: list[Node]) -> None:
    """All that holds for the pictures of a graph."""
    drawn = picture(outputs)
    assert len(drawn.arrows) == sum(len(node.inputs) for node in topological(outputs))
    total = boxes(drawn)
    dotted = to_dot(outputs)
    assert len(re.findall(r"^\s*\w+ \[label=", dotted, re.MULTILINE)) == total
    assert len(re.findall(r" -> ", re.sub(r'"(?:\\.|[^"\\])*"', "", dotted))) >= arrows(drawn)
    mermaid = to_mermaid(outputs)
    assert len(re.findall(r"-->", mermaid)) == arrows(drawn)
    assert mermaid.count("subgraph ") == len(re.findall(r"^\s*end$", mermaid, re.MULTILINE))
    check_places(arrange(drawn))
    page = to_html(outputs)
    check_page(page)
    assert page.count('<g class="box') == total


def test_every_op_of_the_table_is_drawn() -> None:
    for row in ALL[::3]:
        check(of_row(row)[2])


@pytest.mark.parametrize("graph", [branch, loop])
def test_inner_graphs_are_drawn_inside_their_ops(graph: object) -> None:
    outputs = graph()  # type: ignore[operator]  # a function
    check(outputs)
    drawn = picture(outputs)
    inner = [name for box in drawn.boxes for name, _ in box.inner]
    assert inner
    assert to_dot(outputs).count("subgraph cluster_") >= len(inner)


def test_files_are_what_their_suffix_says(tmp_path: Path) -> None:
    outputs = branch()
    for suffix, start in (("html", "<!DOCTYPE html>"), ("mmd", "graph TD"), ("dot", "digraph {")):
        path = tmp_path / f"graph.{suffix}"
        assert pydotprint(outputs, path) == to_dot(outputs)
        assert path.read_text(encoding="utf-8").startswith(start)
    f = pt.function([pt.scalar("x")] * 0, pt.constant(1.0) + 1, name="two")
    f.to_html(tmp_path / "f.html")
    assert "<title>two</title>" in (tmp_path / "f.html").read_text(encoding="utf-8")
    assert f.to_dot().startswith("digraph")
    assert f.to_mermaid().startswith("graph TD")


def test_without_graphviz_the_error_says_what_needs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr("consilience.backends.printing.files.which", lambda _: None)
    with pytest.raises(FileNotFoundError, match=r"needs the program `dot`.*write \.html"):
        pydotprint(branch(), tmp_path / "graph.png")
    with pytest.raises(FileNotFoundError, match="a picture as svg"):
        pydotprint(branch(), tmp_path / "graph", format="svg")
    monkeypatch.setitem(__import__("sys").modules, "graphviz", None)
    with pytest.raises(ImportError, match="`to_dot`, `to_mermaid` and `to_html` need"):
        to_graphviz(branch())


def test_wrong_formats_options_and_graphs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the format must be one of html"):
        pydotprint(branch(), tmp_path / "graph.bmp")
    with pytest.raises(TypeError, match="does not take 'colour'"):
        pydotprint(branch(), colour="red")
    assert pydotprint(branch(), with_ids=True, compact=False)
    with pytest.raises(GraphError, match="can be shown, got 3"):
        pydotprint(3)  # type: ignore[arg-type]  # the mistake
    value: Node = pt.scalar("x")
    for _ in range(3000):
        value = pt.sin(value)
    with pytest.raises(GraphError, match="the graph has 3001 values, a picture at most 2000"):
        to_html(value)
