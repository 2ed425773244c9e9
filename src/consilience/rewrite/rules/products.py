"""The normal form of products: n-ary, one number in front, equal factors as powers, signs outside.

Reordering holds up to rounding and where no intermediate result overflows. Quotients stay factors of
their own; exp(x) * exp(y) is exp(x + y), but exp(x) ** 2 stays: exp(x) may be needed too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.ir import INTEGERS, Constant, Node, constant
from consilience.ops import Elementwise, apply
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import rewrites
from consilience.rewrite.rules.operands import (
    MUL,
    combine,
    full_shape,
    function_of,
    has_number,
    is_inner,
    is_number,
    negated,
    number,
    usable,
    value_of,
)

# Whole exponents up to this are products of repeated squares, greater ones calls of `pow`.
GREATEST_SQUARING = 8


def as_power(node: Node) -> tuple[Node, float]:
    """A factor as (base, exponent)."""
    exponent = 1.0
    while True:
        function = function_of(node)
        if function == "square":
            # A square forgets the sign: (x ** 0.5) ** 2 is x only on half of the line.
            if function_of(node.inputs[0]) not in ("square", "reciprocal") and function_of(node.inputs[0]) in (
                "sqrt",
                "pow",
            ):
                return node, exponent
            exponent *= 2
        elif function == "reciprocal":
            exponent *= -1
        elif function == "sqrt" and exponent in (1.0, -1.0):
            return node.inputs[0], exponent * 0.5
        elif function == "pow" and exponent in (1.0, -1.0) and is_number(node.inputs[1]):
            return node.inputs[0], exponent * float(value_of(node.inputs[1]))
        else:
            return node, exponent
        node = node.inputs[0]


def power_factors(base: Node, exponent: float) -> list[Node]:
    """Factors whose product is base ** exponent, in normal form."""
    if exponent == 0:
        return []
    if exponent < 0 and -exponent in (0.5, 1.0, 2.0, 4.0, 8.0):
        (positive,) = power_factors(base, -exponent)
        return [apply("reciprocal", positive)]
    if exponent == 0.5:
        return [apply("sqrt", base)]
    if exponent == 1.5:
        return [base, apply("sqrt", base)]
    if exponent != int(exponent) or not 0 < exponent <= GREATEST_SQUARING:
        return [apply("pow", base, number(exponent, base.dtype))]
    found, factor, rest = [], base, int(exponent)
    while rest:
        if rest & 1:
            found.append(factor)
        rest >>= 1
        if rest:
            factor = apply("square", factor)
    return found


def _mergeable(base: Node, exponents: list[float], facts: Facts) -> bool:
    """Whether a product of powers of one base is the power with the sum of the exponents."""
    whole = all(e == int(e) for e in exponents)
    if all(e > 0 for e in exponents) or all(e < 0 for e in exponents):
        return whole or facts.non_negative(base) is True
    return facts.finite(base) is True and (facts.positive(base) is True if not whole else facts.nonzero(base) is True)


_PART_OF_POWERS = frozenset(("square", "reciprocal", "sqrt", "pow"))


def _is_normal(node: Node, facts: Facts) -> bool:
    """A quick look at a product of operands of one shape: True only if nothing is to be collected."""
    shape = node.type
    exponentials = 0
    bases: set[Node] = set()
    for place, x in enumerate(node.inputs):
        op = x.op
        if isinstance(op, Constant):
            if place or op.array.ndim or abs(op.array) == 1 or op.array == 0:
                return False
            continue
        if x.type != shape:
            return False
        if isinstance(op, Elementwise):
            function = op.function
            if function == "neg" or (function == "mul" and (is_inner(x, facts) or has_number(x))):
                return False
            if function == "exp":
                exponentials += 1
            elif function in _PART_OF_POWERS:
                x = as_power(x)[0]
        if x in bases:
            return False
        bases.add(x)
    return exponentials < 2


def _factors(node: Node, facts: Facts) -> tuple[int, list[Node]]:
    """The sign and the factors of a product, nested ones taken apart."""
    sign, found, stack = 1, [], [node]
    scaled = any(is_number(i) for i in node.inputs)
    while stack:
        x = stack.pop()
        function = function_of(x)
        if function == "neg":
            sign = -sign
            stack.append(x.inputs[0])
        elif function == "mul" and (x is node or is_inner(x, facts) or (scaled and has_number(x))):
            stack += reversed(x.inputs)
        else:
            found.append(x)
    return sign, found


@rewrites(
    "mul",
    name="products are collected",
    gathers=True,
    within=1e60,
    examples=[
        lambda t: 2.0 * (3.0 * t.x),
        lambda t: t.x * t.x,
        lambda t: (t.x * t.y) * t.x,
        lambda t: (-t.x) * t.y,
        lambda t: t.exp(t.x) * t.exp(t.y),
        lambda t: t.vector * (t.scalar * 2.0) * t.x,
        lambda t: t.i * 0,
        lambda t: t.x * 1.0,
    ],
)
def collect_product(node: Node, facts: Facts) -> Node | None:
    """The normal form of a product."""
    dtype = node.dtype
    if dtype == "bool" or _is_normal(node, facts):
        return None
    exact = dtype in INTEGERS
    sign, factors = _factors(node, facts)
    coefficient: Any = np.ones((), dtype)
    constants: list[Node] = []
    kept: list[Node] = []
    with np.errstate(all="ignore"):
        for x in factors:
            if not isinstance(x.op, Constant):
                kept.append(x)
            elif is_number(x):
                coefficient = coefficient * value_of(x)
            else:
                constants.append(x)
    if not exact and not usable(coefficient):
        return None
    if coefficient == 0 and (exact or all(facts.finite(x) for x in kept)):
        return number(0, dtype)
    kept = _exponentials(_powers(kept, facts)) if not exact else _squares(kept)
    coefficient = coefficient * sign
    kept[:0] = _folded(constants)
    if abs(coefficient) == 1 and kept:
        result = combine(MUL, [], kept, full_shape(kept))
        result = result if coefficient > 0 else negated(result)
    else:
        numbers = [number(coefficient, dtype)]
        if kept and isinstance(kept[0].op, Constant):
            # A number beside an array constant is multiplied into it.
            kept[0], numbers = constant(value_of(kept[0]) * coefficient), []
        result = combine(MUL, numbers, kept, full_shape([*numbers, *kept]))
    return None if result is node else result


def _folded(constants: list[Node]) -> list[Node]:
    """Array constants of one shape multiplied."""
    products: dict[tuple[int, ...], Node] = {}
    for x in constants:
        shape = value_of(x).shape
        known = products.get(shape)
        products[shape] = x if known is None else constant(value_of(known) * value_of(x))
    return list(products.values())


def _exponentials(factors: list[Node]) -> list[Node]:
    """exp(x) * exp(y) as exp(x + y), where both have one shape."""
    if sum(function_of(x) == "exp" for x in factors) < 2:
        return factors
    groups: dict[object, list[Node]] = {}
    for x in factors:
        if function_of(x) == "exp":
            groups.setdefault(x.static_shape, []).append(x)
    found: list[Node] = []
    merged: set[object] = set()  # shapes done: one node may stand in a product more than once
    for x in factors:
        group = groups.get(x.static_shape, []) if function_of(x) == "exp" else []
        if len(group) < 2:
            found.append(x)
        elif x.static_shape not in merged:
            merged.add(x.static_shape)
            found.append(apply("exp", apply("add", *(e.inputs[0] for e in group))))
    return found


def _powers(factors: list[Node], facts: Facts) -> list[Node]:
    """Factors of one base merged into powers, where that keeps the value."""
    powers: dict[Node, list[tuple[float, Node]]] = {}
    for x in factors:
        base, exponent = as_power(x)
        powers.setdefault(base, []).append((exponent, x))
    if len(powers) == len(factors):
        return factors
    found: list[Node] = []
    for base, entries in powers.items():
        if len(entries) == 1:
            found.append(entries[0][1])
            continue
        parts = [entries]
        if not _mergeable(base, [e for e, _ in entries], facts):
            # Whole exponents of one sign can be merged among themselves.
            up = [e for e in entries if e[0] > 0 and e[0] == int(e[0])]
            down = [e for e in entries if e[0] < 0 and e[0] == int(e[0])]
            parts = [up, down, *([e] for e in entries if e[0] != int(e[0]))]
        for part in parts:
            if len(part) == 1:
                found.append(part[0][1])
            elif part:
                found += power_factors(base, sum(e for e, _ in part))
    return found


def _squares(factors: list[Node]) -> list[Node]:
    """Equal integer factors in pairs as squares."""
    counts: dict[Node, int] = {}
    for x in factors:
        base, times = x, 1
        while function_of(base) == "square":
            base, times = base.inputs[0], 2 * times
        counts[base] = counts.get(base, 0) + times
    found: list[Node] = []
    for base, times in counts.items():
        factor, rest = base, times
        while rest:
            if rest & 1:
                found.append(factor)
            rest >>= 1
            if rest:
                factor = Node(Elementwise("square"), factor)
    return found
