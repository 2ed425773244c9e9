"""What can be looked at: runs, by name, with their records, attributes and numbers, of which a part is read at a time.

Stores are read where they lie, without what wrote them; nothing is unpickled, and no file outside the store is opened.
"""

from __future__ import annotations

import errno
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.variables import held, text
from consilience.errors import StorageError
from consilience.output.storage import first_draws, journal
from consilience.output.storage.zarr_arrays import whole_chunk
from consilience.record import Record

Array = npt.NDArray[Any]
Place = tuple[int, ...]

SAMPLE: Final = ("chain", "draw")
MOST_RECORDS: Final = 1 << 24  # bytes of a journal that are read, from its end
BLOCK: Final = 4000  # draws of each chain that are read together where few are wanted
SMALL: Final = 1 << 18  # bytes of a chunk, up to which it is read as a whole
MOST_NAMES: Final = 200_000  # elements whose names are looked through for one question


class StoredVariable(Record):
    """A variable of a group: the dims and lengths of its own axes, and whether it has the axes (chain, draw) first."""

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    sampled: bool

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


class RunSource(ABC):
    """One run.

    name         by which it is shown
    attributes   of its draws, as the run left them
    records      its journal; empty where it has none
    groups       variables by name, by group
    chains       how many there are
    draws        of each chain
    """

    name: str
    attributes: Mapping[str, Any]
    records: Sequence[Mapping[str, Any]]
    groups: Mapping[str, Mapping[str, StoredVariable]]
    chains: int
    draws: int
    stride = 1  # of the run's draws, one in so many is here
    draw_prior: Callable[[], Mapping[str, Array]] | None = None  # gives draws (draw, …) of the prior, where a model is
    _drawn: Mapping[str, Array] | None = None
    study: str | None = None  # to which it belongs
    rows = 0  # of the summary; 0: as many as there may be
    diverged = (0, 0)  # draws of each chain that were looked at, and how many of all diverged
    store: Path | None = None  # where the draws are, if that is a store
    checkpoint: Path | None = None  # of its run, if that is what is here

    @property
    def prior_known(self) -> bool:
        """Whether the prior is here, or can be drawn from."""
        return bool(self.groups.get("prior")) or self.draw_prior is not None

    def prior(self, name: str, place: Place) -> Array:
        """Draws of an element by its prior; KeyError where there are none."""
        variable = self.groups.get("prior", {}).get(name)
        if variable is not None:
            if not variable.sampled or variable.shape != self.groups["posterior"][name].shape:
                raise KeyError(name)
            return self.part("prior", name, place).astype(float).ravel()
        if self._drawn is None:
            self._drawn = {} if self.draw_prior is None else self.draw_prior()
        return np.asarray(np.moveaxis(np.asarray(self._drawn[name], dtype=float), 0, -1)[place])

    @abstractmethod
    def version(self) -> object:
        """Another value whenever there may be something new."""

    @abstractmethod
    def refresh(self) -> None:
        """See what there is now; StorageError where it cannot be read."""

    @abstractmethod
    def part(
        self, group: str, name: str, place: Place | None, step: int = 1, last: int | None = None, first: int = 0
    ) -> Array:
        """Numbers (chain, draw) of one element, or all elements (chain, draw, …), of one draw in `step` of some draws.

        These are from `first` up to `last`. Of variables without draws all numbers.
        """

    def picked(self, group: str, name: str, place: Place | None, where: Array) -> Array:
        """Numbers (pick, …) at some places, rows (chain, draw), whose draws are read some thousand at a time."""
        blocks = where[:, 1] // BLOCK
        parts: dict[int, Array] = {}
        for block in np.unique(blocks).tolist():
            own = where[blocks == block]
            some = self.part(group, name, place, 1, (block + 1) * BLOCK, block * BLOCK)
            parts[block] = some[own[:, 0], own[:, 1] - block * BLOCK]
        if not parts:
            return self.part(group, name, place, 1, 0).reshape(0, *self.groups[group][name].shape[len(place or ()) :])
        found = np.empty((len(where), *next(iter(parts.values())).shape[1:]), next(iter(parts.values())).dtype)
        for block, some in parts.items():
            found[blocks == block] = some
        return found

    @abstractmethod
    def labels(self, dim: str, length: int) -> Sequence[object]:
        """Labels along a dim; positions where there are none."""

    def elements(self, variable: StoredVariable) -> Iterator[tuple[str, Place]]:
        """Names and places of all elements, in C order."""
        if not variable.shape:
            yield variable.name, ()
            return
        axes = [self.labels(d, n) for d, n in zip(variable.dims, variable.shape, strict=True)]
        for place in product(*map(range, variable.shape)):
            inner = ", ".join(text(axis[i]) for axis, i in zip(axes, place, strict=True))
            yield f"{variable.name}[{inner}]", place

    def locate(self, name: str) -> tuple[str, Place] | None:
        """StoredVariable and place of an element's name; None where there is none, as of coordinates of simplexes."""
        variables = self.groups.get("posterior", {})
        if name in variables and variables[name].sampled and not variables[name].shape:
            return name, ()
        for own in variables.values():
            if own.sampled and own.shape and name.startswith(f"{own.name}["):
                for found, place in islice(self.elements(own), MOST_NAMES):
                    if found == name:
                        return own.name, place
        return None


