"""What the watch is made of: sorting, normal scores, the F distribution, and the same figures under CPython."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from consilience import diagnostics
from consilience.diagnostics.rank_normalisation import scores_of_half_ranks
from consilience.diagnostics.watch import StoppingRule, Watch
from consilience.diagnostics.watch import watch as module
from consilience.diagnostics.watch.columns import ColumnBlock
from consilience.diagnostics.watch.grades import CROWD, GRADES, grade, indicators_of_grades, series_of_grades
from consilience.diagnostics.watch.judgement import GROUP, PASSES, Question, first_failing, judge_given, measure_all
from consilience.diagnostics.watch.normal_quantile import normal_quantile, score_at, score_table
from consilience.diagnostics.watch.persistence import guess_times
from consilience.diagnostics.watch.screening import screen
from consilience.diagnostics.watch.sorting import BINS, DIGITS, merge_behind, sort_positions
from consilience.diagnostics.watch.variance_ratio import largest_ratio, upper_tail

Numbers = np.ndarray


def order_of(values: Numbers, begin: int = 0, compiled: bool = True) -> tuple[Numbers, Numbers]:
    """Order and sorted values from `begin` on."""
    count = len(values)
    order, ascending = np.full(count, -1, np.int32), np.full(count, np.nan)
    pairs, other = np.empty(count, np.uint64), np.empty(count, np.uint64)
    places = np.empty(DIGITS * BINS, np.int64)
    sort = sort_positions.compiled if compiled else sort_positions
    sort(values, begin, count, order, ascending, pairs, other, places)
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


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(few | finite, min_size=1, max_size=200), st.integers(0, 200))
def test_merging_gives_the_order_of_all(numbers: list[float], cut: int) -> None:
    """Wherever the later run begins, in every place."""
    values = np.array(numbers)
    begin = min(cut, len(values))
    order, ascending = order_of(values, begin)
    if begin:
        order[:begin], ascending[:begin] = order_of(values[:begin])
    merge_behind.compiled(order, ascending, begin, len(values), np.empty(200, np.int32), np.empty(200))
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(ascending, values[order])


def test_cpython_sorts_the_same() -> None:
    """Radix passes, insertions and the way for crowds."""
    rng = np.random.default_rng(2)
    for values in (rng.normal(size=60), 1 + 1e-15 * rng.normal(size=90), rng.choice([1e300, 1 + 1e-12], 80)):
        values = np.concatenate([values, 1e-300 * values, values * (1 + 1e-14 * rng.normal(size=len(values)))])
        for one, other in zip(order_of(values, compiled=False), order_of(values), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 1001, 20_000])
def test_normal_scores_are_those_of_the_diagnostics(count: int) -> None:
    """To 1e-13, small ones too, and antisymmetric; those of half ranks once they are asked for."""
    table = np.empty(2 * count - 1)
    score_table.compiled(count, table)
    assert not np.isnan(table[::2]).any()
    for place in np.flatnonzero(np.isnan(table)):
        assert score_at.compiled(count, table, int(place)) == table[place]
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


def test_cpython_judges_and_measures_the_same() -> None:
    """The functions are Python: figures, verdict and screening agree up to the last bits, merged orders included."""
    rng = np.random.default_rng(3)
    draws = rng.normal(size=(2, 61, 4))
    draws[:, :, 1] = rng.poisson(1, size=(2, 61))
    draws[1, :, 2] += 0.5
    found = []
    for compiled in (True, False):
        watch = Watch(2, 4)
        answers: list[object] = []
        for begin, end in ((0, 50), (50, 61)):
            watch.extend(draws[:, begin:end])
            plan, work = watch._plan("all", 2, watch.count), watch._memory()
            block, blocks = newest_block(watch), watch._columns.blocks
            figures = np.empty((3, 4))
            (measure_all.compiled if compiled else measure_all)(block, blocks, plan, work, np.arange(4), 4, *figures)
            question = Question(30.0, 1.05, 1.01, 3.0, PASSES, 0.0, 0.0, 0.0)
            first = first_failing.compiled if compiled else first_failing
            ample = Question(0.0, 1.01, math.inf, math.nan, PASSES, 0.0, 0.0, 0.0)
            some, more, looked = watch._plan("some", 2, 20), watch._plan("more", 2, 40), np.zeros(4, np.int64)
            asked, known = (question, some, more, ample), np.zeros((3, 4))
            place = first(
                block, blocks, plan, work, *asked, np.arange(4), 4, GROUP, np.zeros(4), known.reshape(-1), looked
            )
            suspects, times = np.full(4, -1), np.empty(4)
            look = screen.compiled if compiled else screen
            number = look(block, blocks, work, 2, watch.count, 20, 4, 0.05, np.zeros(4), suspects)
            (guess_times.compiled if compiled else guess_times)(block, 2, np.empty(20), times)
            given = np.ascontiguousarray(draws[:, : watch.count, 2]).reshape(-1)
            (judge_given.compiled if compiled else judge_given)(given, plan, work, ample)
            answers += [looked, question.found_rhat, question.found_size, known, times]
            answers += [ample.missed, ample.value, ample.found_rhat, ample.found_size]
            answers += [figures, place, question.missed, question.value, question.badness, number, suspects]
        found.append(answers)
    for native, plain in zip(*found, strict=True):
        np.testing.assert_allclose(native, plain, rtol=1e-12)
    expected = diagnostics.examine(draws)
    np.testing.assert_allclose(found[1][-7][0], expected.r_hat, rtol=1e-9)


def newest_block(watch: Watch) -> ColumnBlock:
    """The block from which one comes to all others."""
    block = watch._columns._rows[-1].at(watch._columns.newest)
    assert block is not None
    return block


def graded(values: Numbers) -> tuple[Watch, Numbers, bool]:
    """A watch after a look at grades of (chain, draw), in the sequence of half chains, and whether they do."""
    chains, draws = values.shape
    watch = Watch(chains, 1)
    watch.extend(values[:, :, None])
    plan, work = watch._plan("some", chains, draws), watch._memory()
    flat = np.ascontiguousarray(values).reshape(-1)
    return watch, flat, bool(grade.compiled(plan, work, flat, 0.05))


def series_of(watch: Watch, values: Numbers) -> Numbers:
    """The series in memory, (half chain, draw)."""
    chains, draws = values.shape
    plan = watch._plan("some", chains, draws)
    rows = np.asarray(plan.series)[: 2 * chains * plan.stride].reshape(2 * chains, plan.stride)
    assert not rows[:, plan.half :].any()
    return rows[:, : plan.half].copy()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 6), st.sampled_from([32, 64, 200]), st.integers(0, 10_000), st.floats(0.3, 3.0))
def test_scores_of_grades_are_normal_scores_of_rounded_draws(chains: int, draws: int, seed: int, power: float) -> None:
    """Ranks, distances and tails are those of draws rounded to equal steps of their range; crowds are refused."""
    rng = np.random.default_rng(seed)
    values = np.sign(noise := rng.normal(size=(chains, draws))) * np.abs(noise) ** power
    watch, flat, usable = graded(values)
    step = (flat.max() - flat.min()) / (GRADES - 1)
    rounded = np.round((flat - flat.min()) / step)
    counts = np.unique(rounded, return_counts=True)[1]
    if counts.max() * CROWD > len(flat):
        assert not usable
        return
    if not usable:  # a tail ends nowhere near a step's end
        below = np.array([(rounded <= g).mean() for g in range(GRADES)])
        assert max(abs(below - 0.05).min(), abs(below - 0.95).min()) >= 0.02 - 1e-9
        return
    plan, work = watch._plan("some", chains, draws), watch._memory()
    series_of_grades.compiled(plan, work.grades, work.grade_scores)
    table = scores_of_half_ranks(len(flat))
    expected = table[(2 * stats.rankdata(rounded)).astype(int) - 2].reshape(2 * chains, -1)
    np.testing.assert_allclose(series_of(watch, values), expected, rtol=1e-12, atol=1e-12)
    series_of_grades.compiled(plan, work.grades, work.folded_scores)
    folded = series_of(watch, values).reshape(-1)
    # Of steps without draws between the halves, the last one where fewer lie below, else the first.
    excess = np.array([(rounded <= g).sum() for g in range(-1, GRADES)]) - len(flat) // 2
    sides = [(abs(e), e > 0, g if e > 0 else -g) for g, e in enumerate(excess)]
    distances = np.abs(rounded - (sides.index(min(sides)) - 0.5))
    np.testing.assert_allclose(folded, table[(2 * stats.rankdata(distances)).astype(int) - 2], rtol=1e-12, atol=1e-12)
    for end, share in ((work.end_of_lower, 0.05), (work.end_of_upper, 0.95)):
        indicators_of_grades.compiled(plan, work, flat, end)
        ones = (rounded < end).reshape(2 * chains, -1)
        assert abs(ones.mean() - share) < 0.02
        centred = ones - ones.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(series_of(watch, values), centred, atol=1e-15)
        np.testing.assert_allclose(work.within, ones.var(axis=1, ddof=1).mean(), rtol=1e-12)
        np.testing.assert_allclose(work.between, ones.mean(axis=1).var(ddof=1), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("values", [np.ones((2, 64)), np.full((2, 64), 1e308) * [[1.0], [-1.0]], np.eye(2, 64)])
def test_draws_without_grades_are_left_to_sorting(values: Numbers) -> None:
    """All equal, farther apart than numbers reach, or nearly all equal."""
    assert not graded(values)[2]


def test_machine_code_is_made_once() -> None:
    """All watches share one library."""
    assert module.machine_code() is module.machine_code()
    assert Watch(1, 1).check(StoppingRule()) is not None
