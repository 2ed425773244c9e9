"""Walks over graphs without recursion: graphs may be a hundred thousand nodes deep."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from consilience.ir import side_tables

if TYPE_CHECKING:
    from consilience.ir.node import Node


def topological(outputs: Iterable[Node], stop: Callable[[Node], bool] | None = None) -> list[Node]:
    """Every ancestor of the outputs once, inputs before users, in a deterministic order.

    `stop`: nodes for which it is true are listed, their inputs are not visited.
    """
    order: list[Node] = []
    done: set[Node] = set()
    stack = list(outputs)
    stack.reverse()
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        waiting = [] if stop is not None and stop(node) else [i for i in node.inputs if i not in done]
        if waiting:
            waiting.reverse()  # the first input is visited first
            stack += waiting
        else:
            stack.pop()
            done.add(node)
            order.append(node)
    return order


def longest_path(
    order: Iterable[Node], stop: Collection[Node], least: int, uncounted: Collection[Node] = ()
) -> list[Node]:
    """Values of which each depends on the one before, as many as there are; none if they are `least` or fewer.

    `stop`: nodes that are on no path. `uncounted`: nodes that may be on a path and do not make it longer.
    """
    depth: dict[Node, int] = {}
    via: dict[Node, Node] = {}
    last: Node | None = None
    deepest = 0
    for node in order:
        if not node.inputs or node in stop:
            depth[node] = 0
            continue
        deep = [depth[i] for i in node.inputs]
        most = max(deep)
        via[node] = node.inputs[deep.index(most)]
        depth[node] = here = most if node in uncounted else most + 1
        if here > deepest:
            last, deepest = node, here
    path: list[Node] = []
    while last is not None and deepest > least:
        path.append(last)
        last = via.get(last)
    path.reverse()
    return path[1:]


def users(order: Iterable[Node]) -> dict[Node, list[Node]]:
    """For every node of an order the nodes that read it, with repetition for repeated operands."""
    found: dict[Node, list[Node]] = {}
    for node in order:
        found.setdefault(node, [])
        for operand in node.inputs:
            found.setdefault(operand, []).append(node)
    return found


def substitute(outputs: Iterable[Node], replacements: Mapping[Node, Node]) -> list[Node]:
    """The same graph with some nodes exchanged for others; regions are closed and stay as they are."""
    outputs = list(outputs)
    memo: dict[Node, Node] = dict(replacements)
    for node in topological(outputs, stop=memo.__contains__):
        if node not in memo:
            memo[node] = rebuild(node, tuple(memo[operand] for operand in node.inputs))
    return [memo[output] for output in outputs]


def rebuild(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The node's op applied to other inputs; the node itself when they are the same."""
    if inputs == node.inputs:
        return node
    made = type(node)(node.op, *inputs)
    side_tables.carry(node, made)
    return made
