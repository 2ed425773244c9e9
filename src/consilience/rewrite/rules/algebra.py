"""Arithmetic: quotients, signs, absolute values, extrema, choices and logic.

Quotients have one normal form: signs go outside, and inside other arithmetic numbers become factors and a denominator
smaller than its numerator is inverted before it is repeated. Rules that could hide NaN or infinity ask for facts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.ir import FLOATS, Constant, Node, constant
from consilience.ops import TABLE, Elementwise, Reduce, apply
from consilience.rewrite.facts import Facts
from consilience.rewrite.pattern import finite, given, non_negative, non_positive, nonzero
from consilience.rewrite.rule import Rule, rewrites, rule
from consilience.rewrite.rules.notation import (
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
from consilience.rewrite.rules.operands import (
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


# Functions whose result is exact, or depends on the last digit: a quotient that enters them is that of IEEE.
_EXACT = frozenset((
    "neg", "abs", "sign", "copysign", "where", "minimum", "maximum", "fmin", "fmax", "floor", "ceil", "trunc", "round",
    "heaviside", "floor_div", "mod", "fmod", "sub", "reciprocal",
))  # fmt: skip
_ROUNDING = tuple(name for name, row in TABLE.items() if row.result in ("float", "same") and name not in _EXACT)


@rewrites(
    *(name for name in _ROUNDING if "float" in TABLE[name].accepts),
    Reduce,
    name="quotients inside are products",
    operands=["true_div", "neg", "mul"],
    within=1e300,
    examples=[
        lambda t: t.vector / t.scalar + t.vector,
        lambda t: (t.matrix / t.row).sum(axis=1),
        lambda t: t.exp(-(t.vector / t.scalar)),
        lambda t: t.square(t.x / 3.0),
        lambda t: t.y * (3.0 / t.x),
        lambda t: t.vector / t.constant([1.0, 2.0, 3.0, 5.0, 7.0]) + t.vector,
        lambda t: (t.scalar * t.vector) / t.positive,
    ],
)
def quotient_inside(node: Node, facts: Facts) -> Node | None:
    """x / s is x (1 / s) inside sums, products and functions that round, for s a number or repeated along an axis of x.

    One division per element of s instead of one per element of x; |s| below 5.6e-309 is outside. A quotient that is
    a result itself stays, and has the bits and the range of IEEE's division.
    """
    if isinstance(node.op, Reduce) and node.op.kind != "sum":
        return None
    inverted = [_inverted(i) for i in node.inputs]
    if function_of(node) == "true_div":
        if inverted[0] is None and function_of(node.inputs[0]) == "mul":
            return _as_product(node)
        inverted[1] = None
    if all(i is None for i in inverted):
        return None
    return Node(node.op, *(old if new is None else new for old, new in zip(node.inputs, inverted, strict=True)))


def _inverted(node: Node) -> Node | None:
    """A quotient, or the negative of one, as a product."""
    if function_of(node) == "neg":
        inner = _as_product(node.inputs[0])
        return None if inner is None else apply("neg", inner)
    return _as_product(node)


def _as_product(node: Node) -> Node | None:
    """x / s as x (1 / s) where that saves divisions or brings numbers to the front."""
    if function_of(node) != "true_div":
        return None
    top, bottom = node.inputs
    if isinstance(bottom.op, Constant):
        with np.errstate(all="ignore"):
            inverse = 1 / bottom.op.array
        return apply("mul", constant(inverse), top) if in_range(bottom.op.array) and in_range(inverse) else None
    repeated = top.static_shape == node.static_shape and _extent(bottom) != _extent(node)
    return apply("mul", top, apply("reciprocal", bottom)) if is_number(top) or repeated else None


def _extent(node: Node) -> tuple[bool, ...]:
    """Which axes have length 1: lengths written differently may be equal."""
    return tuple(n == 1 for n in node.static_shape)


@rewrites(
    "true_div",
    name="quotients by powers of two",
    operands=[Constant],
    examples=[lambda t: t.x / 4.0, lambda t: t.vector / t.constant([1.0, 2.0, 4.0, 0.5, 8.0])],
)
def quotient_of_two(node: Node, facts: Facts) -> Node | None:
    """x / 4 is a product with 1/4, exactly."""
    top, bottom = node.inputs
    if not isinstance(bottom.op, Constant) or not in_range(bottom.op.array):
        return None
    mantissa, _ = np.frexp(bottom.op.array)
    return apply("mul", constant(1 / bottom.op.array), top) if (np.abs(mantissa) == 0.5).all() else None


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
    quotient_inside,
    quotient_of_two,
    number_out_of_quotient,
    number_out_of_size,
    *CHOICES,
    not_of_comparison,
    known_logic,
    decided_comparison,
    decided_finiteness,
    decided_extremum,
    turned_comparison,
)
