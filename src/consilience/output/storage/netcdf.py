"""Results as netCDF files: a tree enters, and a whole file is there or none; what it means stays outside."""

from __future__ import annotations

import errno
import importlib.util
import math
import os
import shutil
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal

from consilience.errors import StorageError
from consilience.output.storage.files import failure, forget_leftovers, lock, replacing
from consilience.output.storage.zarr_directory import check_owner

if TYPE_CHECKING:
    import xarray

CHUNK: Final = 1 << 20
"""Bytes of a chunk at most, unless a single element of the last axes has more; HDF5 keeps so many in memory."""
SEAL: Final = b"\nCRC-32: "
"""What stands before the checksum of a whole file."""


def check_netcdf(path: str | os.PathLike[str], overwrite: bool = False, goes_on: str | None = None) -> bool:
    """Raise StorageError where `write_netcdf` would before it writes; so a run need not be made in vain.

    `goes_on`: the attribute `run` of the run that goes on, which replaces its own file and no other. Returns: whether
    `write_netcdf` is to replace what is there.
    """
    target = Path(path)
    engine = netcdf_engine()
    if target.is_dir():
        raise StorageError(f"{str(target)!r} is a directory; name a file")
    if goes_on is not None and target.exists():
        check_owner(target, _attributes(target, engine), goes_on)
        overwrite = True
    if target.exists() and not overwrite:
        raise StorageError(f"{str(target)!r} exists; overwrite=True replaces it")
    if not target.parent.is_dir():
        raise StorageError(f"{str(target)!r} cannot be made; the directory {str(target.parent)!r} must exist")
    if not os.access(target.parent, os.W_OK):
        raise StorageError(f"{str(target)!r} cannot be made; this user may not write in {str(target.parent)!r}")
    return overwrite


def _attributes(path: Path, engine: Literal["h5netcdf", "netcdf4"]) -> dict[str, Any]:
    """Those of the posterior in a file; none where it is something else."""
    import xarray

    try:
        with xarray.open_dataset(path, engine=engine, group="posterior") as found:
            return {str(name): value for name, value in found.attrs.items()}
    except (OSError, ValueError, LookupError):
        return {}


def write_netcdf(
    tree: xarray.DataTree,
    path: str | os.PathLike[str],
    overwrite: bool = False,
    run: str | None = None,
    locking: bool = True,
) -> None:
    """Write a tree to a file of format netCDF 4, one group each.

    The file appears under its name when it is complete and on the disk. Numbers have HDF5's checksum, which readers
    verify; `SEAL` and the CRC-32 of the whole file are behind its end.

    `run`: an attribute of the posterior that says which run wrote it. `locking`: whether another run that writes the
    same file is waited for in vain; a file for that stays beside it.
    """
    check_netcdf(path, overwrite)
    target = Path(path)
    try:
        with lock(target.resolve()) if locking else nullcontext(), replacing(target) as temporary:
            forget_leftovers(target)
            reserve(temporary, tree.nbytes + tree.nbytes // 50 + (1 << 20))
            if run is not None and "posterior" in tree.children:
                tree = tree.copy()
                tree["posterior"].attrs["run"] = run
            try:
                tree.to_netcdf(temporary, engine=netcdf_engine(), encoding=_checksums(tree))
            except (TypeError, ValueError) as error:
                raise StorageError(
                    f"{str(target)!r} could not be written: netCDF cannot hold a part of the tree ({error}); "
                    "make labels and attributes numbers or text"
                ) from error
            seal(temporary)
    except OSError as error:
        raise failure(target, error, "what was there before is kept") from error


def _checksums(tree: xarray.DataTree) -> dict[str, dict[str, dict[str, Any]]]:
    """What xarray is to be told for arrays to have checksums: HDF5 has one for each chunk."""
    return {
        node.path: {
            str(name): {
                "fletcher32": True,
                "chunksizes": _chunk(variable.shape, variable.dtype.itemsize),
                "zlib": _mostly_zero(variable),
            }
            for name, variable in node.dataset.variables.items()
            if variable.ndim and variable.size and variable.dtype.kind in "biufcmM"
        }
        for node in tree.subtree
    }


def _mostly_zero(variable: Any) -> bool:
    """Whether a large array is worth compressing, as trees are in room for larger ones."""
    large = variable.nbytes > CHUNK and variable.dtype.kind == "f"
    return bool(large and 2 * (variable.values != 0.0).sum() < variable.size)


def _chunk(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Lengths of chunks, of few draws or other first axes where arrays are large."""
    found, size = list(shape), itemsize * math.prod(shape)
    for axis, length in enumerate(found):
        rest = size // length
        found[axis] = max(1, min(length, CHUNK // max(1, rest)))
        size = rest * found[axis]
    return tuple(found)


def seal(path: Path) -> None:
    """Write the checksum of a whole file behind its end, where readers of HDF5 do not look; raises OSError."""
    with open(path, "r+b") as file:
        crc = _crc(file, os.fstat(file.fileno()).st_size)
        file.write(SEAL + crc.to_bytes(4, "little"))


def sealed(path: Path) -> bool | None:
    """Whether a file is as it was sealed; None where it never was. Raises OSError."""
    with open(path, "rb") as file:
        end = os.fstat(file.fileno()).st_size - len(SEAL) - 4
        if end < 0:
            return None
        file.seek(end)
        mark, crc = file.read(len(SEAL)), file.read(4)
        if mark != SEAL:
            return None
        file.seek(0)
        return _crc(file, end) == int.from_bytes(crc, "little")


def _crc(file: BinaryIO, length: int) -> int:
    """CRC-32 of so many bytes from the beginning of a file, after which it stands there."""
    found = 0
    while length > 0 and (part := file.read(min(length, CHUNK))):
        found, length = zlib.crc32(part, found), length - len(part)
    return found


def reserve(path: Path, size: int) -> None:
    """Raise OSError unless a file of so many bytes can be made.

    Asked beforehand because HDF5, when it meets a full disk, may take the process and the draws in it with it.
    """
    if size > shutil.disk_usage(path.parent).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if hasattr(os, "posix_fallocate"):
        # Quotas and limits show only so. What opens the file to write gives the space back first.
        with open(path, "xb") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):  # it cannot be asked here
                    raise


def netcdf_engine() -> Literal["h5netcdf", "netcdf4"]:
    """The library to write with; StorageError, with what to install, if there is none."""
    if importlib.util.find_spec("h5netcdf") is not None and importlib.util.find_spec("h5py") is not None:
        return "h5netcdf"
    if importlib.util.find_spec("netCDF4") is not None:
        return "netcdf4"
    raise StorageError("netCDF needs h5netcdf: pip install 'h5netcdf[h5py]', or use a store that ends in .zarr")
