"""Laws of the trajectory of NUTS: which leaves it has, when it turns, which leaf it chooses."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.inference.density import Inputs, Outputs, open_density
from consilience.inference.metric import new_metric
from consilience.inference.nuts import (
    SLOTS,
    Nuts,
    close_spans,
    free_slot,
    leaves_turn,
    log_add_exp,
    new_nuts,
    spans_turn,
    transition,
)
from consilience.inference.point import new_point, start
from consilience.inference.streams import chain_key
from consilience.inference.vectors import Vectors
from consilience.native.typed_python import Array, f64, i64, native, record
from tests.inference.targets import Target, flat, half_space, standard

FREE = {n: Target(flat, n, np.zeros(n), np.ones(n)) for n in range(1, 6)}


def nuts_at(target: Any, position: NDArray[np.float64], max_treedepth: int = 10, seed: int = 0) -> Nuts:
    """A fresh kernel with unit metric at a position where the density is known."""
    density = open_density(target, np.zeros(1, np.int64))
    vectors = Vectors(len(position))
    point = new_point(chain_key(seed, 0), position, vectors)
    assert start.compiled(point, density)
    return new_nuts(density, point, new_metric(vectors), vectors, max_treedepth)


def turns(begin: NDArray[np.float64], end: NDArray[np.float64], total: NDArray[np.float64]) -> bool:
    """The generalised criterion for unit mass."""
    return not (begin @ total > 0.0 and end @ total > 0.0)


def move(growth: Any, momentum: NDArray[np.float64], stride: int) -> None:
    """Give the leaf made last a momentum of unit mass, whose velocity is equal to it."""
    growth.motion[: len(momentum)] = momentum
    growth.motion[stride : stride + len(momentum)] = momentum


def first_turn(momenta: NDArray[np.float64]) -> int | None:
    """Index of the leaf at which recursive doubling would notice a turn, by the definition."""

    def span(low: int, high: int) -> int | None:
        if high - low == 1:
            return None
        middle = (low + high) // 2
        for half in (span(low, middle), span(middle, high)):
            if half is not None:
                return half
        p, left, right = momenta, momenta[low:middle].sum(0), momenta[middle:high].sum(0)
        whole = turns(p[low], p[high - 1], left + right)
        across = turns(p[low], p[middle], left + p[middle])
        back = turns(p[middle - 1], p[high - 1], p[middle - 1] + right)
        return high - 1 if whole or across or back else None

    return span(0, len(momenta))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 6), st.integers(1, 5), st.floats(0.0, 3.0), st.integers(0, 2**31))
def test_iterative_doubling_notices_the_same_turns_as_recursion(
    depth: int, dimension: int, drift: float, seed: int
) -> None:
    """The counter of spans stops at the leaf at which the recursive definition stops."""
    rng = np.random.default_rng(seed)
    momenta = np.cumsum(rng.standard_normal((2**depth, dimension)), axis=0) * 0.3 + drift
    nuts = nuts_at(FREE[dimension], np.zeros(dimension))
    growth: Any = nuts.growth
    growth.waiting = 0
    noticed = None
    for leaf, momentum in enumerate(momenta):
        move(growth, momentum, nuts.point.stride)
        if close_spans.compiled(growth, leaf, dimension, nuts.point.stride):
            noticed = leaf
            break
    assert noticed == first_turn(momenta)
    if noticed is None:
        assert growth.waiting == 1
        sums = growth.sums if depth > 0 else growth.begins
        np.testing.assert_allclose(sums[:dimension], momenta.sum(axis=0), atol=1e-12)
        np.testing.assert_array_equal(growth.begins[:dimension], momenta[0])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(1, 20), st.integers(0, 9), st.integers(0, 2**31))
def test_two_leaves_are_the_smallest_spans(dimension: int, spare: int, seed: int) -> None:
    """The three criteria of joined spans are one and the same for single leaves, whatever the distance of the rows."""
    rng = np.random.default_rng(seed)
    stride = dimension + spare
    first, second = rng.standard_normal((2, dimension))
    variance = rng.uniform(0.1, 3.0, dimension)
    first_motion, second_motion = (np.full(2 * stride, np.nan) for _ in range(2))
    for motion, momentum in ((first_motion, first), (second_motion, second)):
        motion[:dimension], motion[stride : stride + dimension] = momentum, variance * momentum
    total, joined = np.empty(dimension), first.copy()
    short = leaves_turn.compiled(first_motion, second_motion, total, dimension, stride)
    long = spans_turn.compiled(
        first_motion, first_motion, joined, second_motion, second_motion, second, dimension, stride
    )
    assert short == long == turns(variance * first, variance * second, first + second)
    np.testing.assert_allclose(total, joined, rtol=1e-15)
    np.testing.assert_array_equal(total, first + second)


@pytest.mark.parametrize("depth", [1, 2, 3, 7, 10])
def test_a_free_particle_doubles_up_to_the_greatest_depth(depth: int) -> None:
    """Without force nothing turns: 2**depth - 1 leapfrog steps, and the choice lies in the last half."""
    for seed in range(20):
        nuts = nuts_at(FREE[3], np.zeros(3), max_treedepth=depth, seed=seed)
        assert transition.compiled(nuts, 0.1)
        info, trajectory = nuts.info, nuts.trajectory
        assert info.depth == depth
        assert info.n_steps == 2**depth - 1
        assert not trajectory.turning
        assert not info.diverging
        assert info.mean_tree_accept == 1.0
        assert info.max_energy_error == pytest.approx(0.0, abs=1e-12)
        low, high = (trajectory.end_places[side] for side in (0, 1))
        assert high - low == 2**depth - 1
        assert low <= 0 <= high
        assert trajectory.log_weight == pytest.approx(depth * np.log(2.0))
        # the new half always weighs as much as the old one, so it is always moved to
        assert abs(info.index_in_trajectory) >= 1


def test_points_of_a_free_particle_lie_where_their_place_says() -> None:
    """Position = place * step * momentum: slots are never mixed up."""
    nuts = nuts_at(FREE[3], np.zeros(3), max_treedepth=6)
    for _ in range(200):
        nuts.point.position[0] = nuts.point.position[1] = nuts.point.position[2] = 0.0
        assert transition.compiled(nuts, 0.1)
        momentum = np.asarray(nuts.trajectory.end_motions)[:3]  # never changes
        place = nuts.info.index_in_trajectory
        np.testing.assert_allclose(np.asarray(nuts.point.position), place * 0.1 * momentum, atol=1e-12)


def test_choice_within_the_new_half_is_uniform_for_equal_weights() -> None:
    """4 leaves of the last half of a tree of depth 3, 4000 transitions of a free particle."""
    counts: Counter[int] = Counter()
    sides: Counter[bool] = Counter()
    nuts = nuts_at(FREE[1], np.zeros(1), max_treedepth=3)
    for _ in range(4000):
        nuts.point.position[0] = 0.0
        assert transition.compiled(nuts, 0.1)
        low, high = (nuts.trajectory.end_places[side] for side in (0, 1))
        # the last half holds the end that is not in the first half, which contains the start
        forward = nuts.info.index_in_trajectory > 0
        counts[(high - nuts.info.index_in_trajectory) if forward else (nuts.info.index_in_trajectory - low)] += 1
        sides[forward] += 1
    assert set(counts) == {0, 1, 2, 3}
    expected = 1000.0
    chi_square = sum((c - expected) ** 2 / expected for c in counts.values())
    assert chi_square < 16.3  # 0.1 % quantile, 3 degrees of freedom
    assert abs(sides[True] - 2000) < 3.3 * np.sqrt(1000.0)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.floats(0.01, 1.0), st.floats(0.0, 6.3))
def test_a_circle_turns_at_the_first_doubling_beyond_half_a_turn(step: float, phase: float) -> None:
    """A momentum that rotates uniformly: spans shorter than pi never turn, the first longer one does."""
    doublings = int(np.ceil(np.log2(np.pi / step)))
    if abs(step * 2**doublings - np.pi) < 2.0 * step or abs(step * 2 ** (doublings - 1) - np.pi) < 2.0 * step:
        return  # the border itself depends on where within a step the turn falls
    angles = phase + step * np.arange(2**doublings)
    momenta = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    nuts = nuts_at(standard(2), np.zeros(2), max_treedepth=doublings + 1)
    growth: Any = nuts.growth
    turned = []
    for leaf, momentum in enumerate(momenta):
        move(growth, momentum, nuts.point.stride)
        turned.append(close_spans.compiled(growth, leaf, 2, nuts.point.stride))
    assert turned == [False] * (2**doublings - 1) + [True]


def test_a_trajectory_of_an_oscillator_turns_within_its_period() -> None:
    """Ellipses of all shapes; the period is 2 pi."""
    for seed in range(50):
        nuts = nuts_at(standard(2), np.array([1.0, 0.5]), seed=seed)
        assert transition.compiled(nuts, 0.01)
        assert nuts.trajectory.turning
        low, high = (nuts.trajectory.end_places[side] for side in (0, 1))
        assert 0.01 * (high - low) < 2.0 * np.pi
        assert nuts.info.mean_tree_accept > 0.999


def test_divergence_ends_the_trajectory_and_shows_its_last_step() -> None:
    """Beyond the border the log density fails; the start of the last step is inside, its end outside."""
    for failure in (1.0, 2.0, 3.0, 4.0):
        target = Target(half_space, 1, np.ones(1), np.ones(1), number=failure)
        nuts = nuts_at(target, np.array([0.05]))
        assert transition.compiled(nuts, 0.5)
        assert nuts.info.diverging
        assert nuts.info.max_energy_error == np.inf
        assert nuts.trajectory.diverging_from[0] > 0.0 > nuts.trajectory.diverging_to[0]
        assert nuts.point.position[0] > 0.0
        assert np.isfinite(nuts.point.logp)
        assert 0.0 <= nuts.info.mean_tree_accept < 1.0


def test_a_stopped_transition_leaves_its_state_alone() -> None:
    """The stop flag is seen, and neither position nor counter move."""
    nuts = nuts_at(standard(2), np.array([1.0, 2.0]))
    nuts.density.stop[0] = 1
    assert not transition.compiled(nuts, 0.1)
    assert nuts.point.transition == 0
    np.testing.assert_array_equal(np.asarray(nuts.point.position), [1.0, 2.0])
    assert nuts.density.evaluations == 1  # the start


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, SLOTS - 1), min_size=5, max_size=5))
def test_a_free_slot_is_one_that_nothing_names(named: list[int]) -> None:
    """Five names cannot take six slots."""
    nuts = nuts_at(FREE[1], np.zeros(1))
    nuts.trajectory.end_slots[0], nuts.trajectory.end_slots[1] = named[:2]
    nuts.trajectory.chosen, nuts.growth.tip, nuts.growth.candidate = named[2:]
    slot = free_slot.compiled(nuts.trajectory, nuts.growth)
    assert 0 <= slot < SLOTS
    assert slot not in named


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(-1e3, 1e3) | st.just(-np.inf), st.floats(-1e3, 1e3) | st.just(-np.inf))
def test_log_add_exp_is_that_of_numpy(x: float, y: float) -> None:
    """Zero weights included."""
    assert log_add_exp.compiled(x, y) == pytest.approx(float(np.logaddexp(x, y)), rel=1e-14, abs=1e-300)


@record
class Fuse:
    """A stop flag and the number of evaluations after which it is set."""

    stop: Array[i64]
    left: i64


@native
def burning(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Fuse) -> i64:
    """No force; sets the stop flag at some evaluation."""
    outputs.gradient[0] = 0.0
    outputs.logp[0] = 0.0
    constants.left -= 1
    if constants.left == 0:
        constants.stop[0] = 1
    return 0


@pytest.mark.parametrize("evaluations", [2, 3, 4, 5, 9, 63, 64])
def test_a_stop_within_a_trajectory_ends_it_at_the_next_evaluation(evaluations: int) -> None:
    """At any leaf, and at the last one of a doubling: nothing is evaluated after it, nothing has changed."""
    stop = np.zeros(1, np.int64)
    fuse: Any = Fuse(stop, evaluations)
    target = SimpleNamespace(dimension=1, entry=burning.compiled.address, constants=fuse.address, workspace=0)
    vectors = Vectors(1)
    density, point = open_density(target, stop), new_point(1, np.array([0.5]), vectors)
    assert start.compiled(point, density)
    nuts = new_nuts(density, point, new_metric(vectors), vectors, 10)
    assert not transition.compiled(nuts, 0.1)
    assert density.evaluations == evaluations
    assert (point.position[0], point.transition) == (0.5, 0)
