"""Laws of what is learnt while tuning: step size and metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.inference import NUTS, HamiltonianMC, Kernel
from consilience.inference.density import open_density
from consilience.inference.dual_averaging import StepSize, learn, restart, settle
from consilience.inference.fisher_diagonal import guess, new_estimators, observe, refresh, switch, younger_count
from consilience.inference.messages import Rows
from consilience.inference.metric import SMALLEST_VARIANCE, new_metric
from consilience.inference.nuts_chain import Learning, NutsCommand
from consilience.inference.point import Point, new_point, start
from consilience.inference.step_size_search import new_probe, search_step_size
from consilience.inference.streams import chain_key
from consilience.inference.vectors import Vectors
from consilience.inference.warmup import adapt, new_warmup
from tests.inference.chains import run_chain
from tests.inference.metrics import random_scales
from tests.inference.targets import Target, correlated_normal, half_space, normal, standard, student


def step_size(target: float) -> StepSize:
    return StepSize(step=1.0, average=1.0, target=target, anchor=0.0, error=0.0, count=0)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.floats(0.3, 0.95), st.floats(1e-6, 1e6), st.floats(0.1, 10.0))
def test_dual_averaging_finds_the_step_size_of_the_target_acceptance(
    target: float, scale: float, guess_factor: float
) -> None:
    """An acceptance of exp(-step / scale), whatever the scale and the beginning."""
    state = step_size(target)
    restart.compiled(state, scale * guess_factor)
    for _ in range(1000):
        learn.compiled(state, float(np.exp(-state.step / scale)))
    settle.compiled(state)
    assert np.exp(-state.step / scale) == pytest.approx(target, abs=0.01)


@pytest.mark.parametrize("target", [0.6, 0.8, 0.9])
@pytest.mark.parametrize("kind", [NUTS, HamiltonianMC])
def test_chains_reach_their_target_acceptance(kind: Any, target: float) -> None:
    """Mean acceptance after tuning, average over four chains; tuning is short, hence not exact."""
    kernel: Kernel = kind(target_accept=target)
    name = "mean_tree_accept" if kind is NUTS else "acceptance_rate"
    chains = [run_chain(kernel, standard(20), draws=1000, tune=1000, chain=c) for c in range(4)]
    assert np.mean([c.statistic(name) for c in chains]) == pytest.approx(target, abs=0.06)


def test_step_size_search_ends_where_the_energy_error_sets_in() -> None:
    """From any beginning the same order of magnitude; its unit is the target's."""
    for scale in (1e-8, 1.0, 1e8):
        target = normal(np.zeros(10), np.full(10, scale))
        density = open_density(target, np.zeros(1, np.int64))
        point: Point = new_point(5, np.full(10, 0.5 * scale), Vectors(10))
        assert start.compiled(point, density)
        probe = new_probe(Vectors(10))
        found = [
            search_step_size.compiled(density, point, new_metric(Vectors(10)), probe, begin * scale)
            for begin in (1e-4, 1.0, 1e4)
        ]
        assert max(found) / min(found) < 8.0
        assert 0.2 < min(found) / scale < max(found) / scale < 5.0


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 17), st.integers(3, 40), st.integers(0, 2**31))
def test_metric_of_independent_normals_is_exact_after_three_draws(dimension: int, count: int, seed: int) -> None:
    """The gradient is linear in the draw, so the ratio of variances needs no law of large numbers."""
    rng = np.random.default_rng(seed)
    mean, deviation = rng.standard_normal(dimension), 10.0 ** rng.uniform(-3, 3, dimension)
    metric, estimators = new_metric(Vectors(dimension)), new_estimators(dimension)
    for _ in range(count):
        draw = mean + deviation * rng.standard_normal(dimension)
        observe.compiled(estimators, draw, (mean - draw) / deviation**2)
    assert refresh.compiled(estimators, metric)
    np.testing.assert_allclose(np.asarray(metric.variance), deviation**2, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(metric.mass_deviation), 1.0 / deviation, rtol=1e-6)


def test_metric_is_the_square_root_of_the_ratio_of_sample_variances() -> None:
    """Agrees with NumPy on numbers without any structure."""
    rng = np.random.default_rng(1)
    draws, gradients = 100.0 + rng.standard_normal((50, 6)), rng.gamma(2.0, size=(50, 6))
    metric, estimators = new_metric(Vectors(6)), new_estimators(6)
    for draw, gradient in zip(draws, gradients, strict=True):
        observe.compiled(estimators, draw, gradient)
    assert refresh.compiled(estimators, metric)
    expected = np.sqrt(draws.var(axis=0) / gradients.var(axis=0))
    np.testing.assert_allclose(np.asarray(metric.variance), expected, rtol=1e-12)


