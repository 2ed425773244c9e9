"""Replace symbolic lengths by integers.

Graph and values of its symbols in, a graph of static shapes out. Lengths that are computed when the program runs stay
symbolic until their values are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consilience.ir import Dim, Dimension, Input, Node, Shared, constant, topological
from consilience.ir import dimension as dims
from consilience.ir.lengths import replaced
from consilience.ir.side_tables import name_of, set_name
from consilience.ops import LengthOf


def specialise(outputs: Sequence[Node], lengths: Mapping[dims.Atom, Dim]) -> tuple[list[Node], dict[Node, Node]]:
    """The graph at fixed lengths, and for every node of the old graph its new node."""
    memo: dict[Node, Node] = {}
    for node in topological(outputs):
        op = replaced(node.op, lengths, lambda results: specialise(results, lengths)[0])
        inputs = tuple(memo[i] for i in node.inputs)
        if isinstance(op, LengthOf) and not isinstance(op.length, Dimension):
            memo[node] = constant(op.length, "int64")
        elif op is node.op and all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
            memo[node] = node
        else:
            memo[node] = Node(op, *inputs)
            name = name_of(node)
            if name is not None and isinstance(op, Input | Shared):
                set_name(memo[node], name)
    return [memo[output] for output in outputs], memo
