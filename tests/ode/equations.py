"""Equations with known answers, in tensors and in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import consilience.tensor as pt

METHODS = ("rk45", "tsit5", "stiff")


def lotka_volterra(y: Any, t: Any, p: Any) -> list[Any]:
    """Prey and predators."""
    return [(p[0] - p[1] * y[1]) * y[0], (-p[2] + p[3] * y[0]) * y[1]]


def robertson(y: Any, t: Any, k: Any) -> list[Any]:
    """Three reactions whose rates differ by nine orders of magnitude."""
    slow, fast, back = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
    return [back - slow, slow - back - fast, fast]


def van_der_pol(y: Any, t: Any, mu: Any) -> list[Any]:
    """An oscillator, stiff for large mu."""
    return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]


def forced(y: Any, t: Any, p: Any) -> Any:
    """Depends on time."""
    m = np if isinstance(y, np.ndarray) else pt
    return p[0] * m.sin(3 * t) - p[1] * y * m.cos(t) * (1 + 0.1 * y)


LYNX = np.array([0.55, 0.028, 0.8, 0.024])
LYNX_START = np.array([33.0, 6.0])
RATES = np.array([0.04, 3e7, 1e4])


def reference(
    f: Any, y0: Any, times: Any, p: Any, method: str = "DOP853", atol: float = 1e-13, rtol: float = 3e-14
) -> np.ndarray:
    """SciPy's solution at tight tolerances, shape (times, states)."""
    found = solve_ivp(
        lambda t, y: np.asarray(f(y, t, p)), (times[0], times[-1]), y0, method, times, rtol=rtol, atol=atol
    )
    assert found.success, found.message
    return found.y.T
