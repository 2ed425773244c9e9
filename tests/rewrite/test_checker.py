"""The checker finds the mistakes that rules are apt to have."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from consilience.backends.reference import evaluate
from consilience.ir import Node
from consilience.ops import Elementwise, Reduce, apply
from consilience.rewrite.facts import Facts
from consilience.rewrite.pattern import given, non_negative, wildcards
from consilience.rewrite.rule import Rule, RuleTable, rewrites, rule
from consilience.rewrite.rules.notation import (
    abs_,
    exp,
    log,
    log1p,
    maximum,
    pow_,
    sigmoid,
    softplus,
    sqrt,
    square,
    where,
)
from tests.rewrite.checker import check

x, y = wildcards("x y")

WRONG = [
    rule("x - x", x - x, 0),
    rule("x / x", x / x, 1),
    rule("0 * x", 0 * x, 0),
    rule("log of a product", log(x * y), log(x) + log(y)),
    rule("root of a square", sqrt(square(x)), x),
    rule("square of a root", square(sqrt(x)), x),
    rule("exp of log", exp(log(x)), x),
    rule("logarithm without its pole", log(1 + exp(x)), maximum(x, 0)),
    rule("cancelling softplus", softplus(-x), softplus(x) - x),
    rule("sigmoid by quotient", sigmoid(x), exp(x) / (1 + exp(x))),
    rule("log1p written out", log1p(x), log(1 + x)),
    rule("power as root", pow_(x, 2), square(square(x))),
    rule("absolute value of a product", abs_(x * y), abs_(x) * y),
    rule("a choice that reads one side", where(x, y, y), y + 0 * y),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda r: r.name)
def test_a_wrong_rule_is_found(wrong: Rule) -> None:
    complaints = check(wrong, RuleTable([wrong]), evaluate)
    assert complaints
    assert all("never applies" not in complaint for complaint in complaints)


def test_a_right_rule_passes() -> None:
    right = rule("exp of log", exp(log(x)), x, given(non_negative(x)))
    assert check(right, RuleTable([right]), evaluate) == []


def test_a_rule_in_the_shadow_of_another_is_reported() -> None:
    first = rule("log1p", log(1 + x), log1p(x))
    second = rule("softplus", log(1 + exp(x)), softplus(x))
    (complaint,) = check(second, RuleTable([first, second]), evaluate)
    assert "does not apply" in complaint


def _sum_rule(result: Callable[[Node, Reduce], Node]) -> Rule:
    @rewrites(Reduce, name="sum", operands=["neg"], examples=[lambda t: (-t.matrix).sum(axis=0)])
    def wrong(node: Node, facts: Facts) -> Node | None:
        inner = node.inputs[0]
        if not isinstance(inner.op, Elementwise) or not isinstance(node.op, Reduce):
            return None
        return result(inner.inputs[0], node.op)

    return wrong


def test_a_sum_over_the_wrong_axis_is_found_by_its_shape() -> None:
    wrong = _sum_rule(lambda operand, op: apply("neg", Node(Reduce("sum", (1,)), operand)))
    assert any("made float64[3] of float64[4]" in c for c in check(wrong, RuleTable([wrong]), evaluate))


def test_a_forgotten_sign_is_found() -> None:
    wrong = _sum_rule(lambda operand, op: Node(op, operand))
    assert check(wrong, RuleTable([wrong]), evaluate)
