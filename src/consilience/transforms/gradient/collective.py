"""Pullbacks of reductions over the positions of a batch: what each position contributes to all of them."""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops.collective import Collective
from consilience.transforms.gradient.scalar import eq
from consilience.transforms.gradient.table import partial_of


@partial_of(Collective)
def _collective(node: Node, g: Node, position: int) -> Node | None:
    """The derivative of the results of all positions together; elements that tie share evenly."""
    assert isinstance(node.op, Collective)
    if position:
        return None
    x, place = node.inputs
    total = Node(Collective("sum"), g, place)
    if node.op.kind == "sum":
        return total
    reached = eq(x, node).astype(x.dtype)
    return total * (reached / Node(Collective("sum"), reached, place))
