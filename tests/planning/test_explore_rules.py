"""Every explore rule on values: it applies to its examples, keeps the value, and works inside plans."""

from __future__ import annotations

import numpy as np
import pytest

from consilience.backends.reference import evaluate
from consilience.ir import Node, topological
from consilience.ops import Elementwise
from consilience.planning.alternatives import Alternatives
from consilience.planning.explore import ALWAYS, EXPLORE, GUESSES, linear_systems
from consilience.rewrite.engine import Rewriting, fit
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule
from consilience.rewrite.rules import ALWAYS as ALWAYS_RIGHT
from tests.planning.samples import complaint, every_alternative, forced
from tests.rewrite.checker import Application, compare, extremes
from tests.rewrite.samples import Samples
from tests.transforms.laws import Array

CHECKED = (*EXPLORE.rules, linear_systems.symmetric_transposed)


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.name)
def test_rule_keeps_the_value_and_applies_to_its_examples(rule: Rule) -> None:
    generator = np.random.default_rng(20)
    assert rule.examples
    for example in rule.examples:
        samples = Samples()
        graph = example(samples)
        applications = applied(rule, graph)
        assert applications, graph
        draws = [samples.values(generator), samples.values(generator)]
        draws += [samples.values(generator, e) for e in extremes([graph], rule.within)]
        for application in applications:
            for values in draws:
                assert compared(application, values) == ""


def compared(application: Application, values: dict[Node, Array]) -> str:
    """A complaint if sides differ: infinities of reordered sums may become NaN, what is finite stays so."""
    leaves = {node for node in topological([application.before, application.after]) if not node.inputs}
    given = {node: array for node, array in values.items() if node in leaves}
    left, right = evaluate([application.before, application.after], given)
    unlike = ~np.isfinite(left) & ~np.isfinite(right)
    if not unlike.any():
        return compare(application, values, evaluate, signs=False)  # sums and products are reordered
    same = np.isclose(left, right, rtol=1e-9, atol=1e-11) | unlike
    return "" if left.shape == right.shape and same.all() else f"{left} became {right}"


def applied(rule: Rule, graph: Node) -> list[Application]:
    """What a rule makes of the nodes of a graph in normal form."""
    (normal,) = Rewriting(ALWAYS)([graph]) if rule.tier == "explore" else [graph]
    found: list[Application] = []
    for node in topological([normal]):
        key = node.op.function if isinstance(node.op, Elementwise) else type(node.op)
        if key not in rule.roots and not (isinstance(key, str) and Elementwise in rule.roots):
            continue
        result = rule.apply(node, Facts())
        if result is not None:
            found.append(Application(rule, node, fit(result, node, rule)))
    return found


@pytest.mark.parametrize("rule", EXPLORE.rules, ids=lambda rule: rule.name)
def test_every_alternative_of_the_examples_computes_what_was_written(rule: Rule) -> None:
    generator = np.random.default_rng(21)
    assert rule.examples
    for example in rule.examples:
        samples = Samples()
        outputs = Rewriting(ALWAYS_RIGHT)([example(samples)])
        found = Alternatives(outputs, [], EXPLORE, ALWAYS)
        values = samples.values(generator)
        assert every_alternative(found)
        for number, member in every_alternative(found):
            assert complaint(outputs, values, forced({number: member})) == ""


def test_what_one_way_rules_guess_is_explored() -> None:
    """A guess that no explore rule can take back would be no choice."""
    assert {*GUESSES} <= {rule.name for rule in EXPLORE}
