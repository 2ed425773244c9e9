"""Arithmetic: quotients, signs, absolute values, extrema, choices and logic.

Quotients have one normal form: numbers become factors, signs go outside, a denominator smaller than its
numerator is inverted before it is repeated. Rules that could hide NaN or infinity ask for facts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.ir import FLOATS, Constant, Node, constant
from consilience.ops import Elementwise, apply
from consilience.rewrite.facts import Facts
from consilience.rewrite.pattern import finite, given, non_negative, non_positive, nonzero
from consilience.rewrite.rule import Rule, rewrites, rule
from consilience.rules.notation import (
    abs_,
    exp,
    logical_not,
    maximum,
    minimum,
    reciprocal,
    square,
    true_div,
    where,
    x,
    y,
    z,
)
from consilience.rules.operands import (
    MUL,
    function_of,
    in_range,
    is_number,
    number,
    split_coefficient,
    usable,
    value_of,
)

QUOTIENTS = (
    rule("1 / x", true_div(1, x), reciprocal(x)),
    rule("x / (1 / y)", x / reciprocal(y), x * y),
    rule("1 / (1 / x)", reciprocal(reciprocal(x)), x),
    rule("1 / (x / y)", reciprocal(x / y), y / x),
    rule("1 / exp", reciprocal(exp(x)), exp(-x)),
    rule("x / exp", x / exp(y), x * exp(-y)),
    rule("x / x", x / x, 1, given(finite(x), nonzero(x))),
    rule("1 / -x", reciprocal(-x), -reciprocal(x)),
    rule("-x / y", -x / y, -(x / y)),
    rule("x / -y", x / -y, -(x / y)),
)

SIZES = (
    rule("|-x|", abs_(-x), abs_(x)),
    rule("|x| of x >= 0", abs_(x), x, given(non_negative(x))),
    rule("|x| of x <= 0", abs_(x), -x, given(non_positive(x))),
    rule("|1 / x|", abs_(reciprocal(x)), reciprocal(abs_(x))),
    rule("square of -x", square(-x), square(x)),
    rule("square of |x|", square(abs_(x)), square(x)),
    rule("maximum of one", maximum(x, x), x),
    rule("minimum of one", minimum(x, x), x),
)


@rewrites(
    "true_div",
    name="quotients by numbers",
    operands=[Constant],
    examples=[
        lambda t: t.x / 3.0,
        lambda t: 3.0 / t.x,
        lambda t: t.vector / t.constant([1.0, 2.0, 4.0, 5.0, 8.0]),
    ],
)
def quotient_of_number(node: Node, facts: Facts) -> Node | None:
    """x / 3 is a product with 1/3, 3 / x is 3 (1 / x), unless the inverse leaves the normal range."""
    top, bottom = node.inputs
    if isinstance(bottom.op, Constant):
        with np.errstate(all="ignore"):
            inverse = 1 / bottom.op.array
        if not in_range(bottom.op.array) or not in_range(inverse):
            return None
        return apply("mul", constant(inverse), top)
    if is_number(top):
        return apply("mul", top, apply("reciprocal", bottom))
    return None


@rewrites(
    "true_div",
    "reciprocal",
    name="numbers leave quotients",
    operands=["mul"],
    within=1e60,
    examples=[lambda t: (2.0 * t.x) / t.y, lambda t: t.x / (2.0 * t.y), lambda t: t.reciprocal(4.0 * t.x)],
)
def number_out_of_quotient(node: Node, facts: Facts) -> Node | None:
    """(2 x) / (3 y) is (2/3) (x / y)."""
    coefficient: Any = 1.0
    parts = list(node.inputs)
    for place, part in enumerate(parts):
        found, rest = split_coefficient(part)
        if found is None or found == 0 or not usable(found):
            continue
        coefficient = coefficient * found if place == 0 and len(parts) == 2 else coefficient / found
        parts[place] = rest
    if parts == list(node.inputs) or not usable(coefficient):
        return None
    return Node(MUL, number(coefficient, node.dtype), Node(node.op, *parts))


@rewrites(
    "true_div",
    name="a smaller denominator is inverted first",
    within=1e300,
    examples=[lambda t: t.vector / t.scalar, lambda t: t.matrix / t.row],
)
def invert_smaller(node: Node, facts: Facts) -> Node | None:
    """x / y is x (1 / y) where y is repeated along an axis of x.

    One division per element of y instead of one per element of x; |y| below 5.6e-309 is outside.
    """
    top, bottom = node.inputs
    if bottom.static_shape == node.static_shape or top.static_shape != node.static_shape:
        return None
    return apply("mul", top, apply("reciprocal", bottom))


@rewrites(
    "abs",
    "square",
    name="numbers leave sizes",
    operands=["mul"],
    examples=[lambda t: t.abs(-2.0 * t.x), lambda t: t.square(3.0 * t.x)],
)
def number_out_of_size(node: Node, facts: Facts) -> Node | None:
    """|c x| is |c| |x| and (c x)² is c² x²."""
    coefficient, rest = split_coefficient(node.inputs[0])
    if coefficient is None:
        return None
    outside = abs(coefficient) if function_of(node) == "abs" else coefficient * coefficient
    if coefficient == 0 or (node.dtype in FLOATS and not usable(outside)):
        return None
    if function_of(node) == "abs" and node.dtype not in FLOATS:
        return None  # a product that wraps around changes its sign
    return Node(MUL, number(outside, node.dtype), Node(node.op, rest))


CHOICES = (
    rule("where true", where(True, x, y), x),
    rule("where false", where(False, x, y), y),
    rule("where of one", where(z, x, x), x),
    rule("where not", where(logical_not(z), x, y), where(z, y, x)),
    rule("where in where, first", where(z, where(z, x, y), y), where(z, x, y)),
    rule("where in where, second", where(z, x, where(z, x, y)), where(z, x, y)),
    rule("not not", logical_not(logical_not(x)), x),
)

_NEGATED = {"eq": "neq", "neq": "eq"}
_NEGATED_WHOLE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


@rewrites(
    "logical_not",
    "invert",
    name="not of a comparison",
    operands=["eq", "neq", "lt", "le", "gt", "ge"],
    examples=[lambda t: t.logical_not(t.eq(t.x, t.y)), lambda t: t.logical_not(t.i < t.j)],
)
def not_of_comparison(node: Node, facts: Facts) -> Node | None:
    """not (a == b) is a != b; orders are turned only where NaN is excluded."""
    inner = node.inputs[0]
    if node.dtype != "bool" or function_of(inner) not in (*_NEGATED, *_NEGATED_WHOLE):
        return None
    turned = _NEGATED.get(function_of(inner))
    if turned is None and all(facts.not_nan(i) for i in inner.inputs):
        turned = _NEGATED_WHOLE[function_of(inner)]
    return Node(Elementwise(turned), *inner.inputs) if turned else None


@rewrites(
    "logical_and",
    "logical_or",
    "bitwise_and",
    "bitwise_or",
    name="logic with a known side",
    examples=[
        lambda t: t.logical_and(t.flag, True),
        lambda t: t.logical_or(t.flag, True),
        lambda t: t.logical_and(t.flag, t.flag),
        lambda t: t.logical_or(False, t.flag),
    ],
)
def known_logic(node: Node, facts: Facts) -> Node | None:
    """Neutral and absorbing truth values, and an operand with itself."""
    if node.dtype != "bool":
        return None
    a, b = node.inputs
    if a is b:
        return a
    both = function_of(node).endswith("and")
    for side, other in ((a, b), (b, a)):
        if is_number(side):
            return other if bool(value_of(side)) is both else side
    return None


@rewrites(
    "eq",
    "neq",
    "lt",
    "le",
    "gt",
    "ge",
    name="comparisons decided by facts",
    examples=[
        lambda t: t.exp(t.assumed) > 0.0,
        lambda t: t.exp(t.assumed) < 0.0,
        lambda t: t.lt(t.i, t.i),
        lambda t: t.neq(t.exp(t.assumed), 0.0),
    ],
)
def decided_comparison(node: Node, facts: Facts) -> Node | None:
    """A comparison whose outcome follows from bounds of values that are never NaN."""
    a, b = node.inputs
    function = function_of(node)
    if a is b:
        return number(function in ("eq", "le", "ge"), "bool") if facts.not_nan(a) else None
    p, q = facts.bounds(a), facts.bounds(b)
    apart = (p.low == q.high == 0 or p.high == q.low == 0) and (p.nonzero or q.nonzero)
    outcome: bool | None = None
    if p.low > q.high or (p.low >= q.high and apart):
        outcome = function in ("gt", "ge", "neq")
    elif p.high < q.low or (p.high <= q.low and apart):
        outcome = function in ("lt", "le", "neq")
    elif p.low >= q.high and function in ("ge", "lt"):
        outcome = function == "ge"
    elif p.high <= q.low and function in ("le", "gt"):
        outcome = function == "le"
    if outcome is None or not (facts.not_nan(a) and facts.not_nan(b)):
        return None
    return number(outcome, "bool")


@rewrites(
    "isnan",
    "isfinite",
    "isinf",
    name="tests of finiteness decided by facts",
    examples=[lambda t: t.isnan(t.assumed), lambda t: t.isfinite(t.assumed)],
)
def decided_finiteness(node: Node, facts: Facts) -> Node | None:
    """isnan, isinf and isfinite of values known to be finite."""
    x = node.inputs[0]
    function = function_of(node)
    if function == "isnan" and facts.not_nan(x):
        return number(False, "bool")
    return number(function == "isfinite", "bool") if facts.finite(x) else None


@rewrites(
    "maximum",
    "minimum",
    name="extrema decided by facts",
    examples=[lambda t: t.maximum(t.exp(t.assumed), 0.0), lambda t: t.minimum(t.exp(t.assumed), -1.0)],
)
def decided_extremum(node: Node, facts: Facts) -> Node | None:
    """maximum(x, 0) of x >= 0 is x; NaN of the other operand must be excluded."""
    a, b = node.inputs
    if function_of(node) == "minimum":
        lower = {a: facts.bounds(a).high, b: facts.bounds(b).high}
        for chosen, other in ((a, b), (b, a)):
            if lower[chosen] <= facts.bounds(other).low and facts.not_nan(other):
                return chosen
        return None
    for chosen, other in ((a, b), (b, a)):
        if facts.bounds(chosen).low >= facts.bounds(other).high and facts.not_nan(other):
            return chosen
    return None


@rewrites(
    "lt",
    "le",
    "gt",
    "ge",
    name="comparisons read from left to right",
    operands=["sub", "add", "neg", "mul", Constant],
    examples=[lambda t: t.lt(0.0, t.x), lambda t: t.lt(-t.x, -t.y)],
)
def turned_comparison(node: Node, facts: Facts) -> Node | None:
    """A number stands on the right; signs on both sides turn the comparison."""
    a, b = node.inputs
    turned = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}[function_of(node)]
    if is_number(a) and not is_number(b):
        return Node(Elementwise(turned), b, a)
    if a.dtype not in FLOATS:
        return None  # the least integer is its own negative
    if function_of(a) == "neg" and function_of(b) == "neg":
        return Node(Elementwise(turned), a.inputs[0], b.inputs[0])
    if function_of(a) == "neg" and is_number(b):
        return Node(Elementwise(turned), a.inputs[0], number(-value_of(b), b.dtype))
    return None


RULES: tuple[Rule, ...] = (
    *QUOTIENTS,
    *SIZES,
    quotient_of_number,
    number_out_of_quotient,
    invert_smaller,
    number_out_of_size,
    *CHOICES,
    not_of_comparison,
    known_logic,
    decided_comparison,
    decided_finiteness,
    decided_extremum,
    turned_comparison,
)
