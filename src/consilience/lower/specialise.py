"""Replace symbolic lengths by integers.

Graph and values of its symbols in, a graph of static shapes out. Lengths that are computed when the program runs stay
symbolic until their values are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consilience.ir import Dim, Dimension, Input, Node, Shared, computed_atoms, constant, constant_value, topological
from consilience.ir import dimension as dims
from consilience.ir.lengths import replaced, source_of
from consilience.ir.side_tables import carry, name_of, set_name
from consilience.ops import LengthOf


def specialise(outputs: Sequence[Node], lengths: Mapping[dims.Atom, Dim]) -> tuple[list[Node], dict[Node, Node]]:
    """The graph at fixed lengths, and for every node of the old graph its new node."""
    values = dict(lengths)
    for atom in computed_atoms(outputs):
        if atom not in values:
            source = _specialised([source_of(atom)], values)[source_of(atom)]
            known = constant_value(source)
            if known is not None:
                values[atom] = int(known)
            elif source is not atom.source:
                values[atom] = dims.computed(source, atom.name, non_negative=atom.kind == "size")
    if not values:
        return list(outputs), {node: node for node in topological(outputs)}
    memo = _specialised(outputs, values)
    return [memo[output] for output in outputs], memo


def _specialised(outputs: Sequence[Node], lengths: Mapping[dims.Atom, Dim]) -> dict[Node, Node]:
    memo: dict[Node, Node] = {}

    def region(results: Sequence[Node]) -> list[Node]:
        inside = _specialised(results, lengths)
        return [inside[result] for result in results]

    for node in topological(outputs):
        op = replaced(node.op, lengths, region)
        inputs = tuple(memo[i] for i in node.inputs)
        if isinstance(op, LengthOf) and not isinstance(op.length, Dimension):
            memo[node] = constant(op.length, "int64")
        elif op is node.op and all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
            memo[node] = node
        else:
            memo[node] = Node(op, *inputs)
            carry(node, memo[node])
            name = name_of(node)
            if name is not None and isinstance(op, Input | Shared):
                set_name(memo[node], name)
    return memo
