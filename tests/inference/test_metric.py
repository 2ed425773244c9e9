"""Laws of the metric: products with the inverse mass, momenta, and its two forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.inference.hamiltonian import draw_momentum
from consilience.inference.metric import (
    LARGEST_VARIANCE,
    SMALLEST_VARIANCE,
    Metric,
    Scales,
    diagonal,
    install,
    installed,
    new_metric,
    scale_momentum,
    set_variance,
    velocity_of,
)
from consilience.inference.point import new_point
from consilience.inference.streams import MOMENTUM
from consilience.inference.vectors import Vectors
from tests.inference.metrics import inverse_mass, metric_of, random_scales, scales_of

Ranks = st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def velocity(metric: Metric, momentum: NDArray[np.float64]) -> NDArray[np.float64]:
    result = np.full(len(momentum), np.nan)
    velocity_of.compiled(metric, momentum, result)
    return result


@settings(max_examples=150, deadline=None, derandomize=True)
@given(Ranks, st.floats(0.0, 3.0), st.integers(0, 2**31))
def test_velocity_is_the_inverse_mass_times_the_momentum(shape: tuple[int, int], spread: float, seed: int) -> None:
    """The dense product, for every rank from none to all coordinates: whole fours of directions and the rest."""
    dimension, rank = shape
    scales = random_scales(seed, dimension, rank, spread)
    momentum = np.random.default_rng(seed + 1).standard_normal(dimension) / scales.scale
    found, expected = velocity(metric_of(scales), momentum), inverse_mass(scales) @ momentum
    # measured in the scaled space, where no coordinate hides behind another
    size = np.abs(momentum * scales.scale).max() * np.max(scales.eigenvalues, initial=1.0)
    np.testing.assert_allclose(found / scales.scale, expected / scales.scale, atol=1e-13 * dimension * size)


@pytest.mark.parametrize("dimension", [65, 300, 1001])
def test_velocity_of_long_vectors_skips_the_space_between_rows(dimension: int) -> None:
    """Rows of long vectors lie apart; what lies between them never enters."""
    for rank in (1, 4, 5, 9):
        scales = random_scales(dimension + rank, dimension, rank)
        momentum = np.random.default_rng(rank).standard_normal(dimension)
        np.testing.assert_allclose(velocity(metric_of(scales), momentum), inverse_mass(scales) @ momentum, atol=1e-11)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(Ranks, st.integers(0, 2**31))
def test_cpython_gives_the_same_velocity_and_momentum(shape: tuple[int, int], seed: int) -> None:
    """The same source, up to the order of sums."""
    dimension, rank = min(shape[0], 12), min(shape[1], 12)
    metric = metric_of(random_scales(seed, dimension, min(rank, dimension)))
    numbers = np.random.default_rng(seed).standard_normal(dimension)
    plain = np.zeros(dimension)
    velocity_of(metric, numbers, plain)
    np.testing.assert_allclose(plain, velocity(metric, numbers), rtol=1e-11, atol=1e-11)
    one, other = numbers.copy(), numbers.copy()
    scale_momentum(metric, one)
    scale_momentum.compiled(metric, other)
    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(Ranks, st.floats(0.0, 3.0), st.integers(0, 2**31))
def test_momenta_have_the_covariance_of_the_mass(shape: tuple[int, int], spread: float, seed: int) -> None:
    """Exactly: momenta are a linear map A of independent normals, and A A' is the inverse of the inverse mass."""
    dimension, rank = shape
    scales = random_scales(seed, dimension, rank, spread)
    metric = metric_of(scales)
    columns = []
    for unit in np.eye(dimension):
        momentum = unit.copy()
        scale_momentum.compiled(metric, momentum)
        columns.append(momentum)
    factor = np.array(columns).T
    product = inverse_mass(scales) @ factor @ factor.T
    scaled = product / scales.scale[:, None] * scales.scale
    np.testing.assert_allclose(scaled, np.eye(dimension), atol=1e-12 * dimension * np.exp(4.0 * spread))


