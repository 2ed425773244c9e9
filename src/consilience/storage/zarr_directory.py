"""Directories of stores: a path enters, and whether a store may be made, read or replaced there leaves.

Draws stay outside.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from consilience.errors import StorageError
from consilience.storage import files

if TYPE_CHECKING:
    from typing import Any  # metadata is what JSON gives

OWN_FILE = re.compile(r"zarr\.json|\d+|c(\.\d+)*")
"""Names of files that a store has: metadata and chunks."""


def require_zarr() -> None:
    """Raise StorageError, with what to install, where zarr is missing."""
    if importlib.util.find_spec("zarr") is None:
        raise StorageError(
            "a growing store needs zarr: pip install 'consilience[zarr]', or name a file that ends in .nc"
        )


def check_free(path: Path, overwrite: bool) -> None:
    """Raise StorageError unless a store may be made at `path`; OSError if that cannot be seen."""
    if not path.exists():
        if not path.parent.is_dir():
            raise StorageError(f"{str(path)!r} cannot be made; the directory {str(path.parent)!r} must exist")
        return
    if not path.is_dir():
        raise StorageError(f"{str(path)!r} is a file, and a store is a directory; name another place")
    if not any(path.iterdir()):
        return
    if (other := foreign_file(path)) is not None:
        raise StorageError(f"{str(path)!r} holds {other!r}, which is not of a store; name another place")
    members = read_members(path)
    if not overwrite:
        raise StorageError(
            f"{str(path)!r} holds a run of {members['posterior']['attributes'].get('created_at')} with "
            f"{members['posterior/draw']['shape'][0]} draws; overwrite=True replaces it"
        )


def foreign_file(path: Path) -> str | None:
    """Something in a directory that no store has, by its name; None if there is nothing."""
    for folder, directories, names in os.walk(path):
        for name in names:
            if not OWN_FILE.fullmatch(name):
                return os.path.relpath(os.path.join(folder, name), path)
        for name in directories:
            if name.startswith(".") or os.path.islink(os.path.join(folder, name)):
                return os.path.relpath(os.path.join(folder, name), path)
    return None


def read_members(path: Path) -> dict[str, Any]:
    """The metadata of all groups and arrays of a store of this library, by path."""
    try:
        members: dict[str, Any] = json.loads((path / "zarr.json").read_bytes())["consolidated_metadata"]["metadata"]
        if members["posterior"]["attributes"]["creation_library"] == "consilience" and "posterior/draw" in members:
            return members
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        pass
    raise StorageError(f"{str(path)!r} is not a store of this library; nothing there is changed")


def move_directory(source: Path, target: Path) -> None:
    """Put a directory in the place of another, which is deleted then."""
    if not target.exists():
        os.rename(source, target)
        return
    old = files.temporary_name(target)
    os.rename(target, old)
    try:
        os.rename(source, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)
