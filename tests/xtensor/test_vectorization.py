"""Batches of tensors with named dims: every batch axis has a name, and stands in front."""

from __future__ import annotations

import numpy as np
import pytest

import consilience.tensor as pt
import consilience.xtensor as px
from consilience.errors import ShapeError
from consilience.xtensor.vectorization import vectorize_graph

RNG = np.random.default_rng(3)


def test_dims_that_an_input_lacks_are_batch_axes_in_front() -> None:
    """Wherever the new dims stand, the result is that of the broadcast by name."""
    x, y = px.xtensor("x", dims="a"), px.xtensor("y", dims="a")
    many_x, many_y = px.xtensor("many_x", dims=("c", "a")), px.xtensor("many_y", dims=("a", "b"))
    found = vectorize_graph(px.math.exp(x) * y, {x: many_x, y: many_y})
    assert found.dims == ("c", "b", "a")
    u, v = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 2))
    expected = np.exp(u)[:, None, :] * v.T[None, :, :]
    np.testing.assert_allclose(found.eval({many_x: u, many_y: v}), expected, rtol=1e-14)


def test_sums_stay_within_a_batch_position() -> None:
    """A reduction of the input's dim leaves the batch alone; an output without a batched input is repeated nowhere."""
    x, many = px.xtensor("x", dims="a", shape=(3,)), px.xtensor("many", dims=("a", "c"), shape=(3, 2))
    other = px.xtensor("other", dims="b")
    total, untouched = vectorize_graph([x.sum("a"), other * 2], {x: many})
    assert (total.dims, untouched.dims) == (("c",), ("b",))
    u = RNG.normal(size=(3, 2))
    np.testing.assert_allclose(total.eval({many: u}), u.sum(0), rtol=1e-14)


def test_axes_of_plain_tensors_take_the_names_given() -> None:
    """Plain tensors have their batch axes in front, of length 1 where another one has that axis."""
    x, y = pt.tensor("x", shape=(3,)), pt.tensor("y", shape=(3,))
    many_x, many_y = pt.tensor("many_x", shape=(5, 3)), pt.tensor("many_y", shape=(7, 1, 3))
    assert vectorize_graph(x + y, {x: many_x, y: many_y}, new_tensor_dims=["a", "b"]).type.shape == (7, 5, 3)
    named = px.xtensor("named", dims="a", shape=(3,))
    total = named + px.as_xtensor(y, dims="a")
    wide = px.xtensor("wide", dims=("a", "c"), shape=(3, 5))
    rows = pt.tensor("rows", shape=(5, 3))
    assert vectorize_graph(total, {named: wide, y: rows}, new_tensor_dims=["c"]).dims == ("c", "a")
    assert vectorize_graph(total, {named: wide, y: rows}, new_tensor_dims=["b"]).dims == ("c", "b", "a")


def test_mistakes_are_named() -> None:
    """A lost dim, and axes without a name."""
    x, y = px.xtensor("x", dims=("a",)), pt.vector("y")
    with pytest.raises(ShapeError, match=r"`x`.* has the dim 'a', which its batched form lacks"):
        vectorize_graph(x, {x: px.xtensor("z", dims=("b",))})
    with pytest.raises(ShapeError, match=r"1 axes more than `y`.*`new_tensor_dims`"):
        vectorize_graph(y * 2, {y: pt.matrix("z")})
