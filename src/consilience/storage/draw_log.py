"""An append-only file of blocks of arrays, such as draws: blocks enter, and are on the disk when that returns.

The file is its mark and version, a frame with a header, then one frame per block (`frame.py`). The length up
to which it counts is kept outside, in the checkpoint: what a killed process wrote beyond that is cut off.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

import numpy.typing as npt

from consilience.errors import SealError, StorageError
from consilience.storage import frame
from consilience.storage.files import failure, replace, write_all
from consilience.storage.frame import Array
from consilience.storage.sealed import OPENING, check_opening, opening, unreadable

if TYPE_CHECKING:
    from typing import Any  # headers are what JSON gives


class DrawLog:
    """An open log, made by `create` or `open`; one process at a time may have it open.

    header   as given to `create`
    first    length in bytes of the log without blocks
    length   length in bytes of the log with all of its blocks
    """

    def __init__(self, path: Path, file: BinaryIO, header: dict[str, Any], first: int, length: int) -> None:
        self.path = path
        self.header = header
        self.first = first
        self.length = length
        self._file = file

    @classmethod
    def create(cls, path: str | os.PathLike[str], header: Mapping[str, object], *, overwrite: bool = False) -> DrawLog:
        """A log without blocks; its header may hold what that of a sealed file may.

        Raises StorageError if there is a file of that name, unless `overwrite`, or if it cannot be written.
        """
        target = Path(path)
        if target.exists() and not overwrite:
            raise StorageError(f"{str(target)!r} exists; overwrite=True replaces it")
        pieces = [opening(b"DRAW"), *frame.encode(header, {})]
        try:
            replace(target, pieces)
        except OSError as error:
            raise failure(target, error, "what was there before is kept") from error
        return cls.open(target, sum(map(len, pieces)))

    @classmethod
    def open(cls, path: str | os.PathLike[str], keep: int) -> DrawLog:
        """Go on with a log of which the first `keep` bytes count, a length that `append` returned.

        Every block of these is checked first; then what lies beyond them is cut off.

        Raises SealError if the file is missing, not one of ours, of a newer version, shorter than `keep` or
        damaged, or if no block ends at `keep`; the file is then not changed.
        """
        source = Path(path)
        try:
            file = open(source, "r+b", buffering=0)  # noqa: SIM115 (it stays open)
        except OSError as error:
            raise unreadable(source, error) from error
        try:
            size = os.fstat(file.fileno()).st_size
            check_opening(file, size, b"DRAW", str(source))
            if size < keep:
                raise SealError(f"{str(source)!r} is truncated: {keep} bytes were recorded, and {size} are there")
            header, _, length = frame.read(file, keep - OPENING.size, f"the header of {str(source)!r}")
            log = cls(source, file, header, OPENING.size + length, keep)
            for _ in log.blocks():
                pass
            if size > keep:
                file.truncate(keep)
                os.fsync(file.fileno())
        except OSError as error:
            file.close()
            raise unreadable(source, error) from error
        except BaseException:
            file.close()
            raise
        return log

    def append(self, arrays: Mapping[str, npt.ArrayLike]) -> int:
        """Add a block and return the length of the log in bytes; the block has reached the disk by then.

        Raises StorageError if it cannot be written; the blocks before are kept, and `append` may be tried again.
        """
        pieces = frame.encode({}, arrays)
        try:
            # A write that failed half-way may have left bytes beyond the length that counts.
            self._file.truncate(self.length)
            self._file.seek(self.length)
            for piece in pieces:
                write_all(self._file, piece)
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self.length)
            raise failure(self.path, error, "the blocks appended before are kept") from error
        self.length += sum(map(len, pieces))
        return self.length

    def blocks(self, start: int | None = None) -> Iterator[dict[str, Array]]:
        """The blocks in the order in which they were appended, read and checked one by one.

        start   a length that `append` returned: only blocks appended after it

        Raises SealError at a block that is damaged.
        """
        position = self.first if start is None else start
        end = self.length
        if not self.first <= position <= end:
            raise SealError(f"{str(self.path)!r} has blocks from byte {self.first} to {end}; {position} is outside")
        number = 0
        while position < end:
            where = f"block {number} of {str(self.path)!r}, at byte {position},"
            try:
                self._file.seek(position)
                _, arrays, length = frame.read(self._file, end - position, where)
            except OSError as error:
                raise unreadable(self.path, error) from error
            yield arrays
            position += length
            number += 1

    def close(self) -> None:
        """Close the file; all blocks are on the disk already."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
