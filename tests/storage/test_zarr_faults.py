"""A growing store is whole at any moment, whatever happens to the process that writes it."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from consilience.errors import StorageError
from consilience.output.storage import files, zarr_arrays
from consilience.output.storage.zarr_store import ZarrStore
from tests.storage.stores import FIXED, blocks, create, names, seen, seen_with

pytest.importorskip("zarr", reason="growing stores need it")


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that a few draws fill."""
    monkeypatch.setattr(zarr_arrays, "CHUNK_DRAWS", 8)


class Death(Exception):
    """The process is no more."""


@contextmanager
def fault(at: int, *, deadly: bool, system: bool = True) -> Iterator[list[str]]:
    """At file operation number `at`, die with all later ones failing too, or have one error; gives those made.

    system   whether names can be exchanged
    """
    made: list[str] = []

    def spoil(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def spoilt(*arguments: Any, **options: Any) -> Any:
            if name == "exchange" and not system:
                return False
            if name == "open" and arguments[1] in ("r", "rb"):
                return operation(*arguments, **options)
            made.append(name)
            if len(made) > at and (deadly or len(made) == at + 1):
                raise Death if deadly else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return operation(*arguments, **options)

        return spoilt

    with pytest.MonkeyPatch.context() as patched:
        for module, name in (
            (os, "replace"),
            (os, "rename"),
            (os, "mkdir"),
            (os, "unlink"),
            (os, "rmdir"),
            (io, "open"),
            (files, "exchange"),
        ):
            patched.setattr(module, name, spoil(name, getattr(module, name)))
        yield made


def act_append(store: ZarrStore) -> None:
    store.append(blocks(10, 20))


def act_restart(store: ZarrStore) -> None:
    store.restart()
    store.append(blocks(0, 9))


def act_finish(store: ZarrStore) -> None:
    store.finish(FIXED)


def act_keep_chains(store: ZarrStore) -> None:
    store.keep_chains([0, 1, 2])


ACTS = [act_append, act_restart, act_finish, act_keep_chains]
ALLOWED = {act_append: {10, 20}, act_restart: {10, 0, 9}}


@pytest.mark.parametrize("deadly", [True, False], ids=["death", "error"])
@pytest.mark.parametrize("act", ACTS)
def test_a_store_is_whole_after_a_fault(tmp_path: Path, act: Callable[[ZarrStore], None], deadly: bool) -> None:
    """Of each way to write, at some file operations."""
    check_faults(tmp_path, act, deadly, not deadly, 3)


@pytest.mark.slow
@pytest.mark.parametrize("system", [True, False], ids=["exchanged", "moved twice"])
@pytest.mark.parametrize("deadly", [True, False], ids=["death", "error"])
@pytest.mark.parametrize("act", ACTS)
def test_a_store_is_whole_after_a_fault_at_any_file_operation(
    tmp_path: Path, act: Callable[[ZarrStore], None], deadly: bool, system: bool
) -> None:
    """Of each way to write."""
    check_faults(tmp_path, act, deadly, system, None)


def check_faults(
    folder: Path, act: Callable[[ZarrStore], None], deadly: bool, system: bool, number: int | None
) -> None:
    """Readers see draws from before or after; after an error the store goes on."""
    with create(folder / "whole.zarr") as store:
        store.append(blocks(0, 10))
        with fault(10**6, deadly=False, system=system) as operations:
            act(store)
    assert len(operations) > 5
    for at in np.linspace(0, len(operations) - 1, number or len(operations)).astype(int):
        path = folder / str(at) / "run.zarr"
        path.parent.mkdir()
        store = create(path)
        store.append(blocks(0, 10))
        message = ""
        with fault(at, deadly=deadly, system=system):
            try:
                act(store)
            except Death:
                message = "dead"
            except StorageError as error:
                message = str(error)
        assert message == "" or ("dead" if deadly else "No space left on device") in message
        if path.exists():
            if act is act_finish and not message:
                assert seen_with(path, {}) == 10
            else:
                assert seen(path) in ALLOWED.get(act, {10})
        else:
            assert (deadly, system) == (True, False)  # between two moves; what was there is beside it, and stays
            assert len(names(path.parent)) == 2
        if message and not deadly:
            assert f"{store.draws} draws" in message or "what was there before is kept" in message
            assert seen(path) == store.draws
            store.append(blocks(store.draws, 25))
            assert seen(path) == 25
        store.close()
        create(path, overwrite=True, groups=blocks(0, 12)).close()
        assert seen(path) == 12
        assert message == "dead" or names(path.parent) == ["run.zarr"]


WRITER = """
import resource, sys
import numpy as np
from consilience.errors import StorageError
from consilience.output.storage import zarr_arrays
from consilience.output.storage.zarr_store import ZarrStore

zarr_arrays.CHUNK_DRAWS = 64
path, begun, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
coords, dims = {"school": ["A", "B"]}, {"theta": ["school"]}


def block(first, last):
    values = np.arange(first, last) + 1.0
    both = np.stack([values, -values])
    posterior = {f"x{number}": both * number for number in range(1, 6)} | {"theta": np.stack([both, both], -1)}
    return {"posterior": posterior, "sample_stats": {"odd": both % 2 == 1}}


store = ZarrStore.create(path, chains=2, coords=coords, dims=dims, overwrite=True, groups=block(0, begun))
random = np.random.default_rng(begun)
print("begun", flush=True)
try:
    while True:
        count = int(random.integers(1, 40))
        store.append(block(store.draws, store.draws + count))
except StorageError as error:
    print(store.draws, error)
"""


def start_writer(path: Path, draws: int, limit: int = 0) -> subprocess.Popen[str]:
    """A process that appends to a store, which begins with so many draws, until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(draws), str(limit)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def assert_written(path: Path) -> int:
    """The store holds a prefix of what the writer appends, in both ways of opening it; its draws."""
    with xr.open_datatree(path, engine="zarr") as tree:
        tree.load()
        groups = {name: node.to_dataset() for name, node in tree.children.items()}
    draws = int(groups["posterior"].sizes["draw"])
    with xr.open_zarr(path, group="posterior", chunks=None) as alone:
        assert_prefix(alone.load(), alone.sizes["draw"])
    for group in groups.values():
        assert_prefix(group, draws)
    return draws


def assert_prefix(group: xr.Dataset, draws: int) -> None:
    values = np.arange(draws) + 1.0
    both = np.stack([values, -values])
    expected = {f"x{number}": both * number for number in range(1, 6)}
    expected |= {"theta": np.stack([both, both], -1), "odd": both % 2 == 1, "draw": np.arange(draws)}
    for name in [*group.data_vars, "draw"]:
        np.testing.assert_array_equal(group[name], expected[str(name)], strict=True)


def kill_and_resume(path: Path, kills: int) -> None:
    """Kill the writer at arbitrary moments, open the store, go on from some of its draws."""
    random = np.random.default_rng(8)
    draws = 0
    for _ in range(kills):
        with start_writer(path, draws) as process:
            try:
                process.wait(random.uniform(0.0, 0.3))
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate()
        assert process.returncode == -9
        present = assert_written(path)
        assert present >= draws
        draws = int(random.integers(0, present + 1)) if random.random() < 0.5 else present
    create(path, overwrite=True).close()
    assert names(path.parent) == ["run.zarr"]


@pytest.mark.skipif(os.name == "nt", reason="the writer limits its files as only POSIX does")
def test_a_killed_writer_leaves_a_whole_store(tmp_path: Path) -> None:
    """A few times, at arbitrary moments."""
    kill_and_resume(tmp_path / "run.zarr", 4)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the writer limits its files as only POSIX does")
def test_a_writer_killed_a_hundred_times_leaves_a_whole_store(tmp_path: Path) -> None:
    """At arbitrary moments, and resumed each time."""
    kill_and_resume(tmp_path / "run.zarr", 100)


@pytest.mark.skipif(os.name == "nt", reason="the writer limits its files as only POSIX does")
def test_readers_beside_a_writer_see_whole_stores(tmp_path: Path) -> None:
    """Opened over and over while another process appends."""
    path = tmp_path / "run.zarr"
    with start_writer(path, 0) as process:
        try:
            found: set[int] = set()
            while len(found) < 6:
                found.add(assert_written(path))
                assert process.poll() is None
        finally:
            process.kill()
            process.communicate()


@pytest.mark.skipif(os.name == "nt", reason="the size of files cannot be limited there")
def test_files_that_cannot_grow_end_the_writing_and_lose_nothing(tmp_path: Path) -> None:
    """The system itself refuses to write; the error says what is kept."""
    path = tmp_path / "run.zarr"
    with start_writer(path, 0, limit=1500) as process:
        output, _ = process.communicate()
    draws = int(output.split()[0])
    assert "could not be written (File too large); what was there before is kept" in output
    assert assert_written(path) == draws


@pytest.mark.skipif(os.name == "nt", reason="the writer limits its files as only POSIX does")
def test_a_second_run_is_refused_while_one_writes(tmp_path: Path) -> None:
    """Until the process that writes has ended, in whatever way."""
    path = tmp_path / "run.zarr"
    with start_writer(path, 0) as process:
        try:
            for overwrite in (True, False):
                with pytest.raises(StorageError, match="is being written by another run"):
                    create(path, overwrite=overwrite)
        finally:
            process.kill()
            process.communicate()
    assert_written(path)
    create(path, overwrite=True).close()


def test_a_path_that_a_run_changes_directory_under_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths count from where the run began."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with create(Path("run.zarr")) as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.append(blocks(0, 9))
    assert seen(tmp_path / "run.zarr") == 9
    assert list((tmp_path / "elsewhere").iterdir()) == []
