"""Gaussian processes: time of one log density, and of its gradient, for each way to compute them.

`python -m benchmarks.gaussian_processes`. Each time is the shortest of several evaluations, compiled before; "first"
is writing the model, compiling and evaluating both once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import consilience as pm
from benchmarks.report import Row, show

RNG = np.random.default_rng(0)


def series(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Places in one dimension at a density of 100 per unit, and noisy values there."""
    x = np.sort(RNG.uniform(0.0, n / 100.0, n))
    return x[:, None], np.sin(x) + 0.3 * RNG.normal(size=n)


def marginal(kind: str, n: int) -> None:
    """An exact process with noise."""
    X, y = series(n)
    ls, eta, sigma = pm.Gamma("ls", 2, 1), pm.HalfNormal("eta", 1), pm.HalfNormal("sigma", 1)
    gp = pm.gp.Marginal(cov_func=eta**2 * getattr(pm.gp.cov, kind)(1, ls))
    gp.marginal_likelihood("y", X, y, sigma=sigma)


def hilbert_space(n: int) -> None:
    """A process in 100 sines."""
    X, y = series(n)
    ls, eta, sigma = pm.Gamma("ls", 2, 1), pm.HalfNormal("eta", 1), pm.HalfNormal("sigma", 1)
    f = pm.gp.HSGP(m=[100], c=1.5, cov_func=eta**2 * pm.gp.cov.Matern52(1, ls)).prior("f", X)
    pm.Normal("y", f, sigma, observed=y)


def inducing(n: int, count: int) -> None:
    """A process through inducing points."""
    X, y = series(n)
    ls, sigma = pm.Gamma("ls", 2, 1), pm.HalfNormal("sigma", 1)
    gp = pm.gp.MarginalApprox("VFE", cov_func=pm.gp.cov.ExpQuad(1, ls))
    gp.marginal_likelihood("y", X, np.linspace(0.0, n / 100.0, count)[:, None], y, sigma=sigma)


def grid(n: int) -> None:
    """A process on an n x n grid with noise."""
    axis = np.linspace(0.0, 5.0, n)[:, None]
    ls, sigma = pm.Gamma("ls", 2, 1, shape=2), pm.HalfNormal("sigma", 1)
    gp = pm.gp.MarginalKron(cov_funcs=[pm.gp.cov.Matern52(1, ls[0]), pm.gp.cov.ExpQuad(1, ls[1])])
    gp.marginal_likelihood("y", [axis, axis], RNG.normal(size=n * n), sigma=sigma)


def coregion(n: int, outputs: int) -> None:
    """Several outputs that share a process."""
    X, y = series(n)
    inputs = np.concatenate([np.column_stack([X, np.full(n, float(k))]) for k in range(outputs)])
    W = pm.Normal("W", 0, 1, shape=(outputs, 2))
    kappa, ls, sigma = pm.HalfNormal("kappa", 1, shape=outputs), pm.Gamma("ls", 2, 1), pm.HalfNormal("sigma", 1)
    cov = pm.gp.cov.ExpQuad(2, ls, active_dims=[0]) * pm.gp.cov.Coregion(2, W=W, kappa=kappa, active_dims=[1])
    pm.gp.Marginal(cov_func=cov).marginal_likelihood("y", inputs, np.tile(y, outputs), sigma=sigma)


CASES: dict[str, Callable[[], None]] = {
    "Marginal, ExpQuad, 200 points": lambda: marginal("ExpQuad", 200),
    "Marginal, Matern32, 1,000 points (state space)": lambda: marginal("Matern32", 1_000),
    "Marginal, Matern32, 10,000 points (state space)": lambda: marginal("Matern32", 10_000),
    "Marginal, Matern32, 100,000 points (state space)": lambda: marginal("Matern32", 100_000),
    "HSGP, 100 functions, 5,000 points": lambda: hilbert_space(5_000),
    "VFE, 50 inducing points, 5,000 points": lambda: inducing(5_000, 50),
    "MarginalKron, 100 x 100": lambda: grid(100),
    "Coregion, 3 outputs of 100 points": lambda: coregion(100, 3),
}


def shortest(call: Callable[[], object], seconds: float = 0.5) -> float:
    """The shortest of as many calls as take `seconds`, at least three."""
    found: list[float] = []
    while len(found) < 3 or sum(found) < seconds:
        begun = time.perf_counter()
        call()
        found.append(time.perf_counter() - begun)
    return min(found)


def main() -> None:
    """Print one row per case."""
    rows = []
    for name, write in CASES.items():
        begun = time.perf_counter()
        with pm.Model() as model:
            write()
        logp, slope, point = model.compile_logp(), model.compile_dlogp(), model.initial_point()
        logp(point), slope(point)
        first = time.perf_counter() - begun
        times = [shortest(lambda: logp(point)), shortest(lambda: slope(point))]  # noqa: B023 - called at once
        rows += [
            Row(f"{name}: first", first, "s"),
            Row(f"{name}: log density", 1e3 * times[0], "ms"),
            Row(f"{name}: gradient", 1e3 * times[1], "ms"),
        ]
    show("Gaussian processes", rows)


if __name__ == "__main__":
    main()
