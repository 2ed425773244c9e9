"""Carried values that are equal in every step: they begin equal, and equal ones become equal ones.

States of a loop on leaves of its own in, one leaf for each class of equal ones out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consilience.ir import Node, substitute
from consilience.rewrite.engine import Rewriting
from consilience.rewrite.rule import RuleTable

NO_RULES = RuleTable(())


def equal_states(states: Mapping[Node, tuple[Node, Node]]) -> dict[Node, Node]:
    """For every leaf the first leaf that is equal to it.

    states   leaf -> its initial and its next value
    """
    # All that begin equal are taken for equal, until a step tells otherwise.
    classes: dict[object, list[Node]] = {}
    for leaf, (initial, _) in states.items():
        classes.setdefault((initial, leaf.type), []).append(leaf)
    groups = list(classes.values())
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


def arranged(outputs: Sequence[Node]) -> list[Node]:
    """The outputs with operands of sums and products in one order, so that equal values are one node."""
    return Rewriting(NO_RULES)(outputs)
