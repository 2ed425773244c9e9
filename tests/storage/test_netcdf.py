"""A netCDF file appears whole or not at all."""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from consilience.errors import StorageError
from consilience.output.storage import files, netcdf, tree_of
from consilience.output.storage.netcdf import write_netcdf
from tests.storage.stores import names

RNG = np.random.default_rng(4)


@pytest.fixture
def tree() -> xr.DataTree:
    """A result with all kinds of arrays."""
    return tree_of(
        {
            "posterior": {
                "mu": RNG.normal(size=(2, 5)),
                "theta": RNG.normal(size=(2, 5, 3)),
                "k": np.ones((2, 5), dtype=np.int64),
            },
            "sample_stats": {"diverging": np.array([[True, False, True, False, False]] * 2)},
            "observed_data": {"y": np.arange(3.0)},
        },
        {"school": ["A", "B", "CC"]},
        {"theta": ["school"], "y": ["school"]},
        {"status": "converged", "seed": 7, "windows": [1, 2]},
    )


def test_the_tree_comes_back(tmp_path: Path, tree: xr.DataTree) -> None:
    """Values, element types, labels and attributes; nothing else is left beside the file."""
    write_netcdf(tree, tmp_path / "run.nc")
    with xr.open_datatree(tmp_path / "run.nc") as found:
        for name, group in tree.children.items():
            xr.testing.assert_equal(found[name].to_dataset(), group.to_dataset())
            assert {key: value.dtype for key, value in found[name].data_vars.items()} == {
                key: value.dtype for key, value in group.data_vars.items()
            }
        assert found["posterior"].attrs["status"] == "converged"
    assert names(tmp_path) == ["run.nc"]


def test_a_file_is_replaced_only_if_asked(tmp_path: Path, tree: xr.DataTree) -> None:
    """And a directory never."""
    path = tmp_path / "run.nc"
    path.write_text("another run")
    with pytest.raises(StorageError, match="overwrite=True replaces it"):
        write_netcdf(tree, path)
    assert path.read_text() == "another run"
    write_netcdf(tree, path, overwrite=True)
    xr.open_datatree(path).close()
    with pytest.raises(StorageError, match="is a directory"):
        write_netcdf(tree, tmp_path, overwrite=True)
    with pytest.raises(StorageError, match="must exist"):
        write_netcdf(tree, tmp_path / "none" / "run.nc")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_keeps_what_was_there(
    tmp_path: Path, tree: xr.DataTree, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """And leaves no part behind."""
    path = tmp_path / "run.nc"
    path.write_text("another run")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(files.os, call, fail)
        with pytest.raises(StorageError, match=r"No space left on device.*what was there before is kept; free some"):
            write_netcdf(tree, path, overwrite=True)
    assert path.read_text() == "another run"
    assert names(tmp_path) == ["run.nc"]


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="limits are not seen there")
def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """It is seen before HDF5 sees it, which may end the process."""
    import resource

    large = tree_of({"posterior": {"x": RNG.normal(size=(2, 20_000))}})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(StorageError, match=r"File too large.*what was there before is kept"):
            write_netcdf(large, tmp_path / "run.nc")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == []


def test_a_disk_with_too_little_space_is_seen_beforehand(
    tmp_path: Path, tree: xr.DataTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be reserved, what is free is asked."""
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(StorageError, match="free some space"):
        write_netcdf(tree, tmp_path / "run.nc")
    assert names(tmp_path) == []


def test_labels_that_netcdf_cannot_hold_are_refused(tmp_path: Path) -> None:
    """Pairs as labels; nothing is left."""
    tree = tree_of({"posterior": {"x": np.zeros((2, 3, 2))}}, {"pair": [("a", 1), ("b", 2)]}, {"x": ["pair"]})
    with pytest.raises(StorageError, match="netCDF cannot hold a part of the tree"):
        write_netcdf(tree, tmp_path / "run.nc")
    assert names(tmp_path) == []


def test_two_runs_cannot_write_one_file(tmp_path: Path, tree: xr.DataTree) -> None:
    """The second is refused."""
    with files.lock(tmp_path.resolve() / "run.nc"):
        with pytest.raises(StorageError, match="is being written by another run"):
            write_netcdf(tree, tmp_path / "run.nc")


def test_a_missing_library_is_named(tmp_path: Path, tree: xr.DataTree, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install; another library serves as well."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(StorageError, match=r"pip install 'h5netcdf\[h5py\]'"):
        write_netcdf(tree, tmp_path / "run.nc")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name == "netCDF4" else None)
    assert netcdf.netcdf_engine() == "netcdf4"
