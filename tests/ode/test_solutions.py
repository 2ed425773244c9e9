"""Solutions of differential equations agree with SciPy's at tight tolerances, for every method and form of state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
import consilience.tensor as pt
from consilience.ode.solution import METHODS as TABLEAUS
from consilience.ode.state_function import right_hand_side
from tests.ode.equations import (
    LYNX,
    LYNX_START,
    METHODS,
    RATES,
    lotka_volterra,
    reference,
    robertson,
    van_der_pol,
)


@pytest.mark.parametrize("method", METHODS)
def test_steps_have_order_five_and_their_interpolation_order_four(method: str) -> None:
    """Half the step: the error of one step falls by 2^6, that of the middle by 2^5; dy/dt = -t y^2."""
    y, t, h, s = pt.vector("y", shape=(1,)), pt.scalar("t"), pt.scalar("h"), pt.scalar("s")
    f, of = right_hand_side(lambda y, t, p: -t * y**2, y, ()), TABLEAUS[method]
    step = pt.function([t, y, h, s], [of.advance(f, t, y, h, ()), of.within(f, t, y, h, s, ())])
    begin, errors = 0.3, []
    for length in (1 / 16, 1 / 32):
        start = 1 / (1 + begin**2 / 2)
        found = np.concatenate(step(begin, [start], length, 0.4))
        errors.append(abs(found - 1 / (1 + (begin + np.array([1, 0.4]) * length) ** 2 / 2)))
    assert np.all(errors[0] / errors[1] > [2**5.5, 2**4.5]), errors


@pytest.mark.parametrize("method", METHODS)
def test_lotka_volterra(method: str) -> None:
    times = np.linspace(0, 20, 21)
    found = pm.ode.solve(lotka_volterra, LYNX_START, times, LYNX, method=method, rtol=1e-9, atol=1e-9, full_output=True)
    states, status = pt.function([], [found.states, found.status])()
    assert status == 0
    assert_allclose(states, reference(lotka_volterra, LYNX_START, times, LYNX), rtol=2e-7)


def test_robertson_to_1e8() -> None:
    """Sixteen orders of magnitude in time; the states sum to one."""
    times = np.array([0.0, *np.logspace(-5, 11, 33)])
    states = pm.ode.solve(
        robertson, [1, 0, 0], times, RATES, method="stiff", rtol=1e-9, atol=[1e-12, 1e-16, 1e-12], max_steps=3000
    ).eval()
    exact = reference(robertson, [1.0, 0.0, 0.0], times, RATES, "Radau", 1e-17, 1e-11)
    assert_allclose(states, exact, atol=1e-8)
    assert_allclose(states[:, 1], exact[:, 1], rtol=1e-6, atol=1e-15)
    assert_allclose(states.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize(("method", "mu", "end"), [("rk45", 2.0, 10.0), ("tsit5", 2.0, 10.0), ("stiff", 100.0, 150.0)])
def test_van_der_pol(method: str, mu: float, end: float) -> None:
    times = np.linspace(0, end, 6)
    states = pm.ode.solve(van_der_pol, [2.0, 0.0], times, mu, method=method, rtol=1e-9, atol=1e-9).eval()
    assert_allclose(states, reference(van_der_pol, [2.0, 0.0], times, mu, "DOP853" if mu < 10 else "LSODA"), atol=1e-5)


def test_an_explicit_method_gives_up_on_a_stiff_equation() -> None:
    """Too many steps, told as such."""
    found = pm.ode.solve(van_der_pol, [2.0, 0.0], [0.0, 100.0], 1e4, full_output=True)
    states, status, steps = pt.function([], [found.states, found.status, found.steps])()
    assert pm.ode.REASONS[int(status)].startswith("`max_steps`")
    assert steps == 1000
    assert np.isnan(states[1]).all()
    assert_allclose(states[0], [2.0, 0.0])


class TestForms:
    """States, parameters and times of all forms."""

    TIMES = np.array([0.0, 0.5, 2.0])

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("start", [1, 2.5, [1.0], [1, 2, 3], np.ones((2, 3)), np.ones((1, 2, 1))])
    def test_any_shape_of_state(self, method: str, start: Any) -> None:
        states = pm.ode.solve(lambda y, t, p: -p * y, start, self.TIMES, 0.7, method=method).eval()
        decay = np.exp(-0.7 * self.TIMES).reshape(3, *[1] * np.ndim(start))
        assert states.shape == (3, *np.shape(start))
        assert_allclose(states, decay * np.asarray(start), rtol=1e-6)

    @pytest.mark.parametrize("method", METHODS)
    def test_lengths_may_be_known_at_run_time(self, method: str) -> None:
        y0, times, k = pt.vector("y0"), pt.vector("times"), pt.scalar("k")
        f = pt.function([y0, times, k], pm.ode.solve(lambda y, t, p: -k * y + t, y0, times, method=method))
        for n in (1, 3):
            start = np.arange(1.0, n + 1)
            expected = [(start + 1 / 0.25) * np.exp(-0.5 * t) + t / 0.5 - 1 / 0.25 for t in self.TIMES]
            assert_allclose(f(start, self.TIMES, 0.5), expected, rtol=1e-5, atol=1e-6)

    def test_parameters_in_any_form_and_from_around(self) -> None:
        k, c = pt.scalar("k"), pt.vector("c", shape=(2,))

        def f(y: Any, t: Any, p: Any) -> Any:
            return -p["rates"][0] * y + p["rates"][1] + pt.exp(c).sum() * 0 + p["shift"]

        given = {"rates": [k, 2 * k], "shift": (1 - k)}
        found = pm.ode.solve(f, [1.0, 3.0], self.TIMES, given)
        steady = (2 * 0.5 + 1 - 0.5) / 0.5
        expected = steady + (np.array([1.0, 3.0]) - steady) * np.exp(-0.5 * self.TIMES)[:, None]
        assert_allclose(pt.function([k, c], found)(0.5, np.ones(2)), expected, rtol=1e-6)

    def test_times_may_be_repeated_and_the_state_be_given_before_them(self) -> None:
        states = pm.ode.solve(lambda y, t, p: -y, 1.0, [-1, -1, 0.5, 0.5], t0=-1.5).eval()
        assert_allclose(states, np.exp([-0.5, -0.5, -2.0, -2.0]), rtol=1e-6)

    def test_the_first_time_is_that_of_the_state(self) -> None:
        assert_allclose(pm.ode.solve(lambda y, t, p: -y, 1.5, [2.0]).eval(), [1.5])
        assert_allclose(pm.ode.solve(lambda y, t, p: -y, 1.5, [2.0, 3.0]).eval(), 1.5 * np.exp([0.0, -1.0]), rtol=1e-6)

    def test_jumps_of_the_right_hand_side_are_found_by_the_steps(self) -> None:
        states = pm.ode.solve(lambda y, t, p: pt.where(t > 0.7, 1.0, 0.0), 0.0, [0.0, 1.0, 2.0]).eval()
        assert_allclose(states, [0.0, 0.3, 1.3], atol=1e-5)

    def test_a_function_that_is_constant_or_whole(self) -> None:
        assert_allclose(pm.ode.solve(lambda y, t, p: [2], [1], [0.0, 3.0]).eval(), [[1.0], [7.0]])


def test_the_error_follows_the_tolerance() -> None:
    times = np.linspace(0, 20, 5)
    exact = reference(lotka_volterra, LYNX_START, times, LYNX)
    for method in METHODS:
        errors = [
            abs(
                pm.ode.solve(lotka_volterra, LYNX_START, times, LYNX, method=method, rtol=r, atol=r).eval() - exact
            ).max()
            for r in (1e-4, 1e-7, 1e-10)
        ]
        assert errors[0] > 30 * errors[1] > 900 * errors[2], (method, errors)


@pytest.mark.parametrize("method", METHODS)
def test_batches_are_solutions_one_by_one(method: str) -> None:
    """Each with steps of its own, the failing one among them."""
    p = pt.matrix("p", shape=(4, 4))
    times = np.linspace(0, 10, 6)
    one = pt.vector("one", shape=(4,))
    single = pt.function([one], pm.ode.solve(lotka_volterra, LYNX_START, times, one, method=method))
    many = pt.function([p], pt.vmap(lambda q: pm.ode.solve(lotka_volterra, LYNX_START, times, q, method=method))(p))
    rows = LYNX * np.array([[1.0], [1.5], [0.3], [np.nan]])
    found = many(rows)
    assert_allclose(found, np.stack([single(row) for row in rows]), rtol=1e-12)
    assert np.isnan(found[3]).all()
    assert not np.isnan(found[:3]).any()
