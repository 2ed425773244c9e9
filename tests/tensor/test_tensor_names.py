"""Names of tensors: every name the library promises is there and means what NumPy, SciPy or PyTensor mean by it."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ShapeError
from tests.backends.agreement import agree

X = np.random.default_rng(20).normal(size=(3, 4))


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: pt.cond(x.sum() > 0, x, -x), lambda x: x if x.sum() > 0 else -x),
        (lambda x: pt.ifelse(x[0, 0] > 9, x, -x), lambda x: -x),
        (lambda x: pt.vectorize(pt.dot, "(n),(n)->()")(x, x[0]), lambda x: x @ x[0]),
    ],
)
def test_functions_of_graphs(build: Callable[..., Any], expected: Callable[..., Any]) -> None:
    """Lazy branches and batched functions, on both backends."""
    agree(build, [X], expected=expected, rtol=1e-10, scale=10.0)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 5), st.integers(0, 5), st.integers(-6, 6))
def test_triangles_and_diagonals_of_any_size(rows: int, columns: int, k: int) -> None:
    """As NumPy's for all sizes and diagonals, those outside the matrix included."""
    x = np.arange(1.0, rows * columns + 1).reshape(rows, columns)
    np.testing.assert_array_equal(pt.tri(rows, columns, k).eval(backend="reference"), np.tri(rows, columns, k))
    for name in ("tril", "triu", "diag"):
        found = getattr(pt, name)(x, k).eval(backend="reference")
        np.testing.assert_array_equal(found, getattr(np, name)(x, k))
    vector = np.arange(1.0, rows + 1)
    np.testing.assert_array_equal(pt.diag(vector, k).eval(backend="reference"), np.diag(vector, k))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_repetition_of_any_shape(shape: list[int], counts: list[int], data: st.DataObject) -> None:
    """`tile`, `repeat` and `ravel` as NumPy's, empty tensors and numbers included."""
    x = np.arange(float(np.prod(shape))).reshape(shape)
    found = [pt.tile(x, counts), pt.repeat(x, counts[0]), pt.ravel(x)]
    wanted = [np.tile(x, counts), np.repeat(x, counts[0]), np.ravel(x)]
    if shape:
        axis = data.draw(st.integers(-len(shape), len(shape) - 1))
        found.append(pt.repeat(x, counts[0], axis))
        wanted.append(np.repeat(x, counts[0], axis))
    for one, other in zip(found, wanted, strict=True):
        value = one.eval(backend="reference")
        assert value.shape == other.shape
        np.testing.assert_array_equal(value, other)


def test_lengths_may_be_symbolic() -> None:
    """What rearranges elements works before lengths are known."""
    x = pt.matrix("x")
    parts = [pt.tril(x), pt.diag(x[0]), pt.repeat(x, 2, 1), pt.tile(x, (2, 1)), pt.flatten(x), pt.vstack([x, x[0]])]
    whole = pt.function([x], parts)
    for array in (X, X[:1], X[:, :1]):
        wanted = [
            np.tril(array),
            np.diag(array[0]),
            np.repeat(array, 2, 1),
            np.tile(array, (2, 1)),
            array.ravel(),
            np.vstack([array, array[0]]),
        ]
        for found, meant in zip(whole(array), wanted, strict=True):
            np.testing.assert_array_equal(found, meant)


def test_derivatives_under_their_public_names() -> None:
    """grad, value_and_grad, jacobian and hessian of a function whose derivatives are known."""
    x = pt.vector("x")
    cost = (x**3).sum()
    at = np.array([1.0, 2.0, -3.0])
    np.testing.assert_allclose(pt.grad(cost, x).eval({x: at}), 3 * at**2)
    value, slope = pt.function([x], list(pt.value_and_grad(cost, x)))(at)
    np.testing.assert_allclose(value, (at**3).sum())
    np.testing.assert_allclose(slope, 3 * at**2)
    np.testing.assert_allclose(pt.hessian(cost, x).eval({x: at}), np.diag(6 * at))
    np.testing.assert_allclose(pt.jacobian(x**2, x).eval({x: at}), np.diag(2 * at))


def test_both_modules_lead_to_the_same() -> None:
    """`consilience` repeats the names that users of models need."""
    for name in ("function", "grad", "hessian", "jacobian", "shared", "value_and_grad"):
        assert getattr(pm, name) is getattr(pt, name)
    assert set(pt.__all__) <= set(pm.math.__all__)


MODULES = {"extra_ops", "fft", "interpolate", "linalg", "nlinalg", "optimize", "random", "signal", "slinalg", "special"}


def test_listed_names_exist_and_nothing_public_is_unlisted() -> None:
    """`__all__` lists each name once, and all that is there, loaded or not: so does `dir`, which editors ask."""
    for place in (pt, pm.math):
        assert len(set(place.__all__)) == len(place.__all__)
        found = {name: getattr(place, name) for name in dir(place) if not name.startswith("_")}
        there = {name for name, value in found.items() if not inspect.ismodule(value) or name in MODULES}
        assert set(place.__all__) == there - {"Callable", "Sequence", "ShapeError", "describe"}