def test_sampled_momenta_have_the_covariance_of_the_mass() -> None:
    """20,000 momenta with three directions, made white by the exact factor: all moments of second order."""
    scales = random_scales(5, 6, 3)
    metric = metric_of(scales)
    point = new_point(7, np.zeros(6), Vectors(6))
    momentum, draws = np.zeros(6), np.empty((20_000, 6))
    for transition in range(len(draws)):
        point.transition = transition
        draw_momentum.compiled(point, metric, MOMENTUM, 0, momentum)
        draws[transition] = momentum
    white = draws @ np.linalg.cholesky(inverse_mass(scales))
    assert np.abs(white.mean(axis=0)).max() < 5.0 / np.sqrt(len(draws))
    covariance = white.T @ white / len(draws)
    assert np.abs(covariance - np.eye(6)).max() < 5.0 * np.sqrt(2.0 / len(draws))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(Ranks, st.floats(0.0, 5.0), st.integers(0, 2**31))
def test_what_is_installed_is_read_back(shape: tuple[int, int], spread: float, seed: int) -> None:
    """Scales, directions and eigenvalues, up to rounding; and again without any directions."""
    dimension, rank = shape
    scales = random_scales(seed, dimension, rank, spread)
    metric = metric_of(scales)
    read = installed(metric)
    assert read.rank == metric.rank == rank
    np.testing.assert_allclose(read.scale, scales.scale, rtol=1e-14)
    np.testing.assert_allclose(read.directions, scales.directions, atol=1e-14)
    np.testing.assert_allclose(read.eigenvalues, scales.eigenvalues, rtol=1e-11)  # the shift by 1 costs digits
    np.testing.assert_allclose(read.variance, np.diag(inverse_mass(scales)), rtol=1e-11)

    install(metric, diagonal(scales.scale**2))
    plain = installed(metric)
    assert plain.rank == metric.rank == 0
    np.testing.assert_allclose(plain.variance, scales.scale**2, rtol=1e-14)
    momentum = np.ones(dimension)
    np.testing.assert_allclose(velocity(metric, momentum), scales.scale**2, rtol=1e-14)


def test_a_metric_with_all_directions_is_any_covariance() -> None:
    """Dense: the velocity is the covariance times the momentum."""
    rng = np.random.default_rng(3)
    for dimension in (1, 2, 5, 30):
        factor = rng.standard_normal((dimension, 2 * dimension))
        covariance = factor @ factor.T
        momentum = rng.standard_normal(dimension)
        found = velocity(metric_of(scales_of(covariance)), momentum)
        np.testing.assert_allclose(found, covariance @ momentum, rtol=1e-10)


def test_a_new_metric_is_the_unit_metric() -> None:
    """Of no directions."""
    metric = new_metric(Vectors(5))
    momentum = np.arange(5.0)
    np.testing.assert_array_equal(velocity(metric, momentum), momentum)
    scale_momentum.compiled(metric, momentum)
    np.testing.assert_array_equal(momentum, np.arange(5.0))


@pytest.mark.parametrize(
    ("given_variance", "kept"),
    [
        (4.0, 4.0),
        (0.0, SMALLEST_VARIANCE),
        (-1.0, SMALLEST_VARIANCE),
        (1e-300, SMALLEST_VARIANCE),
        (1e300, LARGEST_VARIANCE),
        (np.inf, LARGEST_VARIANCE),
        (np.nan, 1.0),
    ],
)
def test_variances_are_kept_within_bounds(given_variance: float, kept: float) -> None:
    """What is no number becomes 1."""
    metric = new_metric(Vectors(2))
    set_variance.compiled(metric, 1, given_variance)
    np.testing.assert_array_equal(np.asarray(metric.variance), [1.0, kept])
    np.testing.assert_allclose(np.asarray(metric.mass_deviation), [1.0, kept**-0.5], rtol=1e-15)


def test_directions_go_with_the_variances_that_are_kept() -> None:
    """A scale out of bounds is clipped in the directions too: the inverse mass stays positive."""
    scales = Scales(np.array([1e-30, 1.0, 1e30]), np.full((1, 3), 1.0 / np.sqrt(3.0)), np.array([0.01]))
    metric = metric_of(scales)
    clipped = Scales(np.array([1e-10, 1.0, 1e10]), scales.directions, scales.eigenvalues)
    momentum = np.array([1e10, 2.0, 3e-10])
    expected = inverse_mass(clipped) @ momentum
    np.testing.assert_allclose(velocity(metric, momentum), expected, rtol=1e-12)
    assert momentum @ expected > 0.0
