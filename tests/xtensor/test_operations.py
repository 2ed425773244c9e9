"""Every operation on named dims against xarray, for dims in any order and lengths known or not, and its derivative."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience.tensor as pt
import consilience.xtensor as px
from tests.xtensor.worlds import arrays, by_xarray, compare, evaluated, inputs, written

SMOOTH = """
x + y
y - x * z
2 * x / (1 + y ** 2)
x // 2 + x % 2
-x + abs(y)
exp(y) * tanh(x)
where(x > y, x, z)
maximum(x, y) - minimum(y, z)
x.where(x > 0, 0.5)
x.clip(-0.5, 0.5)
x.sum()
x.sum("b")
x.sum(["a", "c"])
x.sum(...)
x.mean("a") + y
x.prod("c")
x.std("b")
x.var(["b", "c"], ddof=1)
x.max("a") - x.min()
x.cumsum("b")
x.cumsum()
x.cumprod(["a", "b"])
x.diff("c")
x.diff("c", n=2)
x.transpose()
x.transpose("c", ...)
x.transpose(..., "a", "b")
x.T
x.rename(a="e") + x
x.rename({"a": "b", "b": "a"})
stack(x, "s", ("a", "c"))
stack(x, "s", ("c", "b", "a"))
x.expand_dims("e")
x.expand_dims(e=3)
x.expand_dims(["e", "f"], axis=[1, -1])
x.expand_dims("e", axis=-1)
x.isel(a=slice(0, 1)).squeeze("a")
x.isel(c=[1]).squeeze()
y.broadcast_like(x)
y.broadcast_like(x, exclude="b")
concat([x, x * 2], "a")
concat([x, z], "c")
concat([y, y + 1], "new")
x.dot(y)
dot(x, y)
dot(x, y, z)
dot(x, y, dim="b")
dot(x, z, dim=...)
dot(x, z, dim=["a", "c"])
x @ y
x.isel(a=0)
x.isel(a=-1, c=[0, 2])
x.isel(b=slice(None, None, -1))
x.isel({"c": slice(1, 3)}) * 2
x.isel(a=i)
x.isel(a=i, b=j)
x.isel(a=i, c=1)
x.isel(a=i, c=slice(1, None))
x.isel(a=[0, 1, 1], b=[2, 0])
x.isel(a=i, b=[2, 0])
x.isel(b=i.rename(p="c").isel(c=slice(0, 4)))
x.isel(a=(y.isel(b=0).sum() > 0).astype("int64"))
x.isel(b=([True, False, True]))
x[0]
x[..., 1]
x[{"b": 1}]
x[:, [0, 0]]
x[..., ("q", [1, 0, 1])]
x.head(c=2) * x.tail(c=2)
x.thin(c=2)
x.round() + x
""".strip().splitlines()
DISCRETE = """
x > y
(x > 0) & (y > 0) | ~(z < 0)
(x > 0).any("b")
(x > 0).all(["a", "c"])
x.argmax("b")
x.argmin("c")
x.isnull()
x.astype("int64").sum("a")
i + j
i.isel(p=0) * x.astype("int64")
""".strip().splitlines()


@pytest.mark.parametrize("text", SMOOTH + DISCRETE)
@settings(max_examples=4, deadline=None)
@given(
    x=st.permutations("abc"),
    y=st.permutations("bc"),
    z=st.permutations("ca"),
    seed=st.integers(0, 2**31),
    static=st.booleans(),
)
def test_an_operation_does_what_it_does_in_xarray(text: str, x: str, y: str, z: str, seed: int, static: bool) -> None:
    """Dims in the same order, equal numbers, equal dtypes."""
    compare(text, arrays(seed, {"x": x, "y": y, "z": z}), static)


@pytest.mark.parametrize("text", [text for text in SMOOTH if re.search(r"\bx\b", text)])
def test_derivatives_pass_through_names(text: str) -> None:
    """Slopes of weighted sums along a direction, against differences of what xarray computes."""
    values = arrays(7, {"x": "bac", "y": "cb", "z": "ac"})
    symbols = inputs(values, static=False)
    made = written(text, symbols)
    rng = np.random.default_rng(8)
    weights = rng.normal(size=by_xarray(text, values).shape)
    cost = (made * px.as_xtensor(weights, made.dims)).sum()
    direction = rng.normal(size=values["x"].shape)
    step = 1e-6
    ends = [by_xarray(text, {**values, "x": values["x"] + s * direction}).values for s in (-step, step)]
    wanted = np.sum(weights * (ends[1] - ends[0])) / (2 * step)
    slope = px.grad(cost, symbols["x"], disconnected_inputs="ignore")
    assert slope.dims == symbols["x"].dims
    found = np.sum(direction * evaluated(slope, symbols, values, "reference"))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def test_names_leave_nothing_in_the_graph() -> None:
    """The graph of an expression with names is the node that the plain expression is."""
    plain_x, plain_y = pt.tensor("x", shape=(2, 3)), pt.tensor("y", shape=(3,))
    x, y = px.as_xtensor(plain_x, ("a", "b")), px.as_xtensor(plain_y, "b")
    assert (x * y).values is plain_x * plain_y
    assert px.math.exp(x).sum("a").values is pt.sum(pt.exp(plain_x), axis=(0,))
    assert x.isel(a=0).values is plain_x[0]
    cost = px.math.tanh(x * y).sum()
    assert px.grad(cost, y).values is pt.grad(pt.sum(pt.tanh(plain_x * plain_y), axis=(0, 1)), plain_y)


@pytest.mark.parametrize("text", ["x.dot(y).sum('a') * z", "x.isel(a=i, b=j).cumsum('p')", "concat([x, z], 'c')"])
def test_compiled_code_gives_the_same(text: str) -> None:
    compare(text, arrays(3, {"x": "cab", "y": "cb", "z": "ac"}), static=False, backend="llvm")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"a": 0}, "y"),
        ({"a": 0, "c": slice(1, 3)}, 2.0),
        ({"c": [0, 2]}, "z"),
        ({"b": "j", "a": "i"}, 3.0),
        ({"c": [1, 1]}, 1.0),
    ],
)
def test_parts_are_replaced_and_increased_by_name(part: dict[str, object], value: object) -> None:
    values = arrays(5, {"x": "bca", "y": "cb", "z": "a"})
    symbols = inputs(values, static=False)
    wanted, added = values["x"].copy(), values["x"].values.copy()
    chosen = {dim: values[item] if isinstance(item, str) else item for dim, item in part.items()}
    own = {dim: symbols[item] if isinstance(item, str) else item for dim, item in part.items()}
    wanted[chosen] = values[value] if isinstance(value, str) else value
    places = values["x"].copy(data=np.arange(added.size).reshape(added.shape)).isel(chosen)
    new = (0.0 * places + (values[value] if isinstance(value, str) else value)).transpose(*places.dims)
    np.add.at(added.reshape(-1), places.values.ravel(), new.values.ravel())
    mine = symbols[value] if isinstance(value, str) else value
    for changed, numbers in [(symbols["x"].isel(own).set(mine), wanted.values), (symbols["x"][own].inc(mine), added)]:
        assert changed.dims == values["x"].dims
        np.testing.assert_allclose(evaluated(changed, symbols, values, "reference"), numbers)


def test_a_dim_is_taken_apart_as_it_was_joined() -> None:
    x = px.xtensor("x", dims=("a", "b", "c"), shape=(2, None, 4))
    again = x.stack(s=("c", "a")).unstack(s={"c": 4, "a": 2})
    values = np.random.default_rng(0).normal(size=(2, 3, 4))
    assert again.dims == ("b", "c", "a")
    np.testing.assert_array_equal(again.transpose("a", "b", "c").eval({x: values}), values)


def test_linear_algebra_over_named_dims() -> None:
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(3, 4, 4))
    matrix = factor @ factor.swapaxes(-1, -2) + 4 * np.eye(4)
    right, several = rng.normal(size=(4, 3)), rng.normal(size=(2, 4))
    a = px.as_xtensor(matrix.transpose(1, 0, 2), ("r", "batch", "s"))
    root = px.linalg.cholesky(a, dims=("r", "s"))
    assert root.dims == ("batch", "r", "s")
    np.testing.assert_allclose(root.eval(), np.linalg.cholesky(matrix))
    vector = px.linalg.solve(a, px.as_xtensor(right, ("r", "batch")), dims=("r", "s"))
    assert vector.dims == ("batch", "s")
    np.testing.assert_allclose(vector.eval(), np.linalg.solve(matrix, right.T[..., None])[..., 0])
    columns = px.linalg.solve(a, px.as_xtensor(several, ("k", "r")), dims=("r", "s", "k"))
    assert columns.dims == ("batch", "s", "k")
    np.testing.assert_allclose(columns.eval(), np.linalg.solve(matrix, np.broadcast_to(several.T, (3, 4, 2))))


def test_normalisations_and_likes_keep_dims() -> None:
    x = px.xtensor("x", dims=("a", "b"))
    values = np.random.default_rng(2).normal(size=(2, 3))
    share = np.exp(values) / np.exp(values).sum(0)
    np.testing.assert_allclose(px.math.softmax(x, dim="a").eval({x: values}), share)
    np.testing.assert_allclose(px.math.log_softmax(x, dim="a").eval({x: values}), np.log(share))
    np.testing.assert_allclose(px.math.logsumexp(x, dim="b").eval({x: values}), np.log(np.exp(values).sum(1)))
    likes = [px.zeros_like(x), px.ones_like(x), px.full_like(x, 3.0)]
    assert all(like.dims == x.dims for like in likes)
    np.testing.assert_array_equal([like.eval({x: values}) for like in likes], [np.full((2, 3), n) for n in (0, 1, 3)])


def test_numpy_functions_and_numbers_follow_names() -> None:
    x = px.xtensor("x", dims="a", shape=(2,))
    assert np.exp(x).values is px.math.exp(x).values
    assert (np.float64(2.0) * x).dims == ("a",)
    doubled = px.function([x], [x * 2, x.sum()])
    assert [value.tolist() for value in doubled([1.0, 2.0])] == [[2.0, 4.0], 3.0]
    assert [row.dims for row in px.xtensor("m", dims=("a", "b"), shape=(2, 3))] == [("b",)] * 2
    assert px.broadcast(x, px.xtensor("y", dims="b"))[1].dims == ("a", "b")


def test_a_type_tells_dtype_dims_and_lengths() -> None:
    """`x.type.dims`, as in PyTensor."""
    x = px.xtensor("x", dims=("a", "b"), shape=(3, None))
    assert (x.type.dtype, x.type.dims, x.type.ndim) == ("float64", ("a", "b"), 2)
    assert x.type.shape[0] == 3
    assert x.type == (x + 1.0).type
    assert x.sum("a").type.dims == ("b",)
