"""Every rule of the ALWAYS table on values: ranks 0 to 2, distinct sizes, size-1 axes, extremes."""

from __future__ import annotations

import random

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.rewrite.engine import Rewriting
from consilience.rewrite.facts import assume
from consilience.rewrite.rule import Rule
from consilience.rewrite.rules import ALWAYS, DIFFERENTIATED, simplify
from tests.rewrite.checker import EITHER_ZERO, Application, check, compare
from tests.rows import over_rows
from tests.rules.random_graphs import leaves, random_graph

EXTREMES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 800.0, -800.0)


@pytest.mark.parametrize("rule", DIFFERENTIATED.rules, ids=lambda rule: rule.name)
def test_rule_keeps_the_value_and_applies_to_its_examples(rule: Rule) -> None:
    assert check(rule, DIFFERENTIATED, evaluate) == []


def test_rules_that_leave_the_sign_of_zero_open_are_there() -> None:
    assert {rule.name for rule in DIFFERENTIATED} >= EITHER_ZERO


@over_rows("zero", [0.0, -0.0])
@over_rows("added", ["x + 0", "0 + x", "x - 0", "0 - x", "x + zeros", "(x + 0) + 0", "x + y - y", "x - -0", "abs"])
def test_adding_zero_to_minus_zero_is_zero(added: str, zero: float) -> None:
    """And taking it away is nothing, as in IEEE's arithmetic."""
    x, y = pt.vector("x", shape=(5,)), pt.vector("y", shape=(5,))
    forms = {
        "x + 0": x + 0.0,
        "0 + x": 0.0 + x,
        "x - 0": x - 0.0,
        "0 - x": 0.0 - x,
        "x + zeros": x + pt.zeros(5),
        "(x + 0) + 0": (x + 0) + 0.0,
        "x + y - y": assume(y, finite=True) - assume(y, finite=True) + x,
        "x - -0": x - (-0.0),
        "abs": pt.abs(x) + 0.0,
    }
    values = {x: np.full(5, zero), y: np.arange(5.0)}
    compiled = pm.function([x, y], forms[added], on_unused_input="ignore")
    (expected,) = evaluate([forms[added]], values)
    np.testing.assert_array_equal(np.signbit(compiled(*values.values())), np.signbit(expected))


def test_rules_of_code_have_examples() -> None:
    assert [rule.name for rule in ALWAYS.rules if rule.left is None and not rule.examples] == []


def test_rules_apply_to_random_graphs() -> None:
    """The tests below see many rules at work, each more than once."""
    steps: list[str] = []
    for seed in range(40):
        choose = random.Random(seed)
        graph = random_graph(choose.randrange, leaves(), choose.randrange(3, 40))
        Rewriting(ALWAYS, strict=True, observe=lambda rule, a, b: steps.append(rule.name))([graph])
    assert len(steps) > 2 * len(set(steps)) > 40


@over_rows("seed", range(150))
@over_rows("extreme", [False, True])
def test_each_step_on_a_random_graph_keeps_its_value(seed: int, extreme: bool) -> None:
    choose, draw = random.Random(seed), np.random.default_rng(seed)
    inputs = leaves()
    graph = random_graph(choose.randrange, inputs, choose.randrange(3, 40))
    steps: list[Application] = []
    Rewriting(ALWAYS, strict=True, observe=lambda r, a, b: steps.append(Application(r, a, b)))([graph])
    values = {}
    for node in inputs.values():
        shape = tuple(int(n) for n in node.static_shape if isinstance(n, int))
        array = draw.normal(0, 1.5, shape)
        values[node] = np.where(draw.random(shape) < 0.3, draw.choice(EXTREMES, shape), array) if extreme else array
    for step in steps:
        if not step.rule.domain:
            signs = step.rule.name not in {*EITHER_ZERO, "sums are collected"}  # 0 where the terms of a sum cancel
            assert compare(step, values, evaluate, signs=signs) == ""


@over_rows("seed", range(300))
def test_the_normal_form_of_a_random_graph_is_its_own_normal_form(seed: int) -> None:
    choose = random.Random(1000 + seed)
    graph = random_graph(choose.randrange, leaves(), choose.randrange(3, 60))
    (once,) = simplify([graph], strict=True)
    (twice,) = simplify([once], strict=True)
    assert twice is once
    assert once.type == graph.type
