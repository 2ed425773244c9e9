"""Lengths of a function's own inputs are theirs: data that is not read by the function says nothing of them."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
import consilience.xtensor as px
from consilience.errors import ShapeError
from consilience.graph import vectorize_graph


def model_of_data() -> pm.Model:
    """Data of five rows, and what follows from them."""
    with pm.Model(coords={"row": range(5)}) as model:
        x = pm.Data("x", np.arange(5.0), dims="row")
        pm.Deterministic("y", x.cumsum() + x.shape[0], dims="row")
    return model


def test_an_input_in_the_place_of_data_may_have_another_length() -> None:
    """A graph of data, with an input of the same type in their place, is a function of any length."""
    model = model_of_data()
    x = model["x"]
    rows = pt.tensor("rows", dtype="float64", shape=(None, *x.type.shape))
    f = pm.function([rows], vectorize_graph(model["y"], {x: rows}))
    given = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(f(given), given.cumsum(-1) + 3)


def test_data_that_are_read_have_to_fit() -> None:
    """Where the same graph reads the data, too, another length is refused."""
    x = model_of_data()["x"]
    other = pt.tensor("other", dtype="float64", shape=x.type.shape)
    f = pm.function([other], x + other)
    np.testing.assert_array_equal(f(np.ones(5)), np.arange(5.0) + 1)
    with pytest.raises(ShapeError, match="needs length 3, got an array of shape"):
        f(np.ones(3))


def test_inputs_with_settings_may_have_named_dims() -> None:
    """`In` and `Out` of a tensor with dims are those of the tensor."""
    x = px.xtensor("x", dims=("row",), shape=(2,))
    f = pm.function([pm.In(x, name="given", value=np.ones(2))], pm.Out(x * 2.0))
    np.testing.assert_array_equal(f(), [2.0, 2.0])
    np.testing.assert_array_equal(f(given=np.array([3.0, 4.0])), [6.0, 8.0])
