"""Types of tensors with named dims: made as PyTensor's, and called for a variable."""

from __future__ import annotations

import numpy as np
import pytest

import consilience.xtensor as px
from consilience.errors import DtypeError, ShapeError


def test_a_type_makes_variables_of_its_dtype_dims_and_lengths() -> None:
    of = px.XTensorType("float32", dims=("a", "b"), shape=(2, None))
    x = of("x")
    assert (x.type.dtype, x.dims, x.type.shape[0], x.name) == ("float32", ("a", "b"), 2, "x")
    assert (x + x).eval({x: np.ones((2, 3), "float32")}).shape == (2, 3)
    assert x.type() is not x
    assert px.XTensorType("int64", dims="a").shape == (None,)


def test_types_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ShapeError, match="2 lengths were needed"):
        px.XTensorType("float64", dims=("a", "b"), shape=(1,))
    with pytest.raises(ShapeError):
        px.XTensorType("float64", dims=("a", "a"))
    with pytest.raises(DtypeError, match="there is no dtype"):
        px.XTensorType("float23", dims=("a",))
