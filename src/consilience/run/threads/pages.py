"""Memory for arrays that live as long as a run: shapes enter, arrays leave whose pages go back to the system at once.

An allocator keeps what is freed between blocks that live on, and threads do not share what they keep. Rows of
windows come and go by the megabyte, from several threads, so large ones are mapped from the system one by one.
"""

from __future__ import annotations

import math
import mmap
import sys

import numpy as np
from numpy.typing import NDArray

LEAST = 1 << 20  # bytes: below it a mapping's own cost would show


def pages(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An array of this shape, its contents undefined; large ones have pages of their own."""
    size = 8 * math.prod(shape)
    if size < LEAST:
        return np.empty(shape)
    if sys.platform == "win32":
        memory = mmap.mmap(-1, size)
    else:  # private: a process that is forked must not write into these draws
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, np.float64).reshape(shape)
