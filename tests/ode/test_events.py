"""Events end an integration at the right time, with derivatives of time and state."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError, ParameterError, ShapeError
from tests.ode.equations import METHODS

TIMES = np.linspace(0, 5, 6)


@pytest.mark.parametrize("method", METHODS)
def test_a_stone_reaches_the_ground(method: str) -> None:
    """Time, state and their derivatives are those of the formula; later states are not known."""
    g, v = pt.scalar("g"), pt.scalar("v")
    found = pm.ode.solve(
        lambda y, t, p: [y[1], -p], [10.0, v], TIMES, g, method=method, event=lambda y, t, p: y[0], full_output=True
    )
    assert found.event_time is not None
    assert found.event_state is not None
    exact = (v + pt.sqrt(v**2 + 20 * g)) / g
    f = pt.function(
        [g, v],
        [
            found.states, found.status, found.reached, found.event_state,
            pt.stack([found.event_time, *pt.grad(found.event_time, [g, v]), pt.grad(found.event_state[1], g)]),
            pt.stack([exact, *pt.grad(exact, [g, v]), pt.grad(v - g * exact, g)]),
        ],
    )  # fmt: skip
    states, status, reached, state, ours, wanted = f(9.81, 3.0)
    assert pm.ode.REASONS[int(status)] == "the event happened"
    assert_allclose(ours, wanted, rtol=1e-6)
    assert_allclose(reached, wanted[0], rtol=1e-9)
    assert_allclose(state, [0.0, 3.0 - 9.81 * wanted[0]], rtol=1e-6, atol=1e-9)
    assert np.isnan(states).all(axis=1).tolist() == [False, False, True, True, True, True]
    # A weak field: the stone is in the air at the last time.
    states, status, reached, state, ours, _ = f(0.1, 3.0)
    assert status == 0
    assert reached == 5.0
    assert not np.isnan(states).any()
    assert np.isnan([*state, ours[0]]).all()


def test_an_event_may_depend_on_time_and_on_parameters_from_around() -> None:
    """Decay meets a rising line; the derivative by the line's slope is that of the implicit function."""
    slope = pt.scalar("slope")
    found = pm.ode.solve(
        lambda y, t, p: -y, 1.0, [0.0, 3.0], rtol=1e-9, atol=1e-12, event=lambda y, t, p: y - slope * t,
        full_output=True,
    )  # fmt: skip
    assert found.event_time is not None
    time, by_slope = pt.function([slope], [found.event_time, pt.grad(found.event_time, slope)])(np.exp(-1.0))
    assert_allclose(time, 1.0, rtol=1e-8)
    assert_allclose(by_slope, -1 / (2 * np.exp(-1)), rtol=1e-7)


def test_an_event_at_the_start_is_none() -> None:
    """Only a change of the sign is one; the first return to zero is found."""
    found = pm.ode.solve(
        lambda y, t, p: [y[1], -y[0]], [0.0, 1.0], [0.0, 5.0], rtol=1e-9, atol=1e-12,
        event=lambda y, t, p: y[0], full_output=True,
    )  # fmt: skip
    assert found.event_time is not None
    assert_allclose(found.event_time.eval(), np.pi, rtol=1e-8)


def test_what_is_no_event_is_refused() -> None:
    def solve(event: object, **settings: object) -> None:
        pm.ode.solve(lambda y, t, p: -y, [1.0, 2.0], TIMES, event=event, **settings)  # type: ignore[call-overload]

    with pytest.raises(pm.ArgumentError, match="`event` must be a function"):
        solve(3)
    with pytest.raises(ParameterError, match="needs `sensitivity='adjoint'`"):
        solve(lambda y, t, p: y[0], sensitivity="forward")
    with pytest.raises(ShapeError, match=r"event\(y, t, theta\) must give a number"):
        solve(lambda y, t, p: y)
    with pytest.raises(DtypeError, match=r"event\(y, t, theta\) must be real"):
        solve(lambda y, t, p: 1j * y[0])
