"""Inner graphs: loop bodies, branches, reusable functions.

A region is an ordinary hashable value: parameters, results, nothing captured implicitly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from consilience.errors import GraphError
from consilience.ir.leaves import Parameter, is_leaf
from consilience.ir.node import Node
from consilience.ir.op import Op
from consilience.ir.side_tables import carrying_marks, without_sources
from consilience.ir.traversal import substitute, topological
from consilience.ir.types import TensorType
from consilience.record import Record, field_names, replace


class Region(Record):
    """`results` as functions of `parameters`, whose nodes are `Parameter(0), Parameter(1), …`."""

    parameters: tuple[TensorType, ...]
    results: tuple[Node, ...]

    @property
    def result_types(self) -> tuple[TensorType, ...]:
        """Types of the results, in order."""
        return tuple(result.tensor_type for result in self.results)

    def parameter(self, position: int) -> Node:
        """The node that stands for one parameter inside the region."""
        return Node(Parameter(position, self.parameters[position]))

    def apply(self, *operands: Node) -> list[Node]:
        """The results with the parameters replaced by operands: the region written out."""
        if len(operands) != len(self.parameters):
            raise GraphError(f"a region of {len(self.parameters)} parameters was given {len(operands)} operands.")
        replacements = {self.parameter(i): operand for i, operand in enumerate(operands)}
        return substitute(self.results, replacements)


def regions_of(op: Op) -> dict[str, Region]:
    """The inner graphs of an op by the names of its parameters; of a tuple of regions, `name[0]`, `name[1]`, …"""
    found: dict[str, Region] = {}
    for name in field_names(op):
        value = getattr(op, name)
        if isinstance(value, Region):
            found[name] = value
        elif isinstance(value, tuple):
            found |= {f"{name}[{i}]": item for i, item in enumerate(value) if isinstance(item, Region)}
    return found


def with_regions(op: Op, change: Callable[[Sequence[Node]], Sequence[Node]]) -> Op:
    """The op with other results of its regions; the same op when nothing changes, or it has none."""
    regions = {name: r for name in field_names(op) if isinstance(r := getattr(op, name), Region)}
    changed = {name: Region(r.parameters, tuple(change(r.results))) for name, r in regions.items()}
    return op if changed == regions else replace(op, **changed)


def close(results: Sequence[Node], leading: Sequence[Node] = ()) -> tuple[Region, tuple[Node, ...]]:
    """Turn an expression into a region; its leaves become parameters, and so do random variables from around it.

    `results`: what the region computes. `leading`: leaves that must be the first parameters, in this order, used or
    not. Returns: the region and the operands for its parameters, `leading` first.
    """
    own = _made_of(results, set(leading))

    def outside(node: Node) -> bool:
        return is_leaf(node) or (node.op.random and node not in own)

    leaves = [node for node in topological(results, outside) if outside(node)]
    operands = tuple(dict.fromkeys((*leading, *leaves)))
    types = tuple(operand.tensor_type for operand in operands)
    replacements = {operand: Node(Parameter(i, types[i])) for i, operand in enumerate(operands)}
    with without_sources(), carrying_marks():  # what the user wrote inside keeps its names and lines
        inside = substitute(results, replacements)
    return Region(types, tuple(inside)), operands


def _made_of(results: Sequence[Node], leading: set[Node]) -> set[Node]:
    """The nodes that depend on some of the given ones."""
    found: set[Node] = set()
    if leading:
        for node in topological(results, leading.__contains__):
            if node in leading or any(i in found for i in node.inputs):
                found.add(node)
    return found - leading
