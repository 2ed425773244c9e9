"""A group of a zarr store that is written part by part, and is there when its last part is.

What the group will hold, and parts of its draws in any order, enter; a store that xarray reads without loading leaves.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import numpy.typing as npt

from consilience.errors import StorageError
from consilience.output.storage import files
from consilience.output.storage.datatree import LabelledArrays
from consilience.output.storage.zarr_arrays import array_metadata, write_chunks, write_group, write_json
from consilience.output.storage.zarr_directory import publish

if TYPE_CHECKING:
    import xarray

CHUNK: Final = 1 << 20
"""Bytes of a chunk at most, unless one element has more: what reads some elements of all draws reads few others."""


class GroupInParts:
    """A group that is being written, as a context: leaving it without `finish` leaves nothing.

    path    a store to be made, or one without the group, to which it is added
    group   its arrays, of which shapes and types are asked only; axes of draws come first
    axes    how many these are
    draws   in a part, along the last axis of draws: parts begin at its multiples

    raises  StorageError where the path is something else or has the group, or can't be written
    """

    def __init__(self, path: str | os.PathLike[str], name: str, group: LabelledArrays, axes: int, draws: int) -> None:
        if importlib.util.find_spec("zarr") is None:
            raise StorageError("results on disk need zarr: pip install 'consilience[zarr]'")
        self.path, self.name, self._axes, self._draws = Path(path).resolve(), name, axes, draws
        self._lock = files.lock(self.path)
        self._beside = files.temporary_name(self.path)
        try:
            self._check()
            self._chunks = {key: self._chunk(array.values) for key, array in group.data_vars.items()}
            write_group(self._beside, name, LabelledArrays({}, group.labels, group.attrs))
            for key, (dims, values) in group.data_vars.items():
                folder = self._beside / name / key
                folder.mkdir()
                about = array_metadata(dims, values.shape, values.dtype, self._chunks[key], {})
                write_json(folder / "zarr.json", about)
        except OSError as error:
            self._leave()
            raise files.failure(self.path, error, "nothing was computed") from error
        except BaseException:
            self._leave()
            raise

    def _check(self) -> None:
        if not self.path.exists():
            return
        try:
            known = json.loads((self.path / "zarr.json").read_bytes())["consolidated_metadata"]["metadata"]
        except (OSError, KeyError, TypeError, ValueError):
            raise StorageError(
                f"{str(self.path)!r} is not a store of this library; nothing there is changed. Name another place."
            ) from None
        if self.name in known:
            raise StorageError(f"{str(self.path)!r} has a group {self.name!r}; name another place, or delete that.")

    def _chunk(self, values: Any) -> list[int]:
        own = values.shape[self._axes :]
        chunk = [*(1,) * (self._axes - 1), self._draws, *(max(1, n) for n in own)]
        for axis, length in enumerate(own, self._axes):
            size = values.dtype.itemsize * int(np.prod(chunk, dtype=np.int64)) // chunk[axis]
            chunk[axis] = max(1, min(length, CHUNK // max(1, size)))
        return chunk

    def write(self, place: tuple[int, ...], first: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Draws from the number `first` on along their last axis, at a place of their other axes."""
        try:
            for key, values in arrays.items():
                origin = (*place, first // self._draws)
                write_chunks(self._beside / self.name / key, values[(None,) * len(place)], self._chunks[key], origin)
        except OSError as error:
            raise files.failure(self.path, error, "what was there before is kept") from error

    def finish(self) -> xarray.Dataset:
        """The group, of which xarray reads what is looked at."""
        try:
            if self.path.exists():
                os.rename(self._beside / self.name, self.path / self.name)
                publish(self.path)
            else:
                publish(self._beside)
                os.rename(self._beside, self.path)
        except OSError as error:
            raise files.failure(self.path, error, "what was there before is kept") from error
        import xarray

        return xarray.open_dataset(self.path, engine="zarr", group=self.name, cache=False)

    def _leave(self) -> None:
        shutil.rmtree(self._beside, ignore_errors=True)
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._leave()
