"""Plans: what is chosen, that it is what was written, and that it is predicted to be no dearer."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.function import Function
from consilience.errors import GraphError
from consilience.ir import Node, topological
from consilience.ops import MatMul
from consilience.planning import planned
from consilience.planning.alternatives import Alternatives
from consilience.planning.choice import Price, PricedPlan, cheapest, plan
from consilience.planning.explore import ALWAYS, EXPLORE
from consilience.rewrite.facts import assume
from consilience.rewrite.rules import simplify


def products(outputs: list[Node]) -> list[tuple[object, ...]]:
    """Shapes of the products that are computed."""
    return sorted(node.static_shape for node in topological(outputs) if isinstance(node.op, MatMul))


def matrix(rows: int, columns: int, name: str) -> Node:
    return pt.tensor(name, dtype="float64", shape=(rows, columns))


def planned_by(*outputs: Node) -> PricedPlan:
    return plan(simplify(list(outputs)))


def test_a_product_with_a_vector_is_taken_from_the_vector() -> None:
    a, b, v = matrix(1000, 1000, "a"), matrix(1000, 1000, "b"), pt.tensor("v", dtype="float64", shape=(1000,))
    found = planned_by((a @ b) @ v)
    assert products(list(found.outputs)) == [(1000,), (1000,)]
    assert found.seconds < found.written_seconds / 5
    assert found.rules == ("product with the last factors first",)


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


def test_a_function_tells_what_was_weighed_with_both_prices() -> None:
    a, b, v = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")
    function = pm.function([a, b, v], (a @ b) @ v)
    assert "what is planned" not in str(function.explain())
    function(np.ones((300, 300)), np.ones((300, 300)), np.ones(300))
    text = str(function.explain())
    assert "product with the last factors first: a @ b @ v  →  a @ (b @ v)" in text
    assert " as written, " in text
    assert " in place of " in text
    assert not pm.function([a, b, v], (a @ b) @ v, plan=False).explain().plan


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


def test_a_plan_keeps_to_a_limit_of_memory_or_says_what_is_too_large() -> None:
    a, b = matrix(300, 300, "a"), matrix(300, 300, "b")
    product = a @ b
    vectors = [pt.tensor(f"v{i}", dtype="float64", shape=(300,)) for i in range(150)]
    outputs = simplify([(product @ v).max() for v in vectors])
    free, little = plan(outputs), plan(outputs, choice=100_000)
    assert free.peak >= product.tensor_type.size * 8  # type: ignore[operator]  # static here
    assert little.peak <= 100_000
    assert free.seconds < little.seconds
    inputs = [pt.dmatrix("a"), pt.dmatrix("b")]
    function = pm.function(inputs, inputs[0] @ inputs[1], plan=100_000)
    assert function(np.ones((100, 5)), np.ones((5, 100)))[0, 0] == 5.0
    with pytest.raises(GraphError, match=r"at most 100,000 bytes.*shape \(300, 300\)"):
        function(np.ones((300, 5)), np.ones((5, 300)))


def test_what_is_not_finite_stays_so_and_what_is_finite_too() -> None:
    generator = np.random.default_rng(3)
    a, b, v = (pt.tensor(name, dtype="float64", shape=(90,) * rank) for name, rank in (("a", 2), ("b", 2), ("v", 1)))
    values = [generator.normal(size=(90, 90)), generator.normal(size=(90, 90)), generator.normal(size=90)]
    values[0][3, 5], values[0][7, 2] = np.nan, np.inf
    outputs = [(a @ b) @ v, (a @ b).sum(0), pt.linalg.trace(a @ b)]
    written, chosen = (pm.function([a, b, v], outputs, plan=p)(*values) for p in (False, True))
    for before, after in zip(written, chosen, strict=True):
        np.testing.assert_array_equal(np.isfinite(before), np.isfinite(after))
        np.testing.assert_allclose(after[np.isfinite(before)], before[np.isfinite(before)], rtol=1e-9, atol=1e-9)


def test_integers_that_wrap_around_wrap_alike_in_any_order() -> None:
    a, b, v = pt.lmatrix("a"), pt.lmatrix("b"), pt.lvector("v")
    generator = np.random.default_rng(4)
    values = [generator.integers(-(2**62), 2**62, shape) for shape in ((200, 200), (200, 200), 200)]
    chosen, written = (pm.function([a, b, v], (a @ b) @ v, plan=p) for p in (True, False))
    np.testing.assert_array_equal(chosen(*values), written(*values))
    assert chosen.lowered(*values) != written.lowered(*values)


def test_where_fuel_ends_the_best_so_far_is_taken() -> None:
    names = "abcdefgh"
    chain = matrix(40, 40, "a")
    for name in names[1:]:
        chain = chain @ matrix(40, 40, name)
    outputs = simplify([chain @ pt.tensor("v", dtype="float64", shape=(40,))])
    totals = []
    for fuel in (0, 1, 2, 5, 32):
        found = Alternatives(outputs, [], EXPLORE, ALWAYS, fuel=fuel)
        price = Price(found)
        before = price.total
        cheapest(price)
        totals.append(price.total)
        assert price.total <= before
        assert [o.type for o in price.outputs()] == [o.type for o in outputs]
        assert found.spent <= fuel * len(topological(outputs))
    assert totals[-1] < 0.5 * totals[0]  # products of matrices become products with a vector


@pytest.mark.parametrize("limit", range(6))
def test_without_fuel_what_has_no_normal_form_stays_as_it_was_written(limit: int) -> None:
    x = pt.exp(assume(matrix(300, 300, "x"), positive_definite=True))
    outputs = [(pt.transpose(x) + x).sum()]  # 2 x, once the transpose is known to be x
    found = Alternatives(outputs, [], EXPLORE, ALWAYS, limit=limit)
    assert found.spent <= limit
    assert all(found.members)


def test_lengths_that_a_mask_decides_are_planned_when_they_are_known() -> None:
    x, mask, b = pt.dmatrix("x"), pt.bvector("mask"), pt.dmatrix("b")
    kept = x[mask.astype("bool")]
    values = [np.ones((300, 300)), (np.arange(300) % 2).astype("int8"), np.ones((300, 300))]
    chosen, written = (pm.function([x, mask, b], (kept @ b) @ b[0], plan=p) for p in (True, False))
    np.testing.assert_allclose(chosen(*values), written(*values))
    assert calls(chosen, *values) < calls(written, *values)


def test_what_depends_on_data_alone_costs_nothing() -> None:
    """Products of data are kept, however dear."""
    x, b = matrix(2000, 40, "x"), pt.tensor("b", dtype="float64", shape=(40,))
    outputs = simplify([(x.T @ x) @ b])
    assert products(list(plan(outputs).outputs)) == [(40,), (2000,)]
    assert products(list(plan(outputs, [x]).outputs)) == [(40,), (40, 40)]


def test_rules_explore() -> None:
    assert {rule.tier for rule in EXPLORE} == {"explore"}
