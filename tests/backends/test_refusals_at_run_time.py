"""What only the values of a call can get wrong: indices, masks, lengths and sizes, in machine code and in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.backends import llvm, reference
from consilience.backends.function import function
from consilience.errors import DtypeError, GraphError, LinearAlgebraError, OutOfBoundsError, ParameterError, ShapeError
from consilience.ir import Node, tensor_input
from consilience.lower import chunks
from consilience.raise_op import Assert
from consilience.rewrite.rules import simplify

MODES = pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])

ROW, TABLE = np.arange(3.0), np.arange(12.0).reshape(3, 4)
# Every way to index with a position that comes with the call: position, then how the axis it must lie in is called.
INDEXED: dict[str, tuple[Callable[[Node, Node], Any], Any, str]] = {
    "element": (lambda x, i: x[0][i], 4, "axis 0 with size 4"),
    "element from the end": (lambda x, i: x[0][-i], 5, "axis 0 with size 4"),
    "row": (lambda x, i: x[i], 3, "axis 0 with size 3"),
    "column": (lambda x, i: x[:, i], -5, "axis 1 with size 4"),
    "behind an ellipsis": (lambda x, i: x[..., i], 4, "axis 1 with size 4"),
    "behind a new axis": (lambda x, i: x[None, i], 3, "size 3"),
    "beside a position": (lambda x, i: x[i, 0], 3, "axis 0 with size 3"),
    "beside a slice": (lambda x, i: x[1:, i], 4, "axis 1 with size 4"),
    "after a step": (lambda x, i: x[::2, ::2][i], 2, "axis 0 with size 2"),
    "rows": (lambda x, i: x[i], [0, 3], "axis 0 with size 3"),
    "columns": (lambda x, i: x[:, i], [0, 4], "axis 1 with size 4"),
    "pairs": (lambda x, i: x[i, i], [0, 3], "axis 0 with size 3"),
    "table of rows": (lambda x, i: x[i], [[0, 1], [2, -4]], "axis 0 with size 3"),
    "row set": (lambda x, i: x[i].set(0.0), 3, "axis 0 with size 3"),
    "row added to": (lambda x, i: x[i].inc(1.0), -4, "axis 0 with size 3"),
    "rows set": (lambda x, i: x[i].set(0.0), [0, 3], "axis 0 with size 3"),
    "columns added to": (lambda x, i: x[:, i].inc(1.0), [0, 4], "axis 1 with size 4"),
    "derivative": (lambda x, i: pt.grad((x[i] ** 2).sum(), x), [1, 3], "axis 0 with size 3"),
    "inside a function": (lambda x, i: pt.exp(x[i] * 2.0).sum(), [1, 3], "axis 0 with size 3"),
    "in a branch not chosen by `where`": (lambda x, i: pt.where(i > 5, x[i, 0], 0.0), [1, 3], "axis 0 with size 3"),
}


@MODES
@pytest.mark.parametrize("name", INDEXED)
def test_positions_outside_their_axis_are_refused(name: str, mode: str) -> None:
    """In every form of index, with the position and the axis; positions inside are taken."""
    build, position, axis = INDEXED[name]
    x, i = pt.matrix("x"), pt.tensor("i", dtype="int64", shape=np.shape(position))
    f = function([x, i], build(x, i), mode=mode)
    outside = np.asarray(position)
    inside = np.where(np.abs(outside) > 1, 0, outside)
    assert np.isfinite(f(TABLE, inside)).all()
    with pytest.raises(OutOfBoundsError, match=f"is out of bounds for .*{axis}"):
        f(TABLE, position)


# What data get wrong otherwise: the graph of a table, and the table.
REQUIRED: dict[str, tuple[Callable[[Node], Any], Any]] = {
    "asserted": (lambda x: Assert("x must be positive")(x, x > 0.0), -TABLE),
    "asserted of a part": (lambda x: Assert("no")(pt.exp(x), pt.all(x[0] > 5.0)), TABLE),
    "a scale": (lambda x: pm.logp(pm.Normal.dist(0.0, x), 1.0), TABLE - 5.0),
    "a probability": (lambda x: pm.logp(pm.Bernoulli.dist(p=x[0]), 1), TABLE),
}


@pytest.mark.parametrize("name", [*INDEXED, *REQUIRED])
def test_what_data_get_wrong_is_said_as_it_is_of_arguments(name: str) -> None:
    """Data are bound before calls, and what depends on them alone is computed then: the words are the reference's."""
    x, y = pt.tensor("x", dtype="float64", shape=(3, 4)), pt.scalar("y")
    data, values = [x], [TABLE]
    if name in INDEXED:
        build, position, _ = INDEXED[name]
        i = pt.tensor("i", dtype="int64", shape=np.shape(position))
        result, data, values = build(x, i), [x, i], [TABLE, np.asarray(position)]
    else:
        required, table = REQUIRED[name]
        result, values = required(x), [table]
    (output,) = simplify([pt.sum(result) * y])
    with pytest.raises((OutOfBoundsError, ParameterError, AssertionError)) as expected:
        reference.evaluate([output], {**dict(zip(data, values, strict=True)), y: np.asarray(1.0)})
    with pytest.raises(type(expected.value)) as found:
        llvm.compile([y], [output], {}, data).bind(values)
    assert str(found.value) == str(expected.value)


