"""Draws that grow on disk while a run goes on: blocks of draws enter, a zarr store stays that xarray opens any time.

Readers take shapes from one file, `zarr.json` of the whole tree or of the group they open, which is replaced as a
whole after the chunks are written. So they see the draws before or after a block, of all variables alike.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import StorageError
from consilience.record import replace
from consilience.storage import files, zarr_format
from consilience.storage.datatree import OF_THE_RUN, Attributes, Coordinates, Dimensions, storable, tree_of
from consilience.storage.growing_array import Growing, growing
from consilience.storage.lock import Lock
from consilience.storage.zarr_directory import check_free, move_directory, read_members, require_zarr
from consilience.storage.zarr_format import Array, Metadata

if TYPE_CHECKING:
    from typing import Any  # metadata is what JSON gives

    import xarray

Groups: TypeAlias = Mapping[str, Mapping[str, npt.NDArray[np.generic]]]

FIXED_BYTES = 1 << 26
"""Arrays that do not grow have chunks of at most so many bytes, unless one of their rows has more."""

GROWING = frozenset({"posterior", "sample_stats", "unconstrained_posterior"})
"""Groups whose draws are appended."""


class ZarrStore:
    """A store that one run writes and anyone may read, made by `create` or `reopen`.

    `finish` or `close` ends the writing; a store that was killed or closed can be reopened. A killed process loses
    no draws that were appended; a loss of power may, and then `reopen` says so.
    """

    def __init__(self, path: Path, lock: Lock, coords: Coordinates | None, dims: Dimensions | None) -> None:
        self.path = path
        self._lock = lock
        self._coords = dict(coords or {})
        self._dims = dict(dims or {})
        self._root = path
        self._open = True
        self._chains = 0
        self._draws = 0
        self._listed = 0  # draws in the metadata that each array has of its own
        self._declared = False  # whether the variables are known
        self._generation = 0  # of chunks: those of two generations have different names
        self._attributes: dict[str, dict[str, object]] = {}  # of each group
        self._fixed: dict[str, Metadata] = {}  # of arrays that do not grow, by path
        self._growing: dict[str, Growing] = {}  # by path

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
    ) -> ZarrStore:
        """A new store with a group `posterior` that has no draws; its variables come with the first `append`.

        path         a directory to be made, in one that exists; a store of an earlier run gives way only if
                     `overwrite` is given, and anything else is left alone
        chains       number of chains
        coords, dims, attributes   as for `storage.build`; draws have no labels but their numbers

        Raises StorageError if the path is taken or being written by another run, cannot be written, or if zarr
        is not installed.
        """
        require_zarr()
        if (coords or {}).get("draw") is not None:
            raise StorageError("draws of a growing store are counted from 0; leave out the labels of 'draw'")
        target = Path(path).resolve()
        lock = Lock.acquire(target)
        try:
            store = cls(target, lock, coords, dims)
            store._chains = chains
            try:
                check_free(target, overwrite)
                files.forget_leftovers(target)
                store._place(attributes)
            except OSError as error:
                raise files.failure(target, error, "what was there before is kept") from error
        except BaseException:
            lock.release()
            raise
        return store

    @classmethod
    def reopen(
        cls,
        path: str | os.PathLike[str],
        draws: int,
        *,
        coords: Coordinates | None = None,
        dims: Dimensions | None = None,
    ) -> ZarrStore:
        """Go on with a store of which the first `draws` draws of each chain count; the rest is dropped.

        coords, dims   as given to `create`

        Raises StorageError if it is not a store of this library, being written by another run, damaged or has
        fewer draws.
        """
        require_zarr()
        target = Path(path).resolve()
        if not target.is_dir():
            raise StorageError(f"{str(target)!r} does not exist, or is no directory")
        lock = Lock.acquire(target)
        try:
            store = cls(target, lock, coords, dims)
            try:
                files.forget_leftovers(target)
                store._recall(draws)
                store._publish(draws, store._generation)
            except OSError as error:
                raise files.failure(target, error, "the draws in it are kept") from error
        except BaseException:
            lock.release()
            raise
        store._draws = draws
        return store

    @property
    def draws(self) -> int:
        """Draws of each chain that readers see."""
        return self._draws

    def append(self, groups: Groups) -> None:
        """Add draws to every variable; readers see all of them or none.

        groups   of `posterior` and others of `GROWING`, the arrays of variables, of shape (chain, n, ...); at
                 each call the same names, element types and shapes, but for n

        Raises StorageError if the arrays are others than before or cannot be written. The draws before are then
        kept, and the same may be appended again.
        """
        self._check_open()
        blocks = {f"{group}/{name}": array for group, arrays in groups.items() for name, array in arrays.items()}
        count = self._count(groups, blocks)
        if count == 0:
            return
        try:
            if not self._declared:
                self._declare(groups)
            self._check_same(blocks)
            first, last = self._draws, self._draws + count
            separator = zarr_format.SEPARATORS[self._generation]
            for path, variable in self._growing.items():
                variable.write(self.path, separator, first, blocks.get(path, np.arange(first, last)))
            # Readers that open a single array take its shape from its own metadata, which may lag behind.
            self._publish(last, self._generation, arrays=last >= 2 * self._listed)
        except OSError as error:
            raise files.failure(self.path, error, f"the {self._draws} draws before are kept") from error
        self._draws = last
        self._declared = True

    def forget(self) -> None:
        """Begin again with no draws; those who opened the store before can still read what they saw."""
        self._check_open()
        generation = 1 - self._generation
        try:
            self._publish(0, generation)
        except OSError as error:
            raise files.failure(self.path, error, "it still shows draws that no longer count") from error
        self._draws, self._generation = 0, generation

    def keep_chains(self, chains: Sequence[int]) -> None:
        """Leave out all chains but these, given by position; those that stay keep their labels.

        Afterwards `append` takes the draws of these. Raises StorageError if that cannot be written; all chains
        are then kept.
        """
        self._check_open()
        before = self._growing, self._fixed, self._chains
        generation = 1 - self._generation
        old, new = zarr_format.SEPARATORS[self._generation], zarr_format.SEPARATORS[generation]
        chosen = list(chains)
        try:
            smaller = {}
            for path, variable in self._growing.items():
                draws = variable.read(self.path, old, self._draws)
                if variable.before:
                    draws = draws[chosen]
                    variable = replace(variable, before=draws.shape[:1])
                variable.write(self.path, new, 0, draws)
                smaller[path] = variable
            labels = {
                f"{group}/chain": self._relabel(f"{group}/chain", chosen) for group in GROWING & self._attributes.keys()
            }
            self._growing, self._fixed, self._chains = smaller, self._fixed | labels, len(chosen)
            self._publish(self._draws, generation)
        except BaseException as error:
            self._growing, self._fixed, self._chains = before
            # Those who open one group may see fewer chains already; if this fails too, until the next append.
            with contextlib.suppress(OSError):
                self._publish(self._draws, self._generation)
            if isinstance(error, OSError):
                raise files.failure(self.path, error, "all chains are kept") from error
            raise
        self._generation = generation

    def finish(self, groups: Mapping[str, Mapping[str, npt.ArrayLike]], attributes: Attributes | None = None) -> None:
        """Add groups that do not grow, such as observed_data, and attributes of the run; nobody writes afterwards.

        Raises StorageError if that cannot be written; the draws are kept, and it may be tried again.
        """
        self._check_open()
        if unfit := GROWING & groups.keys():
            raise StorageError(f"group {min(unfit)!r} grows by append; finish takes the others")
        tree = tree_of({name: arrays for name, arrays in groups.items() if arrays}, self._coords, self._dims)
        final = {name: zarr_format.attribute(value) for name, value in storable(attributes or {}).items()}
        try:
            if known := groups.keys() & self._attributes.keys():
                # Readers must not see the old shape of an array with new chunks.
                for name in known:
                    self._remove_group(name)
                self._publish(self._draws, self._generation)
            for name, node in tree.children.items():
                self._add_group(name, node.to_dataset())
            for name in OF_THE_RUN & self._attributes.keys():
                self._attributes[name] |= final
            self._publish(self._draws, self._generation)
            self._prune()
        except OSError as error:
            raise files.failure(self.path, error, f"the {self._draws} draws before are kept") from error
        self.close()

    def close(self) -> None:
        """End the writing and let others write; the store stays as it is."""
        if self._open and self._listed < self._draws:
            with contextlib.suppress(OSError):
                self._publish(self._draws, self._generation)
        self._open = False
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._open:
            raise StorageError(f"the writing of {str(self.path)!r} has ended; reopen goes on with it")

    def _count(self, groups: Groups, blocks: Mapping[str, Array]) -> int:
        """Draws in a block."""
        if unfit := groups.keys() - GROWING:
            raise StorageError(f"group {min(unfit)!r} does not grow with the draws; finish takes it")
        counts = {}
        for path, block in blocks.items():
            if block.ndim < 2 or block.shape[0] != self._chains:
                raise StorageError(f"{path!r} needs the shape ({self._chains}, draws, ...), and has {block.shape}")
            counts[path] = block.shape[1]
        if len(set(counts.values())) > 1:
            raise StorageError(f"all variables need the same number of draws, and have {counts}")
        return next(iter(counts.values()), 0)

    def _check_same(self, blocks: Mapping[str, Array]) -> None:
        """Raise StorageError unless the variables are those of the store."""
        known = {path: variable for path, variable in self._growing.items() if variable.name != "draw"}
        if different := blocks.keys() ^ known.keys():
            path = min(different)
            raise StorageError(f"{path!r} was {'not given' if path in known else 'not there before'}; variables stay")
        for path, block in blocks.items():
            variable = known[path]
            found = (block.shape[:1], block.shape[2:], block.dtype.newbyteorder("="))
            if found != (variable.before, variable.after, variable.dtype):
                raise StorageError(
                    f"{path!r} was {variable.dtype} of shape {variable.after} in each draw, and is now "
                    f"{block.dtype} of shape {block.shape[2:]}"
                )

    def _declare(self, groups: Groups) -> None:
        """Take up the variables of a first block, their dimensions and labels."""
        # An earlier attempt may have failed anywhere.
        for group in GROWING:
            self._remove_group(group, attributes=group != "posterior")
        self._growing.clear()
        begun = {group: {name: array[:, :0] for name, array in arrays.items()} for group, arrays in groups.items()}
        tree = tree_of({group: arrays for group, arrays in begun.items() if arrays}, self._coords, self._dims)
        of_the_run = self._attributes["posterior"]
        for name, node in tree.children.items():
            self._add_group(name, node.to_dataset(), of_the_run)

    def _add_group(self, group: str, dataset: xarray.Dataset, attributes: Attributes | None = None) -> None:
        """Take up a group and write its arrays that do not grow; readers see it after the next `_publish`."""
        self._check_names(group, [str(name) for name in dataset.variables])
        origin = {str(name): zarr_format.attribute(value) for name, value in dataset.attrs.items()}
        self._attributes[group] = origin | dict(attributes or {})
        for key, variable in dataset.variables.items():
            name, dimensions = str(key), tuple(map(str, variable.dims))
            if group in GROWING and "draw" in dimensions:
                added = growing(group, name, dimensions, variable.shape, variable.dtype)
                self._growing[added.path] = added
            else:
                self._put_fixed(f"{group}/{name}", variable)

    def _check_names(self, group: str, names: list[str]) -> None:
        """Raise StorageError if two names differ in upper and lower case alone and the filesystem sees none."""
        if (self._root / "ZARR.JSON").exists():
            seen: dict[str, str] = {}
            for name in names:
                if (other := seen.setdefault(name.casefold(), name)) != name:
                    raise StorageError(f"{other!r} and {name!r} in group {group!r} are one name on this filesystem")

    def _remove_group(self, group: str, *, attributes: bool = True) -> None:
        if attributes:
            self._attributes.pop(group, None)
        self._fixed = {path: entry for path, entry in self._fixed.items() if not path.startswith(f"{group}/")}

    # -- files -------------------------------------------------------------------------------------------------------

    def _put(self, name: str, contents: bytes) -> None:
        """Replace a file of the store, or create it."""
        target = self._root / name
        try:
            files.replace(target, [contents], durable=False, owner=self.path)
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            files.replace(target, [contents], durable=False, owner=self.path)

    def _put_fixed(self, path: str, variable: xarray.Variable) -> None:
        """Write an array that does not grow."""
        values, attributes = encoded(path, variable)
        self._fixed[path] = self._put_values(path, values, list(map(str, variable.dims)), "/", attributes)

    def _put_values(
        self, path: str, values: Array, dimensions: list[str], separator: str, attributes: Mapping[str, object]
    ) -> Metadata:
        """Write chunks and metadata of an array that does not grow."""
        rows = max(1, FIXED_BYTES * max(1, len(values)) // max(1, values.nbytes)) if values.ndim else 1
        shape = (min(rows, len(values)), *values.shape[1:]) if values.ndim else ()
        for number in range(-(-len(values) // rows) if values.ndim else 1):
            chunk = np.zeros(shape, values.dtype.newbyteorder("<"))
            part = values[number * rows : (number + 1) * rows] if values.ndim else values
            chunk[(slice(len(part)),) if values.ndim else ()] = part
            index = (number, *(0 for _ in shape[1:])) if values.ndim else ()
            if chunk.size:
                self._put(f"{path}/{zarr_format.chunk_name(index, separator)}", chunk.tobytes())
        metadata = zarr_format.array_metadata(
            repr(path), values.shape, values.dtype, dimensions, shape, separator, attributes
        )
        self._put(f"{path}/zarr.json", zarr_format.text(metadata))
        return metadata

    def _relabel(self, path: str, chosen: list[int]) -> Metadata:
        """Write the labels of some chains only, beside those of all."""
        metadata: Any = self._fixed[path]
        dtype = zarr_format.numpy_type(metadata["data_type"])
        separator = metadata["chunk_key_encoding"]["configuration"]["separator"]
        labels = np.fromfile(self.path / path / zarr_format.chunk_name((0,), separator), dtype.newbyteorder("<"))
        other = zarr_format.SEPARATORS[1 - zarr_format.SEPARATORS.index(separator)]
        kept = labels[chosen].astype(dtype)
        return self._put_values(path, kept, metadata["dimension_names"], other, metadata["attributes"])

    def _publish(self, draws: int, generation: int, *, arrays: bool = True) -> None:
        """Show readers so many draws: metadata of arrays, of groups, of all, in this order."""
        separator = zarr_format.SEPARATORS[generation]
        changing = {path: variable.metadata(draws, separator) for path, variable in self._growing.items()}
        everything = self._fixed | changing
        if arrays:
            for path, metadata in changing.items():
                self._put(f"{path}/zarr.json", zarr_format.text(metadata))
            self._listed = draws
        members: dict[str, Metadata] = {}
        for group, attributes in self._attributes.items():
            own = {
                path.removeprefix(f"{group}/"): entry
                for path, entry in everything.items()
                if path.startswith(f"{group}/")
            }
            self._put(f"{group}/zarr.json", zarr_format.text(zarr_format.group_metadata(attributes, own)))
            members[group] = zarr_format.group_metadata(attributes, {})
            members |= {f"{group}/{name}": entry for name, entry in own.items()}
        self._put("zarr.json", zarr_format.text(zarr_format.group_metadata({}, members)))

    def _place(self, attributes: Attributes | None) -> None:
        """Make the store beside its path, then move it there, in the place of what was there."""
        self._root = files.temporary_name(self.path)
        try:
            os.mkdir(self._root)
            nothing = tree_of({"posterior": {"none": np.zeros((self._chains, 0))}}, self._coords, {}, attributes)
            self._add_group("posterior", nothing["posterior"].to_dataset().drop_vars("none"))
            self._publish(0, 0)
            move_directory(self._root, self.path)
        except BaseException:
            shutil.rmtree(self._root, ignore_errors=True)
            raise
        self._root = self.path

    def _recall(self, draws: int) -> None:
        """Take up what is in the files, for so many draws."""
        members = read_members(self.path)
        present = int(members["posterior/draw"]["shape"][0])
        if not 0 <= draws <= present:
            raise StorageError(
                f"{str(self.path)!r} has {present} draws, and {draws} are to be kept; if power was lost, "
                "write the draws from the checkpoint into a new store"
            )
        self._chains = int(members["posterior/chain"]["shape"][0])
        separator = members["posterior/draw"]["chunk_key_encoding"]["configuration"]["separator"]
        self._generation = zarr_format.SEPARATORS.index(separator)
        for path, entry in members.items():
            group, _, name = path.partition("/")
            if not name:
                self._attributes[group] = entry["attributes"]
            elif group in GROWING and "draw" in entry["dimension_names"]:
                dimensions, shape = tuple(entry["dimension_names"]), tuple(entry["shape"])
                axis = dimensions.index("draw")
                chunk = int(entry["chunk_grid"]["configuration"]["chunk_shape"][axis])
                dtype = zarr_format.numpy_type(entry["data_type"])
                variable = Growing(group, name, dimensions, dtype, shape[:axis], shape[axis + 1 :], chunk)
                self._growing[path] = variable
                variable.check(self.path, separator, draws)
            else:
                self._fixed[path] = entry
        self._declared = self._growing.keys() != {"posterior/draw"}

    def _prune(self) -> None:
        """Delete chunks that readers no longer see: of draws that were forgotten or dropped."""
        separator = zarr_format.SEPARATORS[self._generation]
        for variable in self._growing.values():
            wanted = {
                str(self.path / variable.chunk_file(number, separator))
                for number in range(-(-self._draws // variable.chunk))
            }
            for folder, _, names in os.walk(self.path / variable.path, topdown=False):
                for name in names:
                    if name != "zarr.json" and os.path.join(folder, name) not in wanted:
                        os.unlink(os.path.join(folder, name))
                if not os.listdir(folder):
                    os.rmdir(folder)


def encoded(path: str, variable: xarray.Variable) -> tuple[Array, dict[str, object]]:
    """Values as they are stored, and the attributes that say how; times become numbers since a date."""
    import xarray

    if variable.dtype.kind in "mM":
        variable = xarray.conventions.encode_cf_variable(variable)
    values = np.asarray(variable.values)
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values.flat):
        values = values.astype(str)
    if values.dtype.kind == "O":
        raise StorageError(f"{path!r} holds Python objects, which are not stored; give numbers or text")
    if values.dtype.kind == "U" and values.dtype.itemsize == 0:
        values = values.astype("U1")
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    return values, {str(name): zarr_format.attribute(value) for name, value in variable.attrs.items()}