def test_metric_forgets_what_came_before_the_last_two_switches() -> None:
    """The estimator in use has seen the draws since the switch before the last one."""
    rng = np.random.default_rng(2)
    metric, estimators = new_metric(Vectors(1)), new_estimators(1)
    seen: list[tuple[float, float]] = []
    cut = previous_cut = 0
    for k in range(60):
        draw, gradient = rng.standard_normal(1) * (k + 1.0), rng.standard_normal(1)
        observe.compiled(estimators, draw, gradient)
        seen.append((draw[0], gradient[0]))
        if younger_count.compiled(estimators) == 20:
            switch.compiled(estimators)
            previous_cut, cut = cut, k + 1
    assert cut == 60
    assert refresh.compiled(estimators, metric)
    window = np.array(seen[previous_cut:])
    expected = np.sqrt(window[:, 0].var() / window[:, 1].var())
    np.testing.assert_allclose(metric.variance[0], expected, rtol=1e-12)


def test_two_draws_do_not_make_a_metric() -> None:
    """Nothing changes before the third draw."""
    metric, estimators = new_metric(Vectors(2)), new_estimators(2)
    for k in range(2):
        observe.compiled(estimators, np.array([1.0, 2.0]) * k, np.array([1.0, 1.0]) * k)
        assert not refresh.compiled(estimators, metric)
    assert np.array_equal(np.asarray(metric.variance), np.ones(2))


def test_coordinates_that_never_moved_keep_their_variance() -> None:
    """Zero variance of draws or of gradients says nothing about the scale."""
    metric, estimators = new_metric(Vectors(3)), new_estimators(3)
    rng = np.random.default_rng(3)
    for _ in range(5):
        moved = rng.standard_normal()
        observe.compiled(estimators, np.array([0.0, moved, moved]), np.array([moved, 0.0, moved]))
    assert refresh.compiled(estimators, metric)
    np.testing.assert_allclose(np.asarray(metric.variance), [1.0, 1.0, 1.0])


@pytest.mark.parametrize("seed", range(5))
def test_a_chain_that_learns_scales_alone_drops_the_directions_of_others(seed: int) -> None:
    """Momenta keep the kinetic energy of their metric: half the dimension in the mean, 4 of its deviations at most."""
    target = standard(10)
    rows = Rows(np.empty((200, 10)), np.zeros((200, len(NUTS().columns.types)), np.int64))
    chain = NUTS().chain(target, np.ones(10), chain_key(seed, 0), 200, np.zeros(1, np.int64))
    chain.begin()
    chain.write_to(rows)
    chain.apply(NutsCommand(learning=Learning.STEP, scales=random_scales(seed, 10, 8, 3.0)))
    assert chain.advance(20) == 20
    chain.apply(NutsCommand(learning=Learning.ALONE))
    assert chain.advance(180) == 180
    names = list(NUTS().columns.types)
    table = NUTS().columns.table(rows.statistics)
    energy, error, lp = (table[names.index(name)] for name in ("energy", "energy_error", "lp"))
    kinetic = (energy - error)[1:] + lp[:-1]
    assert (kinetic > 0).all()
    assert (kinetic < 5.0 + 6.0 * np.sqrt(5.0)).all()
    assert abs(kinetic.mean() - 5.0) < 4.0 * np.sqrt(5.0 / len(kinetic))


def test_first_metric_is_the_inverse_gradient_within_bounds() -> None:
    """A gradient that is zero, or would be but for rounding, counts as 1; extremes are clipped."""
    metric = new_metric(Vectors(6))
    guess.compiled(metric, np.array([4.0, -0.25, 0.0, -3.6e-15, 1e-9, 1e30]))
    np.testing.assert_allclose(np.asarray(metric.variance), [0.25, 4.0, 1.0, 1.0, 1e9, SMALLEST_VARIANCE])


def test_tuned_metric_converges_to_the_true_scales() -> None:
    """Scales over four orders of magnitude, correlated with nothing; and with heavier tails."""
    deviation = np.geomspace(1e-2, 1e2, 12)
    chain = run_chain(NUTS(), normal(np.ones(12), deviation), draws=1, tune=300)
    np.testing.assert_allclose(chain.chain.tuning().variance, deviation**2, rtol=1e-6)

    heavy = Target(student, 5, np.zeros(5), np.ones(5), number=8.0)
    variance = np.mean(
        [run_chain(NUTS(), heavy, draws=1, tune=1000, chain=c).chain.tuning().variance for c in range(4)],
        axis=0,
    )
    # var(x) = nu / (nu - 2), var(gradient) = (nu + 1) / (nu + 3)
    np.testing.assert_allclose(variance, np.sqrt((8.0 / 6.0) / (9.0 / 11.0)), rtol=0.15)


