"""Convolution: values, gradients and batches against NumPy and SciPy; what it refuses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.signal

import consilience.tensor as pt
from consilience.errors import ShapeError

MODES = ("full", "same", "valid")


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("mode", MODES)
def test_convolution_of_any_lengths_is_that_of_scipy(mode: str, backend: str) -> None:
    x, y = pt.vector("x", dtype="float64"), pt.vector("y", dtype="float64")
    convolved = pt.function([x, y], pt.signal.convolve1d(x, y, mode), backend=backend)
    rng = np.random.default_rng(1)
    for n, m in itertools.product((1, 2, 5, 8), (1, 2, 5, 9)):
        a, b = rng.normal(size=2 * n)[::2], rng.normal(size=m)
        wanted = scipy.signal.convolve(a, b, mode, method="direct")
        np.testing.assert_allclose(convolved(a, b), wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("mode", MODES)
def test_slopes_of_a_convolution_are_convolutions(mode: str) -> None:
    """It is linear in each argument: a difference of any size gives the slope."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=6), rng.normal(size=4)
    x, y = pt.vector("x", dtype="float64"), pt.vector("y", dtype="float64")
    result = pt.signal.convolve1d(x, y, mode)
    w = rng.normal(size=scipy.signal.convolve(a, b, mode).size)
    slopes = pt.function([x, y], pt.grad((w * result).sum(), [x, y]))(a, b)
    for slope, of in zip(slopes, (lambda e: (e, b), lambda e: (a, e)), strict=True):
        wanted = [w @ scipy.signal.convolve(*of(e), mode, method="direct")
                  for e in np.eye(slope.size)]  # fmt: skip
        np.testing.assert_allclose(slope, np.array(wanted), rtol=1e-12, atol=1e-13)


def test_nan_and_infinity_reach_only_the_sums_they_are_in() -> None:
    for a, b in ((np.array([1.0, np.nan, 3.0, 4.0]), np.ones(2)), (np.array([1.0, np.inf, 2.0]), np.ones(2))):
        np.testing.assert_array_equal(pt.signal.convolve1d(a, b).eval(), np.convolve(a, b))


def test_what_is_no_sequence_or_no_mode_is_refused() -> None:
    with pytest.raises(ValueError, match=r"mode must be one of full, valid, same; got 'wrap'"):
        pt.signal.convolve1d(np.ones(3), np.ones(2), "wrap")
    with pytest.raises(ShapeError, match="at least one element along each axis"):
        pt.signal.convolve1d(np.ones(3), np.ones(0))
    with pytest.raises(ShapeError, match="rank 1 or more"):
        pt.signal.convolve1d(2.0, np.ones(1))
