"""Replace symbolic lengths by integers.

Graph and values of its symbols in, a graph of static shapes out. What depends on data (the number of
true entries of a mask) stays symbolic and is reported by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from consilience.ir import Dim, Dimension, Input, Node, Op, Parameter, Region, Shared, TensorType, constant, topological
from consilience.ir import dimension as dims
from consilience.ir.side_tables import name_of, set_name
from consilience.ops import LengthOf
from consilience.record import field_names, replace


def specialise(outputs: Sequence[Node], lengths: Mapping[dims.Atom, Dim]) -> tuple[list[Node], dict[Node, Node]]:
    """The graph at fixed lengths, and for every node of the old graph its new node."""
    memo: dict[Node, Node] = {}
    for node in topological(outputs):
        op = _static_op(node.op, lengths)
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


def _static_op(op: Op, lengths: Mapping[dims.Atom, Dim]) -> Op:
    """The op with every length in its parameters replaced."""
    if isinstance(op, Input | Shared | Parameter):
        of = _static(op.of, lengths)
        return op if of is op.of else replace(op, of=of)
    changed: dict[str, Any] = {}
    for name in field_names(op):
        value = getattr(op, name)
        new = _static(value, lengths)
        if new is not value:
            changed[name] = new
    return replace(op, **changed) if changed else op


def _static(value: Any, lengths: Mapping[dims.Atom, Dim]) -> Any:
    if isinstance(value, Dimension):
        return dims.substitute(value, lengths)
    if isinstance(value, TensorType):
        shape = _static(value.shape, lengths)
        return value if shape is value.shape else value.with_shape(shape)
    if isinstance(value, Region):
        types = tuple(_static(t, lengths) for t in value.parameters)
        results, _ = specialise(value.results, lengths)
        if all(a is b for a, b in zip((*types, *results), (*value.parameters, *value.results), strict=True)):
            return value
        return Region(types, tuple(results))
    if isinstance(value, tuple) and any(isinstance(v, Dimension) for v in value):
        return tuple(_static(v, lengths) for v in value)
    return value
