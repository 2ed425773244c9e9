"""Draws of an attempt in a file without a name, for runs whose draws go to a store.

Windows enter, the same windows leave, with draws that the system may put out of memory at any time. The file is gone
with the process, however it ends. It grows by rows, so that no length has to be known beforehand.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.inference.messages import JointWindows, Window
from consilience.record import replace

GROWTH = 1 << 26  # bytes, at least, by which the file grows


class DiskWindows:
    """A file of draws.

    `folder`: where it is made. `chains`, `dimension`: of the draws. `full`: whether there is no room for more: further
    windows stay in memory.
    """

    def __init__(self, folder: Path, chains: int, dimension: int) -> None:
        self.full = False
        self._next = 0
        self._row = (chains, dimension)
        self._file: Any = None
        self._folder = folder
        self._memory: mmap.mmap | None = None
        self._rows: NDArray[np.float64] = np.empty((0, chains, dimension))

    def take(self, first: int, windows: Mapping[int, Window]) -> Mapping[int, Window]:
        """Windows by chain whose draws are `first`, first + 1, …, with draws in the file as far as it has room."""
        end = first + len(next(iter(windows.values())).draws)
        self.full = self.full or first != self._next  # after windows that are in memory, as those of a checkpoint
        if not self.full and end > len(self._rows):
            try:
                self._grow(end)
            except OSError:
                self.full = True
        if self.full:
            return windows
        self._next = end
        if isinstance(windows, JointWindows):
            rows = self._rows[first:end]
            rows[...] = windows.draws.swapaxes(0, 1)
            self.rest()
            return windows.with_draws(rows.swapaxes(0, 1))
        found = {}
        for c, window in windows.items():
            own = self._rows[first:end, c]
            own[...] = window.draws
            found[c] = replace(window, draws=own)
        self.rest()
        return found

    def all(self, count: int) -> NDArray[np.float64] | None:
        """The first draws (chain, draw, coordinate); None where some are in memory."""
        return None if self.full or count != self._next else self._rows[:count].transpose(1, 0, 2)

    def rest(self) -> None:
        """Let pages that were looked at go: the file has them."""
        if self._memory is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._memory.madvise(mmap.MADV_DONTNEED)

    def _grow(self, rows: int) -> None:
        """Make room for so many rows; raises OSError where there is none."""
        if self._file is None:
            import tempfile  # most runs stay in memory

            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # it lives as long as this
            weakref.finalize(self, self._file.close)
        row = 8 * self._row[0] * self._row[1]
        size = max(rows, len(self._rows) + len(self._rows) // 4, len(self._rows) + -(-GROWTH // row)) * row
        # Asked for beforehand: a page that finds no place on a full disk ends the process.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._file.fileno(), 0, size)
        else:
            self._file.seek(size - 1)
            self._file.write(b"\0")
            self._file.flush()
        self._memory = mmap.mmap(self._file.fileno(), size)
        with contextlib.suppress(AttributeError):  # not every system takes advice
            self._memory.madvise(mmap.MADV_RANDOM)
        self._rows = np.frombuffer(self._memory, np.float64).reshape(-1, *self._row)
