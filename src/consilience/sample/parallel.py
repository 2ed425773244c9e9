"""One function on many rows, on all processors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.native.threads import NativeThreads
from consilience.run.thread_pool import usable_cores

Array = npt.NDArray[Any]

FEWEST_ROWS = 2000  # per thread: below it starting one takes longer than the work


def in_parallel(function: Callable[[Array], Array], rows: Array) -> Array:
    """`function` of consecutive parts of the rows, its results joined. It has to release the interpreter's lock."""
    threads = min(usable_cores(), len(rows) // FEWEST_ROWS)
    if threads < 2:
        return function(rows)
    first, *rest = np.array_split(rows, threads)
    with NativeThreads(threads) as pool:
        futures = [pool.submit(function, part) for part in rest]
        return np.concatenate([function(first), *(future.result() for future in futures)])
