"""What cannot be solved gives NaN and says why, soon; what cannot be meant is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError, GraphError, ParameterError, ShapeError
from tests.ode.equations import LYNX, LYNX_START, METHODS, lotka_volterra

FINITE, SMALL, MANY = 1, 2, 3
# Right-hand side, start, settings, reason, and the time that is not passed.
FAILURES: dict[str, tuple[Any, float, dict[str, Any], int | None, float]] = {
    "infinite in finite time": (lambda y, t, p: y * y, 1.0, {}, None, 1.0),
    "not finite from the beginning": (lambda y, t, p: y * np.nan, 1.0, {}, FINITE, 0.0),
    "a state that is not finite": (lambda y, t, p: -y, np.nan, {}, FINITE, 0.0),
    "an infinite state": (lambda y, t, p: -y, np.inf, {}, FINITE, 0.0),
    "not finite behind a point": (lambda y, t, p: pt.where(t > 1.3, np.nan, -y), 1.0, {}, FINITE, 1.3),
    "overflow": (lambda y, t, p: pt.exp(pt.exp(pt.exp(y))), 1.0, {}, SMALL, 0.0),
    "too few steps": (lambda y, t, p: pt.sin(30 * t), 1.0, {"max_steps": 5}, MANY, 2.0),
    "a tolerance beyond rounding": (lambda y, t, p: -y * pt.cos(t), 1.0, {"rtol": 1e-17, "atol": 1e-300}, MANY, 3.9),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_solution_is_nan_and_tells_why(name: str, method: str) -> None:
    """Times before the failure keep their states; derivatives by the others are no obstacle."""
    f, start, settings, status, reached = FAILURES[name]
    found = pm.ode.solve(f, start, [0.0, 0.01, 4.0], method=method, full_output=True, **settings)
    states, told, steps, until = pt.function([], [found.states, found.status, found.steps, found.reached])()
    assert np.isnan(states[2])
    assert told == status or (status is None and told in (FINITE, SMALL))
    assert steps <= 1000
    assert until <= reached + 0.01
    if reached:
        assert not np.isnan(states[:2]).any()


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_a_failed_solution_in_a_model_is_a_divergence() -> None:
    """The state is infinite at time 1 for a rate of 1: the density is not finite beyond, and is not drawn from."""
    with pm.Model() as model:
        rate = pm.HalfNormal("rate", 1.0, initval=0.3)
        states = pm.ode.solve(lambda y, t, p: p * y**2, 1.0, [0.0, 0.5, 1.0], rate)
        pm.Normal("y", states, 3.0, observed=[1.0, 1.2, 1.5])
    density = model.log_density()
    assert np.isfinite(density(np.log([0.3]))[0])
    assert not np.isfinite(density(np.log([1.5]))[0])
    with model:
        found = pm.sample(draws=200, tune=200, chains=2, random_seed=1, progressbar=False)
    assert np.asarray(found["posterior"]["rate"]).max() < 1.0
    assert np.asarray(found["sample_stats"]["diverging"]).any()


def test_symbolic_times_before_the_start_are_nan() -> None:
    times = pt.vector("times")
    f = pt.function([times], pm.ode.solve(lambda y, t, p: -y, 1.0, times, t0=0.0))
    assert_allclose(f(np.array([1.0, -1.0, 0.0])), [np.exp(-1), np.nan, 1.0], rtol=1e-6)


TIMES = [0.0, 1.0]


def decay(y: Any, t: Any, p: Any) -> Any:
    """The plainest equation."""
    return -y


BAD: dict[str, tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = {
    "times that fall": ((decay, 1.0, [0, 2, 1]), {}, ParameterError, r"ascend, but t\[1\] = 2 is followed by 1"),
    "a time before t0": ((decay, 1.0, [-1, 2]), {"t0": 0.0}, ParameterError, "may lie before `t0` = 0, got -1"),
    "a time that is infinite": ((decay, 1.0, [0, np.inf]), {}, ParameterError, "must be finite"),
    "a time that is NaN": ((decay, 1.0, [0, np.nan]), {}, ParameterError, "must be finite"),
    "an infinite t0": ((decay, 1.0, TIMES), {"t0": -np.inf}, ParameterError, "`t0` must be finite"),
    "no times": ((decay, 1.0, np.zeros(0)), {}, ShapeError, "at least one time"),
    "one time that is no vector": ((decay, 1.0, 3.0), {}, ShapeError, "vector of at least one time"),
    "a matrix of times": ((decay, 1.0, [TIMES]), {}, ShapeError, "vector of at least one time"),
    "t0 that is a vector": ((decay, 1.0, TIMES), {"t0": [0.0]}, ShapeError, "`t0` must be a scalar"),
    "no states": ((decay, np.zeros(0), TIMES), {}, ShapeError, "`y0` must have at least one element"),
    "an empty list of states": ((decay, [], TIMES), {}, ShapeError, "`y0` must have at least one element"),
    "complex states": ((decay, 1j, TIMES), {}, DtypeError, "`y0` must be real"),
    "too few derivatives": ((lambda y, t, p: [y[0]], [1.0, 2.0], TIMES), {}, ShapeError, r"tensor of shape \(2,\)"),
    "no derivatives": ((lambda y, t, p: [], [1.0, 2.0], TIMES), {}, ShapeError, r"tensor of shape \(2,\)"),
    "a derivative of another rank": ((lambda y, t, p: y[None], [1.0], TIMES), {}, ShapeError, r"shape \(1,\)"),
    "a complex derivative": ((lambda y, t, p: y * 1j, [1.0], TIMES), {}, DtypeError, "f.y, t, theta. must be real"),
    "random numbers in a step": (
        (lambda y, t, p: y + pm.Normal.dist(), 1.0, TIMES),
        {},
        GraphError,
        "f.y, t, theta. draws random numbers",
    ),
    "no function": ((3, 1.0, TIMES), {}, TypeError, "`f` must be a function"),
    "another method": ((decay, 1.0, TIMES), {"method": "euler"}, ParameterError, "'rk45', 'tsit5' or 'stiff'"),
    "another sensitivity": ((decay, 1.0, TIMES), {"sensitivity": "no"}, ParameterError, "'adjoint' or 'forward'"),
    "rtol of zero": ((decay, 1.0, TIMES), {"rtol": 0}, ParameterError, "`rtol` must be a number > 0"),
    "rtol that is no number": ((decay, 1.0, TIMES), {"rtol": "small"}, ParameterError, "`rtol` must be"),
    "negative atol": ((decay, 1.0, TIMES), {"atol": -1e-6}, ParameterError, "`atol` must be one number > 0"),
    "atol of another length": ((decay, [1.0, 2.0], TIMES), {"atol": [1e-6] * 3}, ShapeError, "have the shape"),
    "no steps": ((decay, 1.0, TIMES), {"max_steps": 0}, ParameterError, "`max_steps` must be an integer >= 1"),
    "steps that are no integer": ((decay, 1.0, TIMES), {"max_steps": 1e4}, ParameterError, "`max_steps`"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_meant_is_refused(name: str) -> None:
    arguments, settings, error, message = BAD[name]
    with pytest.raises(error, match=message):
        pm.ode.solve(*arguments, **settings)


def test_another_order_of_arguments_is_told_with_the_right_one() -> None:
    """As SciPy has it: t first."""
    with pytest.raises(ShapeError) as caught:
        pm.ode.solve(lambda t, y, p: [-y[0]], [1.0], TIMES)
    assert "called as f(y, t, theta): state, time and parameters" in caught.value.__notes__[0]


def test_forward_sensitivities_ask_for_known_lengths() -> None:
    with pytest.raises(ShapeError, match="give inputs their `shape="):
        pm.ode.solve(decay, pt.vector("y0"), TIMES, sensitivity="forward")


def test_one_state_of_many_that_fails_fails_all() -> None:
    """A solution is one: no state of it goes on alone."""
    states = pm.ode.solve(lambda y, t, p: [y[0] ** 2, -y[1]], [1.0, 1.0], [0.0, 0.5, 2.0]).eval()
    assert np.isnan(states).tolist() == [[False] * 2, [False] * 2, [True] * 2]


def test_derivatives_of_times_before_a_failure_are_right() -> None:
    k = pt.scalar("k")
    state = pm.ode.solve(lambda y, t, p: k * y * y, 1.0, [0.0, 0.5, 2.0], rtol=1e-9)[1]
    assert_allclose(pt.function([k], pt.grad(state, k))(1.0), 0.5 / 0.25, rtol=1e-6)


def test_lotka_volterra_at_extreme_rates_ends() -> None:
    """Where a sampler begins, rates may be anything: some solutions fail, none takes more than `max_steps`."""
    q = pt.vector("q", shape=(4,))
    found = pm.ode.solve(lotka_volterra, LYNX_START, np.arange(21.0), q, full_output=True)
    f = pt.function([q], [found.states, found.status, found.steps])
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(200):
        states, status, steps = f(LYNX * np.exp(4 * rng.normal(size=4)))
        assert bool(np.isnan(states).any()) == (status > 0)
        assert steps <= 1000
        seen.add(int(status))
    assert 0 in seen
    assert MANY in seen
