"""A growing store is whole at any moment, whatever happens to the process that writes it."""

from __future__ import annotations

import builtins
import errno
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from consilience.errors import StorageError
from consilience.storage import files, growing_array
from consilience.storage.zarr_store import ZarrStore
from tests.storage.stores import (
    COORDS,
    DIMS,
    FIXED,
    blocks,
    create,
    died,
    glimpse,
    seen,
    store_draws,
)

pytest.importorskip("zarr", reason="growing stores need it")


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that a few draws fill."""
    monkeypatch.setattr(growing_array, "CHUNK_DRAWS", 8)


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one, for thousands of small files."""
    memory = Path("/dev/shm")
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


class Death(BaseException):
    """The process is no more."""


@contextmanager
def fault(at: int, *, deadly: bool) -> Iterator[list[str]]:
    """At file operation number `at`, die with all later ones failing too, or have one error; gives those made."""
    made: list[str] = []

    def spoil(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def spoilt(*arguments: Any, **options: Any) -> Any:
            made.append(name)
            if len(made) > at and (deadly or len(made) == at + 1):
                if name == "write" and len(made) == at + 1:
                    arguments[0].write(arguments[1][: len(arguments[1]) // 2])
                raise Death if deadly else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return operation(*arguments, **options)

        return spoilt

    with pytest.MonkeyPatch.context() as patched:
        for name in ("replace", "rename", "mkdir", "unlink", "rmdir", "open", "ftruncate"):
            patched.setattr(os, name, spoil(name, getattr(os, name)))
        patched.setattr(growing_array, "write_all", spoil("write", files.write_all))
        patched.setattr(files, "open", spoil("open", builtins.open), raising=False)
        yield made


def act_overwrite(path: Path) -> None:
    create(path, overwrite=True)


def act_resume(path: Path) -> None:
    ZarrStore.reopen(path, 3, coords=COORDS, dims=DIMS).append(blocks(3, 20))


def act_first_append(path: Path) -> None:
    create(path).append(blocks(0, 9))


def act_forget(path: Path) -> None:
    ZarrStore.reopen(path, store_draws(path), coords=COORDS, dims=DIMS).forget()


def act_finish(path: Path) -> None:
    ZarrStore.reopen(path, store_draws(path), coords=COORDS, dims=DIMS).finish(FIXED)


@pytest.mark.parametrize("deadly", [True, False], ids=["death", "error"])
@pytest.mark.parametrize("act", [act_overwrite, act_first_append, act_resume, act_forget, act_finish])
def test_a_store_is_whole_after_a_fault_at_any_file_operation(
    quick_path: Path, act: Callable[[Path], None], deadly: bool
) -> None:
    """Of each way to write: readers see draws from before or after, and the store goes on."""
    template = quick_path / "template.zarr"
    existing = act is not act_first_append
    if existing:
        with create(template) as store:
            store.append(blocks(0, 10))
    allowed = {act_first_append: {0, 9}, act_resume: {10, 3, 20}, act_finish: {10}}.get(act, {10, 0})
    for at in itertools.count():
        folder = quick_path / str(at)
        folder.mkdir()
        path = folder / "run.zarr"
        if existing:
            shutil.copytree(template, path)
        message = ""
        with died(), fault(at, deadly=deadly) as made:
            try:
                act(path)
            except Death:
                message = "dead"
            except StorageError as error:
                message = str(error)
        assert message == "" or ("dead" if deadly else "No space left on device") in message
        if path.exists():
            assert glimpse(path) in allowed
            with ZarrStore.reopen(path, min(3, store_draws(path)), coords=COORDS, dims=DIMS) as store:
                store.append(blocks(store.draws, 25))
        else:
            assert not existing or (act is act_overwrite and deadly)
            with create(path) as store:
                store.append(blocks(0, 25))
        assert glimpse(path) == 25
        assert [entry.name for entry in folder.iterdir()] == ["run.zarr"]
        shutil.rmtree(folder)
        if len(made) <= at:
            break
    assert at > 5


def test_a_failed_append_can_be_tried_again(quick_path: Path) -> None:
    """The same store object goes on after an error at any file operation, the first append included."""
    for start, stop in ((0, 9), (9, 20)):
        at = 0
        while True:
            path = quick_path / f"{start}-{at}.zarr"
            with create(path) as store:
                if start:
                    store.append(blocks(0, start))
                message = ""
                with fault(at, deadly=False) as made:
                    try:
                        store.append(blocks(start, stop))
                    except StorageError as error:
                        message = str(error)
                if len(made) <= at:
                    break
                if message:  # an error may also fall on what need not succeed
                    assert f"the {start} draws before are kept; free some space" in message
                    assert glimpse(path) == store.draws == start
                    store.append(blocks(start, stop))
                assert glimpse(path) == store.draws == stop
            at += 1


def test_keeping_chains_is_all_or_nothing(quick_path: Path) -> None:
    """After an error at any file operation all chains are there, and the store goes on with all."""
    at = 0
    while True:
        path = quick_path / f"{at}.zarr"
        with create(path) as store:
            store.append(blocks(0, 12))
            with fault(at, deadly=False) as made:
                try:
                    store.keep_chains([0, 2])
                except StorageError as error:
                    message = str(error)
            if len(made) <= at:
                break
            assert "all chains are kept" in message
            assert glimpse(path) == 12
            store.append(blocks(12, 15))
            assert glimpse(path) == 15
        at += 1


WRITER = """
import resource, sys
import numpy as np
from consilience.errors import StorageError
from consilience.storage import growing_array
from consilience.storage.zarr_store import ZarrStore

growing_array.CHUNK_DRAWS = 64
path, draws, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
coords, dims = {"school": ["A", "B"]}, {"theta": ["school"]}
if draws < 0:
    store = ZarrStore.create(path, chains=2, coords=coords, dims=dims, overwrite=True)
else:
    store = ZarrStore.reopen(path, draws, coords=coords, dims=dims)
random = np.random.default_rng(draws + 1)
print("begun", flush=True)
try:
    while True:
        count = int(random.integers(1, 40))
        values = np.arange(store.draws, store.draws + count) + 1.0
        both = np.stack([values, -values])
        posterior = {f"x{number}": both * number for number in range(1, 6)} | {"theta": np.stack([both, both], -1)}
        store.append({"posterior": posterior, "sample_stats": {"odd": both % 2 == 1}})
        if random.random() < 0.02:
            store.forget()
except StorageError as error:
    print(store.draws, error)
"""


def start_writer(path: Path, draws: int, limit: int = 0) -> subprocess.Popen[str]:
    """A process that appends to a store until it is killed; `draws` of a resumed one, or -1."""
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
    with xr.open_zarr(path, group="posterior") as alone:
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
    draws = -1
    for _ in range(kills):
        with start_writer(path, draws) as process:
            try:
                process.wait(random.uniform(0.0, 0.15))
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate()
        assert process.returncode == -9
        present = assert_written(path)
        draws = int(random.integers(0, present + 1)) if random.random() < 0.5 else present
    ZarrStore.reopen(path, draws).close()
    assert [entry.name for entry in path.parent.iterdir()] == ["run.zarr"]


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
    """Opened over and over while another process appends and restarts."""
    path = tmp_path / "run.zarr"
    with start_writer(path, -1) as process:
        try:
            found = [assert_written(path) for _ in range(25)]
            assert process.poll() is None
        finally:
            process.kill()
            process.communicate()
    assert len(set(found)) > 5


@pytest.mark.skipif(os.name == "nt", reason="the size of files cannot be limited there")
def test_files_that_cannot_grow_end_the_writing_and_lose_nothing(tmp_path: Path) -> None:
    """The system itself refuses to write; the error says how many draws are kept."""
    path = tmp_path / "run.zarr"
    with start_writer(path, -1, limit=1500) as process:
        output, _ = process.communicate()
    draws = int(output.split()[0])
    assert f"could not be written (File too large); the {draws} draws before are kept" in output
    assert assert_written(path) == draws


@pytest.mark.skipif(os.name == "nt", reason="the writer limits its files as only POSIX does")
def test_a_second_run_is_refused_while_one_writes(tmp_path: Path) -> None:
    """Both a new one and a resumed one; the error names the process that writes."""
    path = tmp_path / "run.zarr"
    with start_writer(path, -1) as process:
        try:
            for attempt in (
                lambda: create(path, overwrite=True),
                lambda: create(path),
                lambda: ZarrStore.reopen(path, 0),
            ):
                with pytest.raises(StorageError, match=f"is being written by another run .process {process.pid} on"):
                    attempt()
        finally:
            process.kill()
            process.communicate()
    assert_written(path)


def test_a_path_that_a_run_changes_directory_under_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths count from where the run began."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with create(Path("run.zarr")) as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.append(blocks(0, 9))
    assert seen(tmp_path / "run.zarr") == 9
    assert list((tmp_path / "elsewhere").iterdir()) == []
