"""Tables and arrays of many rows, opened where they are read: memory-mapped files, zarr, Dask, parquet, lists of them.

What a user gave for a data container in; a `RowSource`, which is little to send, and its rows on the worker out.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import mmap
import os
import socket
import sys
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
        self.given = _full(os.fspath(given)) if isinstance(given, str | os.PathLike) else _mapped(given)
        table = isinstance(self.given, str) and not self.given.rstrip("/").endswith((".npy", ".zarr"))
        if table and columns is None:
            raise SamplingError(
                f"`{name}`: {self.given!r} is read as a parquet table; name its columns, as ({self.given!r}, "
                '["a", "b"]). Arrays are `.npy` files and `.zarr` folders.'
            )
        if not table and columns is not None:
            raise SamplingError(
                f"`{name}`: {self._shown()} has no columns to take {columns!r} of; give it alone, and several files as "
                "a list."
            )
        self._open: Any = None
        self._state: tuple[int, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without what is open, for workers and for each of their threads."""
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
            part = found.read(first, behind) if isinstance(found, _ParquetColumns) else found[first:behind]
            values = np.asarray(_computed(part) if hasattr(part, "dask") else part)
        except SamplingError as error:
            raise SamplingError(f"{self._where()}: {error}") from error
        except Exception as error:  # stores and engines of others raise errors of their own
            raise SamplingError(f"{self._where()} can't be read at rows {first:,} to {behind:,}: {error}") from error
        if not (values.flags.writeable or isinstance(found, np.ndarray)):
            values = values.copy()  # what can't be written to is read where it lies, by code of its own
        if values.dtype.kind not in "biuf":
            raise SamplingError(
                f"{self._where()} has values of the type {values.dtype}, where numbers were needed: write them as "
                "float64, float32 or whole numbers, without missing ones."
            )
        return values

    def check(self) -> None:
        """SamplingError where its file is not the one that was opened."""
        if self._stamp() != self._state:
            raise SamplingError(f"{self._where()} changed while it was read; sample anew.")

    def _opened(self) -> Any:
        if self._open is None:
            try:
                self._open = self._open_anew()
            except MissingPackageError:
                raise
            except Exception as error:  # as above
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
            zarr = import_module("zarr")
        except ImportError as error:
            raise MissingPackageError.of("zarr", "`pip install zarr`", error) from error
        return zarr.open_array(given, mode="r")

    def _stamp(self) -> tuple[int, int] | None:
        path = self.given.path if isinstance(self.given, _Mapped) else self.given
        if not isinstance(path, str) or not os.path.exists(path):
            return None
        found = os.stat(path)
        return found.st_size, found.st_mtime_ns

    def _shown(self) -> str:
        given = self.given.path if isinstance(self.given, _Mapped) else self.given
        return repr(given) if isinstance(given, str) else f"an array of {type(given).__module__.split('.')[0]}"

    def _where(self) -> str:
        return f"`{self.name}`: {self._shown()} on the host {socket.gethostname()!r}"


class SourceList:
    """Several sources of one data container, one behind the other."""

    def __init__(self, name: str, parts: list[RowSource]) -> None:
        self.name, self.parts = name, parts
        self._begins: list[int] = []

    def __copy__(self) -> SourceList:
        return SourceList(self.name, [copy.copy(part) for part in self.parts])

    def length(self) -> int:
        """Number of rows; opens all."""
        if not self._begins:
            self._begins = [0, *itertools.accumulate(part.length() for part in self.parts)]
        return self._begins[-1]

    def read(self, first: int, behind: int) -> Array:
        """Some rows, as `RowSource.read`."""
        self.length()
        found = [
            part.read(max(first, begin) - begin, min(behind, end) - begin)
            for part, (begin, end) in zip(self.parts, itertools.pairwise(self._begins), strict=True)
            if begin < behind and first < end
        ]
        if len({(values.shape[1:], values.dtype) for values in found}) > 1:
            told = ", ".join(f"{values.dtype} {values.shape[1:]}" for values in found)
            raise SamplingError(f"the files of `{self.name}` have rows of different kinds: {told}.")
        return found[0] if len(found) == 1 else np.concatenate(found)

    def check(self) -> None:
        """As `RowSource.check`."""
        for part in self.parts:
            part.check()


def source_of(name: str, given: Any, client: Any = None) -> RowSource | SourceList:
    """What a user gave for a data container.

    given    as `RowSource` takes it, (table, columns), a Dask dataframe with columns in the place of a table, or a list
    client   of Dask, which counts the rows of its collections where they have not been counted
    raises   SamplingError for anything else
    """
    if isinstance(given, list) and given:
        found = [source_of(name, own, client) for own in given]
        return SourceList(
            name, [part for own in found for part in (own.parts if isinstance(own, SourceList) else [own])]
        )
    rows, columns = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    columns = list(columns) if isinstance(columns, list | tuple) else columns
    if type(rows).__module__.split(".")[0] == "dask":
        return RowSource(name, _array_of_dask(name, rows, columns, client))
    if not isinstance(rows, str | os.PathLike) and not all(hasattr(rows, own) for own in ("shape", "__getitem__")):
        raise SamplingError(
            f"the source of `{name}` must be a path, (path, columns), an array of rows or a list of these, got "
            f"{type(rows).__name__}."
        )
    return RowSource(name, rows, columns)


def _array_of_dask(name: str, given: Any, columns: str | list[str] | None, client: Any) -> Any:
    """An array whose chunks have known lengths; rows are counted where the client's workers have them."""
    table = hasattr(given, "to_dask_array")
    if table and columns is None and given.ndim == 2:
        raise SamplingError(f"`{name}`: name the columns of the Dask dataframe, as (frame, {list(given.columns)[:2]}).")
    if _futures(given) and not hasattr(client, "scheduler_info"):
        raise SamplingError(
            f"`{name}`: the rows of this Dask collection are with the workers of a client; give that client as the "
            "executor of the shards."
        )
    with client.as_current() if hasattr(client, "as_current") else contextlib.nullcontext():
        if table:
            names = [columns] if isinstance(columns, str) else columns or []
            if lacking := [own for own in names if own not in given.columns]:
                raise SamplingError(f"`{name}`: no column {lacking[0]!r}; there are {', '.join(given.columns)}.")
            given = (given if columns is None else given[columns]).to_dask_array()
        if any(math.isnan(length) for length in given.shape):
            return given.copy().compute_chunk_sizes()
    return given


def _futures(collection: Any) -> list[Any]:
    """What of a Dask collection lies with workers."""
    loaded = sys.modules.get("distributed")
    return list(loaded.futures_of(collection)) if loaded is not None else []


def _computed(part: Any) -> Any:
    """The values of a Dask array, by this thread; what lies with other workers is asked for."""
    if _futures(part):
        with import_module("distributed").worker_client() as client:
            return client.compute(part, sync=True)
    return part.compute(scheduler="synchronous")


def _full(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)


def _mapped(given: Any) -> Any:
    """A whole file that is mapped, or rows of one, as where they are; others as they are."""
    root = given
    while isinstance(getattr(root, "base", None), np.ndarray):
        root = root.base
    known = isinstance(root, np.memmap) and isinstance(getattr(root, "base", None), mmap.mmap) and root.filename
    if not known or not given.flags.c_contiguous:
        return given
    offset = root.offset + given.ctypes.data - root.ctypes.data
    return _Mapped(os.path.abspath(str(root.filename)), given.dtype.str, given.shape, offset)


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
                            f"the column {name!r} has no value in {column.null_count} of the rows {low:,} to {high:,}; "
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
