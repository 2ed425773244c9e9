"""Programs with symbolic lengths replaced: in parameters of ops, in regions, in types of chosen inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from consilience.ir import Dim, Dimension, Node, Op, Region, TensorType, is_leaf, topological
from consilience.ir import dimension as dims
from consilience.record import field_names


def with_lengths(
    nodes: Sequence[Node], values: Mapping[dims.Atom, Dim], leaves: frozenset[Node] | None = None
) -> list[Node]:
    """The nodes with lengths put in place of symbols.

    values    the length for each symbol
    leaves    inputs and slots whose type changes with it (None: all); the others keep their lengths, and
              obligations arise where the two meet
    """
    memo: dict[Node, Node] = {}
    for node in topological(nodes):
        if leaves is not None and is_leaf(node) and node not in leaves:
            memo[node] = node
        else:
            op = _replaced(node.op, values)
            inputs = tuple(memo[operand] for operand in node.inputs)
            same = op is node.op and all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            memo[node] = node if same else Node(op, *inputs)
    return [memo[node] for node in nodes]


def _replaced(value: Any, values: Mapping[dims.Atom, Dim]) -> Any:
    """A parameter of an op with lengths replaced; the same object when there is nothing to replace."""
    if isinstance(value, Dimension):
        return dims.substitute(value, values)
    if isinstance(value, tuple):
        members = tuple(_replaced(member, values) for member in value)
        return value if all(a is b for a, b in zip(members, value, strict=True)) else members
    if isinstance(value, Region):
        parameters = _replaced(value.parameters, values)
        results = tuple(with_lengths(value.results, values))
        same = parameters is value.parameters and all(a is b for a, b in zip(results, value.results, strict=True))
        return value if same else Region(parameters, results)
    if isinstance(value, TensorType | Op):
        before = {name: getattr(value, name) for name in field_names(value)}
        after = {name: _replaced(member, values) for name, member in before.items()}
        return value if all(after[name] is before[name] for name in before) else type(value)(**after)
    return value