class StoreSource(RunSource):
    """A store on the disk."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path.resolve(), name
        self.store = self.path
        self._labels: dict[tuple[str, int], Sequence[object]] = {}
        self._seen: object = None
        self._draws_seen: object = None
        self._created: object = None
        self._first: dict[tuple[str, str], Array] = {}  # draws before the first check, by group and name
        self._first_labels: Mapping[str, Sequence[str]] = {}
        self._first_seen: object = None
        self.refresh()

    def version(self) -> tuple[object, ...]:
        return stamps(self.path)

    def refresh(self) -> None:
        if (now := self.version()) == self._seen:
            return
        self.records = list(journal.records(_end_of(self.path / journal.NAME)))
        if now[0] != self._draws_seen:
            self._read_members()
            self._draws_seen = now[0]
        if now[2] != self._first_seen:
            self._take_first()
            self._first_seen = now[2]
        self._seen = now

    def _take_first(self) -> None:
        """Where the store has no draws yet, those that lie beside it."""
        found = first_draws.read(self.path) if self._stored == 0 else None
        self._first, self.draws, self.diverged = {}, self._stored, (0, 0)
        self._labels.clear()
        self._first_labels, self.stride = ({}, 1) if found is None else (found.labels, found.stride)
        groups = dict(self.groups)
        for group, some in found.groups.items() if found is not None else ():
            groups[group] = {name: StoredVariable(name, dims, a.shape[2:], True) for name, (a, dims) in some.items()}
            for name, (array, _) in some.items():
                self._first[group, name] = array
                self.chains, self.draws = array.shape[:2]
        self.groups = groups

    def _read_members(self) -> None:
        try:
            members = json.loads(_inside(self.path, self.path / "zarr.json").read_bytes())
            members = members["consolidated_metadata"]["metadata"]
            groups: dict[str, dict[str, StoredVariable]] = {}
            self.attributes = {}
            for path, about in members.items():
                group, _, name = path.partition("/")
                if not name:
                    groups.setdefault(group, {})
                    if group == "posterior":
                        self.attributes = dict(about.get("attributes", {}))
                    continue
                dims, shape = tuple(about.get("dimension_names") or ()), tuple(map(int, about["shape"]))
                if dims != (name,) and name != "draw" and is_number(about["data_type"]):  # no labels
                    sampled = dims[:2] == SAMPLE
                    own = slice(2 if sampled else 0, None)
                    names = (
                        dims[own] if len(dims) == len(shape) else tuple(f"{name}_dim_{i}" for i in range(len(shape)))
                    )
                    groups.setdefault(group, {})[name] = StoredVariable(name, names, shape[own], sampled)
            draws = members["posterior/draw"]["shape"][0]
            chains = members["posterior/chain"]["shape"][0]
        except (OSError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise StorageError(
                f"{self.name!r} is not a store of draws, or in a format that this version cannot read "
                f"({type(error).__name__}: {error}); xarray may open it."
            ) from error
        if self.attributes.get("created_at") != self._created:  # other draws
            self._created, self.diverged = self.attributes.get("created_at"), (0, 0)
        self._members, self.groups = members, groups
        self.chains, self.draws = int(chains), int(draws)
        self._stored, self._first_seen = self.draws, object()  # without draws before the first check
        self._labels.clear()

    def labels(self, dim: str, length: int) -> Sequence[object]:
        known = self._labels.get((dim, length))
        if known is None:
            known = self._first_labels.get(dim, ())
            known = known if len(known) == length else range(length)
            for group in self.groups:
                about = self._members.get(f"{group}/{dim}")
                if about is not None and about["shape"] == [length]:
                    known = self._whole(group, dim).tolist()
                    break
            self._labels[dim, length] = known
        return known

    def part(
        self, group: str, name: str, place: Place | None, step: int = 1, last: int | None = None, first: int = 0
    ) -> Array:
        variable = self.groups[group][name]
        if (group, name) in self._first:
            return self._first[group, name][(slice(None), slice(first, last, step), *(place or ()))]
        if not variable.sampled:
            whole = self._whole(group, name)
            return whole if place is None else whole[place]
        about = self._members[f"{group}/{name}"]
        draws = about["shape"][1] if last is None else min(last, about["shape"][1])
        chunk, codecs = about["chunk_grid"]["configuration"]["chunk_shape"], about["codecs"]
        kinds = [codec["name"] for codec in codecs]
        plain, summed = kinds in (["bytes"], ["bytes", "crc32c"]), kinds[1:] == ["crc32c"]
        whole_rows = [max(1, n) for n in (about["shape"][0], *variable.shape)] == [chunk[0], *chunk[2:]]
        if not (plain and whole_rows):
            return np.asarray(self._array(group, name)[(slice(None), slice(first, draws, step), *(place or ()))])
        dtype = np.dtype(about["data_type"])
        if codecs[0].get("configuration", {}).get("endian", "little") == "big":
            dtype = dtype.newbyteorder(">")
        parts, tail = [], "/0" * len(variable.shape)
        folder = self.path / group / name / "c/0"
        outside = _is_elsewhere(self.path, folder)
        for number in range(first // chunk[1], -(-draws // chunk[1])):
            begin = number * chunk[1]
            rows = slice(max(first - begin, (first - begin) % step), min(chunk[1], draws - begin), step)
            if not (length := len(range(*rows.indices(chunk[1])))):
                continue
            file = f"{folder}/{number}{tail}"
            try:
                if outside or (tail and _is_elsewhere(self.path, file)):
                    raise StorageError(f"{number} of {group}/{name} lies outside of its store; it is not read.")
                index: Any = (slice(None), rows, *(place or ()))
                parts.append(np.array(_numbers(file, dtype, tuple(chunk), summed)[index]))
            except (OSError, ValueError) as error:  # all as what fills an array; or half written: shown as a gap
                if getattr(error, "errno", None) == errno.ELOOP:
                    raise StorageError(
                        f"{file} is a link, and may lie outside of its store; it is not read."
                    ) from error
                shape = (chunk[0], length, *(variable.shape if place is None else ()))
                is_gap = dtype.kind == "f" and not isinstance(error, FileNotFoundError)
                parts.append(np.full(shape, math.nan if is_gap else about["fill_value"], dtype))
        shape = (self.chains, 0, *(variable.shape if place is None else ()))
        return np.concatenate(parts, axis=1) if parts else np.zeros(shape)

    def _whole(self, group: str, name: str) -> Array:
        return np.asarray(self._array(group, name)[...])

    def _array(self, group: str, name: str) -> Any:
        """An array as zarr has it, for what is compressed."""
        folder = self.path / group / name
        if any(entry.is_symlink() for entry in [folder.parent, folder, *folder.rglob("*")]):
            raise StorageError(f"{group}/{name} of {self.name!r} is a link, which may lead elsewhere; it is not read.")
        try:
            import zarr
        except ImportError as error:
            raise StorageError(
                "a part of this store is compressed and needs zarr: pip install 'consilience[zarr]'"
            ) from error
        try:
            return zarr.open_array(_inside(self.path, folder), mode="r")
        except (OSError, ValueError, KeyError) as error:
            raise StorageError(f"{group}/{name} of {self.name!r} cannot be read: {error}") from error


class TreeSource(RunSource):
    """A result in memory, or lazily on the disk: an `xarray.DataTree`, or groups of labelled arrays without xarray."""

    def __init__(self, tree: Any, name: str, records: Sequence[Mapping[str, Any]] = ()) -> None:
        self.name, self.records = name, records
        self.take(tree)

    def take(self, tree: Any) -> None:
        """Show another tree from now on."""
        self._tree, self.stride, self.diverged = tree, 1, (0, 0)
        self._held = tree if isinstance(tree, dict) else held(tree)
        posterior = self._held.get("posterior")
        self.attributes = {} if posterior is None else {str(k): v for k, v in posterior.attrs.items()}
        self._arrays = {str(name): _arrays_of(group) for name, group in self._held.items()}
        self.groups = {
            group: {
                name: StoredVariable(name, own, array.shape[len(array.shape) - len(own) :], dims[:2] == SAMPLE)
                for name, (dims, array) in arrays.items()
                for own in [dims[2 * (dims[:2] == SAMPLE) :]]
            }
            for group, arrays in self._arrays.items()
        }
        sizes = {} if posterior is None else posterior.sizes
        self.chains, self.draws = int(sizes.get("chain", 0)), int(sizes.get("draw", 0))

    def version(self) -> object:
        return id(self._tree), len(self.records)

    def refresh(self) -> None:
        """All is here."""

    def labels(self, dim: str, length: int) -> Sequence[object]:
        for group in self._held.values():
            labels = getattr(group, "labels", None)
            known = group.coords if labels is None else labels
            if dim in known and group.sizes[dim] == length:
                return list(np.asarray(known[dim]).tolist())
        return range(length)

    def part(
        self, group: str, name: str, place: Place | None, step: int = 1, last: int | None = None, first: int = 0
    ) -> Array:
        sampled = (slice(None), slice(first, last, step)) if self.groups[group][name].sampled else ()
        _, array = self._arrays[group][name]
        key = (*sampled, *(place or ()))
        if hasattr(array, "part"):  # computed when it is looked at
            return np.asarray(array.part(key))
        found = array[key] if key else array
        return np.asarray(getattr(found, "values", found))


def _arrays_of(group: Any) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Dims and numbers of the variables of a group that are numbers, by name."""
    if hasattr(group, "labels"):
        found = {str(name): (tuple(map(str, dims)), values) for name, (dims, values) in group.data_vars.items()}
    else:
        data = group.dataset
        found = {str(n): (tuple(map(str, v.dims)), v) for n, v in data.variables.items() if n not in data.coords}
    return {name: own for name, own in found.items() if is_number(own[1].dtype)}


