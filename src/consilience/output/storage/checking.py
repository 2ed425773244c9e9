"""Whether files on the disk are as they were written: a path enters; what was verified and what is damaged leaves.

Checkpoints, Zarr stores, netCDF files and folders of studies are read from beginning to end. Nothing is changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final

from consilience.errors import StorageError
from consilience.output.storage import journal, lines, state_file, study_file
from consilience.output.storage.plain_values import quoted
from consilience.output.storage.zarr_arrays import crc32c, whole_chunk
from consilience.output.storage.zarr_directory import CHECKSUM, checksum
from consilience.record import Record

MOST_CHUNKS: Final = 10**8
"""Of an array: metadata that promise more are damaged."""


class Found(Record):
    """What a look at one path found.

    `verified`: what was read, in words. `faults`: what is damaged; none where all is as it was written. `unknown`: what
    has no checksums, so that nothing can be said of it.
    """

    verified: str
    faults: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def check(path: str | Path) -> Found:
    """Read everything at a path and compare it with its checksums; StorageError where there is nothing to check."""
    place = Path(path)
    try:
        if (place / "zarr.json").is_file():
            return _store(place)
        if (place / study_file.FITS).is_file():
            return _study(place / study_file.FITS)
        with place.open("rb") as file:
            start = file.read(8)
        if start[:6] == b"SQLite":
            return _checkpoint(place)
        if start[:4] == b"\x89HDF":
            return _netcdf(place)
        if place.suffix == ".jsonl":
            return _study(place)
    except OSError as error:
        raise StorageError(f"{str(place)!r} cannot be read: {error}") from error
    raise StorageError(
        f"{str(place)!r} is none of what can be checked: a checkpoint, a Zarr store, a netCDF file or a study."
    )


def _checkpoint(path: Path) -> Found:
    try:
        _, count, digest = state_file.read(path)
        read = sum(1 for _ in state_file.blocks(path, count, digest))
    except StorageError as error:
        return Found("checkpoint", (str(error),))
    return Found(f"checkpoint: the state and {read} blocks of draws")


def _netcdf(path: Path) -> Found:
    from consilience.output.storage.netcdf import sealed

    try:
        import h5py  # type: ignore[import-untyped]  # it has no types
    except ImportError as error:
        raise StorageError("checking netCDF files needs h5py: pip install 'h5netcdf[h5py]'") from error
    faults, plain, read = [], [], 0
    whole = sealed(path)
    if whole is False:
        faults.append("the checksum of the whole file is wrong")

    def look(name: str, node: Any) -> None:
        nonlocal read
        if isinstance(node, h5py.Dataset):
            read += 1
            if node.size and not node.fletcher32:
                plain.append(name)
            try:
                for part in node.iter_chunks() if node.chunks else [...]:
                    node[part]
            except (OSError, ValueError, RuntimeError) as error:
                faults.append(f"{quoted(name)}: {error}")

    try:
        with h5py.File(path, "r") as file:
            file.visititems(look)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        faults.append(f"it is truncated or damaged: {error}")
    unknown = () if whole is not None else (f"attributes, and {len(plain)} arrays such as {plain[:3]}",)
    return Found(f"netCDF file: {read} arrays{'' if whole is None else ' and the whole file'}", tuple(faults), unknown)


def _study(path: Path) -> Found:
    faults, read = [], 0
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            found = lines.from_line(line)
            at = found.get("found", {}).get("at")
            if at is not None:
                study_file.bytes_at(path, at)
            read += 1
        except (ValueError, TypeError, AttributeError, RecursionError, StorageError) as error:
            faults.append(f"line {number}: {error}")
    return Found(f"study: {read} lines with what they tell of", tuple(faults))


def _store(path: Path) -> Found:
    faults: list[str] = []
    unknown: list[str] = []
    try:
        root = json.loads((path / "zarr.json").read_bytes())
        if "consolidated_metadata" not in root:  # xarray writes it so
            files = {str(file.parent.relative_to(path)): file for file in path.rglob("*/zarr.json")}
            root["consolidated_metadata"] = {"metadata": {n: json.loads(f.read_bytes()) for n, f in files.items()}}
        members: dict[str, Any] = root["consolidated_metadata"]["metadata"]
        complete = CHECKSUM in root["consolidated_metadata"]  # others leave out chunks of zeros
        faults += _of_metadata("zarr.json", root, unknown)
        for name in [name for name, about in members.items() if about["node_type"] == "group"]:
            own = json.loads((path / name / "zarr.json").read_bytes())
            faults += _of_metadata(f"{name}/zarr.json", own, unknown)
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        return Found("Zarr store", (f"its metadata cannot be read: {type(error).__name__}: {quoted(error)}",))
    read = 0
    arrays = {name: about for name, about in members.items() if about.get("node_type") == "array"}
    for name, about in arrays.items():
        try:
            summed = about["codecs"][-1]["name"] == "crc32c" and crc32c() is not None
            if not summed:
                unknown.append(name)
            for file in _chunks(about):
                chunk = path / name / file
                if not chunk.is_file():
                    if complete:
                        faults.append(f"{name}/{file} is not there")
                elif summed:
                    read += 1
                    if not whole_chunk(chunk.read_bytes()):
                        faults.append(f"{name}/{file}: its checksum is wrong")
        except (OSError, ValueError, LookupError, TypeError) as error:
            faults.append(f"{name}: {type(error).__name__}: {quoted(error)}")
    if (path / journal.NAME).is_file():
        faults += [
            f"{journal.NAME}: line {number} is damaged, or was cut off"
            for number, line in enumerate((path / journal.NAME).read_bytes().splitlines(keepends=True), 1)
            if line.endswith(b"\n") and not list(journal.records(line))
        ]
    said = (f"{len(unknown)} parts such as {', '.join(unknown[:3])}",) if unknown else ()
    return Found(f"Zarr store: {len(arrays)} arrays, {read} chunks", tuple(faults), said)


def _of_metadata(name: str, metadata: Mapping[str, Any], unknown: list[str]) -> Iterator[str]:
    known = metadata.get("consolidated_metadata", {}).get(CHECKSUM)
    if known is None:
        unknown.append(name)
    elif known != checksum(metadata):
        yield f"{name}: its checksum is wrong"


def _chunks(about: Mapping[str, Any]) -> Iterator[str]:
    """Files of the chunks of an array; ValueError where there are more than a store can have."""
    shape, chunk = about["shape"], about["chunk_grid"]["configuration"]["chunk_shape"]
    counts = [-(-length // size) for length, size in zip(shape, chunk, strict=True)]
    if math.prod(counts) > MOST_CHUNKS:
        raise ValueError(f"{math.prod(counts)} chunks")
    for place in product(*map(range, counts)):
        yield "/".join(["c", *map(str, place)])
