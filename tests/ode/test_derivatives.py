"""Derivatives of solutions: both ways agree with differences and with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
import consilience.tensor as pt
from consilience.errors import NullTypeGradError
from tests.ode.equations import LYNX, LYNX_START, METHODS, RATES, forced, lotka_volterra, reference, robertson

TIMES = np.array([1.0, 2.5, 6.0, 6.0, 10.0])
WEIGHTS = np.random.default_rng(1).normal(size=(5, 2))


def by_differences(f: Any, y0: np.ndarray, t0: float, times: np.ndarray, p: np.ndarray) -> list[np.ndarray]:
    """Derivatives of the weighted sum of states by y0, t0, times and p, from SciPy's solutions."""

    def value(at: np.ndarray) -> float:
        start, begin, when, rest = np.split(at, np.cumsum([len(y0), 1, len(times)]))
        ends = np.unique([begin[0], *when])
        states = reference(f, start, ends, rest)
        return float((WEIGHTS * states[np.searchsorted(ends, when)]).sum())

    at = np.concatenate([y0, [t0], times, p])
    steps = 1e-4 * np.where(at == 0, 1.0, abs(at))
    slopes = []
    for i, h in enumerate(steps):
        e = np.zeros(len(at))
        e[i] = h
        near, far = value(at + e) - value(at - e), value(at + 2 * e) - value(at - 2 * e)
        slopes.append((8 * near - far) / (12 * h))
    return np.split(np.array(slopes), np.cumsum([len(y0), 1, len(times)]))


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("method", "sensitivity", "f", "start", "p"),
    [
        pytest.param(
            method, way, f, start, p, id=f"{method}-{way}-{f.__name__}",
            marks=SLOW if way == "forward" and (method, f) != ("rk45", lotka_volterra) else (),
        )
        for method in METHODS
        for way in ("adjoint", "forward")
        for f, start, p in (
            (lotka_volterra, LYNX_START, LYNX),
            (forced, np.array([0.5, -0.3]), np.array([1.3, 0.7])),
        )
    ],
)  # fmt: skip
def test_derivatives_by_everything(method: str, sensitivity: str, f: Any, start: np.ndarray, p: np.ndarray) -> None:
    """By initial state, its time, the wanted times and parameters."""
    y0, t0, times = pt.vector("y0", shape=(2,)), pt.scalar("t0"), pt.vector("times", shape=(5,))
    q = pt.vector("q", shape=p.shape)
    states = pm.ode.solve(f, y0, times, q, t0=t0, method=method, sensitivity=sensitivity, rtol=1e-9, atol=1e-10)
    wrt = [y0, t0, times, q]
    slopes = pt.function(wrt, pt.grad((states * WEIGHTS).sum(), wrt))(start, 0.25, TIMES, p)
    exact = by_differences(f, start, 0.25, TIMES, p)
    for slope, wanted in zip(slopes, exact, strict=True):
        assert_allclose(slope, wanted.reshape(slope.shape), rtol=1e-5, atol=1e-6 * abs(wanted).max())


@SLOW
def test_both_ways_agree_for_a_stiff_equation() -> None:
    """Robertson's: by the logarithms of the rates."""
    q = pt.vector("q", shape=(3,))
    found = []
    for way in ("adjoint", "forward"):
        states = pm.ode.solve(
            robertson, [1.0, 0.0, 0.0], np.logspace(-2, 5, 6), pt.exp(q), t0=0.0, method="stiff", rtol=1e-7,
            atol=1e-11, sensitivity=way,
        )  # fmt: skip
        found.append(pt.function([q], pt.grad((states * [1.0, 1e4, 2.0]).sum(), q))(np.log(RATES)))
    assert_allclose(found[0], found[1], rtol=1e-5)


def test_the_adjoint_is_the_exact_derivative_on_the_steps_taken() -> None:
    """Where the lengths of steps do not depend on the parameter: a difference of values shows no more than rounding."""
    k = pt.scalar("k")
    states = pm.ode.solve(lambda y, t, p: [y[1], -y[0] + 0 * k], [k, 2 * k], [0.0, 1.0, 3.0], rtol=1e-3, atol=1e-300)
    value = pt.function([k], [states, pt.grad(states.sum(), k)])
    (one, slope), (two, _) = value(1.0), value(2.0)
    assert_allclose(slope, (two - one).sum(), rtol=1e-12)


