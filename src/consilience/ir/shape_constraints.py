"""Equalities of lengths that could not be proved when a node was built.

A function collects them from the graph as the user wrote it and checks them on its inputs' shapes
at entry; what rewriting removes later cannot remove an shape constraint.
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


class ShapeConstraint(Record):
    """`left` and `right` must be the same length; `reason` says which rule asks for it, `where` in which expression.

    `collect` fills in `where`.
    """

    left: Dim
    right: Dim
    reason: str
    where: str = ""


def collect(outputs: Iterable[Node]) -> tuple[ShapeConstraint, ...]:
    """All pairs of lengths that must be equal, each once with its first reason, in topological order."""
    found: dict[tuple[Dim, Dim], ShapeConstraint] = {}
    for node in topological(outputs):
        for shape_constraint in node.op.shape_constraints(*node.inputs):
            pair = (shape_constraint.left, shape_constraint.right)
            if pair not in found:
                known = shape_constraint.where
                found[pair] = shape_constraint if known else replace(shape_constraint, where=side_tables.describe(node))
    return tuple(found.values())
