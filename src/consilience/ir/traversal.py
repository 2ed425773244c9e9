"""Walks over graphs without recursion: graphs may be a hundred thousand nodes deep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from consilience.ir.node import Node


def topological(outputs: Iterable[Node], stop: Callable[[Node], bool] | None = None) -> list[Node]:
    """Every ancestor of the outputs once, inputs before users, in a deterministic order.

    stop      nodes for which it is true are listed, their inputs are not visited
    """
    order: list[Node] = []
    done: set[Node] = set()
    for output in outputs:
        if output in done:
            continue
        stack: list[tuple[Node, int]] = [(output, 0)]
        while stack:
            node, position = stack.pop()
            if node in done:
                continue
            inputs = () if stop is not None and stop(node) else node.inputs
            while position < len(inputs) and inputs[position] in done:
                position += 1
            if position < len(inputs):
                stack.append((node, position + 1))
                stack.append((inputs[position], 0))
            else:
                done.add(node)
                order.append(node)
    return order


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
    if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return node
    return type(node)(node.op, *inputs)
