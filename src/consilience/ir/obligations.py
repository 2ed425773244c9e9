"""Equalities of lengths that could not be proved when a node was built.

A function collects them from the graph as the user wrote it and checks them on its inputs' shapes
at entry; what rewriting removes later cannot remove an obligation.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

from consilience.ir import side_tables
from consilience.ir.dimension import Dim
from consilience.ir.traversal import topological
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.ir.node import Node


class Obligation(Record):
    """`left` and `right` must be the same length; `reason` says which rule asks for it."""

    left: Dim
    right: Dim
    reason: str


class Debt(Record):
    """An obligation with the place where it was incurred, for the message at entry."""

    obligation: Obligation
    where: str


# Gradients and rewritten graphs answer for the graph they came from.
_inherited: weakref.WeakKeyDictionary[Node, tuple[Debt, ...]] = weakref.WeakKeyDictionary()


def inherit(node: Node, debts: tuple[Debt, ...]) -> None:
    """Let a derived node carry the obligations of its origin."""
    if debts:
        merged = dict.fromkeys((*_inherited.get(node, ()), *debts))
        _inherited[node] = tuple(merged)


def collect(outputs: Iterable[Node]) -> tuple[Debt, ...]:
    """All pairs of lengths that must be equal, each once with its first reason, in topological order."""
    found: dict[Debt, None] = {}
    seen: set[tuple[Dim, Dim]] = set()
    for node in topological(outputs):
        for obligation in node.op.obligations(*node.inputs):
            pair = (obligation.left, obligation.right)
            if pair not in seen:
                seen.add(pair)
                found[Debt(obligation, side_tables.describe(node))] = None
        for debt in _inherited.get(node, ()):
            pair = (debt.obligation.left, debt.obligation.right)
            if pair not in seen:
                seen.add(pair)
                found[debt] = None
    return tuple(found)
