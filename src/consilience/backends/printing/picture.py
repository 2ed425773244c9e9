"""A graph as boxes and arrows, and its description for Graphviz and for Mermaid.

Expressions, compiled functions or models in; a `Picture` out, in which a box with inner graphs holds their pictures.
Outside: where boxes lie on a page (`layout`, `page`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from consilience.backends.printing.labels import GraphLike, operands_of, operation, outputs_of
from consilience.errors import GraphError
from consilience.ir import Constant, Input, Node, Parameter, Region, Shared, TensorType, topological
from consilience.ir.region import regions_of
from consilience.ir.side_tables import name_of, source_of
from consilience.record import Record

# Shape in Graphviz, brackets in Mermaid and colour of each kind of box.
KINDS: Final = {
    "input": ("ellipse", ("([", "])"), "#cfe8cf"),
    "shared": ("cylinder", ("[(", ")]"), "#cfe8cf"),
    "parameter": ("ellipse", ("([", "])"), "#e3f1e3"),
    "constant": ("plaintext", ("[", "]"), "#f2f2f2"),
    "operation": ("box", ("[", "]"), "#ffffff"),
    "output": ("box", ("[[", "]]"), "#cfe0f5"),
}


class Box(Record):
    """One value.

    `key`: differs from that of every other box of a drawing, inner pictures included. `lines`: its text: the user's
    name, if there is one, the op, the type. `kind`: a key of KINDS. `inner`: names and pictures of its inner graphs.

    References
    ----------
    The user's line, or nothing.
    """

    key: str
    lines: tuple[str, ...]
    kind: str
    source: str = ""
    inner: tuple[tuple[str, Picture], ...] = ()


class Picture(Record):
    """Boxes, operands first, and arrows from the key of an operand to that of its reader.

    An arrow's text is the operand's position where the reader has several.
    """

    boxes: tuple[Box, ...]
    arrows: tuple[tuple[str, str, str], ...]
    results: tuple[str, ...]


def picture(graph: GraphLike, max_nodes: int = 2000) -> Picture:
    """The picture of anything that can be shown; GraphError for graphs of more than `max_nodes` values."""
    outputs = outputs_of(graph)
    nodes = [node for node, _ in outputs]
    count = sum(_sizes(nodes))
    if count > max_nodes:
        raise GraphError(
            f"the graph has {count} values, a picture at most {max_nodes}: draw a part of it, or use "
            "`debugprint(graph, depth=…)`."
        )
    labels: dict[Node, str] = {}
    for node, label in outputs:
        labels[node] = " ".join(filter(None, (labels.get(node, ""), label)))
    return _picture(nodes, labels, "n")


def _sizes(outputs: Sequence[Node]) -> Iterator[int]:
    order = topological(outputs)
    yield len(order)
    for node in order:
        for region in regions_of(node.op).values():
            yield from _sizes(region.results)


def _picture(outputs: Sequence[Node], labels: dict[Node, str], prefix: str) -> Picture:
    boxes: list[Box] = []
    arrows: list[tuple[str, str, str]] = []
    keys: dict[Node, str] = {}
    wanted = set(outputs)
    order = topological(outputs)
    for node in order:
        if _is_number(node) and node not in wanted:
            continue  # drawn beside each reader
        key = keys[node] = f"{prefix}{len(keys)}"
        for position, operand in enumerate(node.inputs):
            own = keys.get(operand)
            if own is None:
                own = f"{key}_{position}"
                boxes.append(Box(own, (operation(operand.op),), "constant"))
            arrows.append((own, key, str(position) if len(node.inputs) > 1 else ""))
        inner = tuple(
            (name, _picture(region.results, _parameters(node, region), f"{key}_{_word(name)}_"))
            for name, region in regions_of(node.op).items()
        )
        boxes.append(Box(key, _lines(node, labels.get(node, "")), _kind(node, wanted), source_of(node), inner))
    return Picture(tuple(boxes), tuple(arrows), tuple(keys[o] for o in dict.fromkeys(outputs)))


def _parameters(node: Node, region: Region) -> dict[Node, str]:
    """Names of what a region's parameters stand for."""
    operands = enumerate(operands_of(node, region))
    return {region.parameter(i): name for i, operand in operands if (name := name_of(operand)) is not None}


