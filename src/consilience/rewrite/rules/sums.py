"""The normal form of sums: n-ary, numbers together, like terms together, no `sub`.

x - y is x + (-y); a sign before a sum goes to its terms; a sign before a number times a rest goes to the
number. Reordering holds up to rounding and where no intermediate result overflows. -0 is what all terms are that add
up to it, so that adding 0 is not nothing; a zero that is left where terms cancel has either sign.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

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
            if place or op.array.ndim or (op.array == 0 and not _counts(op.array, node.inputs[1:], facts)):
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


def _counts(zero: Any, terms: Iterable[Node], facts: Facts) -> bool:
    """Whether a zero added to terms changes them: +0 beside nothing but -0."""
    real = zero.dtype.kind == "f" and not np.signbit(zero)
    return bool(real) and all(facts.minus_zero(x) is not False for x in terms)


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


# Its sign, what it is multiplied by if that is a number, and the term itself.
_Term: TypeAlias = tuple[int, Any, Node]


def _is_settled(node: Node, facts: Facts) -> bool:
    """Whether a quick look shows that a sum or a negative stays as it is."""
    if function_of(node) == "add":
        return _is_normal(node, facts)
    if function_of(node) != "neg":
        return False
    inner = node.inputs[0]
    if inner in facts.shared_nodes and function_of(inner) == "add":
        return True
    return function_of(inner) not in ("add", "sub", "neg") and split_coefficient(inner)[0] is None


def _collected(base: Node, alike: list[_Term], dtype: str, facts: Facts) -> list[Node] | None:
    """Terms with one base as one term, or two where infinities must stay NaN; none where they cancel.

    Returns: None where a coefficient overflows.
    """
    coefficients = [sign if own is None else sign * own for sign, own, _ in alike]
    if len(alike) == 1:
        ((sign, _, x),) = alike
        return [x if sign > 0 else _with_coefficient(coefficients[0], base, dtype)]
    whole = sum(coefficients)
    if dtype not in INTEGERS and not usable(whole):
        return None
    if whole != 0:
        return [_with_coefficient(whole, base, dtype)]
    if dtype in INTEGERS or facts.finite(base):
        return []
    signed = sum(c for c in coefficients if c > 0), sum(c for c in coefficients if c < 0)
    return [_with_coefficient(c, base, dtype) for c in signed]


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
        lambda t: t.x - 0.0,
        lambda t: (t.x + 0.0) + (t.y - 0.0),
        lambda t: t.exp(t.x) + 0.0,
        lambda t: (t.assumed - t.assumed) + t.x,
    ],
)
def collect_sum(node: Node, facts: Facts) -> Node | None:
    """The normal form of a sum, difference or negative."""
    if node.dtype == "bool" or _is_settled(node, facts):
        return None
    terms = _terms(node, facts)
    arrays = [(sign, x) for sign, x in terms if isinstance(x.op, Constant) and not is_number(x)]
    like: dict[Node, list[_Term]] = {}
    for sign, x in terms:
        if not isinstance(x.op, Constant):
            coefficient, base = split_coefficient(x)
            like.setdefault(base, []).append((sign, coefficient, x))
    with np.errstate(all="ignore"):
        total: Any = -np.zeros((), node.dtype)  # -0, which is nothing added
        for sign, x in terms:
            if is_number(x):
                total = total + value_of(x) if sign > 0 else total - value_of(x)
        if node.dtype not in INTEGERS and not np.isfinite(total):
            return None
        groups = [_collected(base, alike, node.dtype, facts) for base, alike in like.items()]
        operands = _folded(arrays)
    for group in groups:
        if group is None:
            return None
        operands += group
        if not group:  # what cancels is +0
            total = total + 0
    numbers = [number(total, node.dtype)] if total != 0 or not operands or _counts(total, operands, facts) else []
    if not operands and like:
        return numbers[0]
    if numbers and operands and isinstance(operands[0].op, Constant):
        # A number beside an array constant is added to it.
        operands[0] = constant(value_of(operands[0]) + total)
        numbers = []
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


def _folded(terms: list[tuple[int, Node]]) -> list[Node]:
    """Array constants of one shape added up."""
    if len(terms) == 1 and terms[0][0] > 0:
        return [terms[0][1]]
    sums: dict[tuple[int, ...], npt.NDArray[Any]] = {}
    for sign, x in terms:
        array = value_of(x) if sign > 0 else -value_of(x)
        sums[array.shape] = sums[array.shape] + array if array.shape in sums else array
    return [constant(array) for array in sums.values()]
