"""Short texts for nodes: what they are called, what they do, of which type, where the user wrote them.

A node in, one line out; regions are left out, since they are shown as graphs of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from consilience.errors import GraphError
from consilience.ir import Constant, Input, Node, Op, Parameter, Region, Shared, Type
from consilience.ir.arithmetic import plain
from consilience.ir.side_tables import name_of
from consilience.record import field_names


@runtime_checkable
class Labelled(Protocol):
    """What has a graph to show: compiled functions, models."""

    def labelled_outputs(self) -> Sequence[tuple[Node, str]]:
        """The expressions with what is written beside each, perhaps nothing."""


GraphLike: TypeAlias = "Node | Labelled | Sequence[Any] | Mapping[str, Any]"


def outputs_of(graph: GraphLike) -> list[tuple[Node, str]]:
    """The expressions of anything that can be shown, with what is written beside each.

    Raises GraphError for anything else than expressions, lists or dicts of them, compiled functions and models.
    """
    graph = plain(graph)
    if isinstance(graph, Node):
        return [(graph, "")]
    if isinstance(graph, Labelled):
        return list(graph.labelled_outputs())
    if isinstance(graph, Mapping):
        return [(node, f"[{key}]") for key, item in graph.items() for node, _ in outputs_of(item)]
    if isinstance(graph, list | tuple | set | frozenset):
        return [pair for item in graph for pair in outputs_of(item)]
    raise GraphError(
        f"an expression, a list of expressions, a compiled function or a model can be shown, got {graph!r}."
    )


def operation(op: Op) -> str:
    """The op with its parameters but regions: `exp`, `sum{axes=(0,)}`, `Cond`."""
    if isinstance(op, Constant):
        return constant_text(op)
    if isinstance(op, Parameter):
        return f"*{op.position}"
    if isinstance(op, Input | Shared):
        return repr(op.of)
    if type(op).__repr__ is not Op.__repr__:
        return repr(op)
    shown = [f"{name}={value!r}" for name in field_names(op) if not _holds_region(value := getattr(op, name))]
    return type(op).__name__ + (f"{{{', '.join(shown)}}}" if shown else "")


def operands_of(node: Node, region: Region) -> tuple[Node, ...]:
    """What the parameters of a region of the node's op stand for, or have elements of: the last operands.

    Nothing for a region with more parameters than the op has operands, such as a derivative that reads results.
    """
    left_out = len(node.inputs) - len(region.parameters)
    return node.inputs[left_out:] if left_out >= 0 else ()


def _holds_region(value: object) -> bool:
    return isinstance(value, Region) or (isinstance(value, tuple) and any(isinstance(v, Region) for v in value))


def constant_text(op: Constant) -> str:
    """A constant's value: a number, a few elements, or its ends."""
    array = op.array
    if array.size == 1 and not array.ndim:
        return repr(array.item())
    return " ".join(np.array2string(array, threshold=6, edgeitems=2, precision=4, separator=", ").split())


def title(node: Node) -> str:
    """What a node is called: its op, and its name in quotes; leaves have their name alone."""
    name = name_of(node)
    if name is None:
        return operation(node.op)
    return name if isinstance(node.op, Input | Shared) else f"{operation(node.op)} {name!r}"


def type_text(of: Type) -> str:
    """`<float64[3, n]>`."""
    return f"<{of!r}>"
