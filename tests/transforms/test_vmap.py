"""`vmap`, `vectorize_graph` and dynamic broadcasting against Python loops over the positions."""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.distributions  # its ops enter the list of classes
import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.errors import DtypeError, GraphError, ShapeError
from consilience.ir import Constant, Input, Node, Op, Parameter, Shared, tensor_input
from consilience.transforms.gradient import gradient
from consilience.transforms.vectorize import BATCHED, NO_BATCHED, vectorize_graph
from tests.backends.agreement import run_llvm
from tests.rules.random_graphs import leaves, random_graph
from tests.transforms.laws import Array, check_derivatives

Axis = int | None


def draw(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Numbers that no two places share."""
    return np.random.default_rng(seed).uniform(0.2, 2.0, shape)


def value(node: Any) -> Array:
    """Of an expression without inputs."""
    return evaluate([node], {})[0]


# Leaves stay what they are, or are replaced; ops of `lower` and `planning` arise when a program is compiled, later;
# names that begin with an underscore are common parts of ops and no ops themselves.
NO_ROW_NEEDED = {Input, Shared, Parameter, Constant}


def test_every_class_of_ops_has_a_row_a_reason_or_no_need() -> None:
    import_module("consilience.distributions.distribution")  # random variables bring their own rows
    open_ones = [
        name
        for name, op in list(Op.classes.items())  # rows are loaded when they are looked up, and may bring further ops
        if op.__module__.startswith("consilience.")
        if not op.__module__.startswith(("consilience.lower.", "consilience.planning."))
        if not name.startswith("_")
        and op not in NO_ROW_NEEDED
        and op.core is None
        and op not in BATCHED
        and op not in NO_BATCHED
    ]
    assert open_ones == []
    assert all(reason for reason in NO_BATCHED.values())
    assert not set(BATCHED) & set(NO_BATCHED)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("axes", list(itertools.product([0, 1, 2, -1, None], [0, -2, None])))
@pytest.mark.parametrize("out", [0, 1, -1])
def test_axes_of_arguments_and_results_stand_anywhere(axes: tuple[Axis, Axis], out: int, symbolic: bool) -> None:
    if axes == (None, None):
        return

    def f(a: Any, b: Any) -> Any:
        return a @ b[:, None] * b[None] + a.sum()

    cores, n = [draw((2, 3)), draw((3,), 1)], 4
    many = [[core * (i + 1) for i in range(n)] for core in cores]
    arrays = [c if ax is None else np.stack(m, ax) for c, m, ax in zip(cores, many, axes, strict=True)]
    nodes = [tensor_input("float64", [None if symbolic else k for k in a.shape]) for a in arrays]
    found = pt.vmap(f, in_axes=axes, out_axes=out)(*nodes)
    wanted = [f(*(c if ax is None else m[i] for c, m, ax in zip(cores, many, axes, strict=True))) for i in range(n)]
    point = dict(zip(nodes, arrays, strict=True))
    np.testing.assert_allclose(evaluate([found], point)[0], np.stack(wanted, out), rtol=1e-13)


def test_maps_within_maps_see_the_tensors_around_them() -> None:
    x, y = draw((3, 2)), draw((4, 2), 1)
    pairs = pt.vmap(lambda a: pt.vmap(lambda b: (a * b).sum() + a[0])(y))(x)
    np.testing.assert_allclose(value(pairs), x @ y.T + x[:, :1], rtol=1e-14)
    three = pt.vmap(pt.vmap(pt.vmap(lambda a, b: a * b, (0, None)), (None, 0)), (1, None))
    z = draw((2, 3), 2)
    np.testing.assert_allclose(value(three(z, y[:, 0])), z.T[:, None, :] * y[None, :, :1], rtol=1e-14)


def test_arguments_and_results_are_tuples_lists_and_dicts() -> None:
    point = {"mu": draw((3, 4)), "scale": [draw((4, 3), 1), draw((), 2)]}
    axes = ({"mu": 0, "scale": [1, None]}, None)

    def f(p: dict[str, Any], extra: tuple[Any, ...]) -> dict[str, Any]:
        first, second = p["scale"]
        return {"sum": p["mu"] + first * second, "rest": (extra[0] * 2.0, [p["mu"].sum()])}

    made = pt.vmap(f, axes, {"sum": 1, "rest": (None, 0)})(point, (1.5,))
    first, second = point["scale"]
    np.testing.assert_allclose(value(made["sum"]), (point["mu"] + first.T * second).T)
    assert value(made["rest"][0]) == 3.0
    np.testing.assert_allclose(value(made["rest"][1][0]), point["mu"].sum(1))
    assert isinstance(made["rest"], tuple)
    assert isinstance(made["rest"][1], list)
    np.testing.assert_allclose(value(pt.vmap(lambda a, *, b: a * b)(np.arange(3.0), b=np.ones(3))), np.arange(3.0))


def test_a_count_serves_where_nothing_is_mapped() -> None:
    twice = pt.vmap(lambda a: a * 2.0, in_axes=None, axis_size=3)(draw((2,)))
    np.testing.assert_allclose(value(twice), np.tile(draw((2,)) * 2.0, (3, 1)))
    with pytest.raises(ShapeError, match="needs an argument that is mapped"):
        pt.vmap(lambda a: a, in_axes=None)(draw((2,)))


def test_both_conventions_of_batch_axes_are_in_one_function() -> None:
    a, b = draw((4, 2, 3)), draw((4, 3), 1)
    wanted = np.einsum("imn,in->im", a, b)
    np.testing.assert_allclose(value(pt.vectorize(pt.dot, "(m,n),(n)->(m)")(a, b)), wanted, rtol=1e-14)
    np.testing.assert_allclose(value(pt.vectorize(pt.dot, in_axes=0)(a, b)), wanted, rtol=1e-14)
    np.testing.assert_allclose(value(pt.vectorize(pt.dot, out_axes=1)(a, b)), wanted.T, rtol=1e-14)
    one = pt.vectorize(pt.dot, in_axes=(None, -1))(a[0], b.T)
    np.testing.assert_allclose(value(one), b @ a[0].T, rtol=1e-14)
    with pytest.raises(TypeError, match="got both"):
        pt.vectorize(pt.dot, "(m,n),(n)->(m)", in_axes=0)


def test_axes_that_do_not_fit_are_refused() -> None:
    x = draw((3, 2))
    with pytest.raises(ShapeError, match="axis 2 of the argument\\[0\\]"):
        pt.vmap(lambda a: a, in_axes=2)(x)
    with pytest.raises(ShapeError, match="axis 2 of the result, "):
        pt.vmap(lambda a: a, out_axes=2)(x)
    with pytest.raises(ShapeError, match=r"argument\[0\]: 3, argument\[1\]: 2"):
        pt.vmap(lambda a, b: a)(x, x.T)
    with pytest.raises(ShapeError, match="`axis_size`: 1"):
        pt.vmap(lambda a: a, axis_size=1)(x)
    with pytest.raises(ShapeError, match="differs from one position"):
        pt.vmap(lambda a: a, out_axes=None)(x)
    with pytest.raises(TypeError, match="the form of what it is for"):
        pt.vmap(lambda a: a, in_axes=(0, 0))(x)
    with pytest.raises(TypeError, match="an integer or None"):
        pt.vmap(lambda a: a, in_axes=0.5)(x)
    rows, others = tensor_input("float64", (None,), "rows"), tensor_input("float64", (None,), "others")
    with pytest.raises(ShapeError, match="rows"):
        pt.vmap(lambda a, b: a + b)(rows, others).eval({rows: np.ones(1), others: np.ones(3)})


@pytest.mark.parametrize("seed", range(60))
def test_random_expressions_batched_twice_equal_loops(seed: int) -> None:
    generator = np.random.default_rng(seed)
    inputs = leaves()
    graph = random_graph(lambda n: int(generator.integers(n)), inputs, 12)
    outputs = [graph, *gradient(graph.sum(), [inputs["v"]])] if seed % 3 == 0 else [graph]
    flags = [[bool(generator.integers(2)) for _ in inputs] for _ in range(2)]
    flags[0][0] = flags[1][-1] = True
    ranks = [node.ndim for node in inputs.values()]
    places = [[int(generator.integers(r + 1)) if f else None for f, r in zip(row, ranks, strict=True)] for row in flags]
    counts, names = (2, 3), list(inputs)

    def f(*given: Node) -> list[Node]:
        return [n for o in outputs for n in [vectorize_graph(o, dict(zip(inputs.values(), given, strict=True)))]]

    arrays = []
    for name, inner, outer in zip(names, *places, strict=True):
        shape = [int(n) for n in inputs[name].static_shape]  # type: ignore[arg-type]  # static here
        if inner is not None:
            shape.insert(inner, counts[0])
        if outer is not None:
            shape.insert(outer, counts[1])
        arrays.append(generator.integers(-2, 3, shape) + 0.5)
    wide = [tensor_input("float64", a.shape) for a in arrays]
    results = pt.vmap(pt.vmap(f, tuple(places[0])), tuple(places[1]))(*wide)
    assert [r.static_shape[:2] for r in results] == [counts[::-1]] * len(outputs)
    with np.errstate(all="ignore"):
        runs = [evaluate(results, dict(zip(wide, arrays, strict=True)))]
        runs += [run_llvm(wide, results, arrays)] if seed % 10 == 0 else []
        for j, i in np.ndindex(counts[::-1]):
            outer_part = [a if p is None else np.take(a, j, p) for a, p in zip(arrays, places[1], strict=True)]
            part = [a if p is None else np.take(a, i, p) for a, p in zip(outer_part, places[0], strict=True)]
            wanted = evaluate(outputs, dict(zip(inputs.values(), part, strict=True)))
            for values in runs:
                for found, expected in zip(values, wanted, strict=True):
                    np.testing.assert_allclose(found[j, i], expected, rtol=1e-9, atol=1e-9)


def test_outputs_take_the_batch_axes_of_what_they_depend_on() -> None:
    x, y = tensor_input("float64", (3,)), tensor_input("float64", ())
    xs, ys = tensor_input("float64", (2, 3)), tensor_input("float64", (5, 2))
    first, second, both, none = vectorize_graph([x.sum(), y * 2.0, x * y, pt.zeros(4)], {x: xs, y: ys})
    assert [n.static_shape for n in (first, second, both, none)] == [(2,), (5, 2), (5, 2, 3), (4,)]
    assert vectorize_graph(x.sum(), {x: xs}) is first
    inner = x * 2.0
    assert vectorize_graph(inner.sum(), {inner: xs, x: ys}).static_shape == (2,)


def stretched(x: Node, y: Node) -> Node:
    """Both axes of x may be one long."""
    return pt.broadcast_dynamic(x, {0: y.shape[0], -1: y.shape[1]}) * y


@pytest.mark.parametrize("shape", [(4, 3), (1, 3), (4, 1), (1, 1)])
def test_axes_that_turn_out_one_long_are_broadcast(shape: tuple[int, int]) -> None:
    a, b = draw(shape), draw((4, 3), 1)
    x, y = tensor_input("float64", (None, None)), tensor_input("float64", (None, None))
    slopes = pt.grad(stretched(x, y).sum(), [x, y])
    summed = tuple(i for i, n in enumerate(shape) if n == 1)
    outputs = [stretched(x, y), *slopes]
    for product, to_x, to_y in (evaluate(outputs, {x: a, y: b}), run_llvm([x, y], outputs, [a, b])):
        np.testing.assert_allclose(product, a * b, rtol=1e-15)
        np.testing.assert_allclose(to_x, b.sum(summed, keepdims=True) if summed else b, rtol=1e-14)
        np.testing.assert_allclose(to_y, np.broadcast_to(a, b.shape), rtol=1e-15)
    check_derivatives(stretched, [a, b], symbolic=True)
    xs = np.stack([a, 2.0 * a])
    batched = pt.vmap(stretched, (0, None))(tensor := pt.tensor3(), y)
    np.testing.assert_allclose(evaluate([batched], {tensor: xs, y: b})[0], xs * b, rtol=1e-15)


@pytest.mark.parametrize(("own", "length"), [(0, 0), (1, 0), (1, 1)])
def test_dynamic_broadcasting_to_few_elements(own: int, length: int) -> None:
    x, n = tensor_input("float64", (None,)), pt.iscalar()
    made = pt.broadcast_dynamic(x, {0: n})
    assert evaluate([made], {x: np.ones(own), n: np.int32(length)})[0].shape == (length,)


def test_dynamic_broadcasting_refuses_other_lengths() -> None:
    x, y = tensor_input("float64", (None, None), "x"), tensor_input("float64", (None, None), "y")
    for shape in [(2, 3), (4, 2), (0, 3)]:
        with pytest.raises(ShapeError, match=r"must have length 1 or y\.shape"):
            stretched(x, y).eval({x: np.ones(shape), y: np.ones((4, 3))})
    with pytest.raises(ShapeError):
        pt.broadcast_dynamic(np.ones(2), {0: 3})
    assert pt.broadcast_dynamic(np.ones((1, 2)), {0: 3}).static_shape == (3, 2)


def test_named_axes_are_reduced_over_inside_the_function() -> None:
    v = draw((4, 3))
    n = np.arange(4)[:, None]

    def f(x: Node) -> tuple[Node, ...]:
        at = pt.axis_index("i")
        return x / pt.psum(x, "i"), pt.pmean(x, "i"), x - pt.pmax(x * at, "i"), pt.pmin(x, "i"), pt.psum(1, "i")

    share, mean, gap, least, count = pt.vmap(f, 0, (0, None, 0, None, None), axis_name="i")(v)
    np.testing.assert_allclose(value(share), v / v.sum(0), rtol=1e-14)
    np.testing.assert_allclose(value(mean), v.mean(0), rtol=1e-14)
    np.testing.assert_allclose(value(gap), v - (v * n).max(0), rtol=1e-14)
    np.testing.assert_allclose(value(least), v.min(0))
    assert value(count) == 4


def test_names_of_outer_axes_reach_through_maps_signatures_and_branches() -> None:
    v = draw((4, 3))

    def f(x: Node) -> list[Node]:
        within = pt.vmap(lambda y: y / pt.psum(y, "i") + pt.psum(y, ("i", "j")), axis_name="j")(x)
        signed = pt.vectorize(lambda y: y - pt.pmean(y, "i"))(x)
        chosen = pt.cond(x.sum() > 3.0, pt.psum(x, "i"), x)
        last, _ = pt.scan(lambda s: s + pt.psum(x * s, "i"), outputs_info=[x], n_steps=2)
        return [within, signed, chosen, last[-1]]

    found = pt.vmap(f, axis_name="i")(v)
    np.testing.assert_allclose(value(found[0]), v / v.sum(0) + v.sum(), rtol=1e-14)
    np.testing.assert_allclose(value(found[1]), v - v.mean(0), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(value(found[2]), np.where(v.sum(1, keepdims=True) > 3.0, v.sum(0), v), rtol=1e-14)
    one = v + (v * v).sum(0)
    np.testing.assert_allclose(value(found[3]), one + (v * one).sum(0), rtol=1e-13)


def test_derivatives_pass_reductions_over_named_axes() -> None:
    v = draw((4,))
    x = tensor_input("float64", (4,))
    inside = pt.vmap(lambda a: pt.grad(pt.psum(a**2, "i"), a), axis_name="i")(v)
    np.testing.assert_allclose(value(inside), 4 * 2.0 * v, rtol=1e-14)
    highest = pt.vmap(lambda a: pt.grad(pt.pmax(a, "i"), a), axis_name="i")(v)
    np.testing.assert_allclose(value(highest), 4.0 * (v == v.max()))
    shares = pt.vmap(lambda a: pt.exp(a) / pt.psum(pt.exp(a), "i") * pt.pmax(a, "i"), axis_name="i")(x)
    check_derivatives(lambda y: vectorize_graph(shares, {x: y}), [v])
    rows = pt.vmap(lambda a: pt.jacobian(a * pt.psum(a, "i"), a), axis_name="i")(np.stack([v, v]))
    np.testing.assert_allclose(value(rows)[0], np.diag(2.0 * v + 2.0 * v), rtol=1e-14)


def test_a_name_that_no_axis_has_is_refused() -> None:
    with pytest.raises(GraphError, match="no axis is called 'i' here"):
        pt.psum(1.0, "i")
    with pytest.raises(GraphError, match="there are: 'j'"):
        pt.vmap(lambda a: pt.axis_index("i"), axis_name="j")(np.ones(2))


def test_a_batch_of_another_dtype_makes_what_follows_of_that_dtype():
    """Floats in place of whole numbers: values and slopes are those of the formula written for floats."""
    i, x, values = pt.iscalar("i"), pt.dvector("x"), np.array([0.5, 1.7, 3.2])
    written = (i + 1.5 < 3) * 1.0 + i * 2 + i // 2 + pt.exp(i) + pt.switch(i > 1, i, 0)
    batched = vectorize_graph(written, {i: x})
    expected = (values + 1.5 < 3) + values * 2 + values // 2 + np.exp(values) + np.where(values > 1, values, 0)
    np.testing.assert_allclose(batched.eval({x: values}), expected)
    np.testing.assert_allclose(pm.grad(batched.sum(), x).eval({x: values}), 2 + np.exp(values) + (values > 1))


def test_whole_numbers_that_others_need_are_not_cut_off():
    """A cast that promotion made is none of what the user wrote: floats are refused there."""
    i, x = pt.iscalar("i"), pt.dvector("x")
    with pytest.raises(DtypeError, match=r"the batched form of `i`.*must be int32, got float64"):
        vectorize_graph(i + pt.lscalar("j"), {i: x})
