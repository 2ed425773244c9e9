"""Memory for a chain's vectors, placed so that loops over several of them do not get in each other's way.

A dimension enters; arrays leave whose rows begin at multiples of 64 bytes and, for all rows taken from one
object, at different places of a memory page. Processors compare a load with the stores before it by the
address within the page; vectors at equal places wait for each other, which costs a loop up to half its speed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PAGE = 512  # numbers per page of 4096 bytes
LINE = 8  # numbers per cache line, and per vector of any supported machine
STEP = 104  # numbers between the places of neighbouring rows on the page
SHORT = 64  # shorter vectors are finished before they could wait


class Vectors:
    """Rows for the vectors of one chain.

    `dimension`: length of a vector. `stride`: distance between rows, in numbers; at least `dimension`.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.stride = -(-dimension // LINE) * LINE
        if dimension > SHORT:
            self.stride += (STEP - self.stride) % PAGE
        self._place = 0

    def rows(self, count: int) -> NDArray[np.float64]:
        """`count` vectors of zeros, float64[count * stride]."""
        memory = np.zeros(count * self.stride + PAGE)
        skipped = (self._place - memory.ctypes.data // 8) % PAGE
        self._place = (self._place + count * self.stride) % PAGE
        return memory[skipped : skipped + count * self.stride]

    def vector(self, values: NDArray[np.float64] | float | None = None) -> NDArray[np.float64]:
        """One vector, float64[dimension]."""
        row = self.rows(1)[: self.dimension]
        if values is not None:  # zeros are there, and take no memory until they are written to
            row[:] = values
        return row
