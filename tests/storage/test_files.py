"""One run at a time has the lock of a path, and a dead one never keeps it; what it left is cleared away."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from consilience.errors import StorageError
from consilience.output.storage import files

HOLDING = """
import sys
from pathlib import Path
from consilience.output.storage import files
held = files.lock(Path(sys.argv[1]))
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kill", [True, False])
def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path, kill: bool) -> None:
    path = tmp_path / "store"
    command = [sys.executable, "-c", HOLDING, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "\n"
        with pytest.raises(StorageError, match="store' is being written by another run; wait for its end"):
            files.lock(path)
        files.lock(tmp_path / "other").release()
        if kill:
            process.kill()
        process.communicate("")
    files.lock(path).release()


def test_a_second_run_of_the_same_process_is_refused(tmp_path: Path) -> None:
    """Until the first gives the lock back; giving it back twice does not take it from another."""
    first = files.lock(tmp_path / "store")
    with pytest.raises(StorageError, match="another run"):
        files.lock(tmp_path / "store")
    first.release()
    second = files.lock(tmp_path / "store")
    first.release()
    with pytest.raises(StorageError, match="another run"):
        files.lock(tmp_path / "store")
    second.release()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """With what to do; no directory is made."""
    with pytest.raises(StorageError, match=r"the directory .*none' must exist"):
        files.lock(tmp_path / "none" / "store")
    assert list(tmp_path.iterdir()) == []


def test_leftovers_are_cleared_only_beside_what_is_there(tmp_path: Path) -> None:
    """A process killed between two moves leaves all there is under a temporary name."""
    path = tmp_path / "store[1]"
    file, folder = files.temporary_name(path), files.temporary_name(path)
    file.touch()
    (folder / "sub").mkdir(parents=True)
    (other := files.temporary_name(tmp_path / "store1")).touch()
    files.forget_leftovers(path)
    assert file.exists()
    assert folder.exists()
    path.touch()
    files.forget_leftovers(path)
    assert sorted(tmp_path.iterdir()) == [other, path]


def test_readers_find_one_directory_or_the_other_at_every_moment(tmp_path: Path) -> None:
    """While another thread puts one in the place of the other, over and over."""
    place, ended = tmp_path / "run", threading.Event()

    def made(name: str) -> Path:
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text("whole")
        return tmp_path / name

    made("run")
    if not files.exchange(place, made("other")):
        pytest.skip("names cannot be exchanged here")

    def write() -> None:
        for number in range(150):
            files.replace_directory(made(str(number)), place)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not ended.is_set() and writer.is_alive():
        assert (place / "text").exists()
    writer.join()
    assert ended.is_set()
    assert {path.name for path in tmp_path.iterdir()} == {"run", "other"}


def test_a_directory_stays_where_it_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exchanged, or moved out of the way and back."""
    (tmp_path / "run").mkdir()
    with pytest.raises(OSError):
        files.replace_directory(tmp_path / "nothing", tmp_path / "run")
    monkeypatch.setattr(files, "exchange", lambda one, other: False)
    with pytest.raises(OSError):
        files.replace_directory(tmp_path / "nothing", tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
