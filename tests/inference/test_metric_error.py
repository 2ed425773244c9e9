"""Laws of the bound on a metric's error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.inference.metric import Scales, diagonal
from consilience.inference.metric_change import log_ratios
from consilience.inference.metric_error import error_bound
from tests.inference.metrics import inverse_mass, random_scales

Matrix = NDArray[np.float64]


def exactly(covariance: Matrix, seed: int) -> tuple[Matrix, Matrix]:
    """Draws whose covariance is this to rounding, far from zero, and the gradients of the normal log density there."""
    dimension = len(covariance)
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    white = np.concatenate([axes, -axes]) * np.sqrt(dimension)
    lower = np.linalg.cholesky(covariance)
    return white @ lower.T + 7.0, np.asarray(-np.linalg.solve(lower.T, white.T).T - 3.0)


Pairs = st.integers(1, 20).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n)))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(Pairs, st.floats(0.0, 1.5), st.integers(0, 2**30))
def test_the_error_is_not_above_the_bound(pair: tuple[int, int, int], spread: float, seed: int) -> None:
    """For normal targets of any metric; where it is small, it is not far below."""
    dimension, true_rank, rank = pair
    true = random_scales(2 * seed, dimension, true_rank, spread)
    scales = random_scales(2 * seed + 1, dimension, rank, spread)
    error = log_ratios(true, scales).var()
    bound = error_bound(*exactly(inverse_mass(true), seed), scales)
    assert error <= bound * (1.0 + 1e-9) + 1e-8 * np.exp(3.0 * spread)
    widest = np.ptp(log_ratios(true, scales))
    assert bound <= error * np.exp(widest) + 1e-8 * np.exp(3.0 * spread)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(1, 20), st.floats(0.01, 100.0), st.integers(0, 2**30))
def test_the_metric_of_a_normal_has_no_error_in_any_unit(dimension: int, factor: float, seed: int) -> None:
    """A common factor is no error either: the step size takes it up."""
    true = random_scales(seed, dimension, dimension // 2)
    longer = Scales(factor * true.scale, true.directions, true.eigenvalues)
    assert error_bound(*exactly(inverse_mass(true), seed), longer) == pytest.approx(0.0, abs=1e-9)


def test_targets_that_are_not_normal_are_bounded_too() -> None:
    """Independent Student's t with 5 degrees: draws of variance 5/3, slopes of 3/4, a metric of their ratio's root."""
    rng = np.random.default_rng(1)
    draws = rng.standard_t(5, (200_000, 2)) * [1.0, 3.0]
    gradients = -6.0 * draws / [1.0, 3.0] / (5.0 + (draws / [1.0, 3.0]) ** 2) / [1.0, 3.0]
    bound = error_bound(draws, gradients, diagonal(np.array([1.0, 9.0])))
    assert bound == pytest.approx(2.0 * (np.sqrt(5.0 / 3.0 * 0.75) - 1.0), abs=0.02)


def test_what_is_not_finite_proves_nothing() -> None:
    """The bound does not hold then, and no comparison says that it does; nor does a warning come."""
    draws, gradients = exactly(np.eye(3), 2)
    for poison in (np.nan, np.inf, 1e200):
        poisoned = draws.copy()
        poisoned[1, 1] = poison
        assert not error_bound(poisoned, gradients, diagonal(np.ones(3))) <= 1e6
