"""Tables and arrays of many rows, opened where they are read: memory-mapped, zarr, Dask, parquet.

What a user gave for a data container in; a `RowSource`, which is little to send, and its rows on the worker out.
"""

from __future__ import annotations

import math
import mmap
import os
import socket
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import MissingPackageError, SamplingError

Array = npt.NDArray[Any]

BATCH: Final = 1 << 16
"""Rows of a table that are decoded at a time."""


class RowSource:
    """Where the rows of one data container are.

    name      of the container
    given     a path to a `.npy` file, a zarr array or parquet (a file or a folder of files), or an array that is sliced
              by rows and pickles: of zarr, Dask, memory-mapped
    columns   of a table: names give a matrix, one name gives a vector; None for arrays
    """

    def __init__(self, name: str, given: Any, columns: str | list[str] | None = None) -> None:
        self.name, self.columns = name, columns
        self.given = os.fspath(given) if isinstance(given, os.PathLike) else given
        if _is_mapped(given):
            self.given = _Mapped(str(given.filename), given.dtype.str, given.shape, given.offset)
        table = isinstance(self.given, str) and not self.given.rstrip("/").endswith((".npy", ".zarr"))
        if table and columns is None:
            raise SamplingError(
                f"`{name}`: {self.given!r} is read as a parquet table; name its columns, as ({self.given!r}, "
                '["a", "b"]). Arrays are `.npy` files and `.zarr` folders.'
            )
        self._open: Any = None
        self._state: tuple[int, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": None, "_state": None}

    def length(self) -> int:
        """Number of rows; opens it."""
        found = self._opened()
        return int(found.length) if isinstance(found, _ParquetColumns) else int(found.shape[0])

    def read(self, first: int, behind: int) -> Array:
        """Some rows: a view where the file is mapped, else an array of their own.

        raises   SamplingError with the host and the path where it can't be opened, or is not what it was
        """
        found = self._opened()
        self.check()
        try:
            if isinstance(found, _ParquetColumns):
                return found.read(first, behind)
            part = found[first:behind]
            return np.asarray(part.compute(scheduler="synchronous") if hasattr(part, "compute") else part)
        except (OSError, ValueError) as error:
            raise SamplingError(f"{self._where()} can't be read at rows {first} to {behind}: {error}") from error

    def check(self) -> None:
        """SamplingError where its file is not the one that was opened."""
        if self._stamp() != self._state:
            raise SamplingError(f"{self._where()} changed while it was read; sample anew.")

    def _opened(self) -> Any:
        if self._open is None:
            try:
                self._open = self._open_anew()
            except (OSError, ValueError, KeyError) as error:
                raise SamplingError(
                    f"{self._where()} can't be opened ({type(error).__name__}: {error}); workers need a path that "
                    "they all share."
                ) from error
            self._state = self._stamp()
        return self._open

    def _open_anew(self) -> Any:
        given = self.given
        if isinstance(given, _Mapped):
            return given.opened()
        if not isinstance(given, str):
            return given
        if self.columns is not None:
            return _ParquetColumns(given, self.columns)
        if given.endswith(".npy"):
            return np.load(given, mmap_mode="r")
        try:
            return import_module("zarr").open_array(given, mode="r")
        except ImportError as error:
            raise MissingPackageError.of("zarr", "`pip install zarr`", error) from error

    def _stamp(self) -> tuple[int, int] | None:
        path = self.given.path if isinstance(self.given, _Mapped) else self.given
        if not isinstance(path, str) or not os.path.exists(path):
            return None
        found = os.stat(path)
        return found.st_size, found.st_mtime_ns

    def _where(self) -> str:
        given = self.given.path if isinstance(self.given, _Mapped) else self.given
        shown = repr(given) if isinstance(given, str) else f"an array of {type(given).__module__.split('.')[0]}"
        return f"`{self.name}`: {shown} on the host {socket.gethostname()!r}"


def _is_mapped(given: Any) -> bool:
    """Whether an array is a whole file that is mapped; of a part of one it is not known where it begins."""
    base: object = getattr(given, "base", None)
    return isinstance(given, np.memmap) and isinstance(base, mmap.mmap) and bool(given.flags.c_contiguous)


class _Mapped:
    """A mapped file, by its path."""

    def __init__(self, path: str, dtype: str, shape: tuple[int, ...], offset: int) -> None:
        self.path, self.dtype, self.shape, self.offset = path, dtype, shape, offset

    def opened(self) -> Array:
        size = self.offset + math.prod(self.shape) * np.dtype(self.dtype).itemsize
        if os.path.getsize(self.path) < size:
            raise ValueError(f"the file has {os.path.getsize(self.path)} bytes, where {size} were needed")
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)


class _ParquetColumns:
    """Columns of a parquet file, or of all in a folder in the order of their names."""

    def __init__(self, path: str, columns: str | list[str]) -> None:
        try:
            parquet = import_module("pyarrow.parquet")
        except ImportError as error:
            raise MissingPackageError.of("pyarrow", "`pip install pyarrow`", error) from error
        where = Path(path)
        files = sorted(where.rglob("*.parquet")) if where.is_dir() else [where]
        if not files:
            raise FileNotFoundError(f"no parquet files in {path}")
        self.columns = columns
        self.names = [columns] if isinstance(columns, str) else list(columns)
        self.files = [parquet.ParquetFile(file, memory_map=True) for file in files]
        known = self.files[0].schema_arrow.names
        if lacking := [name for name in self.names if name not in known]:
            raise KeyError(f"no column {lacking[0]!r}; there are {', '.join(known)}")
        self.groups: list[tuple[int, int, Any, int]] = []  # first row, row behind, file, number of the group
        self.length = 0
        for file in self.files:
            for number in range(file.num_row_groups):
                rows = file.metadata.row_group(number).num_rows
                self.groups.append((self.length, self.length + rows, file, number))
                self.length += rows

    def read(self, first: int, behind: int) -> Array:
        """Some rows, column by column in memory."""
        found: Array | None = None
        for start, end, file, number in self.groups:
            if end <= first or start >= behind:
                continue
            at = start
            for batch in file.iter_batches(BATCH, row_groups=[number], columns=self.names, use_threads=False):
                low, high = max(first, at), min(behind, at + batch.num_rows)
                for k, name in enumerate(self.names):
                    if low >= high:
                        break
                    column = batch.column(name).slice(low - at, high - low)
                    if column.null_count:
                        raise SamplingError(
                            f"the column {name!r} has no value in {column.null_count} of the rows {low} to {high}; "
                            "missing values are no variables in shards: drop or fill them."
                        )
                    values = column.to_numpy(zero_copy_only=False)
                    if found is None:
                        shape = (behind - first, len(self.names))
                        kind = values.dtype if len(self.names) == 1 else np.dtype("float64")
                        found = np.empty(shape, kind, order="F")
                    found[low - first : high - first, k] = values
                at += batch.num_rows
                if at >= behind:
                    break
        assert found is not None
        return found[:, 0] if isinstance(self.columns, str) else found