def is_number(dtype: Any) -> bool:
    """Whether arrays of a type, of NumPy or by its name, are real numbers or truth values."""
    return str(dtype).startswith(("bool", "int", "uint", "float"))


def stamp(file: Path) -> object:
    """Another value whenever a file was written to; None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def stamps(place: Path) -> tuple[object, ...]:
    """Those of the file, or of the files of a store that change as its run goes on."""
    parts = ("zarr.json", journal.NAME, first_draws.NAME) if place.is_dir() else ("",)
    return tuple(stamp(place / name) for name in parts)


def _end_of(file: Path) -> bytes:
    """A file's first line and its last bytes; nothing where it is not there, or a link."""
    try:
        if file.is_symlink():
            return b""
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            if size <= MOST_RECORDS:
                return opened.read()
            first = opened.readline(MOST_RECORDS)
            opened.seek(size - MOST_RECORDS)
            opened.readline()
            return first + opened.read()
    except OSError:
        return b""


def _is_elsewhere(root: Path, file: str | Path) -> bool:
    return not Path(os.path.realpath(file)).is_relative_to(root)


def _numbers(file: str, dtype: np.dtype[Any], shape: tuple[int, ...], summed: bool) -> Array:
    """A chunk: as it is read, or where it lies if it is large. OSError for a link; ValueError if some is missing.

    Of one that is read as a whole the checksum is verified, where it has one: StorageError.
    """
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as opened:
        if math.prod(shape) * dtype.itemsize > SMALL:
            return np.memmap(opened, dtype, "r", shape=shape)
        data = opened.read()
    if len(data) < math.prod(shape) * dtype.itemsize + 4 * summed:  # with its checksum
        raise ValueError(f"some of {file} is missing")
    if summed and not whole_chunk(data):
        raise StorageError(f"{file} is damaged: its checksum is wrong. See `python -m consilience check`.")
    return np.frombuffer(data, dtype, math.prod(shape)).reshape(shape)


def _inside(root: Path, file: Path) -> Path:
    """The file, if it is one of the store's own; StorageError where names or links lead elsewhere."""
    if _is_elsewhere(root, file):
        raise StorageError(f"{file.name!r} lies outside of its store; it is not read.")
    return file