@pytest.mark.parametrize("name", ["tril", "triu", "diag"])
def test_matrices_are_asked_for(name: str) -> None:
    """A number is neither a matrix nor a vector."""
    with pytest.raises(ShapeError, match="matrix"):
        getattr(pt, name)(1.0)


@pytest.mark.parametrize("name", ["scalars", "vectors", "dmatrices", "ltensor3s", "rows"])
def test_several_inputs_at_once(name: str) -> None:
    """By the letters of one name, by names, by a list of them or by their number, as in PyTensor."""
    make = getattr(pt, name)
    for words, names in [
        (("xyz",), ["x", "y", "z"]),
        (("x",), ["x"]),
        (("alpha", "beta"), ["alpha", "beta"]),
        ((["alpha", "beta"],), ["alpha", "beta"]),
        ((2,), [None, None]),
        ((np.int64(2),), [None, None]),
        ((None, "b"), [None, "b"]),
    ]:
        assert [node.name for node in make(*words)] == names


@pytest.mark.parametrize("backend", ["llvm", "reference", "c"])
def test_split_by_lengths_known_at_run_time(backend: str) -> None:
    """The number of parts is known; lengths that do not make up the axis are refused in the call."""
    x, lengths = pt.matrix("x"), pt.lvector("lengths")
    parts = pt.split(x, lengths, n_splits=3, axis=1)
    cost = sum((i + 1.0) * pt.sum(part**2) for i, part in enumerate(parts))
    f = pm.function([x, lengths], [*parts, pm.grad(cost, x)], mode=backend)
    at = np.arange(12.0).reshape(2, 6)
    for told in ([1, 2, 3], [0, 6, 0], [4, 1, 1]):
        *found, slope = f(at, told)
        edges = np.cumsum([0, *told])
        for part, start, stop in zip(found, edges, edges[1:], strict=False):
            np.testing.assert_array_equal(part, at[:, start:stop])
        np.testing.assert_allclose(slope, 2 * at * np.repeat([1.0, 2.0, 3.0], told))
    for wrong in ([1, 2, 4], [7, -1, 0], [3, 3]):
        with pytest.raises(ShapeError):
            f(at, wrong)
    with pytest.raises(ShapeError, match="a shape is a vector of known length"):
        pt.split(x, lengths)


def test_a_shape_is_a_tuple_and_a_vector() -> None:
    """It compares, hashes and unpacks as a tuple, and has the methods of the int64 vector of its lengths."""
    x = pt.matrix("x", shape=(None, 3))
    assert pt.zeros((2, 3)).shape == (2, 3)
    assert {pt.zeros((2, 3)).shape: 1}[2, 3] == 1
    assert np.zeros(pt.zeros((2, 3)).shape).shape == (2, 3)
    np.testing.assert_array_equal(pt.zeros((2, 3)).shape.eval(), [2, 3])
    assert x.shape.eval({x: np.ones((4, 3))}).tolist() == [4, 3]
    assert x.shape.prod().eval({x: np.ones((4, 3))}) == 12
    assert pt.scalar().shape.eval().shape == (0,)
    assert pt.scalar().shape.eval().dtype == "int64"
    rows, columns = x.shape
    assert columns == 3
    assert isinstance(rows, pt.Variable)
    with pytest.raises(AttributeError):
        x.shape.nothing  # noqa: B018


def test_axes_that_are_broadcast_at_run_time_say_their_lengths() -> None:
    """Axes alone are refused with an example of what is needed."""
    with pytest.raises(TypeError, match=r"`axes` is a dict .*\{0: y\.shape\[0\]\}, got \(0,\)"):
        pt.broadcast_dynamic(pt.vector("x"), (0,))  # type: ignore[arg-type]  # what is refused


@pytest.mark.parametrize("backend", ["llvm", "reference", "c"])
def test_a_length_of_at_most_one_is_stretched(backend: str) -> None:
    """`x[:1]` has one element or none: one is repeated, as in NumPy, and none is refused in the call."""
    x = pt.vector("x")
    result = pt.set_subtensor(pt.zeros(4)[:], x[:1]) + pt.broadcast_to(x[:1], (3, 4))
    f = pm.function([x], [result, pt.grad((result**2).sum(), x)], mode=backend)
    value, slope = f([2.0, 7.0])
    np.testing.assert_array_equal(value, np.full((3, 4), 4.0))
    np.testing.assert_array_equal(slope, [2 * 4.0 * 2 * 12, 0.0])
    with pytest.raises(ShapeError):
        f([])


def test_types_of_annotations_join_others_when_a_program_runs() -> None:
    """Annotations are computed where `from __future__ import annotations` is missing."""
    for kind in (pt.TensorLike, pt.TensorVariable, pt.Variable, pm.graph.Variable, pm.math.TensorLike):
        assert str in typing.get_args(kind | str)
