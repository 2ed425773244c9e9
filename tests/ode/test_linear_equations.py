"""Random linear equations: the solution is the matrix exponential, its slope the derivative of that."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import expm, expm_frechet

import consilience as pm
import consilience.tensor as pt
from tests.ode.equations import METHODS

N = 3
TIMES = np.array([0.0, 0.3, 0.31, 2.0])
WEIGHTS = np.random.default_rng(4).normal(size=(4, N))


@functools.cache
def solver(method: str) -> Any:
    """States of dy/dt = A y + b, and the slope of their weighted sum by A."""
    a, b, y0 = pt.matrix("a", shape=(N, N)), pt.vector("b", shape=(N,)), pt.vector("y0", shape=(N,))
    states = pm.ode.solve(
        lambda y, t, p: p[0] @ y + p[1], y0, TIMES, (a, b), method=method, rtol=1e-8, atol=1e-10, max_steps=5000
    )
    return pt.function([a, b, y0], [states, pt.grad((states * WEIGHTS).sum(), a)])


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(0.0, 2.0), shift=st.floats(-1.0, 1.0))
def test_solutions_are_matrix_exponentials(method: str, seed: int, size: float, shift: float) -> None:
    """With b as a further state that does not change; growth, decay and rotation alike."""
    rng = np.random.default_rng(seed)
    a, b, y0 = size * rng.normal(size=(N, N)), shift * rng.normal(size=N), rng.normal(size=N)
    whole, start = np.zeros((N + 1, N + 1)), np.append(y0, 1.0)
    whole[:N, :N], whole[:N, N] = a, b
    states, slope = solver(method)(a, b, y0)
    exact = np.array([(expm(whole * t) @ start)[:N] for t in TIMES])
    assert_allclose(states, exact, rtol=1e-5, atol=1e-6 * abs(exact).max())
    # The derivative at A of w' exp(A t) y along E is that of the trace of E' L, L the derivative at A' along t w y'.
    along = [t * np.outer(np.append(w, 0.0), start) for t, w in zip(TIMES, WEIGHTS, strict=True)]
    slopes = [expm_frechet(whole.T * t, e, compute_expm=False) for t, e in zip(TIMES, along, strict=True)]
    wanted = np.sum(slopes, 0)[:N, :N]
    assert_allclose(slope, wanted, rtol=1e-4, atol=1e-5 * abs(wanted).max() + 1e-12)
