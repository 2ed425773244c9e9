"""Plain values as bytes: dictionaries, lists, numbers, text and arrays enter, and come back exactly.

The bytes are the length of a JSON text, the text, and the arrays in the order in which the text names them, each
in NumPy's format `.npy`. Nothing is pickled.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

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
    """The value of `pack`, with arrays of their own."""
    buffer = io.BytesIO(data)
    text = json.loads(buffer.read(int.from_bytes(buffer.read(8), "little")))
    arrays = []
    while buffer.tell() < len(data):
        arrays.append(np.lib.format.read_array(buffer, allow_pickle=False))
    return _value(text, arrays)


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
        return arrays[text[ARRAY]] if ARRAY in text else {key: _value(entry, arrays) for key, entry in text.items()}
    return text
