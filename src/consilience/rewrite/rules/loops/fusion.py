"""Loops over equal steps that do not depend on each other become one.

What both carry is carried once (`results`), so a loop and the same loop with traces, as derivatives ask for, cost one.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node, rebuild, substitute, topological
from consilience.ops import Item
from consilience.ops.loop import Scan, fresh, parts
from consilience.ops.scan import scan
from consilience.rewrite.rules.loops.equality import arranged, equal_states


def fused_once(outputs: Sequence[Node]) -> list[Node] | None:
    """The outputs with two loops made one; None where no two can be."""
    order = topological(outputs)
    loops = [node for node in order if isinstance(node.op, Scan)]
    if len(loops) < 2:
        return None
    numbers = {node: 1 << i for i, node in enumerate(loops)}
    behind: dict[Node, int] = {}  # the loops a node depends on, as bits
    for node in order:
        found = numbers.get(node, 0)
        for operand in node.inputs:
            found |= behind[operand]
        behind[node] = found
    for i, second in enumerate(loops):
        for first in loops[:i]:
            apart = not (behind[second] & numbers[first] or behind[first] & numbers[second])
            if apart and (joined := _joined(first, second)) is not None:
                return _exchanged(order, outputs, joined)
    return None


def _joined(first: Node, second: Node) -> dict[Node, list[Node]] | None:
    """The results of two loops from one loop; None where they do not repeat alike."""
    a, b = parts(first), parts(second)
    one, two = a.op, b.op
    alike = (one.length, one.reverse, one.until, one.truncate) == (two.length, two.reverse, two.until, two.truncate)
    if not alike or a.limit is not b.limit:
        return None
    leaves: dict[Node, Node] = {}

    def head(parameter: Node, sequence: Node) -> Node:
        return leaves.setdefault(sequence, fresh(parameter))

    own, carried = [fresh(c) for c in a.carries], [fresh(c) for c in b.carries]
    heads = [head(p, s) for p, s in zip(a.heads, a.sequences, strict=True)]
    others = [head(p, s) for p, s in zip(b.heads, b.sequences, strict=True)]
    body = one.body.apply(*own, *heads, *a.constants)
    further = two.body.apply(*carried, *others, *b.constants)
    states = dict(zip(own, zip(a.initial, body, strict=False), strict=True))
    states |= dict(zip(carried, zip(b.initial, further, strict=False), strict=True))
    if one.until:
        stops = arranged(substitute([body[-1], further[-1]], equal_states(states)))
        if stops[0] is not stops[1]:
            return None
    elements = [*body[one.carried : one.carried + one.traces], *further[two.carried : two.carried + two.traces]]
    once = list(dict.fromkeys(elements))
    loop = scan(
        states,
        {leaf: sequence for sequence, leaf in leaves.items()},
        once,
        length=one.length,
        limit=a.limit,
        stop=body[-1] if one.until else None,
        reverse=one.reverse,
        truncate=one.truncate,
    )
    last = dict(zip(states, loop.last, strict=True))
    traces = dict(zip(once, loop.traces, strict=True))
    return {
        first: [loop.steps, *(last[c] for c in own), *(traces[e] for e in elements[: one.traces])],
        second: [loop.steps, *(last[c] for c in carried), *(traces[e] for e in elements[one.traces :])],
    }


def _exchanged(order: Sequence[Node], outputs: Sequence[Node], joined: dict[Node, list[Node]]) -> list[Node]:
    """The outputs with the results of two loops exchanged."""
    # The operands of both loops come before either: neither depends on the other.
    found = {
        node: joined[node.inputs[0]][node.op.position]
        for node in order
        if isinstance(node.op, Item) and node.inputs[0] in joined
    }
    memo: dict[Node, Node] = dict(found)
    for node in topological(outputs, stop=memo.__contains__):
        if node not in memo:
            memo[node] = rebuild(node, tuple(memo[operand] for operand in node.inputs))
    return [memo[output] for output in outputs]