def test_second_derivatives_of_the_adjoint() -> None:
    """Those of the solution; forward sensitivities say that they have none."""
    k, y0 = pt.scalar("k"), pt.scalar("y0")
    for method in ("rk45", "stiff"):
        state = pm.ode.solve(lambda y, t, p: -p * y, y0, [0.0, 1.5], k, method=method, rtol=1e-9, atol=1e-12)[1]
        by_k = pt.grad(state, k)
        found = pt.function([y0, k], [pt.grad(by_k, k), pt.grad(by_k, y0)])(2.0, 0.7)
        assert_allclose(found, [2 * 1.5**2 * np.exp(-1.05), -1.5 * np.exp(-1.05)], rtol=1e-6)
    state = pm.ode.solve(lambda y, t, p: -p * y, y0, [0.0, 1.5], k, sensitivity="forward")[1]
    for cost in (state, state**2 + k**2):
        with pytest.raises(NullTypeGradError):
            pt.grad(pt.grad(cost, k), k)


def test_derivatives_reach_what_the_function_uses_from_around() -> None:
    k, c = pt.scalar("k"), pt.scalar("c")
    for way in ("adjoint", "forward"):
        state = pm.ode.solve(lambda y, t, p: -k * y + pt.exp(c) * 0 + c**2, 1.0, [0.0, 1.0], sensitivity=way)[1]
        found = pt.function([k, c], pt.grad(state, [k, c]))(0.5, 0.3)
        e = np.exp(-0.5)
        by_k = -e + 0.09 * (e / 0.5 - (1 - e) / 0.25)
        assert_allclose(found, [by_k, 0.6 * (1 - e) / 0.5], rtol=1e-5)


@pytest.mark.parametrize("method", ["rk45", pytest.param("stiff", marks=SLOW)])
def test_derivatives_of_batches_are_those_one_by_one(method: str) -> None:
    p, one, y0 = pt.matrix("p", shape=(3, 4)), pt.vector("one", shape=(4,)), pt.vector("y0", shape=(2,))

    def cost(states: Any) -> Any:
        return (states[..., 1:, :] * WEIGHTS).sum()

    times = np.array([0.0, *TIMES])
    single = pm.ode.solve(lotka_volterra, y0, times, one, method=method)
    many = pt.vmap(lambda q: pm.ode.solve(lotka_volterra, y0, times, q, method=method))(p)
    each = pt.function([y0, one], pt.grad(cost(single), [y0, one]))
    together = pt.function([y0, p], pt.grad(cost(many), [y0, p]))
    rows = LYNX * np.array([[1.0], [1.5], [0.5]])
    by_start, by_rows = together(LYNX_START, rows)
    expected = [each(LYNX_START, row) for row in rows]
    assert_allclose(by_start, sum(e[0] for e in expected), rtol=1e-10)
    assert_allclose(by_rows, np.stack([e[1] for e in expected]), rtol=1e-10)


def test_forward_sensitivities_are_given_whole() -> None:
    """By the initial state, the parameters, and what is used besides, in this order."""
    c = pt.scalar("c")
    found = pm.ode.solve(
        lambda y, t, p: -p[0] * y + p[1] + c, [1.0, 2.0], [0.0, 1.0], [0.5, 0.2], sensitivity="forward",
        full_output=True,
    )  # fmt: skip
    assert found.sensitivities is not None
    slopes = pt.function([c], found.sensitivities)(0.0)
    e = np.exp(-0.5)
    assert slopes.shape == (2, 2, 5)
    assert_allclose(slopes[0], [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]], atol=1e-12)
    assert_allclose(slopes[1, :, :2], np.eye(2) * e, atol=1e-6)
    assert_allclose(slopes[1, :, 3], (1 - e) / 0.5, rtol=1e-5)
    assert_allclose(slopes[1, :, 4], slopes[1, :, 3], rtol=1e-5)
