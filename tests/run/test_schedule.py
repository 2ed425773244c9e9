"""Lengths of windows and moments of checks, for all options."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.diagnostics import examine
from consilience.inference.pooled_tuning import ALONE, WINDOW_GROWTH, next_tuning_window, tuning_window
from consilience.run.verdicts import CHECK_GROWTH, check_after, look_again_after
from tests.rows import slow_after

COUNTS = st.integers(0, 5000)


def checks(first: int, last: int) -> list[int]:
    """All checks of a run."""
    found = [0]
    while found[-1] < last:
        found.append(check_after(found[-1], first, last))
    return found[1:]


def test_windows_have_the_published_lengths() -> None:
    assert [tuning_window(k) for k in range(7)] == [15, 22, 33, 50, 75, 113, 170]


@given(number=st.integers(0, 20))
def test_windows_grow_by_half(number: int) -> None:
    assert -WINDOW_GROWTH < tuning_window(number) * WINDOW_GROWTH - tuning_window(number + 1) < 1


@given(total=COUNTS)
def test_windows_fill_a_fixed_length_exactly(total: int) -> None:
    """Whatever is left over goes into the last one, which is shorter than it and its follower would have been."""
    done, number, windows = min(ALONE, total), 0, []
    while done < total:
        windows.append(next_tuning_window(number, done, total))
        assert windows[-1] > 0
        done += windows[-1]
        number += 1
    assert done == total
    assert windows[:-1] == [tuning_window(k) for k in range(len(windows) - 1)]
    if windows:
        assert windows[-1] < tuning_window(len(windows) - 1) + tuning_window(len(windows))


@given(number=st.integers(0, 12), done=COUNTS)
def test_windows_without_an_end_do_not_depend_on_what_was_done(number: int, done: int) -> None:
    assert next_tuning_window(number, done, None) == tuning_window(number)


@given(first=st.integers(4, 600), last=st.integers(4, 5000))
def test_checks_are_even_and_a_quarter_farther_each_time(first: int, last: int) -> None:
    """But for the last one, which is where the run ends."""
    found = checks(min(first, last), last)
    assert found[-1] == last
    assert found == sorted(set(found))
    assert all(n % 2 == 0 for n in found[:-1])
    if len(found) > 1:
        assert found[0] == first + first % 2
    for before, after in itertools.pairwise(found[:-1]):
        assert after <= CHECK_GROWTH * before + 3
        assert after >= CHECK_GROWTH * (before - 2)


@given(first=st.integers(4, 600), short=st.integers(4, 5000), longer=st.integers(4, 5000))
def test_the_end_of_a_run_has_no_influence_on_earlier_checks(first: int, short: int, longer: int) -> None:
    short, longer = sorted((max(short, first), max(longer, first)))
    expected = [n for n in checks(first, longer) if n < short]
    assert checks(first, short)[:-1] == expected


@given(first=st.integers(4, 600), last=st.integers(4, 5000), draws=COUNTS)
def test_the_next_check_is_the_first_one_after(first: int, last: int, draws: int) -> None:
    first = min(first, last)
    expected = next((n for n in checks(first, last) if n > draws), last)
    assert check_after(draws, first, last) == expected


def test_checks_of_the_default() -> None:
    assert checks(100, 4000) == [
        100, 126, 158, 196, 246, 306, 382, 478, 598, 746, 932, 1166, 1456, 1820, 2274, 2844, 3554, 4000,
    ]  # fmt: skip


@given(draws=st.integers(4, 10_000), size=st.floats(0, 1e6), target=st.floats(1, 1e6))
def test_looks_are_left_out_only_where_they_are_hopeless(draws: int, size: float, target: float) -> None:
    """Within what it takes at the present rate and within twice the draws; half of both is always left out."""
    until = look_again_after(draws, size, target)
    assert until <= 2 * draws
    if size > 0:
        assert until * size <= draws * target * (1 + 1e-12)
        assert until == 2 * draws or (until + 1) * size > draws * target / 2 * (1 - 1e-12)


@pytest.mark.parametrize("coefficient", slow_after(2, [0.6, 0.95, 0.3, 0.8, 0.9]))
def test_draws_that_would_have_sufficed_are_seldom_passed_over(coefficient: float) -> None:
    """Of looks that are left out, in at most 5 % the draws just before the next one have the size asked for."""
    rng = np.random.default_rng(7)
    early = left_out = 0
    for draws in (100, 200, 400):
        values = rng.standard_normal((4, 2 * draws, 100))
        values[:, 0] /= math.sqrt(1 - coefficient**2)
        for t in range(1, 2 * draws):
            values[:, t] += coefficient * values[:, t - 1]
        first = examine(values[:, :draws])
        for target in (100.0, 400.0, 1000.0):
            for scalar, size in enumerate(np.fmin(first.ess_bulk, first.ess_tail).tolist()):
                until = look_again_after(draws, size, target)
                if size < target and until > draws + 1:
                    before = examine(values[:, : (until - 1) // 2 * 2, scalar : scalar + 1])
                    left_out += 1
                    early += bool(min(before.ess_bulk[0], before.ess_tail[0]) >= target)
    assert left_out > 300
    assert early <= 0.05 * left_out
