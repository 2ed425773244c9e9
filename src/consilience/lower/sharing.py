"""Exponentials from exponentials: where exp(x) is computed anyway, exp(2 x) is its square and exp(-x) its inverse.

A primitive graph in, an equal one with fewer calls of exp out. Rewriting may not do this: alone, exp(2 x) is the
better form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from consilience.ir import Node, constant_value, substitute, topological
from consilience.ops import Elementwise, apply

# exp of a greater shift is no finite number.
GREATEST_SHIFT = 700.0


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


def _shifted(argument: Node) -> tuple[float, float, Node]:
    """The argument as factor * rest + shift."""
    op = argument.op
    if isinstance(op, Elementwise) and op.function == "add" and len(argument.inputs) == 2:
        for number, other in (argument.inputs, argument.inputs[::-1]):
            known = constant_value(number)
            if known is not None and known.size == 1 and other.static_shape == argument.static_shape:
                factor, rest = _multiple(other)
                return factor, float(known.item()), rest
    factor, rest = _multiple(argument)
    return factor, 0.0, rest


def _of_minus_absolute(node: Node) -> Node | None:
    """y of exp(-|y|), for scalars; for vectors the division costs as much as the exponential."""
    argument = node.inputs[0]
    if any(n != 1 for n in node.static_shape) or _function(argument) != "neg":
        return None
    (size,) = argument.inputs
    return size.inputs[0] if _function(size) == "abs" else None


def _function(node: Node) -> str | None:
    return node.op.function if isinstance(node.op, Elementwise) else None


def _power(base: Node, exponent: float) -> Node | None:
    """exp(exponent * x) from exp(x)."""
    if exponent == 1.0:
        return base
    if exponent == 2.0:
        return apply("mul", base, base)
    if exponent in (-1.0, -2.0):
        positive = _power(base, -exponent)
        assert positive is not None
        return apply("true_div", 1.0, positive)
    return None


def share_exponentials(outputs: Sequence[Node]) -> list[Node]:
    """Replace exp of -1, 2 or -2 times x, and of minus the absolute value of such, where exp(x) is there."""
    exponentials = [node for node in topological(outputs) if _function(node) == "exp"]
    plain = {rest: node for node in exponentials for factor, rest in [_multiple(node.inputs[0])] if factor == 1.0}
    replaced: dict[Node, Node] = {}
    for node in exponentials:
        folded = _of_minus_absolute(node)
        factor, shift, rest = _shifted(folded if folded is not None else node.inputs[0])
        base = plain.get(rest)
        if base is None or base is node or base.dtype != node.dtype:
            continue
        if abs(shift) > GREATEST_SHIFT or (folded is None and shift):
            continue
        power = _power(base, factor)
        if power is None:
            continue
        if folded is not None:
            # exp(y) may overflow where exp(-|y|) vanishes: its inverse is 0 there, as it should be.
            power = apply("mul", math.exp(shift), power) if shift else power
            power = apply("where", apply("le", power, 1.0), power, apply("true_div", 1.0, power))
        replaced[node] = power
    return substitute(outputs, replaced) if replaced else list(outputs)
