"""Sealed files: a header of plain values and named arrays enter, and come back exactly or not at all.

A file is its mark and version, then one frame (`frame.py`), then nothing. What is stored stays outside.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy.typing as npt

from consilience.errors import SealError
from consilience.storage import frame
from consilience.storage.files import failure, replace
from consilience.storage.frame import Array

if TYPE_CHECKING:
    from typing import Any  # headers are what JSON gives

MARK = b"\x93CSL\r\n\x1a\n"
"""As in PNG: bytes that a transfer as text would change."""
VERSION = 1
OPENING = struct.Struct("<8s4sII")
"""Mark, kind of file, version, CRC-32 of these; the layout of all versions."""


def seal(path: str | os.PathLike[str], header: Mapping[str, object], arrays: Mapping[str, npt.ArrayLike]) -> None:
    """Write a sealed file, in place of one that is there.

    The new contents are complete on the disk before the old ones are given up: after a kill or a loss of power
    the file is the old or the new one. See `frame.encode` for what a header and arrays may hold.

    Raises SealError for contents that cannot be kept, StorageError if the file cannot be written; what was
    there before is then untouched.
    """
    target = Path(path)
    pieces = [opening(b"SEAL"), *frame.encode(header, arrays)]
    try:
        replace(target, pieces)
    except OSError as error:
        raise failure(target, error, "what was there before is kept") from error


def unseal(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a sealed file.

    Raises SealError if the file is missing, not one of ours, of a newer version, truncated or damaged; the
    message says which. The file itself is never changed.
    """
    source = Path(path)
    try:
        with open(source, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            check_opening(file, size, b"SEAL", str(source))
            header, arrays, length = frame.read(file, size - OPENING.size, repr(str(source)))
    except OSError as error:
        raise unreadable(source, error) from error
    if size > OPENING.size + length:
        raise SealError(f"{str(source)!r} is damaged: {size - OPENING.size - length} bytes follow its end")
    return header, arrays


def opening(kind: bytes) -> bytes:
    """The first bytes of a file of a kind, which has four letters."""
    start = struct.pack("<8s4sI", MARK, kind, VERSION)
    return start + struct.pack("<I", zlib.crc32(start))


def check_opening(file: BinaryIO, size: int, kind: bytes, path: str) -> None:
    """Raise SealError unless the file begins as one of this kind and version."""
    start = file.read(OPENING.size)
    if not start:
        raise SealError(f"{path!r} is truncated: it is empty")
    whole = opening(kind)
    if len(start) < OPENING.size:
        if whole.startswith(start):
            raise SealError(f"{path!r} is truncated: {size} bytes are there, not even its opening")
        raise foreign(path)
    mark, found, version, check = OPENING.unpack(start)
    if mark != MARK:
        raise foreign(path)
    if check != zlib.crc32(start[:-4]):
        raise SealError(f"{path!r} is damaged: the checksum of its opening is wrong")
    if found != kind:
        raise SealError(
            f"{path!r} is another kind of file of this library: {found.decode('latin-1')} instead of {kind.decode()}"
        )
    if version > VERSION:
        raise SealError(
            f"{path!r} has format version {version}, and this library reads up to {VERSION}; "
            "it was written by a newer release, which reads it"
        )


def foreign(path: str) -> SealError:
    """The error for a file that something else wrote."""
    return SealError(f"{path!r} is not a file of this library; its first bytes are others")


def unreadable(path: Path, error: OSError) -> SealError:
    """The error for a file that cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        return SealError(f"{str(path)!r} does not exist")
    return SealError(f"{str(path)!r} could not be read ({error.strerror or error})")
