"""Laws that every graph obeys, checked after the fact: for tests and for whoever writes a transform.

Outputs in, nothing out, or a VerificationError that shows the program with the complaint below the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from consilience.errors import GraphError, VerificationError
from consilience.ir.leaves import Input, Parameter, Shared
from consilience.ir.node import Node
from consilience.ir.op import Op
from consilience.ir.region import Region
from consilience.ir.text import Printer
from consilience.ir.traversal import topological
from consilience.record import field_names

# Lines shown before and after the line at fault.
AROUND = 12


def verify(outputs: Sequence[Node]) -> None:
    """Check types, interning, parameters and regions of all ancestors of the outputs."""
    pending: list[tuple[Sequence[Node], Region | None]] = [(outputs, None)]
    seen: set[Region] = set()
    while pending:
        graph, region = pending.pop()
        for node in topological(graph):
            complaint = next(_complaints(node, region), None)
            if complaint is not None:
                raise VerificationError(_shown(outputs, node, complaint))
            for inner in _regions(node.op):
                if inner not in seen:
                    seen.add(inner)
                    pending.append((inner.results, inner))


def _regions(op: Op) -> list[Region]:
    values = [getattr(op, name) for name in field_names(op)]
    return [v for v in values if isinstance(v, Region)]


def _complaints(node: Node, region: Region | None) -> Iterator[str]:
    """Everything wrong with one node."""
    if Op.classes.get(type(node.op).__name__) is not type(node.op):
        yield f"`{type(node.op).__name__}` is no op class of the registry"
        return
    try:
        hash(node.op)
    except TypeError:
        yield "the parameters of the op are not hashable"
        return
    yield from _region_complaints(node, region)
    try:
        wanted = node.op.result_type(*node.inputs)
    except GraphError as error:
        yield f"the operands have no meaning for the op: {error}"
        return
    if wanted != node.type:
        yield f"the type is {node.type!r}, the op gives {wanted!r}"
    elif Node(node.op, *node.inputs) is not node:
        yield "an equal node exists: this one was not made by `Node(op, *inputs)`"


def _region_complaints(node: Node, region: Region | None) -> Iterator[str]:
    op = node.op
    if isinstance(op, Parameter):
        if region is None:
            yield "a region's parameter stands outside of any region"
        elif op.position >= len(region.parameters):
            yield f"the region has {len(region.parameters)} parameters only"
        elif region.parameters[op.position] != op.of:
            yield f"the region's parameter {op.position} is {region.parameters[op.position]!r}"
    elif isinstance(op, Input | Shared) and region is not None:
        yield "a region captures nothing: values from outside come as parameters"


def _shown(outputs: Iterable[Node], node: Node, complaint: str) -> str:
    """The program around the node, the complaint below its line."""
    printer = Printer()
    try:
        printer.program(list(outputs), ())
    except (GraphError, AttributeError, TypeError):  # what is wrong may be what cannot be written
        return f"{complaint}, in {node!r}"
    place = printer.line_of.get(node)
    if place is None:
        return f"{complaint}, in {node!r}"
    first, last = max(0, place - AROUND), place + 1 + AROUND
    line = printer.lines[place]
    mark = " " * (len(line) - len(line.lstrip())) + f"^ {complaint}"
    shown = [*printer.lines[first : place + 1], mark, *printer.lines[place + 1 : last]]
    return f"{complaint}:\n" + "\n".join(shown)
