"""`full_like` keeps the value that it is given."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt


@pytest.mark.parametrize("whole", [np.arange(3), np.arange(3, dtype="int32"), np.array([True, False, True])])
def test_whole_numbers_filled_with_a_float_become_floats(whole: np.ndarray) -> None:
    """NaN among integers would be an arbitrary number, and a half nothing; as in PyTensor, the value stays."""
    filled = pt.full_like(whole, np.nan)
    assert filled.dtype == "float64"
    assert np.isnan(filled.eval()).all()
    np.testing.assert_array_equal(pt.full_like(whole, 0.5).eval(), [0.5, 0.5, 0.5])


def test_a_dtype_that_is_asked_for_is_given() -> None:
    """And whole numbers among whole numbers keep the dtype of the model, floats that of floats."""
    assert pt.full_like(np.arange(3), 2.5, dtype="int64").eval().tolist() == [2, 2, 2]
    assert pt.full_like(np.arange(3, dtype="int32"), 2).dtype == "int32"
    assert pt.full_like(np.zeros(3, "float32"), 0.5).dtype == "float32"


def test_an_op_of_a_variable_has_the_name_of_its_distribution() -> None:
    """In small letters, as programs look distributions up."""
    assert pm.HalfNormal.dist().owner.op.name == "halfnormal"
