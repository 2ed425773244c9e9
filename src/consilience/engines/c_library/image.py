"""The records of a chain as one block of memory that may lie anywhere.

In: records and the arrays that they point to. Out: the block's size, the words in it that are not 0, and the places
that hold addresses: of the block's own parts, and of functions and tables outside. Outside: what the records mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from consilience.errors import NativeError
from consilience.native.typed_python.records import NativeRecord, layout
from consilience.record import Record

LINE: Final = 64
"""Bytes: every part begins at a multiple. Vectors may be read up to their last whole line."""


class Image(Record, eq=False):
    """A block of memory.

    `size`: bytes.
    `begins`: where each record begins, by its own address.
    `words`: (place, int64) of the words that are not 0.
    `inside`: (place, place) of the words that are addresses of parts.
    `outside`: (place, symbol) of the words that are addresses of what is not in the block.
    """

    size: int
    begins: dict[int, int]
    words: list[tuple[int, int]]
    inside: list[tuple[int, int]]
    outside: list[tuple[int, str]]


def image_of(records: list[NativeRecord], symbols: Mapping[tuple[str, str], str]) -> Image:
    """The block with these records, and with all records and arrays that they lead to.

    `symbols`: what fields that hold addresses of code or tables stand for, by names of record and field. Raises
    NativeError for a function without a symbol.
    """
    made = _Maker(symbols)
    for record in records:
        made.record(record)
    return Image(made.end, made.begins, made.words, made.inside, made.outside)


class _Maker:
    def __init__(self, symbols: Mapping[tuple[str, str], str]) -> None:
        self.symbols = symbols
        self.end = 0
        self.begins: dict[int, int] = {}
        self.words: list[tuple[int, int]] = []
        self.inside: list[tuple[int, int]] = []
        self.outside: list[tuple[int, str]] = []

    def _take(self, address: int, size: int) -> int:
        begin = self.begins[address] = self.end
        self.end += -(-max(size, 1) // LINE) * LINE
        return begin

    def record(self, record: NativeRecord) -> int:
        """Where a record lies in the block."""
        known = self.begins.get(record.address)
        if known is not None:
            return known
        described = layout(type(record))
        begin = self._take(record.address, 8 * len(described.names))
        for i, (name, type_) in enumerate(zip(described.names, described.types, strict=True)):
            place = begin + 8 * i
            symbol = self.symbols.get((type(record).__name__, name))
            if symbol is not None:
                self.outside.append((place, symbol))
            elif type_.kind == "record":
                self.inside.append((place, self.record(getattr(record, name))))
            elif type_.kind == "array":
                self.inside.append((place, self._array(getattr(record, name))))
            elif type_.kind == "function":
                raise NativeError(
                    f"the function `{name}` of {type(record).__name__} has no symbol to be exported under"
                )
            else:
                self._word(place, int(record._slots[i]))
        return begin

    def _array(self, array: np.ndarray[Any, Any]) -> int:
        address = int(array.ctypes.data)
        known = self.begins.get(address)
        if known is not None:
            return known
        begin = self._take(address, array.nbytes)
        padded = np.zeros(-(-array.nbytes // 8) * 8, np.uint8)
        padded[: array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
        for i, word in enumerate(padded.view(np.int64).tolist()):
            self._word(begin + 8 * i, word)
        return begin

    def _word(self, place: int, word: int) -> None:
        if word:
            self.words.append((place, word))
