"""Results as netCDF files: a tree enters, and a whole file is there or none; what it means stays outside."""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from consilience.errors import StorageError
from consilience.output.storage.files import failure, forget_leftovers, lock, replacing

if TYPE_CHECKING:
    import xarray


def check_netcdf(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Raise StorageError where `write_netcdf` would before it writes; so a run need not be made in vain."""
    target = Path(path)
    netcdf_engine()
    if target.is_dir():
        raise StorageError(f"{str(target)!r} is a directory; name a file")
    if target.exists() and not overwrite:
        raise StorageError(f"{str(target)!r} exists; overwrite=True replaces it")
    if not target.parent.is_dir():
        raise StorageError(f"{str(target)!r} cannot be made; the directory {str(target.parent)!r} must exist")
    if not os.access(target.parent, os.W_OK):
        raise StorageError(f"{str(target)!r} cannot be made; this user may not write in {str(target.parent)!r}")


def write_netcdf(tree: xarray.DataTree, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a tree to a file of format netCDF 4, one group each.

    The file appears under its name when it is complete and on the disk.

    Raises StorageError if there is a file of that name, unless `overwrite`; if it cannot be written, or the tree
    holds what netCDF cannot; or if no library for netCDF is installed. What was there before is then kept.
    """
    check_netcdf(path, overwrite)
    target = Path(path)
    try:
        with lock(target.resolve()), replacing(target) as temporary:
            forget_leftovers(target)
            reserve(temporary, tree.nbytes + tree.nbytes // 50 + (1 << 20))
            try:
                tree.to_netcdf(temporary, engine=netcdf_engine())
            except (TypeError, ValueError) as error:
                raise StorageError(
                    f"{str(target)!r} could not be written: netCDF cannot hold a part of the tree ({error}); "
                    "make labels and attributes numbers or text"
                ) from error
    except OSError as error:
        raise failure(target, error, "what was there before is kept") from error


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
