"""Laws of the step size that is read off a window."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, special

from consilience.inference.step_size_regression import (
    FARTHEST,
    LEAST_SPREAD,
    PRIOR_SLOPE,
    PRIOR_WEIGHT,
    SHALLOWEST_SLOPE,
    step_size_for,
)


def logistic(step_sizes: NDArray[np.float64], crossing: float, target: float, slope: float) -> NDArray[np.float64]:
    """Acceptance that is `target` at the step size `crossing`."""
    return np.asarray(special.expit(special.logit(target) + slope * np.log(step_sizes / crossing)))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.floats(0.5, 0.95), st.floats(1e-8, 1e8), st.floats(-0.9, 0.9), st.floats(0.03, 1.0), st.integers(5, 200),
    st.integers(0, 2**31),
)  # fmt: skip
def test_a_curve_with_the_expected_slope_is_read_exactly(
    target: float, crossing: float, offset: float, spread: float, count: int, seed: int
) -> None:
    """Whatever its unit, its place, and the number of points: the prior pulls nowhere else."""
    logs = np.random.default_rng(seed).standard_normal(count)
    logs = (logs - logs.mean()) / logs.std() * spread
    steps = crossing * np.exp(logs + offset)
    accepted = logistic(steps, crossing, target, PRIOR_SLOPE)
    assert step_size_for(target, steps, accepted) == pytest.approx(crossing, rel=1e-6)


@pytest.mark.parametrize("slope", [-0.7, -1.5, -4.0, -8.0])
@pytest.mark.parametrize("target", [0.6, 0.8, 0.95])
def test_a_curve_of_another_slope_is_read_off_many_points(slope: float, target: float) -> None:
    """With 3000 noisy transitions the data outweigh the prior."""
    rng = np.random.default_rng(1)
    steps = 0.3 * np.exp(0.4 * rng.standard_normal(3000))
    level = logistic(steps, 0.35, target, slope)
    accepted = rng.beta(5.0 * level, 5.0 * (1.0 - level))
    assert math.log(step_size_for(target, steps, accepted) / 0.35) == pytest.approx(0.0, abs=0.06)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.floats(0.55, 0.95), st.floats(-6.0, -0.6), st.floats(0.1, 0.8), st.integers(10, 100), st.integers(0, 2**31))
def test_the_curve_is_that_of_greatest_penalised_likelihood(
    target: float, slope: float, spread: float, count: int, seed: int
) -> None:
    """The same crossing as a general optimiser's, slope bounded."""
    rng = np.random.default_rng(seed)
    x = spread * rng.standard_normal(count)
    x -= x.mean()
    y = np.clip(special.expit(special.logit(target) + slope * (x - 0.1)) + 0.1 * rng.standard_normal(count), 0.0, 1.0)

    def loss(parameters: NDArray[np.float64]) -> float:
        z = parameters[0] + parameters[1] * x
        likelihood = np.sum(y * special.log_expit(z) + (1.0 - y) * special.log_expit(-z))
        return float(0.5 * PRIOR_WEIGHT * (parameters[1] - PRIOR_SLOPE) ** 2 - likelihood)

    best = optimize.minimize(
        loss, [0.0, PRIOR_SLOPE], method="L-BFGS-B", bounds=[(None, None), (None, SHALLOWEST_SLOPE)],
        options={"ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    level, fitted = best.x
    expected = np.clip((special.logit(target) - level) / fitted, -FARTHEST, FARTHEST)
    assert math.log(step_size_for(target, np.exp(x), y)) == pytest.approx(expected, abs=1e-4)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.floats(0.05, 0.99),
    st.lists(st.tuples(st.floats(-3.0, 3.0), st.floats(0.0, 1.0)), min_size=1, max_size=50),
)
def test_any_window_gives_a_step_size_near_those_it_has_tried(target: float, pairs: list[tuple[float, float]]) -> None:
    """Within a factor of e of their mean; never a warning; shapes do not matter, nor the unit."""
    logs, accepted = np.array(pairs).T
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = step_size_for(target, np.exp(logs), accepted)
    assert abs(math.log(found) - logs.mean()) <= FARTHEST + 1e-12
    assert step_size_for(target, np.exp(logs)[None, :], accepted[None, :]) == found
    assert step_size_for(target, 1e6 * np.exp(logs), accepted) == pytest.approx(1e6 * found, rel=1e-6)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.floats(0.1, 0.9), st.floats(0.01, 0.09), st.integers(0, 2**31))
def test_more_acceptance_asked_for_means_a_smaller_step(target: float, more: float, seed: int) -> None:
    """The curve falls, whatever the data say."""
    rng = np.random.default_rng(seed)
    steps, accepted = np.exp(rng.standard_normal(20)), rng.uniform(size=20)
    assert step_size_for(target + more, steps, accepted) <= step_size_for(target, steps, accepted)


@pytest.mark.parametrize("accepted", [0.0, 1.0])
def test_where_all_or_nothing_is_accepted_the_step_moves_as_far_as_it_may(accepted: float) -> None:
    """Longer, if everything is accepted; shorter, if nothing is."""
    steps = np.exp(np.linspace(-0.5, 0.5, 40))
    moved = math.log(step_size_for(0.8, steps, np.full(40, accepted)))
    assert moved == pytest.approx(FARTHEST if accepted else -FARTHEST)


def test_without_spread_the_mean_is_kept() -> None:
    """There is no curve to fit."""
    steps = 0.2 * np.exp(np.array([-0.5, 0.5]) * LEAST_SPREAD)
    assert step_size_for(0.8, steps, np.array([0.1, 0.2])) == pytest.approx(0.2)
    assert step_size_for(0.8, np.array([0.3]), np.array([0.5])) == pytest.approx(0.3)
