"""Sorting, searching and counting beside NumPy, one thread: times of calls and their ratios.

    python -m benchmarks.order [names of rows]

Arguments come from many arrays in turn, so that no branch is learnt by heart.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import consilience.tensor as pt
from benchmarks.native import one_core
from benchmarks.report import Row, show

LIMIT = 1.2
SIZES = (1_000, 10_000, 100_000, 1_000_000)
EDGES = np.sort(np.random.default_rng(1).normal(size=1000))
CASES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "x + 1, for what a call costs": (lambda own, x: x + 1.0, "float64"),
    "sort": (lambda own, x: own.sort(x), "float64"),
    "sort of integers": (lambda own, x: own.sort(x), "int64"),
    "sort of float32": (lambda own, x: own.sort(x), "float32"),
    "argsort": (lambda own, x: own.argsort(x), "float64"),
    "argsort, stable": (lambda own, x: own.argsort(x, kind="stable"), "float64"),
    "unique": (lambda own, x: own.unique(x), "float64"),
    "unique of few values": (lambda own, x: own.unique(x % 50, return_counts=True), "int64"),
    "median": (lambda own, x: own.median(x), "float64"),
    "quantile": (lambda own, x: own.quantile(x, 0.31), "float64"),
    "quantiles": (lambda own, x: own.quantile(x, [0.05, 0.5, 0.95]), "float64"),
    "searchsorted of many": (lambda own, x: own.searchsorted(EDGES, x), "float64"),
    "searchsorted in many": (lambda own, x: own.searchsorted(np.sort(x) if own is np else x, EDGES), "sorted"),
    "histogram": (lambda own, x: own.histogram(x, 50), "float64"),
    "histogram by ends": (lambda own, x: own.histogram(x, EDGES[::20]), "float64"),
    "bincount": (lambda own, x: own.bincount(x), "counts"),
    "einsum, product": (lambda own, x: own.einsum("ij,jk->ik", square(own, x), square(own, x)), "float64"),
    "einsum, row sums": (lambda own, x: own.einsum("ij,ij->i", square(own, x), square(own, x)), "float64"),
}


def square(own: Any, x: Any) -> Any:
    """A vector's elements as a matrix, as square as can be."""
    side = int(np.sqrt(x.shape[0] if own is np else x.static_shape[0]))
    return own.reshape(x[: side * side], (side, side))


def arrays(kind: str, size: int) -> list[np.ndarray]:
    """Several arrays of one kind."""
    rng = np.random.default_rng(size)
    count = max(2, min(40, 400_000 // size))
    drawn = [rng.normal(size=size) for _ in range(count)]
    match kind:
        case "sorted":
            return [np.sort(a) for a in drawn]
        case "counts":
            return [rng.integers(0, 100, size) for _ in drawn]
        case "int64":
            return [(1e9 * a).astype("int64") for a in drawn]
    return [a.astype(kind) for a in drawn]


def seconds(calls: list[Callable[[Any], Any]], given: list[np.ndarray]) -> list[float]:
    """The median time of each of several functions, which take turns over the arrays."""
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + 1.0
    for array in itertools.cycle(given):
        for own, call in zip(times, calls, strict=True):
            begin = time.perf_counter()
            call(array)
            own.append(time.perf_counter() - begin)
        if len(times[0]) >= 7 and time.perf_counter() > end:
            return [float(np.median(own)) for own in times]
    raise AssertionError("the arrays never end")


def main(names: list[str]) -> None:
    """Print the table."""
    one_core()
    rows = []
    for name, (expression, kind) in CASES.items():
        if names and name not in names:
            continue
        for size in SIZES:
            given = arrays(kind, size)
            x = pt.vector("x", shape=(size,), dtype=str(given[0].dtype))
            made = expression(pt, x)
            ours = pt.function([x], list(made) if isinstance(made, tuple) else made)
            theirs = (lambda a: np.searchsorted(a, EDGES)) if kind == "sorted" else lambda a, f=expression: f(np, a)
            own, other = seconds([ours, theirs], given)
            note = f"{own * 1e6:.4g} us, NumPy {other * 1e6:.4g} us"
            rows.append(
                Row(f"{name}, {size:,}", own / other, "x", None if name.startswith("x +") else LIMIT, note=note)
            )
    show("Order: time of a call divided by NumPy's, medians", rows)


if __name__ == "__main__":
    main(sys.argv[1:])
