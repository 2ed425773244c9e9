"""Carried values that are equal in every step: they begin equal, and equal ones become equal ones.

States of a loop on leaves of its own in, one leaf for each class of equal ones out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from consilience.ir import Node, substitute, topological
from consilience.rewrite.engine import Rewriting
from consilience.rewrite.rule import RuleTable

NO_RULES = RuleTable(())


def equal_states(states: Mapping[Node, tuple[Node, Node]]) -> dict[Node, Node]:
    """For every leaf the first leaf that is equal to it.

    `states`: leaf -> its initial and its next value.
    """
    groups = alike(states)
    while True:
        first = {leaf: group[0] for group in groups for leaf in group}
        if len(groups) == len(states):
            return first
        following = dict(zip(states, arranged(substitute([n for _, n in states.values()], first)), strict=True))
        split: list[list[Node]] = []
        for group in groups:
            parts: dict[Node, list[Node]] = {}
            for leaf in group:
                parts.setdefault(following[leaf], []).append(leaf)
            split += parts.values()
        if len(split) == len(groups):
            return first
        groups = split


def alike(states: Mapping[Node, tuple[Node, Node]]) -> list[list[Node]]:
    """Leaves that may be equal: they begin equal, and no operand of what follows tells them apart.

    An operand that depends on no leaf in question is itself; of others the kind counts.
    """
    groups = _grouped(states, lambda leaf: (states[leaf][0], leaf.type))
    while True:
        open_leaves = {leaf for group in groups if len(group) > 1 for leaf in group}
        if not open_leaves:
            return groups
        number = {leaf: i for i, group in enumerate(groups) for leaf in group}
        reached = set(open_leaves)
        for node in topological([states[leaf][1] for leaf in open_leaves]):
            if any(operand in reached for operand in node.inputs):
                reached.add(node)

        def kind(node: Node, number: dict[Node, int] = number, reached: set[Node] = reached) -> object:
            return number.get(node, node.op if node in reached else node)

        def key(leaf: Node, number: dict[Node, int] = number) -> object:
            following = states[leaf][1]
            operands = frozenset(Counter(map(kind, following.inputs)).items())
            return number[leaf], kind(following), operands

        split = _grouped(states, key)
        if len(split) == len(groups):
            return groups
        groups = split


def _grouped(leaves: Iterable[Node], key: Callable[[Node], object]) -> list[list[Node]]:
    groups: dict[object, list[Node]] = {}
    for leaf in leaves:
        groups.setdefault(key(leaf), []).append(leaf)
    return list(groups.values())


def arranged(outputs: Sequence[Node]) -> list[Node]:
    """The outputs with operands of sums and products in one order, so that equal values are one node."""
    return Rewriting(NO_RULES)(outputs)
