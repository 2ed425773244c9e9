"""Draws that grow on disk while a run goes on: blocks of draws enter, a zarr store stays that xarray opens any time.

Readers take shapes from one file, `zarr.json` of the whole tree or of the group they open ("consolidated metadata").
It is replaced as a whole after the draws are written, so they see a block of all variables alike or of none.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from consilience.errors import StorageError
from consilience.output.storage import files, first_draws, journal
from consilience.output.storage.datatree import (
    Arrays,
    Attributes,
    Coordinates,
    Dimensions,
    LabelledArrays,
    labelled,
    storable,
)
from consilience.output.storage.zarr_arrays import GROWING, plain, write_group
from consilience.output.storage.zarr_directory import check_free, forget_remains, publish, read_members

if TYPE_CHECKING:
    import zarr
    from filelock import BaseFileLock

Groups: TypeAlias = Mapping[str, Mapping[str, npt.NDArray[np.generic]]]


class ZarrStore:
    """A store that one run writes and anyone may read, made by `create`.

    `finish` or `close` ends the writing, and `reopen` begins it again. A killed process loses no draws that were
    appended; a loss of power may. Whoever opened the store before `restart` has to open it again.
    """

    def __init__(
        self,
        path: Path,
        lock: BaseFileLock,
        coords: Coordinates | None,
        dims: Dimensions | None,
        attributes: Attributes | None,
        chains: int,
    ) -> None:
        self.path = path
        self.draws = 0  # of each chain, that readers see
        self._lock = lock
        self._coords = dict(coords or {})
        self._dims = dict(dims or {})
        self._attributes = dict(attributes or {})
        self._chains = chains
        self._blocks: dict[str, npt.NDArray[np.generic]] = {}  # of no draws, by path: shapes and element types
        self._arrays: dict[str, zarr.Array[Any]] = {}  # that grow, by path
        self._created: object = ""  # when
        self._journal = True  # whether that of what is replaced is kept
        self.lost = False  # whether somebody deleted it

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        chains: int,
        coords: Coordinates | None = None,
        dims: Dimensions | None = None,
        attributes: Attributes | None = None,
        overwrite: bool = False,
        groups: Groups | None = None,
        goes_on: str | None = None,
    ) -> ZarrStore:
        """A new store with a group `posterior`; its variables come with the first draws.

        `path`: a directory to be made, in one that exists; a store of an earlier run gives way only if `overwrite` is
            given, and anything else is left alone.
        `chains`: number of chains.
        `coords`: as for `storage.tree_of`; draws have no labels but their numbers.
        `dims`: as for `storage.tree_of`; draws have no labels but their numbers.
        `attributes`: as for `storage.tree_of`; draws have no labels but their numbers.
        `groups`: draws to begin with, as in `append`.
        `goes_on`: the attribute `run` of the run there that goes on: its store is replaced, no other, and its journal
            is kept.

        Raises StorageError if the path is taken or being written by another run, cannot be written, or if zarr
        is not installed.
        """
        if importlib.util.find_spec("zarr") is None:
            raise StorageError(
                "a growing store needs zarr: pip install 'consilience[zarr]', or name a file that ends in .nc"
            )
        if (coords or {}).get("draw") is not None:
            raise StorageError("draws of a growing store are counted from 0; leave out the labels of 'draw'")
        target = Path(path).resolve()
        lock = files.lock(target)
        try:
            try:
                check_free(target, overwrite, goes_on)
                files.forget_leftovers(target)
            except OSError as error:
                raise files.failure(target, error, "what was there before is kept") from error
            store = cls(target, lock, coords, dims, attributes, chains)
            store._journal = goes_on is not None
            store.restart(groups)
        except BaseException:
            lock.release()
            raise
        return store

    def restart(self, groups: Groups | None = None) -> None:
        """Replace the store by one of these draws only, as in `append`.

        Raises StorageError if that cannot be written; the store then stays as it was.
        """
        self._check_open()
        blocks, count = self._checked(groups or {})
        begun = groups if groups and count else {"posterior": {"none": np.zeros((self._chains, 0))}}
        made = labelled(begun, self._coords, self._dims if count else {}, self._attributes)
        beside = files.temporary_name(self.path)
        try:
            for name, group in made.items():
                write_group(beside, name, group if count else LabelledArrays({}, group.labels, group.attrs))
            publish(beside)
            if self._journal and (told := self.path / journal.NAME).is_file():
                shutil.copyfile(told, beside / journal.NAME)
            files.replace_directory(beside, self.path)
            self._journal = True
        except BaseException as error:
            shutil.rmtree(beside, ignore_errors=True)
            if isinstance(error, OSError):
                raise files.failure(self.path, error, "what was there before is kept") from error
            raise
        self._blocks = {path: block[:, :0].copy() for path, block in blocks.items()} if count else {}
        self._created, self.draws = made["posterior"].attrs["created_at"], count
        try:
            self._open_arrays()
        except OSError as error:  # somebody deleted it at this moment
            raise files.failure(self.path, error, "what was there before is gone") from error

    def show_first(self, groups: Groups, stride: int) -> None:
        """Show draws that are no part of the store yet, to whoever watches; with the first `append` they are gone.

        `stride`: of the run's draws they are one in so many. Raises OSError.
        """
        if not self.draws and self.path.is_dir():
            first_draws.write(self.path, groups, self._dims, stride, self._coords)

    def append(self, groups: Groups) -> None:
        """Add draws to every variable; readers see all of them or none.

        `groups`: of `posterior` and others of `GROWING`, the arrays of variables, of shape (chain, n, ...); at each
        call the same names, element types and shapes, but for n.

        Raises StorageError if the arrays are others than before or cannot be written. The draws before are then
        kept, and the same may be appended again.
        """
        self._check_open()
        blocks, count = self._checked(groups)
        if count == 0:
            return
        self._check_there()
        if not self._blocks:
            self.restart(groups)
            return
        self._check_same(blocks)
        last = self.draws + count
        try:
            for path, array in self._arrays.items():
                block = blocks.get(path, np.arange(self.draws, last))
                before = block.ndim > 1  # whether an axis comes before that of the draws
                array.resize((*array.shape[:before], last, *array.shape[before + 1 :]))
                array[(*(slice(None),) * before, slice(self.draws, last))] = block
            self._check_there()
            publish(self.path)
        except OSError as error:
            raise files.failure(self.path, error, f"the {self.draws} draws before are kept") from error
        self.draws = last

    def note(self, record: Mapping[str, Any]) -> None:
        """Add a record to the journal; raises StorageError."""
        try:
            journal.append(self.path, record)
        except OSError as error:
            raise files.failure(self.path, error, "the draws are kept") from error

    def keep_chains(self, chains: Sequence[int]) -> None:
        """Leave out all chains but these, given by position; those that stay keep their labels.

        Afterwards `append` takes the draws of these. Raises StorageError if that cannot be written; all chains
        are then kept.
        """
        self._check_open()
        self._check_there()
        before = self._coords, self._chains
        chosen = list(chains)
        labels = self._coords.get("chain")
        groups: dict[str, dict[str, npt.NDArray[np.generic]]] = {}
        for path, block in self._blocks.items():
            group, _, name = path.partition("/")
            values = np.asarray(self._arrays[path][:, : self.draws])[chosen]
            groups.setdefault(group, {})[name] = values.astype(block.dtype, copy=False)
        self._coords = self._coords | {
            "chain": np.arange(self._chains)[chosen] if labels is None else np.asarray(labels)[chosen]
        }
        self._chains = len(chosen)
        try:
            self.restart(groups)
        except BaseException:
            self._coords, self._chains = before
            raise

    def finish(self, groups: Mapping[str, Arrays], attributes: Attributes | None = None) -> None:
        """Add groups that do not grow, such as observed_data, and attributes of the run; then `close`.

        Raises StorageError if that cannot be written; the draws are kept, and it may be tried again.
        """
        self._check_open()
        self._check_there()
        if unfit := GROWING & groups.keys():
            raise StorageError(f"group {min(unfit)!r} grows by append; finish takes the others")
        there = read_members(self.path)
        new = {name: arrays for name, arrays in groups.items() if arrays and name not in there}
        made = labelled(new, self._coords, self._dims)
        try:
            for name, group in made.items():
                write_group(self.path, name, group)
            final = plain(storable(attributes or {}))
            publish(self.path, final)
            self._created = final.get("created_at", self._created)
        except OSError as error:
            raise files.failure(self.path, error, f"the {self.draws} draws are kept") from error
        self.close()

    def reopen(self) -> None:
        """Write further after `finish` or `close`.

        Raises StorageError if the store is not as it was left, or being written by another run.
        """
        self._lock = files.lock(self.path)
        try:
            there = read_members(self.path)
            draws, created = there["posterior/draw"]["shape"][0], there["posterior"]["attributes"]["created_at"]
            if (draws, created) != (self.draws, self._created):
                raise StorageError(f"{str(self.path)!r} was written by another run meanwhile; it is left as it is")
            self._open_arrays()
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """End the writing and leave the store as it is; more than once does nothing."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._lock.is_locked:
            raise StorageError(f"{str(self.path)!r} is no longer written; reopen goes on with it")

    def _check_there(self) -> None:
        """Raise StorageError, and leave nothing behind, where somebody deleted the store meanwhile."""
        if not (self.path / "zarr.json").is_file():
            self.lost = True
            forget_remains(self.path)
            raise StorageError(f"{str(self.path)!r} was deleted or moved while the run went on.")

    def _open_arrays(self) -> None:
        import zarr

        # What is not written is read as zeros or NaN: a chunk that was lost could not be told from one of these.
        with zarr.config.set({"array.write_empty_chunks": True}):
            tree = zarr.open_group(self.path, mode="r+", use_consolidated=False)
            groups = {path.partition("/")[0] for path in self._blocks}
            paths = [*self._blocks, *(f"{group}/draw" for group in groups)]
            self._arrays = {path: cast("zarr.Array[Any]", tree[path]) for path in paths}

    def _checked(self, groups: Groups) -> tuple[dict[str, npt.NDArray[np.generic]], int]:
        """Arrays by path, and their number of draws; StorageError if they do not fit one another or this store."""
        if unfit := groups.keys() - GROWING:
            raise StorageError(f"group {min(unfit)!r} does not grow with the draws; finish takes it")
        blocks = {f"{group}/{name}": array for group, arrays in groups.items() for name, array in arrays.items()}
        for path, array in blocks.items():
            if array.ndim < 2 or len(array) != self._chains:
                raise StorageError(f"{path!r} needs the shape ({self._chains}, draws, ...), and has {array.shape}")
            if array.dtype.kind not in "biufc" or array.dtype.itemsize > 8 * (1 + (array.dtype.kind == "c")):
                raise StorageError(f"{path!r} has element type {array.dtype}, which is not stored; numbers are")
        counts = {path: array.shape[1] for path, array in blocks.items()}
        if len(set(counts.values())) > 1:
            raise StorageError(f"the variables of a block need the same number of draws, and have {counts}")
        return blocks, next(iter(counts.values()), 0)

    def _check_same(self, blocks: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Raise StorageError unless the variables are those of the first block."""
        for path in sorted(blocks.keys() | self._blocks.keys()):
            before, now = (
                f"{known[path].dtype} of shape {known[path].shape[2:]} in each draw" if path in known else "not given"
                for known in (self._blocks, blocks)
            )
            if before != now:
                raise StorageError(f"{path!r} was {before}, and is now {now}; variables stay as they begin")


def write_store(path: Path, groups: Mapping[str, LabelledArrays]) -> None:
    """Write groups as a store that does not grow, at a place where nothing is.

    It appears under its name when it is complete. Raises StorageError if it cannot be written.
    """
    beside = files.temporary_name(path)
    try:
        for name, group in groups.items():
            write_group(beside, name, group)
        publish(beside)
        os.rename(beside, path)
    except BaseException as error:
        shutil.rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError):
            raise files.failure(path, error, "nothing was written") from error
        raise
