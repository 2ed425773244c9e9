"""One frame of bytes: a header of plain values and named arrays enter, framed with lengths and a checksum.

    2 × u64   lengths of the text and of the arrays, in bytes
    u32       CRC-32 of these lengths
    text      JSON: the header, and name, element type and shape of each array
    arrays    one after the other, C order
    16 bytes  BLAKE2b of everything before

All integers are little-endian. Nothing is pickled. Files, and where in them a frame stands, stay outside.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import SealError

if TYPE_CHECKING:
    from typing import Any  # what JSON gives is not known before it is read

LENGTHS = struct.Struct("<QQ")
CHECK = struct.Struct("<I")
DIGEST = 16

Array: TypeAlias = npt.NDArray[np.generic]
Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"


def encode(header: Mapping[str, object], arrays: Mapping[str, npt.ArrayLike]) -> list[bytes]:
    """The frame, in pieces to be written one after the other.

    header   None, truth values, integers of any size, floats (NaN and infinities too), text, lists and
             dictionaries of these; NumPy scalars become Python's, tuples become lists
    arrays   of any element type that is made of bytes alone; object arrays raise SealError

    Raises SealError if the header holds anything else.
    """
    directory = []
    contents = []
    for name, values in arrays.items():
        array = np.asarray(values)
        if array.dtype.hasobject or array.dtype.kind == "T" or array.dtype.itemsize == 0:
            raise SealError(
                f"array {name!r} has element type {array.dtype}, which is not made of bytes alone; "
                "give numbers, truth values, dates or text of fixed length"
            )
        directory.append([str(name), np.lib.format.dtype_to_descr(array.dtype), list(array.shape)])
        contents.append(array.tobytes(order="C"))
    text = json.dumps([plain(header, "the header"), directory], separators=(",", ":")).encode()
    lengths = LENGTHS.pack(len(text), sum(map(len, contents)))
    pieces = [lengths, CHECK.pack(zlib.crc32(lengths)), text, *contents]
    return [*pieces, digest(pieces)]


def digest(pieces: list[bytes]) -> bytes:
    """BLAKE2b over all pieces."""
    state = hashlib.blake2b(digest_size=DIGEST)
    for piece in pieces:
        state.update(piece)
    return state.digest()


def plain(value: object, where: str) -> Plain:
    """A value as JSON keeps it without loss; `where` names it in errors."""
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        converted = value.item()
        if not isinstance(converted, bool | int | float):
            raise SealError(f"{where} is a {type(value).__name__}, which no Python number holds exactly")
        value = converted
    if value is None or isinstance(value, bool):
        return value
    # Subclasses such as those of enumerations come back as plain numbers and text.
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(entry, f"{where}[{index}]") for index, entry in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise SealError(f"{where} has the key {key!r}; keys must be text")
        return {str(key): plain(entry, f"{where}[{key!r}]") for key, entry in value.items()}
    raise SealError(
        f"{where} is a {type(value).__name__}; a header holds numbers, text, lists and dictionaries of them, "
        "and arrays are given by name beside it"
    )


def read(file: BinaryIO, available: int, where: str) -> tuple[dict[str, Any], dict[str, Array], int]:
    """The frame at the present position of a file: header, arrays, and the length of the frame in bytes.

    available   bytes from here to the end of what may be read
    where       names the frame in errors

    Raises SealError if the frame is not complete or not as it was written.
    """
    start = read_all(file, min(available, LENGTHS.size + CHECK.size))
    if len(start) < LENGTHS.size + CHECK.size:
        raise SealError(f"{where} is truncated: it ends within its first {LENGTHS.size + CHECK.size} bytes")
    if CHECK.unpack_from(start, LENGTHS.size)[0] != zlib.crc32(start[: LENGTHS.size]):
        raise SealError(f"{where} is damaged: the checksum of its lengths is wrong")
    text_length, array_length = LENGTHS.unpack_from(start)
    total = len(start) + text_length + array_length + DIGEST
    if total > available:
        raise SealError(f"{where} is truncated: it has {total} bytes, and {available} are there")
    body = read_all(file, total - len(start))
    if len(body) < total - len(start):
        raise SealError(f"{where} is truncated: it has {total} bytes, and {len(start) + len(body)} are there")
    if digest([start, body[:-DIGEST]]) != body[-DIGEST:]:
        raise SealError(f"{where} is damaged: its checksum is wrong")
    header, directory = json.loads(body[:text_length])
    return header, unpack(body, text_length, directory, where), total


def read_all(file: BinaryIO, count: int) -> bytes:
    """The next `count` bytes of a file, fewer only at its end; unbuffered files give a part at a time."""
    pieces: list[bytes] = []
    while count > 0 and (piece := file.read(count)):
        pieces.append(piece)
        count -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def unpack(body: bytes, offset: int, directory: list[list[Any]], where: str) -> dict[str, Array]:
    """Arrays of their own, which may be written to."""
    arrays: dict[str, Array] = {}
    for name, described, shape in directory:
        dtype = np.lib.format.descr_to_dtype(tuples(described))
        if dtype.hasobject:
            raise SealError(f"{where} has an array {name!r} of Python objects, which are never read")
        arrays[name] = np.ndarray(tuple(shape), dtype, body, offset).copy()
        offset += math.prod(shape) * dtype.itemsize
    return arrays


def tuples(described: Any) -> Any:  # as recursive as NumPy's descriptions of element types, which have no type
    """The description of an element type with the tuples that JSON made lists."""
    if isinstance(described, str):
        return described
    return [
        (
            field[0] if isinstance(field[0], str) else tuple(field[0]),
            tuples(field[1]),
            *(tuple(shape) for shape in field[2:]),
        )
        for field in described
    ]
