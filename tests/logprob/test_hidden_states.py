"""States that a loop draws, carries and does not return: summed over all paths, one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ConsilienceError, ImputationWarning
from tests.logprob.series import scan

MOVES = np.array([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
LEVELS = np.array([0.0, 2.0, -1.0])
PRICES = np.array([0.4, -1.2, 0.3, 2.0, 0.1])
X = np.array([0.3, -0.8, 1.9, 2.4, 0.1])
COUNTS = np.array([0, 3, 1, 7, 2])


def chain(theta: Any, size: Any = None) -> Any:
    """A hidden Markov chain whose values depend on the last one, too."""

    def step(state: Any, y: Any) -> Any:
        state = pm.Categorical.dist(p=pt.as_tensor(MOVES)[state])
        return state, pm.Normal.dist(pt.as_tensor(LEVELS)[state] * theta + 0.3 * y, 0.8)

    return scan(step, outputs_info=[pt.as_tensor(1), pt.as_tensor(0.5)], n_steps=5)[1]


def _chain(theta: float, path: Any, x: Any) -> float:
    moves = np.log(MOVES[[1, *path[:-1]], path]).sum()
    return moves + stats.norm.logpdf(x, LEVELS[list(path)] * theta + 0.3 * np.r_[0.5, x[:-1]], 0.8).sum()


def switch(theta: Any, size: Any = None) -> Any:
    """Counts whose rate is switched, with a probability that follows from data, and a carried mean of the counts."""

    def step(price: Any, on: Any, mean: Any) -> Any:
        on = pm.Bernoulli.dist(pm.math.sigmoid(price + theta * on))
        seen = pm.Poisson.dist(pt.switch(pt.eq(on, 1), 4.0, 1.0) + 0.1 * mean)
        return on, 0.5 * mean + 0.5 * seen, seen

    return scan(
        step, sequences=pt.as_tensor(PRICES), outputs_info=[pt.as_tensor(0), pt.as_tensor(2.0), None], n_steps=5
    )[2]


def _switch(theta: float, path: Any, x: Any) -> float:
    total, before, mean = 0.0, 0, 2.0
    for price, on, count in zip(PRICES, path, x, strict=True):
        total += stats.bernoulli.logpmf(on, 1 / (1 + np.exp(-price - theta * before)))
        total += stats.poisson.logpmf(count, (4.0 if on else 1.0) + 0.1 * mean)
        before, mean = on, 0.5 * mean + 0.5 * count
    return total


def two_states(theta: Any, size: Any = None) -> Any:
    """Two hidden states at once: a chain, and one of three that follows what the first has become, and itself."""

    def step(on: Any, level: Any, y: Any) -> Any:
        on = pm.Bernoulli.dist(0.2 + 0.5 * on)
        level = pm.Categorical.dist(p=pt.switch(pt.eq(on, 1), pt.as_tensor(MOVES)[level], np.array([0.2, 0.2, 0.6])))
        return on, level, pm.Normal.dist(pt.as_tensor(LEVELS)[level] * theta + on + 0.3 * y, 0.8)

    return scan(step, outputs_info=[pt.as_tensor(1), pt.as_tensor(2), pt.as_tensor(0.5)], n_steps=3)[2]


def _two_states(theta: float, path: Any, x: Any) -> float:
    total, before, row, last = 0.0, 1, 2, 0.5
    for both, y in zip(path, x, strict=True):
        on, level = divmod(both, 3)
        total += stats.bernoulli.logpmf(on, 0.2 + 0.5 * before)
        total += np.log((MOVES[row] if on else [0.2, 0.2, 0.6])[level])
        total += stats.norm.logpdf(y, LEVELS[level] * theta + on + 0.3 * last, 0.8)
        before, row, last = on, level, y
    return total


def two_chains(theta: Any, size: Any = None) -> Any:
    """Two chains of which neither knows of the other, and whose sum is seen."""

    def step(one: Any, other: Any) -> Any:
        one, other = pm.Bernoulli.dist(0.2 + 0.5 * one), pm.Bernoulli.dist(0.7 - 0.4 * other)
        return one, other, pm.Normal.dist(theta * (one + 2.0 * other), 0.5)

    return scan(step, outputs_info=[pt.as_tensor(1), pt.as_tensor(0), None], n_steps=4)[2]


def _two_chains(theta: float, path: Any, x: Any) -> float:
    total, before, last = 0.0, 1, 0
    for both, y in zip(path, x, strict=True):
        one, other = divmod(both, 2)
        total += stats.bernoulli.logpmf(one, 0.2 + 0.5 * before) + stats.bernoulli.logpmf(other, 0.7 - 0.4 * last)
        total += stats.norm.logpdf(y, theta * (one + 2.0 * other), 0.5)
        before, last = one, other
    return total


CASES: dict[str, tuple[Callable[..., Any], Callable[..., float], Any, int]] = {
    "chain": (chain, _chain, X, 3),
    "switch": (switch, _switch, COUNTS, 2),
    "two states": (two_states, _two_states, X[:3], 6),
    "two chains": (two_chains, _two_chains, X[:4], 4),
}


@pytest.mark.parametrize("name", CASES)
def test_the_density_is_the_sum_over_all_paths(name: str) -> None:
    """And its slope is that of the sum."""
    program, path_density, x, states = CASES[name]
    theta = pt.scalar("theta")
    density = pm.logp(pm.CustomDist.dist(theta, dist=program), x)
    value, slope = pm.function([theta], [density, pt.grad(density, theta)])(1.3)

    def reference(at: float) -> float:
        with np.errstate(divide="ignore"):
            return float(np.logaddexp.reduce([path_density(at, p, x) for p in product(range(states), repeat=len(x))]))

    assert value == pytest.approx(reference(1.3), rel=1e-12)
    assert slope == pytest.approx((reference(1.3 + 1e-5) - reference(1.3 - 1e-5)) / 2e-5, rel=1e-7)


def test_values_without_data_are_variables() -> None:
    """Two values of five are missing: the density of the model is that of all five."""
    gaps = np.where([False, True, False, False, True], np.nan, X)
    with pm.Model() as model, pytest.warns(ImputationWarning):
        pm.CustomDist("y", 1.3, dist=chain, observed=gaps)
    found = model.compile_logp()({"y_unobserved": X[[1, 4]]})
    assert found == pytest.approx(float(pm.logp(pm.CustomDist.dist(1.3, dist=chain), X).eval()), rel=1e-12)


def test_forecasts_begin_with_a_state_drawn_given_the_series() -> None:
    """Means of the next value, by the probabilities of the last state."""
    with pm.Model() as model:
        pm.CustomDist("y", pm.Flat("theta"), dist=chain, observed=X)
    draws = pm.forecast({"theta": np.full((1, 6000), 1.3)}, 1, model=model, random_seed=1).predictions["y"].values
    weights = np.zeros(3)
    with np.errstate(divide="ignore"):
        for path in product(range(3), repeat=5):
            weights[path[-1]] += np.exp(_chain(1.3, path, X))
    following = weights / weights.sum() @ MOVES
    mean = following @ (1.3 * LEVELS) + 0.3 * X[-1]
    spread = np.sqrt(following @ (1.3 * LEVELS) ** 2 - (following @ (1.3 * LEVELS)) ** 2 + 0.64)
    assert abs(draws.mean() - mean) < 5 * spread / np.sqrt(6000)
    assert draws.std() == pytest.approx(spread, rel=0.05)


def test_forecasts_begin_with_two_states_drawn_together() -> None:
    """The mean of the next value, by the probabilities of both last states."""
    with pm.Model() as model:
        pm.CustomDist("y", pm.Flat("theta"), dist=two_states, observed=X[:3])
    draws = pm.forecast({"theta": np.full((1, 6000), 1.3)}, 1, model=model, random_seed=1).predictions["y"].values
    weights = np.zeros(6)
    with np.errstate(divide="ignore"):
        for path in product(range(6), repeat=3):
            weights[path[-1]] += np.exp(_two_states(1.3, path, X[:3]))
    weights /= weights.sum()
    mean = 0.3 * X[2]
    for both, weight in enumerate(weights):
        on, level = divmod(both, 3)
        rise = 0.2 + 0.5 * on
        mean += weight * (rise * (1 + 1.3 * MOVES[level] @ LEVELS) + (1 - rise) * 1.3 * np.dot([0.2, 0.2, 0.6], LEVELS))
    assert abs(draws.mean() - mean) < 5 * draws.std() / np.sqrt(6000)


def summed(theta: Any, size: Any = None) -> Any:
    """A hidden state, and a carried sum of all of them."""

    def step(state: Any, total: Any) -> Any:
        state = pm.Bernoulli.dist(0.3 + 0.2 * state, name="state")
        return state, total + state, pm.Normal.dist(theta * total, 1.0)

    return scan(step, outputs_info=[pt.as_tensor(0), pt.as_tensor(0), None], n_steps=5)[2]


def endless(theta: Any, size: Any = None) -> Any:
    """A hidden count without an end."""

    def step(state: Any) -> Any:
        state = pm.Poisson.dist(1.0 + 0.2 * state, name="state")
        return state, pm.Normal.dist(theta * state, 1.0)

    return scan(step, outputs_info=[pt.as_tensor(0), None], n_steps=5)[1]


@pytest.mark.parametrize(
    ("program", "message"),
    [(summed, "depends on it as well.*Return it from the step"), (endless, "would have to be integrated out")],
)
def test_what_cannot_be_summed_is_refused_by_name(program: Any, message: str) -> None:
    with pytest.raises(ConsilienceError, match=f"(?s)state.*{message}"):
        pm.CustomDist.dist(0.5, dist=program)
