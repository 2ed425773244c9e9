"""Powers and roots: constant exponents as products, squares and roots; pairs of inverse functions."""

from __future__ import annotations

from math import inf

from consilience.ir import Constant, Node
from consilience.ops import apply
from consilience.rewrite.facts import Facts
from consilience.rewrite.pattern import given, non_negative, positive
from consilience.rewrite.rule import Rule, rewrites, rule
from consilience.rewrite.rules.notation import FINITE, abs_, exp, log, pow_, reciprocal, sqrt, square, x, y
from consilience.rewrite.rules.operands import is_number, number, value_of
from consilience.rewrite.rules.products import GREATEST_SQUARING, power_factors

ROOTS = (
    rule("x ** 0.5", pow_(x, 0.5), sqrt(x), domain={x: (0, inf)}),
    rule("x ** -0.5", pow_(x, -0.5), reciprocal(sqrt(x)), domain={x: (0, inf)}),
    rule("x ** 1.5", pow_(x, 1.5), x * sqrt(x), domain={x: (0, inf)}),
    rule("sqrt of square", sqrt(square(x)), abs_(x)),
    rule("square of sqrt", square(sqrt(x)), x, given(non_negative(x))),
    rule("power of a power", pow_(pow_(x, y), 2), pow_(x, 2 * y), given(positive(x))),
    rule("square of a power", square(pow_(x, y)), pow_(x, 2 * y), given(positive(x))),
    rule("square of a reciprocal", square(reciprocal(x)), reciprocal(square(x))),
    rule("sqrt of exp", sqrt(exp(x)), exp(0.5 * x)),
    rule("power of exp", pow_(exp(x), y), exp(x * y), domain={x: FINITE, y: FINITE}),
    rule("sqrt of reciprocal", sqrt(reciprocal(x)), reciprocal(sqrt(x)), domain={x: (0, inf)}),
    rule("reciprocal of a power", reciprocal(pow_(x, y)), pow_(x, -y), domain={x: (0, inf)}),
    rule("exp of a log times number", exp(0.5 * log(x)), sqrt(x)),
)


@rewrites(
    "pow",
    name="powers with whole exponents",
    operands=[Constant],
    examples=[
        lambda t: t.x**3.0,
        lambda t: t.pow(t.x, -2.0),
        lambda t: t.pow(t.x, 0.0),
        lambda t: t.pow(t.x, 1.0),
        lambda t: t.pow(1.0, t.x),
    ],
)
def whole_power(node: Node, facts: Facts) -> Node | None:
    """x ** 3 is x x², up to the eighth power; x ** 0 and 1 ** x are 1."""
    base, exponent = node.inputs
    if is_number(base) and float(value_of(base)) == 1:
        return number(1, node.dtype)
    if not is_number(exponent):
        return None
    n = float(value_of(exponent))
    if n == 0:
        return number(1, node.dtype)
    if n != int(n) or abs(n) > GREATEST_SQUARING:
        return None
    if n > 0:
        factors = power_factors(base, n)
        return apply("mul", *factors) if len(factors) > 1 else factors[0]
    factors = power_factors(base, -n)
    return apply("reciprocal", apply("mul", *factors) if len(factors) > 1 else factors[0])


RULES: tuple[Rule, ...] = (*ROOTS, whole_power)
