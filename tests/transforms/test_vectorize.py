"""Every op applied to a batch equals a loop over the batch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.reference import evaluate
from consilience.errors import DtypeError, MissingRuleError, ShapeError
from consilience.ir import Node, constant, shared_slot, tensor_input, topological
from consilience.ir.shape_constraints import collect
from consilience.ir.types import dtype_of
from consilience.ops import (
    TABLE,
    AlteredGradient,
    BroadcastTo,
    Cholesky,
    Cond,
    Inverse,
    LogAbsDet,
    MatMul,
    Solve,
    SolveTriangular,
    StopGradient,
    apply,
    cast,
    cond,
    linalg,
    reduce,
)
from consilience.ops.matrix_equations import SolveBanded, SolveSylvester
from consilience.ops.matrix_functions import MatrixFunction, MatrixFunctionDerivative
from consilience.ops.random import draw as random_draw
from consilience.ops.random import fold_in
from consilience.ops.reduce import arg_reduce, cumulative
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, length_of, reshape, stack, transpose
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker
from consilience.transforms.gradient import gradient, pullback
from consilience.transforms.vectorize import missing, vectorize, vectorize_function
from tests.transforms.laws import Array, listed

Function = Callable[..., Node | Sequence[Node]]
BATCHES = [(2,), (2, 3), (1,), (0,)]


def draw(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(0.2, 2.0, shape)


def check(
    function: Function, cores: Sequence[Array], batch: tuple[int, ...], flags: Sequence[bool], symbolic: bool
) -> None:
    """vectorize(function) on a batch of some arguments against the function at each batch position."""
    generator = np.random.default_rng(11)

    def node(shape: tuple[int, ...], dtype: str) -> Node:
        return tensor_input(dtype, [None if symbolic and n != 1 else n for n in shape])

    arrays, nodes, wide = [], [], []
    for core, flag in zip(cores, flags, strict=True):
        if flag:
            size = int(np.prod(batch))
            if core.dtype.kind == "f" and core.ndim >= 2 and core.shape[-1] == core.shape[-2]:
                factors = generator.uniform(0.5, 2.0, (size,) + (1,) * core.ndim)
                many = core * factors
            else:
                many = np.stack(
                    [generator.permutation(core.reshape(-1)).reshape(core.shape) for _ in range(size)] or [core]
                )
                many = many[:size]
            arrays.append(many.reshape((*batch, *core.shape)))
        else:
            arrays.append(core)
        dtype = dtype_of(core)
        small = node(core.shape, dtype)
        nodes.append(small)
        if not flag:
            wide.append(small)
        elif symbolic:
            wide.append(node(arrays[-1].shape, dtype))
        else:
            wide.append(tensor_input(dtype, arrays[-1].shape))
    outputs = listed(function(*nodes))
    replacements = {s: w for s, w, flag in zip(nodes, wide, flags, strict=True) if flag}
    results = vectorize(outputs, replacements)
    values = evaluate(results, dict(zip(wide, arrays, strict=True)))
    for place, (output, value) in enumerate(zip(outputs, values, strict=True)):
        assert results[place].dtype == output.dtype
        assert results[place].ndim == len(batch) + output.ndim
        assert value.shape[: len(batch)] == batch
    for position in np.ndindex(*batch):
        point = [a[position] if flag else a for a, flag in zip(arrays, flags, strict=True)]
        wanted = evaluate(outputs, dict(zip(nodes, point, strict=True)))
        for value, expected in zip(values, wanted, strict=True):
            assert value[position].shape == expected.shape
            np.testing.assert_allclose(value[position], expected, rtol=1e-12, atol=1e-12)


def check_all(function: Function, cores: Sequence[Array]) -> None:
    for flags in itertools.product([True, False], repeat=len(cores)):
        if any(flags):
            for batch, symbolic in [*((b, False) for b in BATCHES), ((2, 3), True)]:
                check(function, cores, batch, flags, symbolic)


def test_every_op_has_a_batched_form_or_a_reason() -> None:
    assert missing() == []


@pytest.mark.parametrize("name", sorted(n for n in TABLE if "float" in TABLE[n].accepts))
def test_scalar_functions(name: str) -> None:
    entry = TABLE[name]
    arity = entry.arity or 3
    shapes: list[tuple[int, ...]] = [(2, 1), (3,), (), ()]
    cores = [draw(shapes[i], i) * 0.4 for i in range(arity)]
    if entry.domain[0][0] >= 1.0:
        cores[0] = cores[0] + 1.0
    if name == "log1mexp":
        cores[0] = -cores[0]
    if name == "where":
        cores[0] = np.array([[True], [False]])
    check_all(lambda *xs: apply(name, *xs), cores)


def test_integer_functions_casts_and_stops() -> None:
    whole = np.arange(6, dtype="int64").reshape(2, 3)
    check_all(lambda a, b: apply("bitwise_and", a, b), [whole, np.array(3, dtype="int64")])
    check_all(lambda a: cast(a, "float32"), [whole])
    check_all(lambda a: Node(StopGradient(), a) * 2.0, [draw((2,))])
    check_all(lambda a: Node(AlteredGradient("scale", (3.0,)), a) * 2.0, [draw((2,))])


@pytest.mark.parametrize("name", ["random_uniform", "random_normal"])
def test_draws_take_batches_of_counters(name: str) -> None:
    key = tensor_input("key", ())
    counter = tensor_input("int64", (3,))
    counters = tensor_input("int64", (2, 3))
    keys = tensor_input("key", (2,))
    drawn = apply(name, key, counter)
    assert vectorize([drawn], {counter: counters})[0] is apply(name, key, counters)
    assert vectorize([drawn], {key: keys})[0] is apply(name, expand_dims(keys, 1), counter)
    folded = apply("fold_in", key, counter)
    assert vectorize([folded], {key: keys, counter: counters})[0].static_shape == (2, 3)


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "logsumexp"])
def test_reductions(kind: str) -> None:
    check_all(lambda x: reduce(kind, x), [draw((4,))])
    check_all(lambda x: reduce(kind, x, (0, 2)), [draw((2, 3, 2))])
    check_all(lambda x: reduce(kind, x, 1, keepdims=True) * x, [draw((2, 3))])


def test_logical_reductions_positions_and_running_sums() -> None:
    check_all(lambda x: reduce("any", x > 1.0, 0), [draw((3, 2))])
    check_all(lambda x: reduce("all", x > 0.5, 1), [draw((3, 2))])
    for kind in ("max", "min"):
        check_all(lambda x, k=kind: arg_reduce(k, x, 1), [draw((3, 2))])
        check_all(lambda x, k=kind: arg_reduce(k, x), [draw((3, 2))])
    for kind in ("sum", "prod"):
        check_all(lambda x, k=kind: cumulative(k, x, 0), [draw((3, 2))])
        check_all(lambda x, k=kind: cumulative(k, x), [draw((3, 2))])


def test_shapes() -> None:
    check_all(lambda x: reshape(x, (-1, 2)), [draw((2, 4))])
    check_all(lambda x: transpose(x, (1, 2, 0)), [draw((2, 3, 4))])
    check_all(lambda x: expand_dims(x, (0, 2)), [draw((2, 3))])
    check_all(lambda x: x.squeeze(1), [draw((2, 1, 3))])
    check_all(lambda x: broadcast_to(x, (2, 4, 3)), [draw((4, 1))])
    check_all(lambda x: broadcast_to(x, (2, 4, 3)), [draw(())])
    check_all(lambda x, y: concatenate([x, y, x], 1), [draw((2, 1)), draw((2, 3))])
    check_all(lambda x, y: stack([x, y], 1), [draw((3,)), draw((3,), 1)])
    check_all(lambda x: x * length_of(x.static_shape[0]), [draw((3,))])


READ: dict[str, Callable[[Node], Node]] = {
    "position": lambda x: x[1],
    "slice": lambda x: x[1:3, ::-1],
    "new axis": lambda x: x[:, None, 1:],
    "array": lambda x: x[[2, 0, 2]],
    "two arrays": lambda x: x[[0, 1, 0], [2, 2, 2]],
    "mixed": lambda x: x[1:, [0, 0, 2]],
    "apart": lambda x: x[[0, 1], None, [1, 2]],
}


@pytest.mark.parametrize("name", READ)
def test_reading_and_writing_at_fixed_places(name: str) -> None:
    x = draw((4, 3))
    check_all(READ[name], [x])
    shape = evaluate([READ[name](constant(x) + 0.0)], {})[0].shape
    for mode in ("set", "inc"):

        def write(x: Node, v: Node, mode: str = mode) -> Node:
            part = READ[name](x)
            return part.set(v) if mode == "set" else part.inc(v)

        check_all(write, [x, draw(shape, 5)])


def integers(*values: object) -> Array:
    return np.array(values, dtype="int64")


DYNAMIC: dict[str, tuple[Callable[..., Node], list[Array]]] = {
    "one": (lambda x, i: x[i], [integers(2, 0, 2)]),
    "a number": (lambda x, i: x[i], [np.array(1, dtype="int64")]),
    "negative": (lambda x, i: x[:, i], [integers(-1, 0)]),
    "matrix": (lambda x, i: x[:, i, 1:], [integers([0, 1], [1, 2])]),
    "two": (lambda x, i, j: x[i, j], [integers(0, 3, 1), integers(1, 1, 2)]),
    "behind a slice": (lambda x, i, j: x[1:, i, j], [integers([0], [1]), integers(0, 1)]),
    "broadcast": (lambda x, i, j: x[i, j], [integers([0], [2]), integers(1, 2)]),
    "number and array": (lambda x, i, j: x[i, :, j], [np.array(2, dtype="int64"), integers(0, 1)]),
    "apart": (lambda x, i, j: x[i, :, j], [integers(0, 3), integers(1, 0)]),
    "apart by a new axis": (lambda x, i, j: x[i, None, j], [integers(0, 3), integers(1, 0)]),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_reading_and_writing_at_given_places(name: str) -> None:
    function, places = DYNAMIC[name]
    x = draw((4, 3, 2))
    check_all(function, [x, *places])
    shape = evaluate([function(*map(constant, [x, *places]))], {})[0].shape
    for mode in ("set", "inc"):

        def write(x: Node, v: Node, *at: Node, mode: str = mode) -> Node:
            part = function(x, *at)
            return part.set(v) if mode == "set" else part.inc(v)

        check_all(write, [x, draw(shape, 5), *places])


def test_what_a_mask_selects_has_a_batched_form_where_it_is_reduced() -> None:
    x, xs = tensor_input("float64", (4,)), tensor_input("float64", (2, 4))
    with pytest.raises(MissingRuleError, match="differs from one batch position"):
        vectorize([x[x > 0.0]], {x: xs})
    own = draw((2, 4))
    (total,) = evaluate(vectorize([x[x > 0.0].sum()], {x: xs}), {xs: own})
    np.testing.assert_allclose(total, np.where(own > 0, own, 0).sum(1))
    y, ys = tensor_input("float64", (4, 3)), tensor_input("float64", (2, 4, 3))
    mask = tensor_input("bool", (4,))
    (result,) = vectorize([y[mask]], {y: ys})
    point = {ys: draw((2, 4, 3)), mask: [True, False, True, True]}
    np.testing.assert_array_equal(evaluate([result], point)[0], point[ys][:, [0, 2, 3]])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((6, 1, 2, 3), (5, 3, 4)),
    ],
)
def test_products(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check_all(lambda a, b: a @ b, [draw(left), draw(right, 1)])


def test_a_matrix_times_a_batch_of_vectors_is_one_product() -> None:
    a, x, xs = tensor_input("float64", (4, 3)), tensor_input("float64", (3,)), tensor_input("float64", (7, 3))
    (result,) = vectorize([a @ x], {x: xs})
    assert result is Node(MatMul(), xs, a.mT)


def test_matrices() -> None:
    regular = draw((3, 3)) + 2.0 * np.eye(3)
    definite = regular @ regular.T
    check_all(lambda a: Node(Cholesky(), a), [definite])
    check_all(lambda a: Node(LogAbsDet("positive definite"), a), [definite])
    check_all(lambda a: Node(Inverse(), a), [regular])
    check_all(lambda a: [*linalg.slogdet(a), linalg.det(a)], [regular])
    check_all(linalg.solve, [regular, draw((3, 2), 1)])
    check_all(linalg.solve, [regular, draw((3,), 1)])
    check_all(lambda a, b: Node(Solve("positive definite"), a, b), [definite, draw((3, 2), 1)])
    check_all(lambda a, b: Node(SolveTriangular(False, True), a, b), [regular, draw((3, 2), 1)])
    batch = np.stack([regular, regular * 2.0])
    check_all(linalg.solve, [batch, draw((2, 3, 2), 1)])
    check_all(linalg.diagonal, [regular])


def test_equations_and_functions_of_matrices() -> None:
    regular = draw((3, 3)) + 4.0 * np.eye(3)
    for kind in ("expm", "logm", "sqrtm"):
        check_all(lambda a, kind=kind: Node(MatrixFunction(kind), a), [regular / 2.0])
    check_all(lambda a, e: Node(MatrixFunctionDerivative("expm"), a, e), [regular / 4.0, draw((3, 3), 1)])
    check_all(lambda a, b, q: Node(SolveSylvester(), a, b, q), [regular, regular, draw((3, 3), 1)])
    check_all(
        lambda x, b: pt.linalg.tridiagonal_lu_solve(pt.linalg.tridiagonal_lu_factor(x), b),
        [regular, draw((3, 2), 1)],
    )
    check_all(lambda x, b: Node(SolveBanded(1, 0), x, b), [draw((2, 4)) + np.array([[3.0], [0.0]]), draw((4, 2), 1)])


def test_structured_matrices() -> None:
    check_all(lambda d: Node(DiagonalMatrix(), d), [draw((3,))])
    check_all(lambda a, b: Node(Kronecker(), a, b), [draw((2, 3)), draw((3, 1), 1)])
    check_all(lambda a, b: Node(BlockDiagonal(), a, b), [draw((2, 3)), draw((3, 1), 1)])


def test_one_matrix_for_many_right_sides_is_factorised_once() -> None:
    a, b, bs = (
        tensor_input("float64", (3, 3)),
        tensor_input("float64", (3, 2)),
        tensor_input("float64", (5, 3, 2)),
    )
    (result,) = vectorize([Node(Solve(), a, b)], {b: bs})
    (solve,) = [n for n in topological([result]) if isinstance(n.op, Solve)]
    assert solve.inputs[0] is a
    assert solve.static_shape == (3, 10)


def several(s: Node, x: Node, y: Node) -> list[Node]:
    inner = cond(x[0] > 1.0, x * s, cond(s > 1.5, x, x / s))
    first, second = cond(s > 1.0, [inner, y.sum()], [x * 2.0, s + y[0] * 0.0])
    return [first * s, second, x]


@pytest.mark.parametrize("number", [0.7, 1.2, 1.8])
def test_branches(number: float) -> None:
    check_all(several, [np.array(number), draw((3,)), draw((2,), 1)])
    check_all(lambda *p: gradient(several(*p)[0].sum(), p), [np.array(number), draw((3,)), draw((2,), 1)])


def test_a_single_condition_keeps_the_branches_lazy() -> None:
    s, x, xs = tensor_input("float64", ()), tensor_input("float64", (3,)), tensor_input("float64", (2, 3))
    (result,) = vectorize([cond(s > 0.0, x * 2.0, Node(Cholesky(), x[:, None] @ x[None]).sum(0))], {x: xs})
    assert [n for n in topological([result]) if isinstance(n.op, Cond)]
    point = {s: 1.0, xs: np.zeros((2, 3))}
    assert (evaluate([result], point)[0] == 0.0).all()


def test_what_does_not_depend_on_the_batch_is_computed_once() -> None:
    x, xs, y = (tensor_input("float64", shape) for shape in [(3,), (2, 3), (3,)])
    costly = apply("exp", y).sum()
    results = vectorize([x * costly, costly], {x: xs})
    assert results[0] is xs * costly
    assert results[1].op == BroadcastTo((2,))
    assert results[1].inputs == (costly,)


def test_batches_of_several_inputs_broadcast() -> None:
    x, y = tensor_input("float64", (3,)), tensor_input("float64", ())
    xs, ys = tensor_input("float64", (4, 1, 3)), tensor_input("float64", (5,))
    (result,) = vectorize([x * y], {x: xs, y: ys})
    assert result.static_shape == (4, 5, 3)
    point = {xs: draw((4, 1, 3)), ys: draw((5,), 1)}
    np.testing.assert_allclose(evaluate([result], point)[0], point[xs] * point[ys][:, None])
    with pytest.raises(ShapeError, match="do not broadcast"):
        vectorize([x * y], {x: xs, y: tensor_input("float64", (2, 3))})
    with pytest.raises(ShapeError, match="fewer axes"):
        vectorize([x * y], {x: y})
    with pytest.raises(ShapeError, match="is no batch"):
        vectorize([x * y], {x: tensor_input("float64", (2, 4))})
    with pytest.raises(DtypeError, match="must be float64"):
        vectorize([x * y], {y: tensor_input("float32", (2,))})


def test_inner_nodes_and_slots_can_be_replaced() -> None:
    x, slot = tensor_input("float64", (3,)), shared_slot("float64", (3,))
    inner = x * slot
    (result,) = vectorize([inner.sum() + x[0]], {inner: tensor_input("float64", (2, 3))})
    assert result.static_shape == (2,)
    (result,) = vectorize([inner], {slot: tensor_input("float64", (2, 3))})
    assert result.static_shape == (2, 3)


def test_symbolic_lengths_take_those_of_the_batch() -> None:
    x, y = tensor_input("float64", (None,)), tensor_input("float64", (None,))
    xs = tensor_input("float64", (2, 5))
    mean, joined = x.mean() + (x * y).sum(), concatenate([reshape(x, (-1, 1)), expand_dims(y, 1)], 1)
    results = vectorize([mean, joined], {x: xs})
    assert results[1].static_shape[:2] == (2, 5)
    point = {xs: draw((2, 5)), y: draw((5,), 1)}
    values = evaluate(results, point)
    np.testing.assert_allclose(values[0], point[xs].mean(1) + point[xs] @ point[y])
    np.testing.assert_allclose(values[1][..., 1], np.broadcast_to(point[y], (2, 5)))
    owed = collect(results[:1])
    assert owed


def test_derivatives_of_batches_are_batches_of_derivatives() -> None:
    x, a = tensor_input("float64", (3,)), tensor_input("float64", (3, 3))
    cost = reduce("logsumexp", a @ x) + apply("exp", x[[0, 2]]).prod()
    xs = tensor_input("float64", (4, 3))
    of_gradient = vectorize(gradient(cost, [x]), {x: xs})
    (costs,) = vectorize([cost], {x: xs})
    gradient_of = pullback([costs], [xs], [constant(np.ones(4))])
    point = {xs: draw((4, 3)), a: draw((3, 3), 1)}
    np.testing.assert_allclose(*evaluate([*of_gradient, *gradient_of], point), rtol=1e-13)


def test_functions_of_numbers_become_functions_of_tensors() -> None:
    f = vectorize_function(lambda a, b: apply("where", a > b, a - b, a + b))
    x, y = np.array([[1.0], [5.0]]), np.array([2.0, 3.0, 4.0])
    np.testing.assert_allclose(evaluate([f(x, y)], {})[0], np.where(x > y, x - y, x + y))
    assert f.__name__ == "<lambda>"
    assert evaluate([f(1.0, 2.0)], {})[0] == 3.0


def test_signatures_say_which_axes_belong_to_the_function() -> None:
    outer = vectorize_function(linalg.outer, "(n),(m)->(n,m)")
    x, y = tensor_input("float64", (2, 1, 3)), tensor_input("float64", (4, None))
    result = outer(x, y)
    assert isinstance(result, Node)
    assert result.static_shape == (2, 4, 3, y.static_shape[1])
    point = {x: draw((2, 1, 3)), y: draw((4, 2), 1)}
    np.testing.assert_allclose(evaluate([result], point)[0], point[x][..., :, None] * point[y][:, None, :], rtol=1e-14)
    spread = vectorize_function(lambda v: [v.mean(), v - v.mean()], "(n)->(),(n)")
    mean, rest = spread(point[x])
    assert mean.static_shape == (2, 1)
    assert rest.static_shape == (2, 1, 3)
    fixed = vectorize_function(lambda v: v[:2], "(3)->(2)")
    assert fixed(x).static_shape == (2, 1, 2)


def test_axes_of_one_name_have_one_length() -> None:
    dot = vectorize_function(linalg.dot, "(n),(n)->()")
    with pytest.raises(ShapeError, match="core axis `n`"):
        dot(np.ones((2, 3)), np.ones(4))
    x, y = tensor_input("float64", (2, None)), tensor_input("float64", (3,))
    assert collect([dot(x, y)])
    np.testing.assert_allclose(evaluate([dot(x, y)], {x: draw((2, 3)), y: np.ones(3)})[0], draw((2, 3)).sum(1))
    with pytest.raises(ShapeError, match="core axes"):
        dot(1.0, np.ones(3))
    with pytest.raises(TypeError, match="2 arguments, got 1"):
        dot(np.ones(3))
    with pytest.raises(ShapeError, match="0 axes was needed"):
        vectorize_function(lambda v: v, "(n)->()")(np.ones((2, 3)))
    with pytest.raises(ShapeError, match="2 results"):
        vectorize_function(lambda v: v, "(n)->(n),(n)")(np.ones((2, 3)))


@pytest.mark.parametrize("text", ["", "(n)", "(n),->()", "n->n", "(n)->", "(n,)->()", "(n)->()->()"])
def test_texts_that_are_no_signatures_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="signature such as"):
        vectorize_function(lambda v: v, text)


def test_loops_that_carry_keys_stand_still_with_them() -> None:
    """Positions of a batch that end earlier keep the key of their last step, as each does alone."""
    limit, axes = tensor_input("int64", (), "limit"), tensor_input("int64", (2, 3), "limits")
    _, key, total = pt.while_loop(
        lambda count, key, total: count < limit,
        lambda count, key, total: (
            count + 1, fold_in(key, count), total + random_draw("random_normal", fold_in(key, 7), ()),
        ),
        (constant(0), pt.key(3), constant(0.0)),
    )  # fmt: skip
    outputs = [total, random_draw("random_normal", key, ())]
    limits = np.array([[0, 1, 4], [2, 2, 3]])
    found = evaluate(vectorize(outputs, {limit: axes}), {axes: limits})
    for place in np.ndindex(limits.shape):
        alone = evaluate(outputs, {limit: limits[place]})
        np.testing.assert_array_equal([f[place] for f in found], alone)
