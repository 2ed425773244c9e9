"""What this machine reaches: bytes per second of a copy, and floating-point operations per second, of one thread.

Both are measured when they are first asked for, by code of the same backend.
"""

from __future__ import annotations

import functools
import math
import time

import numpy as np

from consilience.backends import llvm
from consilience.ir import Node, tensor_input
from consilience.ops import apply

REPEATS = 7
CHAINS, LENGTH, ELEMENTS = 8, 16, 32768


@functools.cache
def _copied(exponent: int) -> float:
    size = 1 << (exponent - 1)
    source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
    times = max(1, 2**20 // size)
    best = math.inf
    for _ in range(REPEATS):
        began = time.perf_counter()
        for _ in range(times):
            target[:] = source
        best = min(best, time.perf_counter() - began)
    return 2.0 * size * times / best


def bandwidth(size: float) -> float:
    """Bytes per second, read and written, of copying arrays of `size` bytes in all, from the caches that hold them.

    Below 64 KiB, where calling NumPy takes longer than copying, the rate of 64 KiB.
    """
    return _copied(min(28, max(16, math.ceil(math.log2(max(size, 1.0))))))


@functools.cache
def arithmetic_rate() -> float:
    """Floating-point operations per second of eight independent chains of multiply-adds."""
    x = tensor_input("float64", (ELEMENTS,), "x")
    chains: list[Node] = []
    for chain in range(CHAINS):
        value = x
        for turn in range(LENGTH):
            value = apply("add", apply("mul", value, 0.5 + 0.01 * chain), x if turn % 2 else 0.1 * chain + 0.01 * turn)
        chains.append(value)
    bound = llvm.compile([x], [apply("add", *chains)], {}).bind()
    arrays = [np.linspace(-1.0, 1.0, ELEMENTS)]
    bound(arrays)
    best = math.inf
    for _ in range(4 * REPEATS):
        began = time.perf_counter()
        bound(arrays)
        best = min(best, time.perf_counter() - began)
    return (2.0 * CHAINS * LENGTH + CHAINS - 1.0) * ELEMENTS / best
