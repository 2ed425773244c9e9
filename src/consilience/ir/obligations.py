"""Equalities of lengths that could not be proved when a node was built.

A function collects them from the graph as the user wrote it and checks them on its inputs' shapes
at entry; what rewriting removes later cannot remove an obligation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from consilience.ir import side_tables
from consilience.ir.dimension import Dim
from consilience.ir.traversal import topological
from consilience.record import Record, replace

if TYPE_CHECKING:
    from consilience.ir.node import Node


class Obligation(Record):
    """`left` and `right` must be the same length; `reason` says which rule asks for it, `where` in which expression.

    `collect` fills in `where`.
    """

    left: Dim
    right: Dim
    reason: str
    where: str = ""


def collect(outputs: Iterable[Node]) -> tuple[Obligation, ...]:
    """All pairs of lengths that must be equal, each once with its first reason, in topological order."""
    found: dict[tuple[Dim, Dim], Obligation] = {}
    for node in topological(outputs):
        for obligation in node.op.obligations(*node.inputs):
            pair = (obligation.left, obligation.right)
            if pair not in found:
                known = obligation.where
                found[pair] = obligation if known else replace(obligation, where=side_tables.describe(node))
    return tuple(found.values())
