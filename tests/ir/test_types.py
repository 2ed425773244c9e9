"""Types as users make them: dtypes by any of NumPy's names, shapes as lists, values fitted to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.errors import DtypeError, ShapeError
from consilience.ir.types import NUMBERS


@pytest.mark.parametrize("dtype", NUMBERS)
def test_a_type_by_numpys_dtype_is_that_by_its_name(dtype: str) -> None:
    made: Any = pt.TensorType(np.dtype(dtype), [None, 1])  # type: ignore[arg-type]  # as users write it
    assert made == pt.TensorType(dtype, (None, 1))  # type: ignore[arg-type]  # as above
    x = made("x")
    assert (x.dtype, x.ndim, x.broadcastable, x.name) == (dtype, 2, (False, True), "x")
    value = np.ones((3, 1), dtype)
    assert (x.eval({x: value}) == value).all()


@pytest.mark.parametrize("wrong", ["float23", np.dtype("O"), None, "U3"])
def test_a_type_of_no_dtype_is_refused(wrong: Any) -> None:
    with pytest.raises(DtypeError, match="there is no dtype"):
        pt.TensorType(wrong)


def test_filter_gives_an_array_of_the_type() -> None:
    """Lists and numbers are converted, an array of that dtype is itself; what would lose digits is refused."""
    of = pt.TensorType("float32", (None, 2))  # type: ignore[arg-type]  # None is a length known at the call
    array = np.ones((3, 2), "float32")
    assert of.filter(array) is array
    assert of.filter([[1, 2.5]]).dtype == np.float32
    assert pt.TensorType("int8").filter(3).dtype == np.int8
    with pytest.raises(DtypeError, match="got an array of float64"):
        of.filter(np.ones((3, 2)))
    assert of.filter(np.ones((3, 2)), allow_downcast=True).dtype == np.float32
    with pytest.raises(DtypeError, match="got an array of float64"):
        of.filter([[1.0, 2.0]], strict=True)
    with pytest.raises(DtypeError):
        pt.TensorType("int8").filter(300)
    for wrong in (array[0], array[:, :1]):
        with pytest.raises(ShapeError, match=r"shape \(None, 2\) was needed"):
            of.filter(wrong)
