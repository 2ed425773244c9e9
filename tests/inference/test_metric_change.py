"""Laws of the distance between two metrics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import linalg

from consilience.inference.fisher_metric import estimate
from consilience.inference.metric import Scales, diagonal
from consilience.inference.metric_change import LARGEST_EXACT, log_ratios, matrix
from tests.inference.metrics import inverse_mass, random_scales, scales_of

Pairs = st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n)))


def exact(new: Scales, old: Scales) -> NDArray[np.float64]:
    """Logs of the generalised eigenvalues of the two dense matrices, ascending."""
    return np.log(linalg.eigh(inverse_mass(new), inverse_mass(old), eigvals_only=True))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(Pairs, st.floats(0.0, 2.0), st.integers(0, 2**30))
def test_log_ratios_are_those_of_the_dense_matrices(pair: tuple[int, int, int], spread: float, seed: int) -> None:
    """For any two ranks, with and without directions."""
    dimension, new_rank, old_rank = pair
    new = random_scales(2 * seed, dimension, new_rank, spread)
    old = random_scales(2 * seed + 1, dimension, old_rank, spread)
    found = log_ratios(new, old)
    assert found.shape == (dimension,)
    np.testing.assert_allclose(np.sort(found), exact(new, old), atol=1e-9 * np.exp(3.0 * spread))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(Pairs, st.floats(0.0, 1.5), st.integers(0, 2**30))
def test_the_way_back_has_the_opposite_logs(pair: tuple[int, int, int], spread: float, seed: int) -> None:
    """Antisymmetry; and from a metric to itself all logs are 0."""
    dimension, new_rank, old_rank = pair
    new = random_scales(2 * seed, dimension, new_rank, spread)
    old = random_scales(2 * seed + 1, dimension, old_rank, spread)
    there, back = log_ratios(new, old), log_ratios(old, new)
    np.testing.assert_allclose(np.sort(there), np.sort(-back), atol=1e-8 * np.exp(3.0 * spread))
    np.testing.assert_allclose(log_ratios(new, new), 0.0, atol=1e-11 * np.exp(3.0 * spread))


def test_a_common_factor_is_a_common_log() -> None:
    """Twice the standard deviations: log 4 everywhere, exact or not."""
    for dimension in (5, LARGEST_EXACT + 50):
        for rank in (0, 3):
            old = random_scales(dimension, dimension, rank)
            new = Scales(2.0 * old.scale, old.directions, old.eigenvalues)
            np.testing.assert_allclose(log_ratios(new, old), np.log(4.0), atol=1e-10)


def test_a_matrix_of_scales_is_the_inverse_mass() -> None:
    """By its definition; and its diagonal is the variance."""
    for rank in (0, 1, 6):
        scales = random_scales(rank, 6, rank)
        np.testing.assert_allclose(matrix(scales), inverse_mass(scales), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(np.diag(matrix(scales)), scales.variance, rtol=1e-12)


LARGE = LARGEST_EXACT + 30


@pytest.mark.parametrize(("new_rank", "old_rank"), [(4, 0), (0, 4), (3, 5), (1, 1)])
def test_many_coordinates_of_equal_scales_are_compared_exactly(new_rank: int, old_rank: int) -> None:
    """Within the span of all directions, and 0 outside."""
    new, old = random_scales(1, LARGE, new_rank), random_scales(2, LARGE, old_rank)
    new = Scales(old.scale, new.directions, new.eigenvalues)
    found = np.sort(log_ratios(new, old))
    np.testing.assert_allclose(found[np.abs(found) > 1e-8], [r for r in exact(new, old) if abs(r) > 1e-8], atol=1e-9)
    back = np.sort(-log_ratios(old, new))
    np.testing.assert_allclose(back, found, atol=1e-9)


def test_many_coordinates_without_directions_are_compared_exactly() -> None:
    """Ratios of variances."""
    rng = np.random.default_rng(3)
    late, early = np.exp(rng.standard_normal((2, LARGE)))
    np.testing.assert_allclose(log_ratios(diagonal(late), diagonal(early)), np.log(late / early), atol=1e-12)


@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.integers(0, 6), st.integers(0, 6), st.floats(0.0, 1.0), st.integers(0, 2**30))
def test_many_coordinates_are_compared_within_the_exact_range(
    new_rank: int, old_rank: int, spread: float, seed: int
) -> None:
    """Within a span no ratio passes the extremes of the whole space; and two coordinates' ratio is not lost."""
    new = random_scales(2 * seed, LARGE, new_rank, spread)
    old = random_scales(2 * seed + 1, LARGE, old_rank, spread)
    found, true = log_ratios(new, old), exact(new, old)
    assert np.isfinite(found).all()
    within = found[:-LARGE]  # those of the span
    assert len(within) == (new_rank + old_rank if len(found) > LARGE else 0)
    assert (within >= true[0] - 1e-9).all()
    assert (within <= true[-1] + 1e-9).all()
    np.testing.assert_allclose(found[len(within) :], 2.0 * np.log(new.scale / old.scale), atol=1e-12)


def test_the_large_path_sees_a_great_change_as_the_exact_one_does() -> None:
    """A direction learnt anew, scales off by some per cent: extremes and spread as in the dense comparison."""
    rng = np.random.default_rng(4)
    old = random_scales(5, LARGE, 3, 0.5)
    learnt = random_scales(6, LARGE, 4, 0.0)
    new = Scales(
        old.scale * np.exp(0.02 * rng.standard_normal(LARGE)), learnt.directions, np.array([100.0, 30.0, 10.0, 0.1])
    )
    found, true = log_ratios(new, old), exact(new, old)
    assert found.max() == pytest.approx(true[-1], abs=0.02)
    assert found.min() == pytest.approx(true[0], abs=0.02)


def test_metrics_of_any_condition_are_compared() -> None:
    """Covariances with condition numbers of 1e12 give finite logs."""
    vectors, _ = np.linalg.qr(np.random.default_rng(7).standard_normal((20, 20)))
    steep = scales_of(vectors * np.geomspace(1e-6, 1e6, 20) @ vectors.T)
    unit = diagonal(np.ones(20))
    np.testing.assert_allclose(np.sort(log_ratios(steep, unit)), np.log(np.geomspace(1e-6, 1e6, 20)), atol=1e-3)
    assert np.isfinite(log_ratios(unit, steep)).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(2, 12), st.integers(10, 60), st.floats(0.0, 9.0), st.integers(0, 2**31))
def test_what_is_learnt_of_nearly_singular_normals_can_be_compared(
    dimension: int, count: int, spread: float, seed: int
) -> None:
    """Two windows of a target whose variances differ by up to 18 orders of magnitude: finite logs, both ways."""
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    deviation = 10.0 ** (0.5 * rng.uniform(-spread, spread, dimension))
    learnt = []
    for _ in range(2):
        white = rng.standard_normal((count, dimension))
        scales = estimate(white * deviation @ axes.T, -white / deviation @ axes.T, "dense")
        assert scales is not None
        learnt.append(scales)
    for new, old in (learnt, learnt[::-1]):
        assert np.isfinite(log_ratios(new, old)).all()
