"""What the machine code of the diagnostics is made of: sorting and normal scores, and the same under CPython."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from consilience.diagnostics.compiled.normal_scores import normal_quantile, score_table
from consilience.diagnostics.compiled.series import sort_positions
from consilience.diagnostics.f_quantile import largest_ratio, upper_tail
from consilience.diagnostics.rank_normalisation import scores_of_half_ranks

Numbers = np.ndarray


def order_of(values: Numbers, compiled: bool = True) -> tuple[Numbers, Numbers]:
    """Order and sorted values."""
    count = len(values)
    order, ascending = np.full(count, -1, np.int32), np.full(count, np.nan)
    memory = np.empty((3, count), np.uint64)
    sort = sort_positions.compiled if compiled else sort_positions
    sort(values, count, order, ascending, *memory)
    return order, ascending


finite = st.floats(allow_nan=False, allow_infinity=False)
few = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1.0 + 2.0**-52, 5e-324, -1.7e308])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(finite | few, min_size=1, max_size=300))
def test_numbers_are_sorted_and_equal_ones_keep_their_order(numbers: list[float]) -> None:
    """As the library's stable sort does, zeros of both signs being equal."""
    values = np.array(numbers)
    order, ascending = order_of(values)
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(ascending, values[order])


@pytest.mark.parametrize("count", [1, 40, 41, 1000, 5000])
@pytest.mark.parametrize("spread", [0.0, 1e-16, 1e-12, 1e-6, 1.0, 1e90])
def test_crowds_far_apart_are_sorted(count: int, spread: float) -> None:
    """Crowds whose numbers share their leading bits, where those of all numbers span every exponent."""
    rng = np.random.default_rng(count)
    centres = np.array([0.0, 1.0, -1.0, 1e200, 1e-200])
    values = rng.choice(centres, count) * (1 + spread * rng.uniform(-0.5, 0.5, count))
    np.testing.assert_array_equal(order_of(values)[0], np.argsort(values, kind="stable"))


def test_cpython_sorts_the_same() -> None:
    """Radix passes, insertions and the way for crowds."""
    rng = np.random.default_rng(2)
    for values in (rng.normal(size=60), 1 + 1e-15 * rng.normal(size=90), rng.choice([1e300, 1 + 1e-12], 80)):
        values = np.concatenate([values, 1e-300 * values, values * (1 + 1e-14 * rng.normal(size=len(values)))])
        for one, other in zip(order_of(values, compiled=False), order_of(values), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 1001, 20_000])
def test_normal_scores_are_those_of_the_diagnostics(count: int) -> None:
    """To 1e-13, small ones too, and antisymmetric."""
    table = np.empty(2 * count - 1)
    score_table.compiled(count, table)
    # The diagnostics take quantiles of rounded probabilities; near the median that costs digits of small scores.
    np.testing.assert_allclose(table, scores_of_half_ranks(count), rtol=1e-13, atol=1e-16)
    from_median = (np.arange(2 * count - 1) - (count - 1)) / (2 * count + 0.5)
    near = np.abs(from_median) < 0.4
    expected = math.sqrt(2) * special.erfinv(2 * from_median[near])
    np.testing.assert_allclose(table[near], expected, rtol=1e-13, atol=0)
    np.testing.assert_array_equal(table, -table[::-1])


def test_normal_quantiles_are_exact() -> None:
    """Against the inverse of another library, from the median to the farthest tail."""
    for p in [0.5, 0.4999, 0.3, 0.0750001, 0.0749999, 0.01, 1e-6, 1.3e-11, 1.4e-11, 1e-30, 1e-300]:
        np.testing.assert_allclose(normal_quantile.compiled(p), special.ndtri(p), rtol=2e-15)
        np.testing.assert_allclose(normal_quantile(p), special.ndtri(p), rtol=2e-15)


@pytest.mark.parametrize("chains", [1, 2, 4, 9, 64])
def test_largest_ratio_is_the_quantile_of_the_f_distribution(chains: int) -> None:
    """Against another library, which loses digits of its own near 1."""
    for scalars in (1, 10, 1000, 100_000):
        expected = special.fdtri(2 * chains - 1, 200, 1 - 0.01 / (2 * scalars))
        np.testing.assert_allclose(largest_ratio(chains, scalars), expected, rtol=1e-7)
    for ratio in (0.3, 1.0, 2.5):
        np.testing.assert_allclose(
            upper_tail(ratio, 2 * chains - 1), special.fdtrc(2 * chains - 1, 200, ratio), atol=1e-13
        )
