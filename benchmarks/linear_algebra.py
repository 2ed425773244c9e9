"""Factorisations against NumPy and SciPy on one thread, and batches of small matrices.

`python -m benchmarks.linear_algebra` prints two tables.
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
from benchmarks.report import Row, show

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
    """Print the tables: times over those of NumPy or SciPy, and for small matrices NumPy's over ours."""
    rng = np.random.default_rng(1)
    la = pt.linalg

    def row(
        name: str, ours: Callable[[Any], Any], theirs: Callable[[Array], Any], x: Array, batch: bool = False
    ) -> Row:
        own, other = least(compiled(ours, x), lambda: theirs(x))
        what = f"{name} {' x '.join(map(str, x.shape))}"
        note = f"{own * 1e3:.3g} ms, theirs {other * 1e3:.3g} ms"
        if batch:
            return Row(what, other / own, "times faster", 5.0 if x.shape[-1] == 4 else None, at_least=True, note=note)
        limit = 1.2 if name in ("qr", "svd", "eigh") else None
        return Row(what, own / other, "of theirs", limit, note=note)

    rows = []
    with threadpool_limits(1):
        for n in SIDES:
            x = rng.normal(size=(n, n))
            rows += [
                row("qr", lambda a: la.qr(a, "economic"), np.linalg.qr, x),
                row("svd", la.svd, np.linalg.svd, x),
                row("eigh", la.eigh, np.linalg.eigh, x + x.T),
                row("svdvals", la.svdvals, lambda a: np.linalg.svd(a, compute_uv=False), x),
                row("eigvalsh", la.eigvalsh, np.linalg.eigvalsh, x + x.T),
                row("lu_factor", la.lu_factor, scipy.linalg.lu_factor, x),
            ]
            if n < 1000:
                rows.append(row("eig", la.eig, np.linalg.eig, x))
                rows.append(row("schur", la.schur, scipy.linalg.schur, x))
        for shape in ((1000, 10), (10_000, 100)):
            x = rng.normal(size=shape)
            rows.append(row("qr", lambda a: la.qr(a, "economic"), np.linalg.qr, x))
            rows.append(row("svd", lambda a: la.svd(a, False), lambda a: np.linalg.svd(a, False), x))
        show("Factorisations on one thread", rows)
        x = rng.normal(size=(BATCH, 4, 4))
        b = rng.normal(size=(BATCH, 4, 1))
        rows = [
            row("eigh", la.eigh, np.linalg.eigh, symmetric(x), True),
            row("cholesky", la.cholesky, np.linalg.cholesky, symmetric(x), True),
            row("solve", lambda a: la.solve(a, b), lambda a: np.linalg.solve(a, b), x, True),
            row("eigh", la.eigh, np.linalg.eigh, rng.normal(size=(BATCH // 4, 8, 8)), True),
        ]
        show("Batches of small matrices on one thread", rows)


if __name__ == "__main__":
    main()