@MODES
@pytest.mark.parametrize(
    "build",
    [
        lambda x: x[5],
        lambda x: x[-6:][0] + x[7],
        lambda x: x[[0, 5]],
        lambda x: x[np.array([0, -6])],
        lambda x: x[5].set(1.0),
    ],
)
def test_fixed_positions_are_checked_against_the_length_that_comes(build: Callable[[Node], Node], mode: str) -> None:
    """A constant index into an axis of symbolic length, with the line where it was written."""
    x = pt.vector("x")
    f = function([x], build(x), mode=mode)
    f(np.arange(9.0))
    with pytest.raises(OutOfBoundsError, match=r"out of bounds .*test_refusals_at_run_time"):
        f(ROW)


LENGTHS: dict[str, tuple[Callable[[Node, Node], Any], str]] = {
    "sum": (lambda x, y: x + y, "`add` have equal lengths"),
    "comparison": (lambda x, y: x < y, "`lt` have equal lengths"),
    "choice": (lambda x, y: pt.where(x > 0, x, y), "`where` have equal lengths"),
    "product": (lambda x, y: x @ y, "inner lengths of a product"),
    "stack": (lambda x, y: pt.stack([x, y]), "joined tensors agree"),
    "rows": (lambda x, y: pt.concatenate([x[None, :], y[None, :]]), "joined tensors agree"),
    "slice set": (lambda x, y: x[1:].set(y[1:]), "keeps lengths other than 1|equal lengths|indexed part"),
    "pairs": (
        lambda x, y: pt.outer(x, x)[x.astype("int64"), y.astype("int64")],
        "equal lengths|broadcast",
    ),
    "stretched": (lambda x, y: pt.broadcast_to(x, (3, y.shape[0])), "keeps lengths other than 1"),
    "dropped": (lambda x, y: (x + y).sum() * 0.0, "`add` have equal lengths"),
    "derivative": (lambda x, y: pt.grad((x * y).sum(), x), "`mul` have equal lengths"),
    "branches by element": (
        lambda x, y: pt.scan(lambda a: pt.cond(a > 0, x, y), sequences=x, return_updates=False),
        "branches have equal shapes",
    ),
}


@MODES
@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_that_disagree_at_the_call_are_refused(name: str, mode: str) -> None:
    """With both lengths, and for equal ones not at all."""
    build, why = LENGTHS[name]
    x, y = pt.vector("x"), pt.vector("y")
    f = function([x, y], build(x, y), mode=mode)
    f(ROW, ROW)
    with pytest.raises(ShapeError, match=why) as caught:
        f(ROW, np.arange(4.0))
    assert "3" in str(caught.value)
    assert "4" in str(caught.value)


@MODES
def test_shapes_asked_for_at_the_call(mode: str) -> None:
    """Sizes of `reshape`, repeated names of one length, static lengths."""
    x, y = pt.vector("x"), pt.tensor("y", shape=(2, None))
    with pytest.raises(ShapeError, match="reshape keeps the size"):
        function([x], x.reshape((2, 2)), mode=mode)(ROW)
    with pytest.raises(ShapeError, match=r"axis 0 of `y` .* needs length 2"):
        function([y], y.sum(), mode=mode)(TABLE)
    with pytest.raises(ShapeError, match=r"`x` .* needs rank 1"):
        function([x], x.sum(), mode=mode)(TABLE)


EMPTY: dict[str, tuple[Callable[[Node], Any], Any]] = {
    "sum": (lambda x: x.sum(), 0.0),
    "product": (lambda x: x.prod(), 1.0),
    "mean": (lambda x: x.mean(), np.nan),
    "variance": (lambda x: x.var(), np.nan),
    "any": (lambda x: (x > 0).any(), False),
    "all": (lambda x: (x > 0).all(), True),
    "logsumexp": (pt.logsumexp, -np.inf),
    "softmax": (pt.softmax, np.zeros(0)),
    "cumulative sum": (lambda x: x.cumsum(), np.zeros(0)),
    "function": (lambda x: pt.exp(x) * 2.0 + x, np.zeros(0)),
    "slice": (lambda x: x[1:], np.zeros(0)),
    "stack": (lambda x: pt.stack([x, x]), np.zeros((2, 0))),
    "join": (lambda x: pt.concatenate([x, np.ones(2), x]), np.ones(2)),
    "outer": (lambda x: pt.outer(x, np.ones(2)), np.zeros((0, 2))),
    "inner product": (lambda x: x @ x, 0.0),
    "product of matrices": (lambda x: pt.ones((2, 1)) @ x[None, :], np.zeros((2, 0))),
    "repeated": (lambda x: pt.repeat(x, 3), np.zeros(0)),
    "rows of nothing": (lambda x: x[np.zeros(0, int)], np.zeros(0)),
    "set": (lambda x: x[:].set(1.0), np.zeros(0)),
    "determinant": (lambda x: pt.linalg.det(pt.outer(x, x)), 1.0),
    "Cholesky factor": (lambda x: pt.linalg.cholesky(pt.outer(x, x)), np.zeros((0, 0))),
    "inverse": (lambda x: pt.linalg.inv(pt.outer(x, x)), np.zeros((0, 0))),
    "solution": (lambda x: pt.linalg.solve(pt.outer(x, x), x), np.zeros(0)),
    "gradient": (lambda x: pt.grad((x**2).sum(), x), np.zeros(0)),
    "Jacobian": (lambda x: pt.jacobian(pt.exp(x), x), np.zeros((0, 0))),
    "Hessian": (lambda x: pt.hessian((x**3).sum(), x), np.zeros((0, 0))),
}


