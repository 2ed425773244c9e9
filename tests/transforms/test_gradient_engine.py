"""What the engine promises whatever the ops: depth, paths, types, inner nodes, shape constraints, errors."""

from __future__ import annotations

import numpy as np
import pytest

from consilience.backends.reference import evaluate
from consilience.errors import DtypeError, GraphError, MissingRuleError, ShapeError
from consilience.ir import Node, Op, TensorType, constant, tensor_input, topological
from consilience.ir.shape_constraints import collect
from consilience.ir.side_tables import source_of
from consilience.ops import Elementwise, StopGradient, apply, reduce
from consilience.transforms.gradient import (
    SCALAR_PULLBACKS,
    connected,
    gradient,
    hessian_vector_product,
    jacobian,
    missing,
    pullback,
    pushforward,
    value_and_gradient,
)


class Unheard(Op):
    """An op no table knows."""

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type


def scalar(name: str | None = None) -> Node:
    return tensor_input("float64", (), name)


def test_a_hundred_thousand_steps_need_no_recursion() -> None:
    x = scalar()
    y = x
    for _ in range(100_000):
        y = Node(Elementwise("neg"), y)
    (g,) = gradient(y, [x])
    # One change of sign per step, and the constant 1.
    assert len(topological([g])) == 100_000 + 1


def test_only_paths_that_lead_to_the_wanted_nodes_are_walked() -> None:
    x, y = scalar(), scalar()
    unheard = Node(Unheard(), y)
    cost = apply("exp", x) + unheard * 2.0
    (g,) = gradient(cost, [x])
    assert unheard not in topological([g])
    with pytest.raises(MissingRuleError, match="no row for `Unheard`"):
        gradient(cost, [y])


def test_contributions_are_one_sum() -> None:
    x = scalar()
    cost = apply("add", apply("exp", x), apply("sin", x), apply("cos", x), x)
    (g,) = gradient(cost, [x])
    assert g.op == Elementwise("add")
    assert len(g.inputs) == 4


def test_inner_nodes_are_free_and_their_ancestors_go_through_them() -> None:
    x = scalar()
    y = x * x
    cost = apply("exp", y) * x
    gx, gy = evaluate(gradient(cost, [x, y]), {x: 0.5})
    assert gy == pytest.approx(np.exp(0.25) * 0.5)
    assert gx == pytest.approx(np.exp(0.25) * (1.0 + 2.0 * 0.25))
    assert evaluate(gradient(cost, [cost]), {x: 0.5})[0] == 1.0


def test_derivatives_stop_where_asked() -> None:
    x = scalar()
    cost = Node(StopGradient(), x * x) * x
    assert evaluate(gradient(cost, [x]), {x: 3.0})[0] == 9.0
    (zero,) = gradient(Node(StopGradient(), x), [x])
    assert evaluate([zero], {x: 3.0})[0] == 0.0


def test_disconnected_nodes_give_zeros() -> None:
    x, y = scalar("x"), tensor_input("float32", (2, None), "y")
    gx, gy = gradient(x * 2.0, [x, y])
    assert gy.type == y.type
    assert evaluate([gy], {y: np.ones((2, 3))})[0].tolist() == [[0.0] * 3] * 2
    assert evaluate([gx], {x: 1.0})[0] == 2.0
    flat = apply("floor", y) * 2.0
    assert connected([x * 2.0, flat], [x, y]) == [True, True]
    assert connected([x * 2.0], [x, y]) == [True, False]
    assert connected([Node(StopGradient(), x), y], [x, y], [y]) == [False, True]


def test_what_has_no_derivative_is_refused_with_a_way_out() -> None:
    x, n, v = scalar("x"), tensor_input("int64", ()), tensor_input("float64", (3,), "v")
    with pytest.raises(DtypeError, match="cast it to float64"):
        gradient(n * 2, [x])
    with pytest.raises(DtypeError, match="cast it to float64"):
        gradient(x * n, [n])
    with pytest.raises(ShapeError, match="scalar was needed"):
        gradient(v * x, [x])
    with pytest.raises(ShapeError, match="must have its shape"):
        pullback([v * x], [x], [constant(np.ones(4))])
    with pytest.raises(DtypeError, match="must be float64"):
        pullback([v * x], [x], [constant(np.ones(3, "float32"))])
    with pytest.raises(GraphError, match="one cotangent per tensor"):
        pullback([v * x], [x], [])
    with pytest.raises(GraphError, match="one tangent per tensor"):
        pushforward([v * x], [x, v], [x])


