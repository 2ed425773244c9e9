"""A state and its blocks are written together or not at all, and come back exactly or are refused."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from consilience.errors import StorageError
from consilience.output.storage import files, state_file

BLOCKS = [{"draws": np.full((400, 5), float(number)), "number": number} for number in range(1, 7)]


def contents(path: Path) -> tuple[Any, list[Any]]:
    """The state and all blocks."""
    state, count, digest = state_file.read(path)
    return state, list(state_file.blocks(path, count, digest))


def assert_holds(path: Path, state: object, count: int) -> None:
    """A file has this state and so many blocks."""
    found, blocks = contents(path)
    assert (found, len(blocks)) == (state, count)
    for block, expected in zip(blocks, BLOCKS, strict=False):
        assert block["number"] == expected["number"]
        np.testing.assert_array_equal(block["draws"], expected["draws"], strict=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with the state 3 after three blocks, one of which was written with the second state."""
    digest = state_file.create(tmp_path / "c", {"at": 1}, BLOCKS[:2])
    state_file.write(tmp_path / "c", {"at": 3}, BLOCKS[2:3], 2, digest)
    return tmp_path / "c"


def test_the_state_is_that_of_the_last_write(path: Path) -> None:
    """With all blocks in their order; one file, and nothing beside it."""
    assert_holds(path, {"at": 3}, 3)
    state, count, digest = state_file.read(path)
    assert (state, count) == ({"at": 3}, 3)
    state_file.write(path, {"at": 5}, BLOCKS[3:5], 3, digest)
    assert_holds(path, {"at": 5}, 5)
    assert [entry.name for entry in path.parent.iterdir()] == ["c"]


def test_values_larger_than_a_row_are_cut_into_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's rows end at a gigabyte."""
    monkeypatch.setattr(state_file, "PART", 100)
    digest = state_file.create(path, {"at": list(range(200))}, BLOCKS)
    assert_holds(path, {"at": list(range(200))}, 6)
    digest = state_file.write(path, {"at": 0}, [], 6, digest)
    assert_holds(path, {"at": 0}, 6)
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM contents WHERE number = 4 AND part = 3")
    database.close()
    with pytest.raises(StorageError, match=r"truncated or damaged .the checksum of block 4 is wrong"):
        contents(path)


def test_who_knows_another_state_writes_nothing(path: Path) -> None:
    """Two writers cannot mix their blocks."""
    before = path.read_bytes()
    with pytest.raises(StorageError, match="was written by another run meanwhile"):
        state_file.write(path, {}, [], 3, b"another")
    with pytest.raises(StorageError, match="was written by another run meanwhile"):
        next(state_file.blocks(path, 3, b"another"))
    assert path.read_bytes() == before


def test_values_that_cannot_be_kept_leave_the_file(path: Path) -> None:
    _, _, digest = state_file.read(path)
    for state, blocks in (({"x": object()}, BLOCKS), ({}, [*BLOCKS, {1: 2}])):
        with pytest.raises(StorageError, match="can be kept"):
            state_file.write(path, state, blocks, 3, digest)
        with pytest.raises(StorageError, match="can be kept"):
            state_file.create(path, state, blocks)
    assert_holds(path, {"at": 3}, 3)
    assert [entry.name for entry in path.parent.iterdir()] == ["c"]


