"""Pullbacks of reductions, shapes, indices and branches equal differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.backends.reference import evaluate
from consilience.ir import Node, constant, tensor_input
from consilience.ops import Squeeze, apply, cond, reduce
from consilience.ops.reduce import cumulative
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, length_of, reshape, stack, transpose
from consilience.transforms.gradient import gradient, hessian, jacobian
from tests.transforms.laws import Array, check_derivatives, check_each_entry

KINDS = ("sum", "prod", "max", "min", "logsumexp")


def values(*shape: int, seed: int = 3) -> Array:
    """Values in (-2, 2), no two closer than the step of a difference."""
    size = int(np.prod(shape))
    spread = np.linspace(-1.9, 2.0, max(size, 1))[:size]
    return np.random.default_rng(seed).permutation(spread).reshape(shape)


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((4,), None),
        ((2, 3), 0),
        ((2, 3), 1),
        ((2, 3, 2), (0, 2)),
        ((2, 3, 2), (1,)),
        ((2, 1, 3), (1,)),
        ((1, 1), None),
        ((), None),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_reductions(kind: str, shape: tuple[int, ...], axes: object, symbolic: bool) -> None:
    check_derivatives(lambda x: reduce(kind, x, axes), [values(*shape)], symbolic=symbolic)
    check_derivatives(lambda x: reduce(kind, x, axes, True) * x, [values(*shape)])


@pytest.mark.parametrize("kind", ["sum", "prod"])
@pytest.mark.parametrize(("shape", "axis"), [((0,), 0), ((2, 0), 1), ((0, 2), 1), ((2, 0, 3), (0, 1))])
def test_empty_reductions_have_empty_derivatives(kind: str, shape: tuple[int, ...], axis: object) -> None:
    for symbolic in (False, True):
        check_derivatives(lambda x: reduce(kind, x, axis), [np.zeros(shape)], symbolic=symbolic)


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_products_with_zeros(zeros: int) -> None:
    point = np.array([1.5, -2.0, 0.7, 3.0])
    point[:zeros] = 0.0
    for symbolic in (False, True):
        check_derivatives(lambda x: x.prod(), [point], symbolic=symbolic)
        check_derivatives(lambda x: cumulative("prod", x), [point], symbolic=symbolic)
    check_derivatives(lambda x: gradient(x.prod(), [x]), [point])
    check_derivatives(lambda x: gradient((cumulative("prod", x) * [1.0, 2.0, 3.0, 4.0]).sum(), [x]), [point])
    check_derivatives(lambda x: x.prod((0, 1)), [np.stack([point, point[::-1]])])


@pytest.mark.parametrize("kind", ["max", "min"])
def test_ties_share_evenly(kind: str) -> None:
    x = tensor_input("float64", (2, 3))
    (g,) = gradient(reduce(kind, x, 1).sum(), [x])
    point = {"max": [[1.0, 1.0, 0.0], [5.0, 5.0, 5.0]], "min": [[0.0, 0.0, 1.0], [5.0, 5.0, 5.0]]}[kind]
    np.testing.assert_allclose(evaluate([g], {x: point})[0], [[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]])


def test_logsumexp_is_safe_where_terms_vanish() -> None:
    x = tensor_input("float64", (2,))
    (g,) = gradient(reduce("logsumexp", x), [x])
    assert evaluate([g], {x: [-np.inf, 0.0]})[0].tolist() == [0.0, 1.0]
    assert evaluate([g], {x: [-np.inf, -np.inf]})[0].tolist() == [0.0, 0.0]
    nothing = tensor_input("float64", (0, 2))
    empty = gradient(reduce("logsumexp", nothing, 0).sum(), [nothing])
    assert evaluate(empty, {nothing: np.zeros((0, 2))})[0].shape == (0, 2)
    np.testing.assert_allclose(evaluate([g], {x: [1000.0, 1000.0]})[0], [0.5, 0.5])


@pytest.mark.parametrize("shape", [(4,), (2, 3), (3, 1), (0,), (2, 0)])
@pytest.mark.parametrize("kind", ["sum", "prod"])
def test_running_reductions(kind: str, shape: tuple[int, ...]) -> None:
    for axis in (*range(len(shape)), None):
        for symbolic in (False, True):
            check_derivatives(lambda x, a=axis: cumulative(kind, x, a), [values(*shape)], symbolic=symbolic)
    reverse = cumulative(kind, tensor_input("float64", shape), 0).op.__class__(kind, 0, True)
    check_derivatives(lambda x: Node(reverse, x), [values(*shape)])


def test_means_and_variances() -> None:
    for symbolic in (False, True):
        check_derivatives(lambda x: x.mean(0), [values(3, 2)], symbolic=symbolic)
        check_derivatives(lambda x: x.var(1, ddof=1), [values(2, 4)], symbolic=symbolic)
        check_derivatives(lambda x: x.std(), [values(4)], symbolic=symbolic)


SHAPES: dict[str, tuple[Callable[..., Node], list[tuple[int, ...]]]] = {
    "reshape": (lambda x: reshape(x, (-1, 2)), [(2, 4)]),
    "ravel": (lambda x: x.ravel(), [(2, 3)]),
    "ravel of nothing": (lambda x: x.ravel(), [(0, 3)]),
    "transpose": (lambda x: transpose(x, (2, 0, 1)), [(2, 3, 4)]),
    "expand": (lambda x: expand_dims(x, (0, 2)), [(2, 3)]),
    "squeeze": (lambda x: x.squeeze(1), [(2, 1, 3)]),
    "broadcast": (lambda x: broadcast_to(x, (2, 4, 3)), [(4, 1)]),
    "broadcast a number": (lambda x: broadcast_to(x, (2, 3)), [()]),
    "broadcast to nothing": (lambda x: broadcast_to(x, (0, 3)), [(3,)]),
    "join": (lambda x, y, z: concatenate([x, y, z], 1), [(2, 1), (2, 3), (2, 2)]),
    "join with nothing": (lambda x, y: concatenate([x, y, x], 0), [(2,), (0,)]),
    "stack": (lambda x, y: stack([x, y, x], 1), [(3,), (3,)]),
    "swap": (lambda x: x.swapaxes(0, 1) * 2.0, [(2, 3)]),
}


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str, symbolic: bool) -> None:
    function, shapes = SHAPES[name]
    if name == "broadcast" and symbolic:
        function = lambda x: broadcast_to(x, (2, x.static_shape[0], 3))  # noqa: E731  # the same with a symbol
    check_derivatives(function, [values(*shape, seed=i) for i, shape in enumerate(shapes)], symbolic=symbolic)


@pytest.mark.parametrize("place", range(4))
def test_joins_of_symbolic_and_static_lengths(place: int) -> None:
    arrays = [values(n, 2, seed=n) for n in (3, 1, 2, 4)]

    def function(*nodes: Node) -> Node:
        return concatenate(nodes, 0) * concatenate(nodes[::-1], 0)

    nodes = [tensor_input("float64", (None if i == place else n, 2)) for i, n in enumerate((3, 1, 2, 4))]
    cost = apply("exp", function(*nodes)).sum()
    result = evaluate(gradient(cost, nodes), dict(zip(nodes, arrays, strict=True)))
    fixed = [tensor_input("float64", a.shape) for a in arrays]
    wanted = evaluate(gradient(apply("exp", function(*fixed)).sum(), fixed), dict(zip(fixed, arrays, strict=True)))
    for a, b in zip(result, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    check_derivatives(lambda *xs: apply("exp", function(*xs)), arrays)


def test_a_squeezed_symbolic_axis_keeps_its_type() -> None:
    x = tensor_input("float64", (None, 3))
    (g,) = gradient(Node(Squeeze((0,)), x).sum(), [x])
    assert g.type == x.type
    assert evaluate([g], {x: np.ones((1, 3))})[0].tolist() == [[1.0, 1.0, 1.0]]


def test_lengths_found_equal_at_entry_keep_each_input_its_type() -> None:
    x, y = tensor_input("float64", (None,), "x"), tensor_input("float64", (4,), "y")
    gs = gradient((x * y).sum(), [x, y])
    assert [g.type for g in gs] == [x.type, y.type]
    point = {x: values(4), y: values(4, seed=9)}
    for g, other in zip(evaluate(gs, point), (y, x), strict=True):
        np.testing.assert_array_equal(g, point[other])


INDEX: dict[str, Callable[[Node], Node]] = {
    "position": lambda x: x[1],
    "last": lambda x: x[-1],
    "slice": lambda x: x[1:3],
    "step": lambda x: x[::2, ::-1],
    "new axis": lambda x: x[:, None, 1:],
    "ellipsis": lambda x: x[..., 0],
    "array": lambda x: x[[2, 0, 2]],
    "negative array": lambda x: x[[-1, 0, -1]],
    "two arrays": lambda x: x[[0, 1, 0], [2, 2, 2]],
    "grid": lambda x: x[np.array([[0], [1]]), np.array([1, 1])],
    "mixed": lambda x: x[1:, [0, 0, 2]],
    "mask": lambda x: x[np.array([True, False, True, True])],
    "matrix mask": lambda x: x[np.arange(12).reshape(4, 3) % 2 == 0],
    "value mask": lambda x: x[constant(np.arange(12).reshape(4, 3)) + 0 > 5],
    "nothing": lambda x: x[np.zeros(0, dtype="int64")],
}


@pytest.mark.parametrize("name", INDEX)
def test_reading_by_index(name: str) -> None:
    check_derivatives(INDEX[name], [values(4, 3)])
    check_derivatives(lambda x: apply("exp", INDEX[name](x * 2.0)), [values(4, 3)])
    if "mask" not in name and name != "last":
        check_derivatives(INDEX[name], [values(4, 3)], symbolic=True)


@pytest.mark.parametrize("mode", ["set", "inc"])
@pytest.mark.parametrize("name", INDEX)
def test_writing_by_index(name: str, mode: str) -> None:
    x = tensor_input("float64", (4, 3))
    shape = evaluate([INDEX[name](x)], {x: values(4, 3)})[0].shape

    def write(x: Node, v: Node) -> Node:
        part = INDEX[name](x)
        return part.set(v) if mode == "set" else part.inc(v)

    if name == "matrix mask" or "value" in name:
        return  # a flattened mask indexes a reshaped tensor; writing through it is tested as "mask"
    check_derivatives(write, [values(4, 3), values(*shape, seed=8)])


def test_repeated_positions_give_the_slope_to_the_last_write() -> None:
    x, v = tensor_input("float64", (3,)), tensor_input("float64", (4,))
    where = tensor_input("int64", (4,))
    cost = (x[where].set(v) * [1.0, 10.0, 100.0]).sum()
    gx, gv = evaluate(gradient(cost, [x, v]), {x: np.ones(3), v: np.ones(4), where: [2, 0, -1, 2]})
    assert gx.tolist() == [0.0, 10.0, 0.0]
    assert gv.tolist() == [0.0, 1.0, 0.0, 100.0]
    # The same from constants that count from the end of an axis of unknown length.
    z = tensor_input("float64", (None,))
    (g,) = gradient((z[[2, 0, -1, 2]].set(v) * [1.0, 10.0, 100.0]).sum(), [v])
    assert evaluate([g], {z: np.ones(3), v: np.ones(4)})[0].tolist() == [0.0, 1.0, 0.0, 100.0]
    rows = tensor_input("float64", (4, 2))
    y = tensor_input("float64", (3, 2))
    (g,) = gradient(y[where].set(rows).sum(), [rows])
    point = {rows: np.ones((4, 2)), y: np.ones((3, 2)), where: [0, 0, 1, 1]}
    assert evaluate([g], point)[0].tolist() == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]


@settings(max_examples=30, derandomize=True, deadline=None)
@given(positions=st.lists(st.integers(-4, 3), max_size=6), seed=st.integers(0, 1000))
def test_any_positions_add_up(positions: list[int], seed: int) -> None:
    index = np.array(positions, dtype="int64")
    check_derivatives(lambda x: x[constant(index)] * x[constant(index[::-1].copy())], [values(4, 2, seed=seed)])
    check_derivatives(
        lambda x, v: x[constant(index)].set(v),
        [values(4, 2, seed=seed), values(len(index), 2, seed=seed + 1)],
    )


def both_sides(sign: float) -> list[Array]:
    return [np.array(sign), values(3), values(3, seed=5)]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_branches(sign: float) -> None:
    def single(s: Node, x: Node, y: Node) -> Node:
        return cond(s > 0.0, apply("exp", x) * y, apply("sin", x) + x.sum())

    def several(s: Node, x: Node, y: Node) -> list[Node]:
        a, b, c = cond(s > 0.0, [x * y, x.sum(), s * 2.0], [x + y, y.prod() * s, x[0]])
        return [a * b, c + b, a]

    def nested(s: Node, x: Node, y: Node) -> Node:
        inner = cond(s > 5.0, x * s, cond(x[0] > 0.0, x * y, x / (3.0 + y)))
        return cond(s > 0.0, inner, inner * x) * y

    for function in (single, several, nested):
        for symbolic in (False, True):
            check_derivatives(function, both_sides(sign), symbolic=symbolic)
    check_derivatives(lambda *p: gradient(nested(*p).sum(), p), both_sides(sign))


def test_the_derivative_of_a_branch_computes_only_the_chosen_one() -> None:
    x = tensor_input("float64", (2, 2))
    chosen = tensor_input("bool", ())
    cost = cond(chosen, (x * 2.0).sum(), reduce("sum", apply("log", x[[7 - 7]]) @ x))
    (g,) = gradient(cost, [x])
    assert evaluate([g], {x: np.zeros((2, 2)), chosen: True})[0].tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_branches_that_do_not_read_an_operand_give_zeros() -> None:
    s, x, y = (tensor_input("float64", ()) for _ in range(3))
    gs = gradient(cond(s > 0.0, x * x, y), [s, x, y])
    assert [float(v) for v in evaluate(gs, {s: 1.0, x: 3.0, y: 5.0})] == [0.0, 6.0, 0.0]
    assert [float(v) for v in evaluate(gs, {s: -1.0, x: 3.0, y: 5.0})] == [0.0, 0.0, 1.0]


def test_jacobians_and_hessians_equal_differences_entry_by_entry() -> None:
    x, y = tensor_input("float64", (None,)), tensor_input("float64", (2, None))
    point = {x: values(3), y: values(2, 3, seed=4)}
    output = apply("sin", y) * x + apply("exp", x)
    jx, jy = jacobian(output, [x, y])
    assert jx.static_shape == (*output.static_shape, *x.static_shape)
    a, b = evaluate([jx, jy], point)
    eye = np.eye(3)
    np.testing.assert_allclose(a, eye * (np.sin(point[y])[:, :, None] + np.exp(point[x])[:, None]), rtol=1e-13)
    wanted = np.cos(point[y]) * point[x]
    np.testing.assert_allclose(b, np.einsum("ij,ik,jl->ijkl", wanted, np.eye(2), eye), rtol=1e-13)
    # f = sum of x[i]^2 x[j]: the Hessian is 2 (sum x) I + 2 x 1' + 2 1 x'.
    (h,) = hessian((x * x).sum() * x.sum(), [x])
    v = point[x]
    np.testing.assert_allclose(evaluate([h], point)[0], 2 * v.sum() * eye + 2 * v[:, None] + 2 * v[None, :], rtol=1e-13)
    assert hessian((x * 2.0).sum(), x).static_shape == x.static_shape * 2


def test_length_of_an_axis_is_no_variable() -> None:
    x = tensor_input("float64", (None,))
    (g,) = gradient((x * length_of(x.static_shape[0])).sum(), [x])
    assert evaluate([g], {x: np.ones(3)})[0].tolist() == [3.0, 3.0, 3.0]


def test_every_entry_of_a_mixed_expression() -> None:
    def function(x: Node, y: Node) -> Node:
        centred = x - x.mean(0)
        return apply("exp", centred @ y).max(0) + reduce("logsumexp", x[[0, 2]], 1).sum()

    check_each_entry(function, [values(4, 3), values(3, 2, seed=6)])


@pytest.mark.parametrize("kind", KINDS)
def test_reductions_keep_float32(kind: str) -> None:
    x = tensor_input("float32", (2, 3))
    assert gradient(reduce(kind, x, 1).sum(), x).type == x.type
    if kind in ("sum", "prod"):
        assert gradient(cumulative(kind, x, 1).sum(), x).type == x.type


@pytest.mark.parametrize("name", [n for n in INDEX if "mask" not in n])
def test_reading_and_writing_keep_float32(name: str) -> None:
    x = tensor_input("float32", (4, 3))
    part = INDEX[name](x)
    v = tensor_input("float32", part.static_shape)
    assert gradient(part.sum(), x).type == x.type
    assert [g.type for g in gradient(part.set(v).sum(), [x, v])] == [x.type, v.type]