@MODES
@pytest.mark.parametrize("name", EMPTY)
def test_arrays_without_elements(name: str, mode: str) -> None:
    """NumPy's answers, with its shapes."""
    build, wanted = EMPTY[name]
    x = pt.vector("x")
    found = function([x], build(x), mode=mode)(np.zeros(0))
    np.testing.assert_array_equal(found, wanted)
    assert np.shape(found) == np.shape(wanted)


@MODES
@pytest.mark.parametrize("build", [lambda x: x.max(), lambda x: x.min(), lambda x: x.argmax(), lambda x: x.argmin()])
def test_extremes_of_nothing_are_refused(build: Callable[[Node], Node], mode: str) -> None:
    """There is no largest element."""
    x = pt.vector("x")
    with pytest.raises(ShapeError, match="empty axis has no value"):
        function([x], build(x), mode=mode)(np.zeros(0))


@pytest.mark.parametrize(
    ("call", "error", "why"),
    [
        (lambda x: function(None, x), TypeError, "`inputs` must be a list of variables, got None"),
        (lambda x: function([None], x), GraphError, "an input must be a symbolic variable .* got None"),
        (lambda x: function(["x"], x), GraphError, "got 'x'"),
        (lambda x: function([x], [x, None]), GraphError, "an output must be a tensor expression, got None"),
        (lambda x: function([x], 3.5), GraphError, "got 3.5"),
        (lambda x: function([x], x, givens=3), TypeError, "`givens` must be a dict"),
        (lambda x: function([x], x, updates="ab"), TypeError, "`updates` must be a dict"),
        (lambda x: function([x], x)(None), TypeError, "needs a value for `x`"),
        (lambda x: function([x], x)({1.0, 2.0}), DtypeError, "`x` .* got an array of object"),
        (lambda x: function([x], x)(z for z in [1.0]), DtypeError, "`x` .* got an array of object"),
        (lambda x: function([x], x)("abc"), DtypeError, "`x` .* needs float64"),
        (lambda x: x.eval([1.0]), TypeError, "takes a dict of values"),
        (lambda x: x.eval({None: [1.0]}), TypeError, "got the key None"),
        (lambda x: x.eval({x: object()}), DtypeError, "`x` .* needs float64"),
        (lambda x: x.eval(), GraphError, "needs a value for `x`"),
        (lambda x: x[1.5], DtypeError, "must be an integer or bool tensor"),
        (lambda x: x[np.nan], DtypeError, "must be an integer or bool tensor"),
        (lambda x: x["a"], DtypeError, "indexed by position, got the label 'a'"),
        (lambda x: x[0, 0], ShapeError, "too many indices"),
        (lambda x: x[x > 0, 0], ShapeError, "too many indices"),
    ],
)  # fmt: skip
def test_wrong_types_are_named(call: Callable[[Node], Any], error: type[Exception], why: str) -> None:
    """What was needed, what came."""
    with pytest.raises(error, match=why):
        call(pt.vector("x"))


@pytest.mark.parametrize("part", [1, 256])
def test_nothing_is_computed_from_a_factorisation_that_failed(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long programs are functions one after the other: those behind it would read what was never written."""
    monkeypatch.setattr(chunks, "PART", part)
    x = tensor_input("float64", (2, 2), "x")
    factor = pt.linalg.cholesky(x)
    run = llvm.compile([x], [pt.linalg.inv(factor @ factor.T + 1.0)], {}).bind()
    made: list[Any] = []

    def allocated(shape: Any, dtype: Any) -> Any:
        found = np.full(shape, 7, dtype)
        if shape == (2, 2):  # a result, and no memory to work in
            made.append(found)
        return found

    monkeypatch.setattr(llvm, "allocated", allocated)
    run([np.array([[2.0, 0.5], [0.5, 1.0]])])
    assert (made.pop() != 7.0).all()
    with pytest.raises(LinearAlgebraError):
        run([np.array([[1.0, 2.0], [2.0, 1.0]])])
    assert (made.pop() == 7.0).all()
