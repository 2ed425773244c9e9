"""Factorisations against NumPy and SciPy on one thread, and batches of small matrices.

`python -m benchmarks.linear_algebra` prints a table.
Every row is the least of some runs of both, taken in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
from threadpoolctl import threadpool_limits

import consilience as pm
import consilience.tensor as pt

Array = npt.NDArray[Any]
SIDES = (32, 100, 316, 1000)
BATCH = 100_000


def least(ours: Callable[[], Any], theirs: Callable[[], Any], seconds: float = 1.5) -> tuple[float, float]:
    """The shortest times of both, measured in turn for so long, at least three times each."""
    times: list[tuple[float, float]] = []
    begin = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begin < seconds:
        marks = [time.perf_counter()]
        for run in (ours, theirs):
            run()
            marks.append(time.perf_counter())
        times.append((marks[1] - marks[0], marks[2] - marks[1]))
    return min(a for a, _ in times), min(b for _, b in times)


def compiled(call: Callable[[Any], Any], x: Array) -> Callable[[], Any]:
    """A function of a matrix, ready to run."""
    node = pt.tensor("x", shape=x.shape)
    results = call(node)
    f = pm.function([node], list(results) if isinstance(results, tuple) else results)
    f(x)
    return lambda: f(x)


def symmetric(x: Array) -> Array:
    """A positive definite matrix."""
    return x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1])


def main() -> None:
    """Print a table: what, how large, our time, the other time, their ratio."""
    rng = np.random.default_rng(1)
    la = pt.linalg

    def row(name: str, ours: Callable[[Any], Any], theirs: Callable[[Array], Any], x: Array) -> None:
        own, other = least(compiled(ours, x), lambda: theirs(x))
        shape = " x ".join(map(str, x.shape))
        print(f"{name:12} {shape:>16} {own * 1e3:10.3f} ms {other * 1e3:10.3f} ms {own / other:6.2f}", flush=True)

    with threadpool_limits(1):
        for n in SIDES:
            x = rng.normal(size=(n, n))
            s = x + x.T
            row("qr", lambda a: la.qr(a, "economic"), np.linalg.qr, x)
            row("svd", la.svd, np.linalg.svd, x)
            row("eigh", la.eigh, np.linalg.eigh, s)
            row("svdvals", la.svdvals, lambda a: np.linalg.svd(a, compute_uv=False), x)
            row("eigvalsh", la.eigvalsh, np.linalg.eigvalsh, s)
            row("lu_factor", la.lu_factor, scipy.linalg.lu_factor, x)
            if n <= 316:
                row("eig", la.eig, np.linalg.eig, x)
                row("schur", la.schur, scipy.linalg.schur, x)
        for n in (100, 1000):
            x = rng.normal(size=(100 * n // 10, n // 10))
            row("qr", lambda a: la.qr(a, "economic"), np.linalg.qr, x)
            row("svd", lambda a: la.svd(a, False), lambda a: np.linalg.svd(a, False), x)
        x = rng.normal(size=(BATCH, 4, 4))
        s, b = symmetric(x), rng.normal(size=(BATCH, 4))
        row("eigh", la.eigh, np.linalg.eigh, s)
        row("eigvalsh", la.eigvalsh, np.linalg.eigvalsh, s)
        row("cholesky", la.cholesky, np.linalg.cholesky, s)
        row("solve", lambda a: la.solve(a, b[..., None]), lambda a: np.linalg.solve(a, b[..., None]), x)
        row("svd", la.svd, np.linalg.svd, x)
        row("eigh", la.eigh, np.linalg.eigh, rng.normal(size=(BATCH // 4, 8, 8)))


if __name__ == "__main__":
    main()
