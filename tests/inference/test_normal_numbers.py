"""Laws of the normal numbers that momenta are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from consilience.inference.normal_numbers import (
    box_muller,
    cosine_of_eighth,
    log_of_unit,
    normal_numbers,
    sine_of_eighth,
)
from consilience.native.random import random_normals


def numbers(key: int, counter: int, length: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    target = np.full(length + 3, np.nan)
    normal_numbers.compiled(key, counter, target, length)
    assert np.isnan(target[length:]).all()
    return target[:length]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**62), st.integers(0, 300))
def test_a_number_depends_on_its_counter_not_on_the_length(key: int, counter: int, length: int) -> None:
    """Any prefix of a longer vector, and nothing is written behind the end."""
    long = numbers(key, counter, 400)
    np.testing.assert_array_equal(numbers(key, counter, length), long[:length])
    np.testing.assert_array_equal(numbers(key, counter + 50, 300), long[100:])


def test_they_are_the_normals_of_the_random_library() -> None:
    """Same blocks, same transformation; only the last bits of the elementary functions differ."""
    expected = np.zeros(1001)
    random_normals.compiled(99, 2 * 7, expected, 1001)
    np.testing.assert_allclose(numbers(99, 7, 1001), expected, rtol=1e-12, atol=1e-14)


def test_cpython_makes_the_same_numbers() -> None:
    """Up to fused products."""
    plain = np.zeros(21)
    normal_numbers(5, 3, plain, 21)
    np.testing.assert_allclose(plain, numbers(5, 3, 21), rtol=1e-13, atol=1e-15)


def test_their_distribution_is_the_standard_normal() -> None:
    """A million numbers: Kolmogorov-Smirnov, moments, and no correlation between neighbours."""
    x = numbers(1, 0, 1_000_000)
    assert stats.kstest(x, "norm").pvalue > 1e-3
    root = np.sqrt(len(x))
    for power, moment, variance in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]:
        assert abs((x**power).mean() - moment) < 4.0 * np.sqrt(variance) / root
    for lag in (1, 2, 8, 16, 128):
        assert abs((x[lag:] * x[:-lag]).mean()) < 4.0 / root


def test_logarithm_is_accurate_on_the_unit_interval() -> None:
    """From the smallest uniform to the largest, in units of the last place."""
    u = np.concatenate([np.random.default_rng(0).random(20_000), 2.0 ** -np.arange(1.0, 54.0)])
    u = np.concatenate([u, 1.0 - 2.0 ** -np.arange(1.0, 54.0)[:52]])
    error = [log_of_unit(float(x)) / np.log(x) - 1.0 for x in u]
    assert np.abs(error).max() < 6e-16
    assert log_of_unit(1.0) == 0.0


def test_sine_and_cosine_are_accurate_on_an_eighth_of_the_circle() -> None:
    """To the last place."""
    x = np.linspace(-np.pi / 4, np.pi / 4, 5001)
    assert np.abs([sine_of_eighth(float(a)) for a in x] - np.sin(x)).max() < 2.3e-16
    assert np.abs([cosine_of_eighth(float(a)) for a in x] - np.cos(x)).max() < 2.3e-16


@pytest.mark.parametrize("extreme", [2.0**-53, 2.0**-52, 0.5, 1.0 - 2.0**-53])
def test_extreme_uniforms_make_finite_normals(extreme: float) -> None:
    """The largest possible normal is 8.6."""
    turns = np.array([2.0**-53, 0.125, 0.25, 0.375, 0.5, 0.75, 0.875, 1.0 - 2.0**-53])
    radii = np.full(len(turns), extreme)
    first, second = radii.copy(), turns.copy()
    box_muller.compiled(first, second, len(turns))
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()
    radius = np.sqrt(-2.0 * np.log(extreme))
    np.testing.assert_allclose(first, radius * np.cos(2 * np.pi * turns), atol=1e-14)
    np.testing.assert_allclose(second, radius * np.sin(2 * np.pi * turns), atol=1e-14)
