"""Fourier transforms and convolutions beside NumPy and SciPy, one thread: times of calls and their ratios.

python -m benchmarks.signal
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

import consilience.tensor as pt
from benchmarks.native import one_core

LIMIT = 1.2
SIZES = (1_000, 1_024, 10_000, 100_000, 1_000_000, 2**20)
KERNEL = np.random.default_rng(3).normal(size=64)


def best(call: Callable[[], Any]) -> float:
    """Least time of a call in several."""
    call()
    started = time.perf_counter()
    call()
    count = max(3, min(300, int(0.3 / max(time.perf_counter() - started, 1e-6))))
    times = []
    for _ in range(count):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    """Print one line per function and size."""
    x, z = pt.dvector("x"), pt.zvector("z")
    rows: dict[str, tuple[Any, Any, Callable[[Any], Any]]] = {
        "fft": (z, pt.fft.fft(z), np.fft.fft),
        "rfft": (x, pt.fft.rfftn(x), np.fft.rfft),
        "convolve with 64": (x, pt.signal.convolve1d(x, KERNEL), lambda a: np.convolve(a, KERNEL)),
        "convolve with itself": (x, pt.signal.convolve1d(x, x), lambda a: scipy.signal.convolve(a, a)),
    }
    one_core()
    for name, (leaf, expression, peer) in rows.items():
        function = pt.function([leaf], expression)
        for size in SIZES:
            value = np.random.default_rng(size).normal(size=size).astype(leaf.dtype)
            ours, theirs = best(lambda f=function, v=value: f(v)), best(lambda f=peer, v=value: f(v))
            note = "" if ours <= LIMIT * theirs else f"   over {LIMIT}"
            print(f"{name:22}{size:9}{ours * 1e6:12.1f} us{theirs * 1e6:12.1f} us{ours / theirs:8.2f}{note}")


if __name__ == "__main__":
    main()
