"""One variable of a growing store: its place in the tree, its axes, and its chunks along the draws.

Chunks are not compressed: so draws are written behind those that readers see, which nothing touches again.
What readers are shown stays outside.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from consilience.errors import StorageError
from consilience.record import Record
from consilience.storage import zarr_format
from consilience.storage.files import write_all
from consilience.storage.zarr_format import Array, Metadata

CHUNK_DRAWS = 1000
CHUNK_BYTES = 1 << 22
"""A chunk has at most so many draws and, unless one draw has more, bytes."""


class Growing(Record):
    """A variable whose axis of draws grows; the coordinate `draw` of each group is one, too.

    before, after   lengths of the axes before and after that of the draws
    chunk           draws per chunk
    """

    group: str
    name: str
    dimensions: tuple[str, ...]
    dtype: np.dtype[np.generic]
    before: tuple[int, ...]
    after: tuple[int, ...]
    chunk: int

    @property
    def path(self) -> str:
        """Where the array is in the tree."""
        return f"{self.group}/{self.name}"

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """Lengths of a chunk: all of every axis but that of the draws."""
        return (*self.before, self.chunk, *self.after)

    def metadata(self, draws: int, separator: str) -> Metadata:
        """Of the array with so many draws."""
        shape = (*self.before, draws, *self.after)
        return zarr_format.array_metadata(
            repr(self.path), shape, self.dtype, self.dimensions, self.chunk_shape, separator
        )

    def chunk_file(self, number: int, separator: str) -> str:
        """Path of a chunk in the store."""
        index = (*(0 for _ in self.before), number, *(0 for _ in self.after))
        return f"{self.path}/{zarr_format.chunk_name(index, separator)}"

    def write(self, root: Path, separator: str, first: int, block: Array) -> None:
        """Write draws from number `first` on; those of smaller numbers are not touched. Raises OSError."""
        axis = len(self.before)
        contents = np.ascontiguousarray(block, self.dtype.newbyteorder("<"))
        count, done = block.shape[axis], 0
        size = math.prod(self.after) * self.dtype.itemsize
        if math.prod(self.before) * size == 0:
            return
        while done < count:
            number, start = divmod(first + done, self.chunk)
            step = min(count - done, self.chunk - start)
            path = root / self.chunk_file(number, separator)
            with open(path, "r+b", buffering=0, opener=_create) as file:
                length = math.prod(self.before) * self.chunk * size
                if os.fstat(file.fileno()).st_size != length:
                    file.truncate(length)
                for row, index in enumerate(np.ndindex(self.before)):
                    file.seek((row * self.chunk + start) * size)
                    write_all(file, contents[index][done : done + step].tobytes())
            done += step

    def read(self, root: Path, separator: str, draws: int) -> Array:
        """The first draws."""
        result = np.empty((*self.before, draws, *self.after), self.dtype)
        if result.size:
            for number in range(-(-draws // self.chunk)):
                chunk = np.fromfile(root / self.chunk_file(number, separator), self.dtype.newbyteorder("<"))
                part = result[self._draws(number * self.chunk, (number + 1) * self.chunk)]
                part[...] = chunk.reshape(self.chunk_shape)[self._draws(0, part.shape[len(self.before)])]
        return result

    def check(self, root: Path, separator: str, draws: int) -> None:
        """Raise StorageError unless the chunks of so many draws are there."""
        length = math.prod(self.chunk_shape) * self.dtype.itemsize
        for number in range(-(-draws // self.chunk) if length else 0):
            file = root / self.chunk_file(number, separator)
            found = file.stat().st_size if file.exists() else None
            if found != length:
                raise StorageError(
                    f"{str(file)!r} {'is missing' if found is None else f'has {found} bytes instead of {length}'}; "
                    "write the draws of the checkpoint into a new store"
                )

    def _draws(self, first: int, last: int) -> tuple[slice, ...]:
        """The index of some draws."""
        return (*(slice(None) for _ in self.before), slice(first, last))


def _create(path: str, flags: int) -> int:
    """Open a file, which is made if it is not there."""
    try:
        return os.open(path, flags | os.O_CREAT, 0o666)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags | os.O_CREAT, 0o666)


def growing(
    group: str, name: str, dimensions: tuple[str, ...], shape: tuple[int, ...], dtype: npt.DTypeLike
) -> Growing:
    """A variable without draws; in `shape` the length of its axis of draws does not matter."""
    axis = dimensions.index("draw")
    before, after = tuple(shape[:axis]), tuple(shape[axis + 1 :])
    native = np.dtype(dtype).newbyteorder("=")
    size = max(1, math.prod(before + after) * native.itemsize)
    chunk = max(1, min(CHUNK_DRAWS, CHUNK_BYTES // size))
    return Growing(group, name, dimensions, native, before, after, chunk)
