"""Loops of a graph seen together: what nobody reads is not computed, loops over equal steps become one.

Rules see one node and its operands; which results of a loop are read, its readers tell. So these are passes over whole
graphs. Outputs in, equal outputs out.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node, topological, with_regions
from consilience.ops.loop import Scan
from consilience.rewrite.rules.loops.fusion import fused_once
from consilience.rewrite.rules.loops.results import last_elements, mapped, pruned


def tidy_loops(outputs: Sequence[Node]) -> list[Node]:
    """Equal outputs, with fewer and smaller loops."""
    order = topological(outputs)
    if not any(isinstance(node.op, Scan) for node in order):
        return list(outputs)
    found = last_elements(mapped(outputs, _inside))
    while True:
        found = pruned(found)
        fused = fused_once(found)
        if fused is None:
            return found
        found = fused


def _inside(node: Node) -> Node | None:
    """A node whose regions have tidy loops."""
    op = with_regions(node.op, tidy_loops)
    return None if op is node.op else Node(op, *node.inputs)


__all__ = ["tidy_loops"]
