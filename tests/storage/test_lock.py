"""One process at a time has the lock of a path, and a dead one never keeps it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from consilience.errors import StorageError
from consilience.record import as_plain, replace
from consilience.storage import lock
from consilience.storage.lock import Holder, Lock

HOLDING = """
import sys
from pathlib import Path
from consilience.storage.lock import Lock
held = Lock.acquire(Path(sys.argv[1]))
print(flush=True)
sys.stdin.read()
"""

FORKING = """
import os, sys, time
from pathlib import Path
from consilience.storage.lock import Lock
held = Lock.acquire(Path(sys.argv[1]))
if os.fork() == 0:
    held.release()
    print(os.getpid(), flush=True)
    time.sleep(60)
sys.stdin.read()
"""


def holding(path: Path) -> subprocess.Popen[str]:
    """A process that has the lock of `path` until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "\n"
    return process


def me(**changes: object) -> Holder:
    """This process as the holder of a lock, with changes."""
    own = Holder(os.getpid(), lock.start_of(os.getpid()), platform.node(), "2026-01-01T00:00:00+00:00")
    return replace(own, **changes)  # type: ignore[arg-type] # the table of tests names fields


def lock_file_of(path: Path) -> Path:
    """Where the lock of a path is."""
    return path.with_name(f".{path.name}.lock")


def test_a_second_process_is_refused_and_told_of_the_first(tmp_path: Path) -> None:
    """By number and machine; once the first has ended, the lock is free."""
    path = tmp_path / "store"
    with holding(path) as process:
        with pytest.raises(StorageError, match=rf"another run \(process {process.pid} on '{platform.node()}', since"):
            Lock.acquire(path)
        with Lock.acquire(tmp_path / "other"):
            pass
        process.communicate("")
    with Lock.acquire(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    """Its file is still there, and names it."""
    path = tmp_path / "store"
    with holding(path) as process:
        process.kill()
        process.communicate()
    assert json.loads(lock_file_of(path).read_text())["process"] == process.pid
    with Lock.acquire(path):
        assert json.loads(lock_file_of(path).read_text())["process"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


def test_a_second_run_of_the_same_process_is_refused(tmp_path: Path) -> None:
    """Until the first gives the lock back; giving it back twice does not take it from another."""
    first = Lock.acquire(tmp_path / "store")
    with pytest.raises(StorageError, match="another run of this process"):
        Lock.acquire(tmp_path / "store")
    first.release()
    second = Lock.acquire(tmp_path / "store")
    first.release()
    with pytest.raises(StorageError, match="another run of this process"):
        Lock.acquire(tmp_path / "store")
    second.release()


def test_a_lock_of_another_machine_is_respected(tmp_path: Path) -> None:
    """Its process cannot be asked, so the error says which file to delete."""
    path = tmp_path / "store"
    file = lock_file_of(path)
    file.write_text(json.dumps(as_plain(me(host="elsewhere", process=77))))
    with pytest.raises(StorageError, match=r"process 77 on 'elsewhere'.*when it has ended, delete '.*\.store\.lock'"):
        Lock.acquire(path)
    file.unlink()
    with Lock.acquire(path):
        pass


def ended() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.skipif(os.name == "nt", reason="all filesystems have locks there")
@pytest.mark.parametrize("case", ["running", "ended", "number used again"])
def test_without_locks_of_the_filesystem_the_file_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """A running process is respected; one that ended is not, nor another with its number."""
    monkeypatch.setattr(lock, "lock_file", lambda _: None)
    path = tmp_path / "store"
    holder = {"running": me(), "ended": me(process=ended()), "number used again": me(started="other")}[case]
    lock_file_of(path).write_text(json.dumps(as_plain(holder)))
    if case == "running":
        with pytest.raises(StorageError, match="is being written by another run"):
            Lock.acquire(path)
    else:
        with Lock.acquire(path):
            pass


@pytest.mark.parametrize("contents", ["", "{", '{"process": 1}', "[]", "null"])
def test_a_lock_file_that_says_nothing_is_taken_over(tmp_path: Path, contents: str) -> None:
    """A process may die between making the file and writing it."""
    lock_file_of(tmp_path / "store").write_text(contents)
    with Lock.acquire(tmp_path / "store"):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked there")
def test_a_forked_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    """It neither holds it when its parent has ended, nor gives it back for its parent."""
    process = subprocess.Popen(
        [sys.executable, "-c", FORKING, str(tmp_path / "store")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    with process.stdin, process.stdout:
        child = int(process.stdout.readline())
        try:
            with pytest.raises(StorageError, match=f"process {process.pid} "):
                Lock.acquire(tmp_path / "store")
            process.kill()
            process.wait()
            os.kill(child, 0)
            with Lock.acquire(tmp_path / "store"):
                pass
        finally:
            os.kill(child, 9)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """With what to do."""
    with pytest.raises(StorageError, match=r"the directory .*none' must exist"):
        Lock.acquire(tmp_path / "none" / "store")
