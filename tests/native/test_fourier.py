"""Transforms and correlations in typed Python: machine code gives what plain Python gives, and what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.native.routines import correlation, fourier

Array = Any
LENGTHS = [*range(1, 41), 49, 60, 77, 91, 121, 128, 143, 169, 240, 243, 625, 1001]


def powers(n: int) -> Array:
    """Powers of exp(-2 pi i / n), as pairs."""
    return np.exp(-2j * np.pi * np.arange(n) / n).view(float)


def smooth(n: int) -> bool:
    """Whether no prime factor is above 13."""
    return not any(n % p == 0 for p in (17, 19, 23, 29, 31, 37))


@pytest.mark.parametrize("n", [n for n in LENGTHS if smooth(n)])
@pytest.mark.parametrize("inverse", [0, 1])
def test_transforms_are_numpys(n: int, inverse: int) -> None:
    """In machine code, and under CPython up to the rounding of fused products."""
    x = np.random.default_rng(n).normal(size=(2, n, 2))
    numbers = x.view(complex)[..., 0]
    wanted = np.fft.ifft(numbers, norm="forward") if inverse else np.fft.fft(numbers)
    for run in (fourier.fourier, fourier.fourier.compiled):
        y, work = np.empty(4 * n), np.empty(4 * n)
        run(x.ravel(), y, powers(n), work, 2, n, inverse)
        np.testing.assert_allclose(y.view(complex).reshape(2, n), wanted, rtol=0, atol=1e-14 * np.abs(wanted).max())


@pytest.mark.parametrize("half", [1, 2, 3, 8, 15])
def test_packing_undoes_unpacking(half: int) -> None:
    """Up to the factor 2, by CPython and by machine code."""
    z = np.random.default_rng(half).normal(size=3 * half * 2)
    for unpack, pack in (
        (fourier.unpack_real, fourier.pack_real),
        (fourier.unpack_real.compiled, fourier.pack_real.compiled),
    ):
        y, again = np.empty(3 * (half + 1) * 2), np.empty_like(z)
        unpack(z, y, powers(2 * half), 3, half)
        pack(y, again, powers(2 * half), 3, half)
        np.testing.assert_allclose(again, 2 * z, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("large", "small"), [((1, 1), (1, 1)), ((4, 30), (2, 9)), ((1, 17), (1, 6)), ((3, 5), (3, 5))])
def test_correlations_are_sums_of_products(large: tuple[int, int], small: tuple[int, int]) -> None:
    """At every place where the small matrix lies on the large one."""
    rng = np.random.default_rng(large)
    x, h = rng.normal(size=(2, *large)), rng.normal(size=(2, *small))
    windows = np.lib.stride_tricks.sliding_window_view(x, small, (-2, -1))
    wanted = np.einsum("bijkl,bkl->bij", windows, h)
    for run in (correlation.correlate, correlation.correlate.compiled):
        y = np.empty(wanted.size)
        run(x.ravel(), h.ravel(), y, 2, *large, *small)
        np.testing.assert_allclose(y.reshape(wanted.shape), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [*LENGTHS, 997, 4099, 2 * 4099, 10_000])
def test_every_length_is_transformed_accurately(n: int) -> None:
    """Prime ones too, forward and back, complex and real."""
    x = np.random.default_rng(n).normal(size=(1, n))
    z, v = pt.zmatrix("z"), pt.dmatrix("v")
    there = pt.function([z], pt.fft.fft(z))
    numbers = x + 1j * x[:, ::-1]
    wanted = np.fft.fft(numbers)
    np.testing.assert_allclose(there(numbers), wanted, rtol=0, atol=3e-15 * np.abs(wanted).max())
    np.testing.assert_allclose(pt.function([z], pt.fft.ifft(z))(wanted), numbers, rtol=0, atol=1e-13)
    real = np.fft.rfft(x)
    found = pt.function([v], pt.fft.rfftn(v, axes=[-1]))(x)
    np.testing.assert_allclose(found, real, rtol=0, atol=3e-15 * np.abs(real).max())
    back = pt.function([z], pt.fft.irfftn(z, [n], [-1]))(real)
    np.testing.assert_allclose(back, x, rtol=0, atol=1e-13)