def test_metric_of_a_correlated_normal_lies_between_marginal_and_conditional_variances() -> None:
    """The Fisher optimum sqrt(S_ii / P_ii), with S the covariance and P its inverse."""
    target = correlated_normal(6, 8)
    precision = target.matrix
    expected = np.sqrt(target.deviation**2 / np.diag(precision))
    variance = np.mean(
        [run_chain(NUTS(), target, draws=1, tune=1500, chain=c).chain.tuning().variance for c in range(4)],
        axis=0,
    )
    np.testing.assert_allclose(variance, expected, rtol=0.15)


def test_unmoved_and_diverging_draws_teach_the_metric_nothing() -> None:
    """`adapt` shows the metric informative draws only, and always tunes the step size."""
    target = standard(2)
    density = open_density(target, np.zeros(1, np.int64))
    point: Point = new_point(1, np.ones(2), Vectors(2))
    warmup = new_warmup(Vectors(2), 100, 0.8, 0.1)
    for k in range(1, 9):
        point.transition = k
        point.position[0] = float(k)
        adapt.compiled(warmup, density, point, new_probe(Vectors(2)), 0.5, k % 2 == 0)
    assert list(warmup.estimators.counts) == [4, 4]  # type: ignore[call-overload]  # an array under CPython
    assert warmup.step.count == 2  # restarted when the first metric came, at the sixth transition


def test_sampling_begins_where_a_step_of_the_settled_size_has_been() -> None:
    """A chain that ends its tuning in a neck, with steps below the average, goes back to where it came from."""
    density = open_density(standard(2), np.zeros(1, np.int64))
    point: Point = new_point(1, np.ones(2), Vectors(2))
    warmup = new_warmup(Vectors(2), 100, 0.8, 0.1)
    for k in range(1, 101):
        point.transition = k
        position = float(k)
        point.position[0], point.gradient[0], point.logp = position, -position, -0.5 * position**2
        adapt.compiled(warmup, density, point, new_probe(Vectors(2)), 0.9 if k <= 90 else 0.1, True)
        if k == 99:
            assert warmup.step.step < warmup.step.average
    assert 85 < point.position[0] <= 91  # the 91st transition was made with what the 90th had taught
    assert point.gradient[0] == -point.position[0]
    assert point.logp == -0.5 * point.position[0] ** 2


def test_chains_tuned_together_begin_to_sample_where_the_settled_step_works() -> None:
    """When learning of the step ends, and at no other order, a chain goes back to where such a step has been."""
    chain = NUTS().chain(standard(2), np.ones(2), chain_key(1, 0), 50, np.zeros(1, np.int64))
    rows = Rows(np.empty((50, 2)), np.zeros((50, len(NUTS().columns.types)), np.int64))
    chain.begin()
    chain.write_to(rows)
    chain.apply(NutsCommand(learning=Learning.STEP))
    assert chain.advance(50) == 50
    warmup, point = chain.states[0].warmup, chain.parts[0].point
    assert warmup.found
    fallback = np.asarray(warmup.fallback).copy()
    assert (rows.draws == fallback).all(axis=1).any()
    point.position[0] = 7.0
    chain.apply(NutsCommand(max_treedepth=5))
    assert point.position[0] == 7.0
    chain.apply(NutsCommand(learning=Learning.NOTHING))
    np.testing.assert_array_equal(np.asarray(point.position), fallback)
    assert point.logp == warmup.fallback_logp
    point.position[0] = 7.0
    chain.apply(NutsCommand(learning=Learning.NOTHING))
    assert point.position[0] == 7.0


def test_where_no_step_of_the_average_size_worked_sampling_begins_at_the_end_of_tuning() -> None:
    density = open_density(standard(2), np.zeros(1, np.int64))
    point: Point = new_point(1, np.ones(2), Vectors(2))
    warmup = new_warmup(Vectors(2), 100, 0.8, 0.1)
    for k in range(1, 101):
        point.transition = k
        point.position[0] = float(k)
        adapt.compiled(warmup, density, point, new_probe(Vectors(2)), 0.1, True)
    assert point.position[0] == 100.0


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 10, 50, 99])
def test_any_length_of_tuning_ends_with_a_usable_step_size(length: int) -> None:
    """Also where tuning is too short for a single window."""
    chain = run_chain(NUTS(), standard(3), draws=20, tune=length)
    steps = chain.statistic("step_size")
    assert np.all(steps == steps[0])
    assert np.isfinite(steps[0])
    assert steps[0] > 0.0
    assert chain.chain.tuning().step_size == steps[0]


def test_tuning_survives_a_border_of_the_support() -> None:
    """A target that fails beyond 0 diverges there and is still sampled with a sensible step size."""
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=1.0)
    chain = run_chain(NUTS(), target, draws=200, tune=300, start=[1.0])
    assert chain.chain.tuning().step_size > 1e-3
    assert chain.draws.min() > 0.0
