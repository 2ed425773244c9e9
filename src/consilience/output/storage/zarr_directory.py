"""Directories of zarr stores: what lies there enters; what readers are shown, and whether it may be replaced, leaves.

Draws stay outside. Format: https://zarr-specs.readthedocs.io/en/latest/v3/core/ with consolidated metadata.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from consilience.errors import StorageError
from consilience.output.storage import first_draws, journal
from consilience.output.storage.datatree import OF_THE_RUN

OWN_FILE = re.compile(
    rf"zarr\.json|\d+|c|{re.escape(journal.NAME)}|{re.escape(first_draws.NAME)}|\w+\.[0-9a-f]{{32}}\.partial"
)
"""Names of files that a store has: metadata, chunks, its journal, and what a killed process left of these."""

CHECKSUM = "crc32"
"""The entry of consolidated metadata with their checksum: readers pass it over, `checking` does not."""


def publish(root: Path, attributes: Mapping[str, object] | None = None) -> None:
    """Show readers what is there: metadata of groups with those of their arrays, then of the whole tree.

    `attributes`: to add to the groups of the run.

    Every file is replaced as a whole; raises OSError.
    """
    members: dict[str, Any] = {}
    for file in sorted(root.glob("*/zarr.json")):
        name = file.parent.name
        own = {entry.parent.name: json.loads(entry.read_bytes()) for entry in sorted(file.parent.glob("*/zarr.json"))}
        group = json.loads(file.read_bytes())
        if name in OF_THE_RUN:
            group["attributes"] |= attributes or {}
        replace_text(file, group | consolidated(own))
        members[name] = group | consolidated({})
        members |= {f"{name}/{array}": metadata for array, metadata in own.items()}
    replace_text(
        root / "zarr.json", {"attributes": {}, "zarr_format": 3, **consolidated(members), "node_type": "group"}
    )


def consolidated(members: Mapping[str, object]) -> dict[str, object]:
    """The entry of a group's metadata with those of its members."""
    return {"consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": dict(members)}}


def checksum(metadata: Mapping[str, Any]) -> str:
    """CRC-32 of metadata with consolidated ones, but for the entry that keeps it."""
    kept = {name: value for name, value in metadata["consolidated_metadata"].items() if name != CHECKSUM}
    return f"{zlib.crc32(json.dumps({**metadata, 'consolidated_metadata': kept}).encode()):08x}"


def replace_text(path: Path, metadata: Mapping[str, Any]) -> None:
    """Write metadata and their checksum in the place of a file that readers may have open; raises OSError."""
    partial = path.with_name(f"zarr.{secrets.token_hex(16)}.partial")
    members = {**metadata["consolidated_metadata"], CHECKSUM: checksum(metadata)}
    try:
        partial.write_text(json.dumps({**metadata, "consolidated_metadata": members}))
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def read_members(path: Path) -> dict[str, Any]:
    """The metadata that readers of a store of this library see: of all groups and arrays, by path."""
    try:
        members: dict[str, Any] = json.loads((path / "zarr.json").read_bytes())["consolidated_metadata"]["metadata"]
        if members["posterior"]["attributes"]["creation_library"] == "consilience" and "posterior/draw" in members:
            return members
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        pass
    raise StorageError(f"{str(path)!r} is not a store of this library; nothing there is changed")


def check_free(path: Path, overwrite: bool, run: str | None = None) -> None:
    """Raise StorageError unless a store may be made at `path`; OSError if that cannot be seen.

    `run`: the name of a run that goes on: it may replace its own store, and no other.
    """
    if path.exists() and not path.is_dir():
        raise StorageError(f"{str(path)!r} is a file, and a store is a directory; name another place")
    if not path.exists() or not any(path.iterdir()):
        return
    for entry in path.rglob("*"):
        if entry.is_symlink() or entry.name.startswith(".") or (entry.is_file() and not OWN_FILE.fullmatch(entry.name)):
            other = str(entry.relative_to(path))
            raise StorageError(f"{str(path)!r} holds {other!r}, which is not of a store; name another place")
    members = read_members(path)
    if run is not None:
        check_owner(path, members["posterior"]["attributes"], run)
    elif not overwrite:
        raise StorageError(
            f"{str(path)!r} holds a run of {members['posterior']['attributes'].get('created_at')} with "
            f"{members['posterior/draw']['shape'][0]} draws; overwrite=True replaces it"
        )


def check_owner(path: Path, attributes: Mapping[str, Any], run: str) -> None:
    """Raise StorageError unless the attributes of a result on the disk say that this run wrote it."""
    if attributes.get("run") != run:
        raise StorageError(
            f"{str(path)!r} was written by another run than the one that goes on, on {attributes.get('created_at')}; "
            "it is left as it is. Name another place: `pm.resume(…, store=…)`."
        )


def forget_remains(path: Path) -> None:
    """Delete what a run wrote into a store that somebody deleted meanwhile: chunks without the metadata of a store."""
    try:
        if (path / "zarr.json").exists() or any(
            entry.is_symlink() or (entry.is_file() and not OWN_FILE.fullmatch(entry.name)) for entry in path.rglob("*")
        ):
            return
        shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return
