"""Exponentials from exponentials: where exp(x) is computed anyway, exp(2 x) is its square and exp(-x) its inverse.

A primitive graph in, an equal one with fewer calls of exp out. Rewriting may not do this: alone, exp(2 x) is the
better form.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node, constant_value, substitute, topological
from consilience.ops import Elementwise, apply


def _multiple(argument: Node) -> tuple[float, Node]:
    """The argument as number * rest."""
    op = argument.op
    if isinstance(op, Elementwise) and op.function == "neg":
        factor, rest = _multiple(argument.inputs[0])
        return -factor, rest
    if isinstance(op, Elementwise) and op.function == "mul" and len(argument.inputs) == 2:
        for number, other in (argument.inputs, argument.inputs[::-1]):
            known = constant_value(number)
            if known is not None and known.size == 1 and other.static_shape == argument.static_shape:
                return float(known.item()), other
    return 1.0, argument


def share_exponentials(outputs: Sequence[Node]) -> list[Node]:
    """Replace exp of -1, 2 or -2 times an argument whose exp is there."""
    order = topological(outputs)
    plain: dict[Node, Node] = {}
    multiples: list[tuple[Node, float, Node]] = []
    for node in order:
        if isinstance(node.op, Elementwise) and node.op.function == "exp":
            factor, rest = _multiple(node.inputs[0])
            if factor == 1.0:
                plain[rest] = node
            else:
                multiples.append((node, factor, rest))
    replaced: dict[Node, Node] = {}
    for node, factor, rest in multiples:
        base = plain.get(rest)
        if base is None or node.dtype != base.dtype:
            continue
        if factor == 2.0:
            replaced[node] = apply("mul", base, base)
        elif factor == -1.0:
            replaced[node] = apply("true_div", 1.0, base)
        elif factor == -2.0:
            replaced[node] = apply("true_div", 1.0, apply("mul", base, base))
    return substitute(outputs, replaced) if replaced else list(outputs)
