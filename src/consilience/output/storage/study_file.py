"""A study of many computations as a file of lines that grows: what it is for first, then what came of each.

Plain values in, and bytes, which go one after the other to a second file; on a later day those that are there out. A
torn last line is dropped, and so are lines whose bytes are not there. What they mean stays outside; `unpacked` makes
a result of a run of such bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience.errors import StorageError
from consilience.output.storage.files import failure, lock
from consilience.output.storage.lines import as_line, from_line
from consilience.output.storage.plain_values import unpack

if TYPE_CHECKING:
    import xarray

FITS: Final = "fits.jsonl"
"""The file of a study of fits, in its folder."""
UNDER_WAY: Final = ".now"
"""Suffix of the file beside it that says what is being computed, while a driver lives."""
BEAT: Final = 3.0
"""Seconds after which that file is written again, though it says the same."""


class StudyFile:
    """A file that one driver at a time appends to, until `close`.

    `identity`: plain values that tell what it was written for. `seed`: of the study, None for that of the file, or
    `fresh` for a file that begins. `found`: what it has, by number. Raises StorageError where it belongs to another
    study, is in use, or can't be written.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], seed: int | None, fresh: int) -> None:
        self.path = path
        self.found: dict[int, dict[str, Any]] = {}
        self.first: dict[str, float] | None = None
        self._told: tuple[float, dict[str, list[Any]]] = (-BEAT, {})
        self._lock = lock(path.resolve())
        try:
            lines = self._lines()
            self.seed: int = lines[0]["seed"] if lines else fresh if seed is None else seed
            if lines:
                self._read(lines, identity, seed)
            else:
                self._write({"identity": dict(identity), "seed": self.seed})
        except BaseException:
            self.close()
            raise

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        try:
            whole = self.path.read_bytes()
        except OSError as error:
            raise failure(self.path, error, "a study is kept in a file") from error
        kept = whole[: whole.rfind(b"\n") + 1]
        if kept != whole:
            os.truncate(self.path, len(kept))
        found = []
        for number, line in enumerate(kept.splitlines(), 1):
            try:
                found.append(from_line(line))
            except (ValueError, RecursionError) as error:
                raise StorageError(
                    f"line {number} of {self.path} is damaged ({error}); delete it, and its result is computed anew"
                ) from error
        return found

    def _read(self, lines: list[dict[str, Any]], identity: Mapping[str, Any], seed: int | None) -> None:
        head, wanted = lines[0], json.loads(json.dumps(dict(identity)))
        if head["identity"] != wanted:
            raise StorageError(f"{self.path} was written for {head['identity']}, not for {wanted}; take another file.")
        if seed is not None and seed != self.seed:
            raise StorageError(f"{self.path} was begun with the seed {self.seed}; give that one, or another file.")
        size = self._data.stat().st_size if self._data.exists() else 0
        found = {line["replication"]: line["found"] for line in lines[1:] if "replication" in line}
        self.found = {number: one for number, one in found.items() if sum(one.get("at", [0, 0])[:2]) <= size}
        self.first = next((line["first"] for line in lines[1:] if "first" in line), None)

    def check(self, first: Mapping[str, float]) -> None:
        """Refuse a file of another model: the numbers that tell what its first data are must be the same."""
        if self.first is None:
            self.first = dict(first)
            self._write({"first": self.first})
        elif set(self.first) != set(first) or not all(np.isclose(self.first[k], first[k], 1e-6) for k in first):
            raise StorageError(f"{self.path} was written for another model, which simulates other data; take another.")

    def append(self, number: int, found: Mapping[str, Any]) -> None:
        """Add what came of one; of several for a number the last counts."""
        self._write({"replication": number, "found": dict(found)})

    @property
    def _data(self) -> Path:
        return self.path.with_suffix(".data")

    def put(self, data: bytes) -> list[int]:
        """Add bytes, and give the place where `bytes_at` finds them: for the record that tells of them."""
        try:
            with self._data.open("ab") as file:
                place = [file.tell(), len(data), zlib.crc32(data)]
                file.write(data)
        except OSError as error:
            raise failure(self._data, error, "what was there before is kept") from error
        return place

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(as_line(line) + "\n")
        except OSError as error:
            raise failure(self.path, error, "what was there before is kept") from error

    def tell(self, under_way: Mapping[str, list[Any]]) -> None:
        """Say what is being computed, to whoever watches: by name since when, and where it is; every second at most.

        Nothing depends on it: a disk that takes no more does not end a study by it.
        """
        now = time.monotonic()
        if now - self._told[0] < (BEAT if dict(under_way) == self._told[1] else 1.0):
            return
        self._told = now, dict(under_way)
        with contextlib.suppress(OSError):
            self.path.with_suffix(UNDER_WAY).write_text(json.dumps(under_way), encoding="utf-8")

    def close(self) -> None:
        """Let others write it."""
        if self._told[1]:
            with contextlib.suppress(OSError):
                self.path.with_suffix(UNDER_WAY).unlink(missing_ok=True)
        self._lock.release()


def bytes_at(path: Path, place: list[int]) -> bytes:
    """What the study at a path was given by `put`; StorageError where it can't be read, or is something else by now."""
    begin, length, checksum = place
    try:
        with path.with_suffix(".data").open("rb") as file:
            file.seek(begin)
            data = file.read(length)
    except OSError as error:
        raise StorageError(f"{path.with_suffix('.data')} can't be read: {error}") from error
    if len(data) != length or zlib.crc32(data) != checksum:
        raise StorageError(f"{path.with_suffix('.data')} is damaged at byte {begin}; compute it in a new folder.")
    return data


def unpacked(packed: bytes) -> xarray.DataTree:
    """The result that a study keeps as bytes."""
    import xarray

    groups = {}
    for name, group in unpack(packed).items():
        parts = [{k: (tuple(dims), v) for k, (dims, v) in group[of].items()} for of in ("variables", "labels")]
        groups[name] = xarray.DataTree(xarray.Dataset(parts[0], coords=parts[1], attrs=group["attributes"]))
    return xarray.DataTree(children=groups)
