"""Graphs as trees of text: one line per value, a letter for each, inner graphs below.

Expressions, compiled functions or models in; text out. The looks are those of PyTensor's `debugprint`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, Literal, TextIO

from consilience.backends.printing.labels import GraphLike, operands_of, outputs_of, title, type_text
from consilience.ir import Node, Region, TensorType
from consilience.ir.arithmetic import means
from consilience.ir.region import regions_of
from consilience.ir.side_tables import name_of, source_of

# At this level a tree goes on from the margin: indented on, a chain would take space with the square of its length.
DEEPEST: Final = 200


@means("dprint")
def debugprint(
    graph_like: GraphLike,
    depth: int = -1,
    print_type: bool = False,
    print_shape: bool = False,
    file: TextIO | Literal["str"] | None = None,
    id_type: str = "CHAR",
    stop_on_name: bool = False,
    *,
    print_inner_graphs: bool | Literal["auto"] = "auto",
    print_source: bool = False,
) -> str | TextIO:
    """Write a graph as a tree; a value that occurs again is written once and named by its letter.

    graph_like: An expression, a list or a dict of them, a compiled function (the graph that it computes), or a model.
    depth: Levels to write; -1: all.
    print_type: Whether types stand behind the ops: `<float64[3]>`.
    print_shape: Whether shapes stand there: `shape=(3, n)`.
    file: A file to write to, None: standard output, "str": return the text.
    id_type: "CHAR": letters, "int": numbers, "": none.
    stop_on_name: Whether values with a name are not looked into.
    print_inner_graphs: Whether the inner graphs of loops and branches follow.
    print_source: Whether the user's line stands behind the ops.
    Returns: The text for `file="str"`, else the file.
    Raises GraphError: For what is no graph.
    See pp: In infix notation.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pt.dscalar("x")
    >>> text = pm.dprint(pt.exp(x) + 1, file="str")
    >>> "exp" in text
    True
    """
    if id_type not in ("CHAR", "int", ""):
        raise ValueError(f"`id_type` must be 'CHAR', 'int' or '', got {id_type!r}.")
    if isinstance(depth, bool) or not isinstance(depth, int):
        raise TypeError(f"`depth` must be a number of levels, or -1 for all, got {depth!r}.")
    tree = _Tree(depth, print_type, print_shape, id_type, stop_on_name, print_source)
    for node, label in outputs_of(graph_like):
        tree.write_all(node, label, "", " ")
    if print_inner_graphs:
        tree.inner_graphs()
    text = "\n".join(tree.lines)
    if file == "str":
        return text
    target = sys.stdout if file is None else file
    print(text, file=target)
    return target


class _Tree:
    """Letters given so far, and the lines."""

    def __init__(self, depth: int, types: bool, shapes: bool, id_type: str, stop: bool, sources: bool) -> None:
        self.depth, self.types, self.shapes = depth, types, shapes
        self.id_type, self.stop, self.sources = id_type, stop, sources
        self.lines: list[str] = []
        self.letters: dict[Node, str] = {}
        self.count = 0
        self.later: list[Node] = []
        self.written: set[Node] = set()
        self.holders: dict[Node, None] = {}  # nodes with inner graphs, in order of appearance

    def line(self, node: Node, label: str = "") -> str:
        """What stands behind the branches of the tree."""
        parts = [title(node)]
        if self.id_type:
            if node not in self.letters:
                self.letters[node] = _letters(self.count) if self.id_type == "CHAR" else str(self.count)
                self.count += 1
            parts.append(f"[id {self.letters[node]}]")
        if self.types:
            parts.append(type_text(node.type))
        if self.shapes and isinstance(node.type, TensorType):
            axes = ", ".join(map(str, node.type.shape))
            parts.append(f"shape=({axes}{',' if node.ndim == 1 else ''})")
        if label:
            parts.append(label)
        if self.sources and (place := source_of(node)):
            parts.append(f"({place})")
        return " ".join(parts)

    def write_all(self, root: Node, label: str, first: str, rest: str) -> None:
        """A value and what it depends on, what lies very deep from the margin again."""
        self.write(root, label, first, rest)
        while self.later:
            self.write(self.later.pop(0), "[continued]", "", " ")

    def write(self, root: Node, label: str, first: str, rest: str) -> None:
        """A value and what it depends on; `first` and `rest` stand before its own line and those below."""
        stack: list[tuple[Node, str, str, str, int]] = [(root, label, first, rest, 1)]
        while stack:
            node, label, first, rest, level = stack.pop()
            again = node in self.written
            self.lines.append(first + self.line(node, label))
            if not node.inputs and not regions_of(node.op):
                continue
            if again:
                self.lines.append(f"{rest}└─ ···")
                continue
            if level == DEEPEST != self.depth:
                self.later.append(node)
                continue
            if level == self.depth or (self.stop and label == "" and level > 1 and name_of(node) is not None):
                continue
            self.written.add(node)
            if regions_of(node.op):
                self.holders[node] = None
            last = len(node.inputs) - 1
            for i, operand in reversed(list(enumerate(node.inputs))):
                mark, line = ("└─", "  ") if i == last else ("├─", "│ ")
                stack.append((operand, "", f"{rest}{mark} ", f"{rest}{line} ", level + 1))

    def inner_graphs(self) -> None:
        """The regions of all ops that were written, those within regions last."""
        done: dict[Region, str] = {}
        waiting = list(self.holders)
        if waiting:
            self.lines += ["", "Inner graphs:"]
        while waiting:
            for node in waiting:
                del self.holders[node]
                self.lines += ["", self.line(node)]
                for name, region in regions_of(node.op).items():
                    if region in done:
                        self.lines.append(f" {name}: as {done[region]}")
                        continue
                    done[region] = f"{name} of {title(node)}"
                    self._region(name, region, operands_of(node, region))
            waiting = list(self.holders)

    def _region(self, name: str, region: Region, operands: Sequence[Node]) -> None:
        """An inner graph; `operands` are what its parameters stand for, as far as that is known."""
        self.lines.append(f" {name}:")
        for i, of in enumerate(region.parameters):
            known = self.letters.get(operands[i]) if operands else None
            letter = f" -> [id {known}]" if known is not None else ""
            self.lines.append(f"   *{i}-{type_text(of)}{letter}")
        # A parameter of unlike regions may be one node, and so may what depends on it: letters are given anew.
        outer = self.letters, self.written
        self.letters, self.written = {}, set()
        for result in region.results:
            self.write_all(result, "", " → ", "   ")
        self.letters, self.written = outer


def _letters(number: int) -> str:
    """A, B, …, Z, AA, AB, …"""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("A") + digit) + text
    return text