def _is_number(node: Node) -> bool:
    return isinstance(node.op, Constant) and node.op.array.size == 1


def _lines(node: Node, label: str) -> tuple[str, ...]:
    name = name_of(node)
    shown = [f"{name} {label}".strip()] if name else [label] if label else []
    if isinstance(node.op, Input | Shared):
        unnamed = "random key" if node.dtype == "key" else "?"
        return (*(shown or [unnamed]), repr(node.op.of))
    if isinstance(node.op, Parameter):
        return f"parameter {node.op.position}" + (f": {label}" if label else ""), repr(node.op.of)
    types = [repr(node.type)] if isinstance(node.type, TensorType) else [f"{len(node.type.items)} results"]
    return (*shown, operation(node.op), *types)


def _kind(node: Node, wanted: set[Node]) -> str:
    for op, kind in ((Input, "input"), (Shared, "shared"), (Parameter, "parameter"), (Constant, "constant")):
        if isinstance(node.op, op):
            return kind
    return "output" if node in wanted else "operation"


def dot(drawn: Picture) -> str:
    """The picture in the language of Graphviz; inner graphs are clusters."""
    written = ["digraph {", "  node [fontname=monospace fontsize=10]", "  edge [fontname=monospace fontsize=8]"]
    _dot(drawn, "  ", written)
    return "\n".join([*written, "}"])


def _dot(drawn: Picture, indent: str, written: list[str]) -> None:
    for box in drawn.boxes:
        shape, _, colour = KINDS[box.kind]
        hint = f" tooltip={_quoted(box.source)}" if box.source else ""
        look = f"shape={shape} style=filled fillcolor={_quoted(colour)}"
        written.append(f"{indent}{box.key} [label={_quoted(chr(10).join(box.lines))} {look}{hint}]")
        for name, inside in box.inner:
            written.append(f"{indent}subgraph cluster_{box.key}_{_word(name)} {{")
            written.append(f"{indent}  label={_quoted(name)} style=rounded fontname=monospace fontsize=10")
            _dot(inside, indent + "  ", written)
            written.append(f"{indent}}}")
            written += [f"{indent}{result} -> {box.key} [style=dashed]" for result in inside.results]
    for start, end, text in drawn.arrows:
        written.append(f"{indent}{start} -> {end}" + (f" [label={_quoted(text)}]" if text else ""))


def _quoted(text: str) -> str:
    signs = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{signs}"'


def _word(name: str) -> str:
    return name.replace("[", "_").replace("]", "")


def mermaid(drawn: Picture) -> str:
    """The picture in Mermaid's language, for Markdown and notebooks; inner graphs are subgraphs."""
    written = ["graph TD"]
    _mermaid(drawn, "  ", written)
    for kind, (_, _, colour) in KINDS.items():
        members = [box.key for box in _all_boxes(drawn) if box.kind == kind]
        if members:
            written += [f"  classDef {kind} fill:{colour},color:#000", f"  class {','.join(members)} {kind}"]
    return "\n".join(written)


def _all_boxes(drawn: Picture) -> Iterator[Box]:
    for box in drawn.boxes:
        yield box
        for _, inside in box.inner:
            yield from _all_boxes(inside)


def _mermaid(drawn: Picture, indent: str, written: list[str]) -> None:
    for box in drawn.boxes:
        before, after = KINDS[box.kind][1]
        text = "<br>".join(map(_entities, box.lines))
        written.append(f'{indent}{box.key}{before}"{text}"{after}')
        for name, inside in box.inner:
            written.append(f'{indent}subgraph {box.key}_{_word(name)}_graph ["{_entities(name)}"]')
            _mermaid(inside, indent + "  ", written)
            written.append(f"{indent}end")
            written += [f"{indent}{result} -.-> {box.key}" for result in inside.results]
    for start, end, text in drawn.arrows:
        written.append(f"{indent}{start} -->{f'|{text}|' if text else ''} {end}")


def _entities(text: str) -> str:
    """A text in which no sign means anything to Mermaid."""
    return "".join(sign if sign.isalnum() or sign in " ._=+,*/-:()" else f"#{ord(sign)};" for sign in text)
