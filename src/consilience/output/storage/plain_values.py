"""Plain values as bytes: dictionaries, lists, numbers, text and arrays enter, and come back exactly.

The bytes are the length of a JSON text, the text, and the arrays in the order in which the text names them, each
in NumPy's format `.npy`. Nothing is pickled.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from consilience.errors import StorageError

ARRAY = "ndarray"
"""The one key of the dictionary that stands for an array; its value is the array's number."""


def pack(value: object) -> bytes:
    """A value as bytes.

    Truth values, integers of any size, floats (NaN and infinities too), text, None, arrays whose elements are made
    of bytes alone, and lists and dictionaries of these. NumPy scalars and enumerations become Python's numbers,
    tuples become lists. Anything else raises StorageError, which says where it is.
    """
    arrays: list[NDArray[Any]] = []
    text = json.dumps(_text(value, arrays, ""), separators=(",", ":")).encode()
    buffer = io.BytesIO()
    buffer.write(len(text).to_bytes(8, "little") + text)
    for array in arrays:
        np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def unpack(data: bytes) -> Any:
    """The value of `pack`, with arrays of their own; StorageError for bytes that are none of it.

    Nothing in the bytes makes it take more memory than a small multiple of their length.
    """
    try:
        length = int.from_bytes(data[:8], "little")
        if length > len(data) - 8:
            raise ValueError("its text is longer than itself")
        text = json.loads(data[8 : 8 + length])
        buffer = io.BytesIO(data)
        buffer.seek(8 + length)
        arrays = []
        while buffer.tell() < len(data):
            arrays.append(_array(buffer, len(data)))
        return _value(text, arrays)
    except (ValueError, TypeError, LookupError, RecursionError, SyntaxError, EOFError) as error:
        said = quoted(error) if str(error) else "too deep" if isinstance(error, RecursionError) else "damaged"
        raise StorageError(f"these are no plain values ({said})") from error


def _array(buffer: io.BytesIO, end: int) -> NDArray[Any]:
    """The next array, if what its header promises is there; ValueError."""
    version = np.lib.format.read_magic(buffer)
    if version not in READERS:
        raise ValueError(f"an array of the format {version}")
    shape, columns, dtype = READERS[version](buffer)
    count = math.prod(shape)
    size = count * dtype.itemsize
    if dtype.hasobject or min(shape, default=0) < 0 or size > end - buffer.tell() or (count and not dtype.itemsize):
        raise ValueError(f"an array of {dtype} with the shape {shape}, which is not there")
    values = np.frombuffer(buffer.read(size), dtype, count) if count else np.empty(0, dtype)
    return values.reshape(shape, order="F" if columns else "C").copy()


READERS: Final[Mapping[Any, Callable[..., Any]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def _text(value: object, arrays: list[NDArray[Any]], where: str) -> Any:
    match value:
        case np.ndarray() if not value.dtype.hasobject and value.dtype.kind != "T":
            arrays.append(np.asarray(value, order="C"))
            return {ARRAY: len(arrays) - 1}
        case np.generic() if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            return value.item()
        case None | bool():
            return value
        case int():
            return int(value)
        case float():
            return float(value)
        case str():
            return str(value)
        case list() | tuple():
            return [_text(entry, arrays, f"{where}[{index}]") for index, entry in enumerate(value)]
        case Mapping() if all(isinstance(key, str) and key != ARRAY for key in value):
            return {str(key): _text(entry, arrays, f"{where}[{key!r}]") for key, entry in value.items()}
    kind = f"a {type(value).__name__}"
    if isinstance(value, np.ndarray):
        kind = f"an array of {value.dtype}"
    elif isinstance(value, Mapping):
        kind = f"a dictionary with the keys {list(value)}"
    raise StorageError(
        f"{where or 'the value'} is {kind}; numbers, text, arrays of them, lists, and dictionaries whose keys are text "
        f"other than {ARRAY!r} can be kept"
    )


def _value(text: Any, arrays: list[NDArray[Any]]) -> Any:
    if isinstance(text, list):
        return [_value(entry, arrays) for entry in text]
    if isinstance(text, dict):
        if ARRAY not in text:
            return {key: _value(entry, arrays) for key, entry in text.items()}
        if type(number := text[ARRAY]) is not int or not 0 <= number < len(arrays):
            raise ValueError("it names an array that is not there")
        return arrays[number]
    return text


def quoted(words: object, most: int = 200) -> str:
    """Words that came from a file, as a message shows them: in quotes, on one line, and not without end."""
    said = str(words)
    return repr(said if len(said) <= most else f"{said[:most]}…")
