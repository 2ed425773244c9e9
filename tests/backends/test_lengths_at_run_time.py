"""Lengths that are known when a function runs only, and what is said where they or indices do not fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends.function import function
from consilience.backends.registry import installed
from consilience.errors import DtypeError, MissingRuleError, OutOfBoundsError, ShapeError
from consilience.ir import Node, parse, substitute, text, topological
from consilience.ops import MaskPositions

X = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
A = np.arange(12.0).reshape(4, 3)
VALUES: dict[str, Any] = {"x": X, "m": X > 0, "k": 2, "A": A, "i": np.array([0, 1]), "j": np.array([[0, 1], [1, 0]])}
PLACES = np.array([0, 5])
Build = Callable[[dict[str, Node]], Any]


def inputs() -> dict[str, Node]:
    """Inputs of symbolic lengths."""
    return {
        "x": pt.vector("x"),
        "m": pt.vector("m", dtype="bool"),
        "k": pt.lscalar("k"),
        "A": pt.matrix("A"),
        "i": pt.lvector("i"),
        "j": pt.lmatrix("j"),
    }


def run(code: str, backend: str = "llvm", **values: Any) -> Any:
    """The value of an expression in the inputs."""
    given = inputs()
    expression = eval(code, {"pt": pt}, dict(given))
    return function([*given.values()], expression, backend=backend, on_unused_input="ignore")(
        *{**VALUES, **values}.values()
    )


# code, values, what the message says beside the line of this file
OUTSIDE = [
    ("x[k]", {"k": 5}, "index 5 .* axis 0 with size 5"),
    ("x[-k]", {"k": 6}, "index -6 .* axis 0 with size 5"),
    ("x[7]", {}, "index 7 .* axis 0 with size 5"),
    ("x[-6]", {}, "index -6 .* axis 0 with size 5"),
    ("x[i]", {"i": PLACES}, "index 5 .* axis 0 with size 5"),
    ("x[i]", {"i": -PLACES - 1}, "index -6 .* axis 0 with size 5"),
    ("x[j]", {"j": np.array([[0, 1], [9, 0]])}, "index 9 .* axis 0 with size 5"),
    ("A[i, i]", {"i": np.array([0, 3])}, "index 3 .* axis 1 with size 3"),
    ("A[i, 1:]", {"i": PLACES}, "index 5 .* axis 0 with size 4"),
    ("A[::-1, i]", {"i": PLACES}, "index 5 .* axis 1 with size 3"),
    ("A[i, None, k]", {"k": 3}, "index 3 .* axis 1 with size 3"),
    ("A[:, :0][i]", {"i": PLACES}, "index 5 .* axis 0 with size 4"),
    ("A[:0][:, i]", {"i": PLACES}, "index 5 .* axis 1 with size 3"),
    ("x[:0][k]", {}, "index 2 .* axis 0 with size 0"),
    ("x[x > 0][i]", {"i": np.array([2])}, "index 2 .* axis 0 with size 2"),
    ("x[i].set(0.0)", {"i": PLACES}, "index 5 .* axis 0 with size 5"),
    ("x[i].inc(1.0)", {"i": PLACES}, "index 5 .* axis 0 with size 5"),
    ("x[k].set(1.0)", {"k": -6}, "index -6 .* axis 0 with size 5"),
    ("A[i, k].inc(1.0)", {"k": 3}, "index 3 .* axis 1 with size 3"),
    ("A[1:, i].set(0.0)", {"i": PLACES}, "index 5 .* axis 1 with size 3"),
    ("pt.grad(x[i].sum(), x)", {"i": PLACES}, "index 5 .* axis 0 with size 5"),
]


@pytest.mark.parametrize("backend", installed())
@pytest.mark.parametrize(("code", "values", "message"), OUTSIDE, ids=[f"{c} {v}" for c, v, _ in OUTSIDE])
def test_an_index_outside_its_axis_is_named(code: str, values: dict[str, Any], message: str, backend: str) -> None:
    """Position, axis and length, what was indexed, and the line where the user wrote it."""
    with pytest.raises(OutOfBoundsError, match=message) as error:
        run(code, backend, **values)
    assert re.search(r"written at <string>:1|written at .*test_lengths_at_run_time", str(error.value))


UNFIT = [
    ("x[m]", {"m": np.array([True])}, "a mask has the shape .*`m.shape.0.` is 1 and `x.shape.0.` is 5"),
    ("A[m]", {}, "a mask has the shape .*`m.shape.0.` is 5 and `A.shape.0.` is 4"),
    ("A[:, m]", {}, "a mask has the shape .*`m.shape.0.` is 5 and `A.shape.1.` is 3"),
    ("x[m].set(1.0)", {"m": np.array([True])}, "a mask has the shape"),
    ("x[x[m] > 0]", {}, "a mask has the shape .*`m.sum..` is 2 and `x.shape.0.` is 5"),
    ("x[m] + x[x < -1]", {}, "`add` have equal lengths.*`m.sum..` is 2 and `count` is 1"),
    ("x[m] + x", {}, "`add` have equal lengths.*`m.sum..` is 2 and `x.shape.0.` is 5|`x.shape.0.` is 5"),
    ("pt.stack([x, x[m]])", {}, "joined tensors agree .*`x.shape.0.` is 5 and `m.sum..` is 2"),
    ("pt.concatenate([A, A[:, :k]])", {}, "joined tensors agree .* 3 and .* is 2"),
    ("pt.zeros(k)", {"k": -1}, "a length must be >= 0, got -1 from `k`"),
    ("pt.ones((k + 1, 2))", {"k": -4}, "a length must be >= 0.*`k . 1` is -3"),
    ("pt.zeros(x.shape[0] - 1)", {"x": np.zeros(0)}, "a length must be >= 0.* is -1"),
    ("pt.linspace(0.0, 1.0, k)", {"k": -1}, "a length must be >= 0, got -1 from `k`"),
    ("pt.repeat(x, i)", {}, "`i.shape.0.` is 2 and `x.shape.0.` is 5"),
    ("pt.repeat(x[:2], i)", {"i": np.array([1, -1])}, "a length must be >= 0, got -1"),
    ("A.reshape((k, -1))", {"k": 5}, "reshape keeps the size.* is 12 .* is 10"),
    ("x.reshape((2, -1))", {}, "reshape keeps the size.* is 5 .* is 4"),
    ("x[x > 0].reshape((k, k))", {}, "reshape keeps the size.* is 2 .* is 4"),
    ("pt.broadcast_to(x, (2, k))", {}, "`x.shape.0.` is 5 and `k` is 2"),
    ("pt.squeeze(A, 1)", {}, "a squeezed axis has length 1.*`A.shape.1.` is 3"),
    ("pt.split(x, 2)[0]", {}, "equal parts.* is 5 .* is 4"),
    ("x[m].max()", {"m": X > 9}, "`max` of an empty axis has no value"),
    ("A[:0].max(axis=0)", {}, "`max` of an empty axis has no value"),
    ("x[:k].min()", {"k": 0}, "`min` of an empty axis has no value"),
    ("x.argmax()", {"x": np.zeros(0)}, "`argmax` of an empty axis has no value"),
    ("A.argmin(axis=1)", {"A": np.zeros((2, 0))}, "`argmin` of an empty axis has no value"),
]


@pytest.mark.parametrize("backend", installed())
@pytest.mark.parametrize(("code", "values", "message"), UNFIT, ids=[f"{c} {v}" for c, v, _ in UNFIT])
def test_lengths_that_do_not_fit_are_named(code: str, values: dict[str, Any], message: str, backend: str) -> None:
    """Both lengths with the names of the inputs, and the line where the user wrote it."""
    with pytest.raises(ShapeError, match=message) as error:
        run(code, backend, **values)
    assert "written at" in str(error.value)


WRONG = [
    ("x[A]", {}, DtypeError, "an index must be an integer or bool tensor, got `A`"),
    ("x[i]", {"i": np.array([0.0, np.nan])}, DtypeError, "`i` .*needs int64, got an array of float64"),
    ("x[k]", {"k": np.nan}, DtypeError, "`k` .*needs int64"),
    ("x[:x]", {}, ShapeError, "an integer was needed, got `x`"),
    ("x[1.5:]", {}, DtypeError, "bounds of a slice must be integers, got 1.5"),
    ("x[::0]", {}, ShapeError, "must not be 0"),
    ("pt.zeros(x.sum())", {}, DtypeError, "an integer was needed"),
    ("pt.nonzero(k)", {}, ShapeError, "needs an axis"),
    ("A.reshape(i)", {}, ShapeError, "the number of axes must be known"),
    ("pt.diagonal(x)", {}, ShapeError, "needs two axes"),
    ("pt.arange(0, k, 0)", {}, ShapeError, "step other than 0"),
]


@pytest.mark.parametrize(("code", "values", "kind", "message"), WRONG, ids=[f"{c} {v}" for c, v, *_ in WRONG])
def test_what_cannot_be_an_index_or_a_length_is_refused(
    code: str, values: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        run(code, **values)


# Lengths from scalars, vectors and arithmetic on shapes; evaluated with NumPy's functions and with ours.
LENGTHS = [
    "x[k:]", "x[-k:]", "x[k - 1 :: -1]", "x[x.shape[0] - 3 :]", "x[3 : k - 3 : -2]", "x[k // 2]", "A[1:, :k].sum(1)",
    "pt.zeros(k)", "pt.ones((A.shape[1], k))", "pt.full((k,), x[0])", "pt.eye(k)", "pt.eye(k, x.shape[0], 1)",
    "pt.arange(k)", "pt.arange(x.shape[0] - 1)", "pt.arange(k, x.shape[0])", "pt.arange(x.shape[0], k, -2)",
    "pt.arange(0.0, k, 0.5)", "pt.linspace(0.0, 1.0, k)", "pt.linspace(0, x.shape[0], 4, endpoint=False)",
    "pt.tile(x, k)", "pt.tile(A, (k, 2))", "pt.repeat(x, k)", "pt.repeat(x, m.astype('int64'))", "pt.repeat(A, k, 1)",
    "pt.split(x, indices_or_sections=[k])[1]",
    "pt.split(x, indices_or_sections=[k, x.shape[0] - 1])[1]", "pt.split(A, 2)[1]", "A.reshape((k, -1))",
    "A.reshape((A.shape[0] // 2, 2, -1))", "A.reshape((-1, A.shape[0]))", "pt.diag(x, 2)", "pt.diag(A, -1)",
    "pt.diagonal(A, 1)", "pt.trace(A[:k, :k])", "pt.tril(A[:k])", "pt.concatenate([x, x[m], x[:k]])", "x[:k].mean()",
    "pt.stack([x[:k], x[k - 2 : k]])", "pt.broadcast_to(x, (k, x.shape[0]))", "pt.nonzero(A > 3)[1]",
    "A[pt.nonzero(A > 2)]",
    "pt.argwhere(A > 4)", "pt.cumsum(x[m])", "x[pt.argmax(x) :]", "x[(x > 0).sum() :]", "pt.outer(x[x > 0], x[:k])",
    "x[pt.arange(k)]", "A[x[:4] > -1, ::-1]", "x[m][::-1][:k]", "pt.zeros((x > 0).sum()) + x[x > 0]",
]  # fmt: skip


@pytest.mark.parametrize("code", LENGTHS)
def test_computed_lengths_mean_what_they_mean_in_numpy(code: str) -> None:
    reference: Any = np
    wanted = np.asarray(eval(code, {"pt": reference}, dict(VALUES)))
    for backend in installed():
        found = run(code, backend)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


EMPTY = [np.zeros(0), np.zeros((0, 3)), np.zeros((2, 0)), np.zeros((0, 0)), np.zeros((2, 0, 3))]
# Functions of an empty array that have a value in NumPy.
ON_NOTHING = [
    "x[::-1]", "x[1:]", "x[:-2]", "x[..., None]", "x[x > 0]", "x.reshape((-1,))", "x.T", "x.sum()", "x.prod()",
    "pt.sum(x, 0)", "pt.cumsum(x)", "pt.concatenate([x, x])", "pt.stack([x, x], 1)", "pt.tile(x, 2)", "pt.repeat(x, 3)",
    "pt.repeat(x, 2, 0)", "pt.flatnonzero(x)", "pt.argwhere(x)", "pt.nonzero(x)[0]", "pt.zeros(x.shape)",
    "pt.eye(x.shape[0], 3, 1)", "pt.arange(x.shape[0])", "pt.any(x)", "pt.all(x)", "pt.ravel(x)",
    "pt.split(x, indices_or_sections=[0, 1])[1]",
    "pt.broadcast_to(x, (2, *x.shape))", "pt.moveaxis(x, 0, -1)", "pt.where(x > 0, x, 0.0)", "pt.exp(x)",
    "pt.linspace(0.0, 1.0, x.shape[0])", "pt.prod(x, axis=-1)", "pt.any(x, axis=0)",
]  # fmt: skip


@pytest.mark.parametrize("code", ON_NOTHING)
def test_every_function_of_shapes_takes_empty_arrays(code: str) -> None:
    reference: Any = np
    for array in EMPTY:
        with np.errstate(all="ignore"):
            wanted = np.asarray(eval(code, {"pt": reference, "x": array}))
        for backend in installed():
            x = pt.tensor("x", shape=(None,) * array.ndim)
            found = function([x], eval(code, {"pt": pt, "x": x}), backend=backend, on_unused_input="ignore")(array)
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_array_equal(found, wanted)


def test_a_count_is_known_where_its_mask_has_vanished() -> None:
    """Rewriting keeps no more than the number of true entries of x[x > 0] * 0 + 1."""
    np.testing.assert_array_equal(run("x[x > 0] * 0 + 1"), [1.0, 1.0])
    assert run("pt.ones_like(x[m]).sum()") == 2
    assert run("pt.grad((pt.zeros_like(x[x > 0]) + A[0, 0]).sum(), A)")[0, 0] == 2.0


def test_the_same_computed_length_is_one_length() -> None:
    """Masks and scalars have one length each, so that what they select is known to fit together."""
    given = inputs()
    x, m, k = given["x"], given["m"], given["k"]
    assert x[m].static_shape == (x * 2)[m].static_shape
    assert pt.zeros(k).static_shape == pt.ones(k).static_shape
    assert x[: x.shape[0] // 2].static_shape == (x + 1)[: x.shape[0] // 2].static_shape
    assert pt.zeros(x.shape[0] + 1 - 1).static_shape == x.static_shape


def test_functions_compile_once_per_computed_length(monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.backends import llvm

    made: list[object] = []
    before = llvm.Compiled.__init__

    def counted(self: llvm.Compiled, *arguments: Any, **options: Any) -> None:
        made.append(self)
        before(self, *arguments, **options)

    monkeypatch.setattr(llvm.Compiled, "__init__", counted)
    x = pt.vector("x")
    f = function([x], x[x > 0].sum())
    for values in ([1.0, -1.0], [-1.0, 1.0], [3.0, -4.0]):
        assert f(np.array(values)) == max(values)
    assert len(made) == 2  # the count, and the sum of one element
    assert f(np.array([1.0, 2.0])) == 3.0
    assert len(made) == 3


def test_branches_hold_masks() -> None:
    code = "pt.cond(k > 1, (x[x > 0] ** 2).sum(), x.sum())"
    for backend in installed():
        assert run(code, backend) == 5.0
        assert run(code, backend, k=0) == 0.0
        np.testing.assert_array_equal(run(f"pt.grad({code}, x)", backend), [0.0, 0.0, 0.0, 2.0, 4.0])


def test_exchanged_values_exchange_their_lengths() -> None:
    """A length follows what it is computed from, as every other value does."""
    x, y, k, n = pt.vector("x"), pt.vector("y"), pt.lscalar("k"), pt.lscalar("n")
    outputs = substitute([pt.zeros(k) + 1, x[x > 0].sum(), pt.ones_like(x[x > 0][:k])], {x: y * 2, k: n})
    f = function([y, n], outputs)
    a, b, c = f(X, 1)
    assert (a.shape, b, c.shape) == ((1,), 6.0, (1,))


def test_programs_with_computed_lengths_are_written_and_read() -> None:
    given = inputs()
    x, k = given["x"], given["k"]
    outputs = [x[:k], x[x > 0][x[x > 0] > 1], pt.zeros(k), pt.arange(k, x.shape[0])]
    written = text(outputs, [*given.values()])
    read_inputs, read = parse(written)
    assert text(read, read_inputs) == written
    found = function(read_inputs, read, on_unused_input="ignore")(*VALUES.values())
    wanted = [X[:2], X[X > 1], np.zeros(2), np.arange(2, 5)]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_derivatives_of_all_orders_pass_through_computed_lengths() -> None:
    for backend in installed():
        np.testing.assert_array_equal(run("pt.jacobian(x[x > 0] ** 2, x)", backend), np.diag(2 * X)[X > 0])
        np.testing.assert_array_equal(run("pt.hessian((x[m] ** 3).sum(), x)", backend), np.diag(6 * X * (X > 0)))
        np.testing.assert_array_equal(run("pt.grad((x[:k] ** 2).sum(), x)", backend), [-4.0, -2.0, 0.0, 0.0, 0.0])
        np.testing.assert_array_equal(run("pt.grad(pt.repeat(x, m.astype('int64')).sum(), x)", backend), X > 0)


def test_lengths_of_results_may_not_differ_within_a_batch() -> None:
    def positive(x: Node) -> Node:
        return x[x > 0]

    with pytest.raises(MissingRuleError, match="differs from one batch position to another"):
        pt.vectorize(positive, "(n)->(m)")(pt.matrix("X"))


def test_lengths_of_the_whole_batch_stay() -> None:
    """What does not depend on the batch has one length."""
    A_, k, m = pt.matrix("A"), pt.lscalar("k"), pt.vector("m", dtype="bool")

    def rows(x: Node) -> Sequence[Node]:
        return [x[:k].sum(), x[m], x[::-1][k:]]

    f = function([A_, k, m], pt.vectorize(rows, "(n)->(),(p),(q)")(A_))
    a, b, c = f(A, 2, np.array([True, False, True]))
    np.testing.assert_array_equal(a, A[:, :2].sum(1))
    np.testing.assert_array_equal(b, A[:, [0, 2]])
    np.testing.assert_array_equal(c, A[:, ::-1][:, 2:])


def test_models_take_masks_of_data() -> None:
    """A mask computed from data is counted when the data are bound."""
    with pm.Model() as model:
        data = pm.Data("x", X)
        b = pm.Normal("b", 0, 1)
        pm.Potential("p", -((data[data > 0] - b) ** 2).sum() + pt.ones_like(data[data > 0]).sum())
    logp = model.compile_logp()
    with_two = float(logp({"b": 0.0}))
    model.set_data("x", np.array([1.0, 2.0, 3.0, -1.0, 0.0]))
    assert float(model.compile_logp()({"b": 0.0})) == pytest.approx(with_two - 9.0 + 1.0)


def test_random_masks_agree_with_numpy() -> None:
    """Masks of masked results, of several axes and beside slices."""
    generator = np.random.default_rng(0)
    B = pt.matrix("B")
    first = B[B[:, 0] > 0]
    outputs = [
        first[:, ::-1],
        first[first > 0.5],
        B[1:, B[0] > 0],
        pt.flatnonzero(first[:, 0] < 1),
        first[:1][first[:1] > 0],
    ]
    f = function([B], outputs)
    for shape in [(4, 3), (1, 1), (6, 2), (3, 5)]:
        b = generator.normal(size=shape)
        one = b[b[:, 0] > 0]
        wanted = [one[:, ::-1], one[one > 0.5], b[1:, b[0] > 0], np.flatnonzero(one[:, 0] < 1), one[:1][one[:1] > 0]]
        for a, w in zip(f(b), wanted, strict=True):
            np.testing.assert_array_equal(a, w)
    assert any(isinstance(n.op, MaskPositions) for n in topological(outputs))