def test_every_truncation_is_refused(path: Path) -> None:
    """The error says so, and the file stays as it is."""
    whole = path.read_bytes()
    for length in [*range(200), *range(200, len(whole), 397), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(StorageError, match=r"c' is .*truncated"):
            contents(path)
        assert path.read_bytes() == whole[:length]


def test_a_changed_byte_changes_no_value(path: Path) -> None:
    """Wherever it is: either it is noticed, or it was in a place that means nothing."""
    whole = path.read_bytes()
    noticed = 0
    positions = [*range(130), *range(130, len(whole), 97)]
    for place in positions:
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            assert_holds(path, {"at": 3}, 3)
        except StorageError:
            noticed += 1
    assert noticed > 0.7 * len(positions)


def test_other_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    text, other, newer, nothing = (tmp_path / name for name in ("text", "other", "newer", "nothing"))
    text.write_text("mine " * 1000)
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE contents (a)")
    database.close()
    state_file.create(newer, {}, [])
    with sqlite3.connect(newer) as database:
        database.execute(f"PRAGMA application_id = {state_file.MARK + 1}")
    database.close()
    nothing.touch()
    for path, message in [
        (text, "file is not a database"),
        (other, "is no checkpoint of this library, or truncated"),
        (newer, "was written by another version of this library"),
        (nothing, "is no checkpoint of this library, or truncated"),
        (
            tmp_path / "none",
            r"could not be read or written .unable to open database file.; see that the place is there",
        ),
    ]:
        with pytest.raises(StorageError, match=message):
            state_file.read(path)
    assert [state_file.is_one(path) for path in (text, other, newer, nothing)] == [False, False, True, True]


@pytest.mark.skipif(os.name == "nt", reason="the size of files cannot be limited there")
def test_a_file_that_cannot_grow_keeps_what_it_has(path: Path) -> None:
    """The system itself refuses to write; the next write may succeed."""
    import resource

    _, _, digest = state_file.read(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, limits[1]))
    large = [{"draws": np.zeros(10_000)}]
    try:
        with pytest.raises(
            StorageError, match=r"could not be read or written .*; (see that the place|free some space)"
        ):
            state_file.write(path, {"at": 4}, large, 3, digest)
        with pytest.raises(StorageError, match="could not be read or written"):
            state_file.create(path, {"at": 4}, large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert_holds(path, {"at": 3}, 3)
    assert [entry.name for entry in path.parent.iterdir()] == ["c"]
    state_file.write(path, {"at": 4}, BLOCKS[3:4], 3, digest)
    assert_holds(path, {"at": 4}, 4)


def test_a_file_that_may_only_be_read_can_be_read(path: Path) -> None:
    _, _, digest = state_file.read(path)
    path.chmod(0o444)
    assert_holds(path, {"at": 3}, 3)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write everything")
    with pytest.raises(StorageError, match=r"could not be read or written .*readonly"):
        state_file.write(path, {}, [], 3, digest)


def test_a_file_that_was_moved_is_not_written(path: Path) -> None:
    _, _, digest = state_file.read(path)
    path.rename(path.with_name("moved"))
    with pytest.raises(StorageError, match="see that the place is there"):
        state_file.write(path, {}, [], 3, digest)


def test_what_a_killed_process_left_of_an_older_file_is_not_taken_for_a_part(path: Path) -> None:
    """SQLite would undo a write of the older file in the new one."""
    digest = state_file.read(path)[2]
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA cache_size = 1")  # so that the file is written before the end
    database.execute("BEGIN")
    database.execute("UPDATE contents SET bytes = zeroblob(200000)")
    hot = path.with_name("d")
    shutil.copy(path, hot)
    shutil.copy(f"{path}-journal", hot.with_name("d-journal"))
    database.close()
    assert_holds(path, {"at": 3}, 3)
    copies = hot.read_bytes(), hot.with_name("d-journal").read_bytes()
    assert state_file.read(hot)[2] == digest  # undone
    hot.write_bytes(copies[0])
    hot.with_name("d-journal").write_bytes(copies[1])
    state_file.create(hot, {"at": 1}, BLOCKS[:1])
    assert_holds(hot, {"at": 1}, 1)


WRITER = """
import sys
from pathlib import Path
import numpy as np
from consilience.output.storage import state_file

path = Path(sys.argv[1])
if path.exists():
    state, count, digest = state_file.read(path)
else:
    count, digest = 0, state_file.create(path, 0, [])
print("begun", flush=True)
while True:
    number = count + 1
    digest = state_file.write(path, number, [np.full(50_000, number)], count, digest)
    count = number
"""


@pytest.mark.skipif(os.name == "nt", reason="kill works differently there")
def test_a_killed_writer_leaves_a_state_with_its_blocks(tmp_path: Path) -> None:
    """At arbitrary moments; what was written before is there."""
    generator = np.random.default_rng(3)
    last, rounds = 0, 0
    while rounds < 8 or (last <= 8 and rounds < 100):  # a busy machine hardly lets a writer begin
        rounds += 1
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "c")], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        with process.stdout:
            assert process.stdout.readline() == "begun\n"
            time.sleep(generator.uniform(0.0, 0.15))
            process.kill()
            process.wait()
        state, blocks = contents(tmp_path / "c")
        assert last <= state == len(blocks)
        assert all((block == number).all() for number, block in enumerate(blocks, 1))
        last = state
    assert last > 8
    _, count, digest = state_file.read(tmp_path / "c")
    state_file.write(tmp_path / "c", {}, [], count, digest)
    files.forget_leftovers(tmp_path / "c")
    assert [entry.name for entry in tmp_path.iterdir()] == ["c"]
