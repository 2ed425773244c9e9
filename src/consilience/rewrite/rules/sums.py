"""The normal form of sums: n-ary, numbers together, like terms together, no `sub`.

x - y is x + (-y); a sign before a sum goes to its terms; a sign before a number times a rest goes to the
number. Reordering holds up to rounding and where no intermediate result overflows. The sign of a zero
is not kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.ir import INTEGERS, Constant, Node, constant
from consilience.ops import Elementwise
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import rewrites
from consilience.rewrite.rules.operands import (
    ADD,
    MUL,
    combine,
    full_shape,
    function_of,
    has_number,
    is_inner,
    is_number,
    negated,
    number,
    split_coefficient,
    usable,
    value_of,
)


def _is_normal(node: Node, facts: Facts) -> bool:
    """A quick look at a sum of operands of one shape: True only if nothing is to be collected."""
    shape = node.type
    bases: set[object] = set()
    for place, x in enumerate(node.inputs):
        op = x.op
        if isinstance(op, Constant):
            if place or op.array.ndim or op.array == 0:
                return False
            continue
        if x.type != shape:
            return False
        function = op.function if isinstance(op, Elementwise) else ""
        if function == "neg":
            x = x.inputs[0]
            function = function_of(x)
        if function == "mul":
            first = x.inputs[0]
            if isinstance(first.op, Constant):
                if len(x.inputs) > 2:
                    bases.add(x.inputs[1:])
                    continue
                x = x.inputs[1]
                function = function_of(x)
            elif first.type != shape:
                return False
        if function in ("sub", "neg") or (function == "add" and (is_inner(x, facts) or has_number(x))):
            return False
        bases.add(x.inputs if function == "mul" else x)
    return len(bases) == len(node.inputs) - isinstance(node.inputs[0].op, Constant)


def _terms(node: Node, facts: Facts) -> list[tuple[int, Node]]:
    """The signed terms of a sum, nested ones taken apart."""
    found: list[tuple[int, Node]] = []
    shift = any(is_number(i) for i in node.inputs)
    stack = [(1, node)]
    while stack:
        sign, x = stack.pop()
        function = function_of(x)
        if function == "neg":
            stack.append((-sign, x.inputs[0]))
        elif function in ("add", "sub") and (x is node or is_inner(x, facts) or (shift and has_number(x))):
            last = -sign if function == "sub" else sign
            stack += [(last, i) for i in reversed(x.inputs[1:])]
            stack.append((sign, x.inputs[0]))
        else:
            found.append((sign, x))
    return found


class _Like:
    """Terms with one base: their coefficients, and the node of the only one as it was."""

    __slots__ = ("coefficients", "original")

    def __init__(self) -> None:
        self.coefficients: list[Any] = []
        self.original: tuple[int, Node] | None = None


@rewrites(
    "add",
    "sub",
    "neg",
    name="sums are collected",
    gathers=True,
    within=1e60,
    examples=[
        lambda t: t.x - t.y,
        lambda t: (t.x + 2.0) + (t.y - 3.0),
        lambda t: t.x + 2.0 * t.x,
        lambda t: -(t.x + t.y),
        lambda t: -(2.0 * t.x),
        lambda t: t.vector + t.scalar + t.x,
        lambda t: t.i - t.i,
    ],
)
def collect_sum(node: Node, facts: Facts) -> Node | None:
    """The normal form of a sum, difference or negative."""
    if node.dtype == "bool":
        return None
    if function_of(node) == "neg":
        inner = node.inputs[0]
        if inner in facts.shared_nodes and function_of(inner) == "add":
            return None
        if function_of(inner) not in ("add", "sub", "neg") and split_coefficient(inner)[0] is None:
            return None
    elif function_of(node) == "add" and _is_normal(node, facts):
        return None
    dtype = node.dtype
    exact = dtype in INTEGERS
    total: Any = np.zeros((), dtype)
    arrays: list[npt.NDArray[Any]] = []
    constants: list[Node] = []
    like: dict[Node, _Like] = {}
    with np.errstate(all="ignore"):
        for sign, x in _terms(node, facts):
            if isinstance(x.op, Constant):
                if is_number(x):
                    total = total + value_of(x) if sign > 0 else total - value_of(x)
                else:
                    arrays.append(value_of(x) if sign > 0 else -value_of(x))
                    constants.append(x if sign > 0 else constant(-value_of(x)))
                continue
            coefficient, base = split_coefficient(x)
            known = like.get(base)
            if known is None:
                known = like[base] = _Like()
                known.original = (sign, x)
            else:
                known.original = None
            known.coefficients.append(sign if coefficient is None else sign * coefficient)
    if not exact and not np.isfinite(total):
        return None
    operands: list[Node] = []
    dropped = False
    for base, terms in like.items():
        if terms.original is not None:
            sign, x = terms.original
            operands.append(x if sign > 0 else _with_coefficient(terms.coefficients[0], base, dtype))
            continue
        whole = sum(terms.coefficients)
        if not exact and not usable(whole):
            return None
        if whole != 0:
            operands.append(_with_coefficient(whole, base, dtype))
        elif exact or facts.finite(base):
            dropped = True
        else:
            for part in (
                sum(c for c in terms.coefficients if c > 0),
                sum(c for c in terms.coefficients if c < 0),
            ):
                operands.append(_with_coefficient(part, base, dtype))  # noqa: PERF401  # a pair, not a list
    operands[:0] = _folded(arrays, constants)
    numbers = [number(total, dtype)] if total != 0 or not operands else []
    if numbers and operands and isinstance(operands[0].op, Constant) and total != 0:
        # A number beside an array constant is added to it.
        operands[0] = constant(value_of(operands[0]) + total)
        numbers = []
    if dropped and not operands:
        return numbers[0]
    shape = full_shape([*numbers, *operands])
    result = combine(ADD, numbers, operands, shape)
    return None if result is node else result


def _with_coefficient(c: Any, base: Node, dtype: str) -> Node:
    if c == 1:
        return base
    if c == -1:
        return negated(base)
    if function_of(base) != "mul":
        return Node(MUL, number(c, dtype), base)
    factors: list[Node] = []
    for factor in base.inputs:
        factors += factor.inputs if function_of(factor) == "mul" else (factor,)
    return combine(MUL, [number(c, dtype)], factors, base.static_shape)


def _folded(arrays: list[npt.NDArray[Any]], nodes: list[Node]) -> list[Node]:
    """Array constants of one shape added up."""
    if len(arrays) <= 1:
        return nodes
    sums: dict[tuple[int, ...], npt.NDArray[Any]] = {}
    for array in arrays:
        sums[array.shape] = sums[array.shape] + array if array.shape in sums else array
    return [constant(array) for array in sums.values()]
