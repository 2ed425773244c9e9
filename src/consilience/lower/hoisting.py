"""What depends on data alone is computed when data are bound, not in every call.

A static, expanded graph and its data leaves in; the graph with each such part replaced by a leaf out.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Constant, Node, TensorType, substitute, tensor_input, topological
from consilience.lower.views import is_view
from consilience.ops import BroadcastTo, ExpandDims, Index, Squeeze

# Views that repeat or pick elements stay in the program: they cost nothing there.
STAYS = (BroadcastTo, ExpandDims, Squeeze, Index)


def hoist(outputs: Sequence[Node], data: Sequence[Node]) -> tuple[list[Node], list[Node], list[Node]]:
    """Cut the graph where data end.

    Returns: the outputs over new leaves, those leaves, and for each leaf the expression of the data it holds.
    """
    if not data:
        return list(outputs), [], []
    fixed: set[Node] = set()
    touched: set[Node] = set(data)
    order = topological(outputs)
    for node in order:
        if isinstance(node.op, Constant) or node in touched:
            fixed.add(node)
        elif node.inputs and all(i in fixed for i in node.inputs) and _storable(node):
            fixed.add(node)
            if any(i in touched for i in node.inputs):
                touched.add(node)
    wanted: dict[Node, None] = {}
    borders = [i for node in order if node not in fixed for i in node.inputs if i in touched]
    borders += [o for o in outputs if o in touched]
    for node in borders:
        while isinstance(node.op, STAYS) and is_view(node):
            node = node.inputs[0]
        if node in touched:
            wanted[node] = None
    expressions = list(wanted)
    leaves = [tensor_input(e.dtype, e.static_shape) for e in expressions]
    replaced = substitute(outputs, dict(zip(expressions, leaves, strict=True)))
    return replaced, leaves, expressions


def _storable(node: Node) -> bool:
    """Whether a value can lie in the table of constants."""
    return isinstance(node.type, TensorType) and node.dtype != "key"
