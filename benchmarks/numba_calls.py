"""Calls from Numba's code: `function.numba` beside the same function by hand in Numba.

Nanoseconds of one call inside a compiled loop; the best of several rounds, which take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.report import Row, show

ROUNDS, CALLS = 7, 2000
RNG = np.random.default_rng(1)
X = RNG.normal(size=(1000, 10))
Y = (RNG.random(1000) < 0.5).astype(float)
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])


def ours() -> dict[str, tuple[Any, np.ndarray]]:
    """Log densities of positions, for Numba."""
    b, q = pt.vector("b", shape=(10,)), pt.vector("q", shape=(10,))
    eta = pt.constant(X) @ b
    logistic = -0.5 * (b**2).sum() + (Y * eta - pt.softplus(eta)).sum()
    tau = pt.exp(q[1])
    schools = -0.5 * (q[0] / 5) ** 2 - pt.log1p((tau / 5) ** 2) + q[1] - 0.5 * (q[2:] ** 2).sum()
    schools = schools - 0.5 * (((EFFECTS - q[0] - tau * q[2:]) / ERRORS) ** 2).sum()
    positions = {"logistic 1000 x 10": RNG.normal(size=10) * 0.3, "eight schools": RNG.normal(size=10) * 0.3}
    leaves = {"logistic 1000 x 10": (b, logistic), "eight schools": (q, schools)}
    return {n: (pm.function([leaf], out).numba(positions[n]), positions[n]) for n, (leaf, out) in leaves.items()}


def by_hand() -> dict[str, Any]:
    """The same as one would write them, loops over rows and all."""
    import numba

    @numba.njit(fastmath=True)
    def logistic(b: Any) -> float:
        total = 0.0
        for j in range(10):
            total -= 0.5 * b[j] * b[j]
        for i in range(1000):
            eta = 0.0
            for j in range(10):
                eta += X[i, j] * b[j]
            softplus = eta + np.log1p(np.exp(-eta)) if eta > 0 else np.log1p(np.exp(eta))
            total += Y[i] * eta - softplus
        return total

    @numba.njit(fastmath=True)
    def schools(q: Any) -> float:
        tau = np.exp(q[1])
        total = -0.5 * (q[0] / 5) ** 2 - np.log1p((tau / 5) ** 2) + q[1]
        for j in range(8):
            distance = (EFFECTS[j] - q[0] - tau * q[2 + j]) / ERRORS[j]
            total -= 0.5 * (q[2 + j] ** 2 + distance * distance)
        return total

    return {"logistic 1000 x 10": logistic, "eight schools": schools}


def timed(function: Any) -> Callable[[np.ndarray], float]:
    """Nanoseconds of a call in a loop of Numba."""
    import numba

    @numba.njit
    def loop(x: Any, count: int) -> float:
        total = 0.0
        for i in range(count):
            x[i % x.size] += 1e-9  # else what does not change is computed once
            total += function(x)
        return total

    def measure(x: np.ndarray) -> float:
        loop(x.copy(), 1)
        began = time.perf_counter()
        loop(x.copy(), CALLS)
        return (time.perf_counter() - began) / CALLS * 1e9

    return measure


def main() -> None:
    """Print all."""
    rows = []
    hand = by_hand()
    for name, (function, position) in ours().items():
        np.testing.assert_allclose(function(position), hand[name](position), rtol=1e-9)
        ways = {"function.numba": timed(function), "by hand in Numba": timed(hand[name])}
        best = {way: min(measure(position) for _ in range(ROUNDS)) for way, measure in ways.items()}
        rows += [Row(f"{name}: {way}", nanoseconds, "ns") for way, nanoseconds in best.items()]
        rows.append(
            Row(f"{name}: function.numba over by hand", best["function.numba"] / best["by hand in Numba"], "", 1.1)
        )
    show("Log densities called from Numba's code", rows)


if __name__ == "__main__":
    main()
