"""Types of tensors with named dims: made as PyTensor's, and called for a variable."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

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


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_convolution_along_dims(mode: str) -> None:
    """NumPy's for each pair of the other dims, which may stand in any order."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(7, 3)), rng.normal(size=(2, 4))
    left, right = px.as_xtensor(x, dims=("t", "k")), px.as_xtensor(w, dims=("c", "lag"))
    found = px.signal.convolve1d(left, right, mode, dims=("t", "lag")).transpose("k", "c", "t")
    wanted = [[np.convolve(x[:, i], w[j], mode) for j in range(2)] for i in range(3)]
    np.testing.assert_allclose(found.eval(), wanted, rtol=1e-13, atol=1e-13)


def test_constants_with_dims_and_names() -> None:
    """Of an array with dims, or of one that has them; a name can be given later."""
    named = px.xtensor_constant(np.arange(3.0), name="weights", dims=("lag",))
    assert (named.name, named.dims) == ("weights", ("lag",))
    named.name = "others"
    assert named.values.name == named.name == "others"
    assert px.xtensor_constant(xr.DataArray([1.0, 2.0], dims="q")).dims == ("q",)
