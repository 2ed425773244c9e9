"""Plans: what is chosen, that it is what was written, and that it is predicted to be no dearer."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.function import Function
from consilience.ir import Node, topological
from consilience.ops import MatMul
from consilience.planning import planned
from consilience.planning.choice import Plan, plan
from consilience.planning.explore import EXPLORE
from consilience.rewrite.rules import simplify


def products(outputs: list[Node]) -> list[tuple[object, ...]]:
    """Shapes of the products that are computed."""
    return sorted(node.static_shape for node in topological(outputs) if isinstance(node.op, MatMul))


def matrix(rows: int, columns: int, name: str) -> Node:
    return pt.tensor(name, dtype="float64", shape=(rows, columns))


def planned_by(*outputs: Node) -> Plan:
    return plan(simplify(list(outputs)))


def test_a_product_with_a_vector_is_taken_from_the_vector() -> None:
    a, b, v = matrix(1000, 1000, "a"), matrix(1000, 1000, "b"), pt.tensor("v", dtype="float64", shape=(1000,))
    found = planned_by((a @ b) @ v)
    assert products(list(found.outputs)) == [(1000,), (1000,)]
    assert found.seconds < found.written_seconds / 5
    assert [c.rule for c in found.choices] == ["product with the last factors first"]


def test_a_product_that_is_needed_anyway_is_used() -> None:
    a, b, v = matrix(300, 300, "a"), matrix(300, 300, "b"), pt.tensor("v", dtype="float64", shape=(300,))
    found = planned_by(a @ b, (a @ b) @ v)
    assert products(list(found.outputs)) == [(300,), (300, 300)]


def test_a_chain_of_matrices_is_taken_in_the_order_of_fewest_multiplications() -> None:
    a, b, c, d = matrix(400, 20, "a"), matrix(20, 500, "b"), matrix(500, 30, "c"), matrix(30, 400, "d")
    found = planned_by(((a @ b) @ c) @ d)
    assert products(list(found.outputs)) == [(20, 30), (20, 400), (400, 400)]


def test_machine_code_computes_what_is_planned_and_what_is_written() -> None:
    generator = np.random.default_rng(0)
    a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")
    values = [generator.normal(size=(400, 400)), generator.normal(size=(400, 400)), generator.normal(size=400)]
    chosen = pm.function([a, b, v], (a @ b) @ v)
    written = pm.function([a, b, v], (a @ b) @ v, plan=False)
    assert calls(chosen, *values) == 0
    assert calls(written, *values) == 1
    np.testing.assert_allclose(chosen(*values), written(*values), rtol=1e-9, atol=1e-9)


def calls(function: Function, *values: np.ndarray) -> int:
    """How often machine code calls the product of matrices."""
    return function.llvm(*values).count("call void @blas_dgemm(")


def test_small_programs_are_left_alone() -> None:
    a, b, v = matrix(20, 20, "a"), matrix(20, 20, "b"), pt.tensor("v", dtype="float64", shape=(20,))
    (output,) = planned([(a @ b) @ v])
    assert output is (a @ b) @ v


def test_lengths_that_are_not_known_are_left_alone() -> None:
    a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")
    (output,) = planned([(a @ b) @ v])
    assert output is (a @ b) @ v


@pytest.mark.parametrize("length", [0, 1])
def test_lengths_of_nothing(length: int) -> None:
    a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")
    function = pm.function([a, b, v], (a @ b) @ v)
    ones = np.ones((length, length))
    assert function(ones, ones, np.ones(length)).tolist() == [1.0] * length


def test_rules_explore() -> None:
    assert {rule.tier for rule in EXPLORE} == {"explore"}