def test_shape_constraints_of_the_cost_are_inherited() -> None:
    x, y = tensor_input("float64", (None,)), tensor_input("float64", (None,))
    cost = reduce("sum", x * y) * 0.0 + x.sum()

    def owed(node: Node) -> set[tuple[object, object]]:
        return {(o.left, o.right) for o in collect([node])}

    assert owed(cost)
    for result in (*gradient(cost, [x, y]), *hessian_vector_product(cost, [x, y], [x, y])):
        assert owed(cost) <= owed(result)


def test_no_source_lines_are_recorded_while_differentiating() -> None:
    x = tensor_input("float64", (3,))
    (g,) = gradient((apply("exp", x) * apply("sin", x)).sum(), [x])
    (cosine,) = [n for n in topological([g]) if n.op == Elementwise("cos")]
    assert source_of(cosine) == ""
    assert source_of(g.inputs[0]) == ""


def test_one_node_for_one_request_and_lists_for_lists() -> None:
    x = scalar()
    assert isinstance(gradient(x * x, x), Node)
    assert isinstance(jacobian(x * x, x), Node)
    value, gs = value_and_gradient(x * x, [x])
    assert [float(v) for v in evaluate([value, *gs], {x: 3.0})] == [9.0, 6.0]
    assert gradient(x * x, []) == []


def test_the_same_output_twice_adds_its_cotangents() -> None:
    x = tensor_input("float64", (2,))
    y = x * 3.0
    (g,) = pullback([y, y, x], [x], [constant(np.ones(2)), constant(np.ones(2)), constant(np.ones(2))])
    assert evaluate([g], {x: np.ones(2)})[0].tolist() == [7.0, 7.0]


def test_pushforward_has_no_trace_of_the_cotangents_it_was_made_with() -> None:
    x, t = tensor_input("float64", (3,)), tensor_input("float64", (3,))
    (p,) = pushforward([apply("exp", x) / x.sum()], [x], [t])
    assert {n for n in topological([p]) if not n.inputs and n in (x, t)} == {x, t}
    v, d = np.array([1.0, 2.0, 3.0]), np.array([0.1, -0.2, 0.3])
    wanted = np.exp(v) * d / 6.0 - np.exp(v) * d.sum() / 36.0
    np.testing.assert_allclose(evaluate([p], {x: v, t: d})[0], wanted, rtol=1e-13)


def test_hessian_vector_product_is_the_hessian_times_the_vector() -> None:
    x, y = tensor_input("float64", (3,)), scalar()
    cost = (apply("exp", x) * apply("sin", x * y)).sum() + y**3.0
    vx, vy = np.array([1.0, -1.0, 0.5]), np.array(0.7)
    products = hessian_vector_product(cost, [x, y], [constant(vx), constant(vy)])
    gx, gy = gradient(cost, [x, y])
    blocks = [*jacobian(gx, [x, y]), *jacobian(gy, [x, y])]
    point = {x: np.array([0.3, 1.0, -0.4]), y: 0.9}
    px, py = evaluate(products, point)
    xx, xy, yx, yy = evaluate(blocks, point)
    np.testing.assert_allclose(xy, yx, rtol=1e-12)
    np.testing.assert_allclose(px, xx @ vx + xy * vy, rtol=1e-12)
    np.testing.assert_allclose(py, yx @ vx + yy * vy, rtol=1e-12)


def test_an_op_without_row_is_listed_as_missing() -> None:
    assert missing() == []
    Unheard.__module__, before = "consilience.ops.unheard", Unheard.__module__
    try:
        assert missing() == ["Unheard"]
    finally:
        Unheard.__module__ = before


def test_a_row_that_is_not_linear_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCALAR_PULLBACKS, "sin", lambda node, g, position: g * g)
    x = scalar()
    with pytest.raises(GraphError, match="not linear"):
        pushforward([apply("sin", x)], [x], [constant(1.0)])
