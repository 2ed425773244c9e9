"""A length 1 that is promised is stretched, whatever rules do with the promise."""

from __future__ import annotations

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.errors import ShapeError


@pytest.mark.parametrize("mode", ["FAST_RUN", "reference"])
def test_promised_ones_are_stretched_in_values_and_derivatives(mode: str) -> None:
    """Of `specify_shape`, beside an operand of more rows."""
    x, y = pt.matrix("x"), pt.matrix("y")
    cost = ((pt.specify_shape(x, (1, 3)) * y) ** 2).sum()
    f = pt.function([x, y], [cost, *pt.grad(cost, [x, y])], mode=mode)
    a, b = np.array([[1.0, 2.0, 3.0]]), np.arange(12.0).reshape(4, 3)
    value, by_x, by_y = f(a, b)
    assert value == pytest.approx(((a * b) ** 2).sum())
    np.testing.assert_allclose(by_x, (2 * a * b**2).sum(0, keepdims=True))
    np.testing.assert_allclose(by_y, 2 * a**2 * b)


def test_a_known_length_may_be_promised_to_be_one_of_another_tensor() -> None:
    """It holds when the function is called, and nothing is stretched."""
    x, y = pt.matrix("x", shape=(None, 1)), pt.vector("y")
    promised = pt.function([x, y], pt.specify_shape(x, (x.shape[0], y.shape[0])) + y.sum())
    np.testing.assert_array_equal(promised(np.ones((3, 1)), np.ones(1)), np.full((3, 1), 2.0))
    with pytest.raises(ShapeError, match="`specify_shape` promises"):
        promised(np.ones((3, 1)), np.ones(2))
