"""A log of draws gives back exactly the blocks that count, or is refused with a reason."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pytest

from consilience.errors import SealError, StorageError
from consilience.storage import draw_log
from consilience.storage.draw_log import DrawLog
from consilience.storage.sealed import seal

RNG = np.random.default_rng(3)
BLOCKS = [
    {"draws": RNG.normal(size=(2, n, 3)), "diverging": RNG.integers(0, 2, size=(2, n)).astype(bool)} for n in (1, 4, 2)
]


def written(path: Path, count: int = 3) -> list[int]:
    """Write a log with some blocks; its lengths without blocks and after each."""
    with DrawLog.create(path, {"seed": 2**64 - 1}) as log:
        return [log.length] + [log.append(block) for block in BLOCKS[:count]]


def assert_blocks(log: DrawLog, expected: list[dict[str, npt.NDArray[np.generic]]], start: int | None = None) -> None:
    """The log has these blocks, bit by bit."""
    found = list(log.blocks(start))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert list(ours) == list(theirs)
        for name in theirs:
            assert ours[name].dtype == theirs[name].dtype
            np.testing.assert_array_equal(ours[name], theirs[name], strict=True)


def test_blocks_come_back_in_order(tmp_path: Path) -> None:
    """From the log that wrote them and from one opened later; the file has the recorded length."""
    path = tmp_path / "log"
    with DrawLog.create(path, {"seed": 2**64 - 1}) as log:
        assert list(log.blocks()) == []
        for count, block in enumerate(BLOCKS, 1):
            assert log.append(block) == path.stat().st_size
            assert_blocks(log, BLOCKS[:count])
        length = log.length
    with DrawLog.open(path, length) as log:
        assert log.header == {"seed": 2**64 - 1}
        assert_blocks(log, BLOCKS)


def test_what_lies_beyond_the_recorded_length_is_cut_off(tmp_path: Path) -> None:
    """Whole blocks and parts of one; the log then goes on as if they had never been."""
    for keep in range(4):
        for extra in (0, 1, 100):
            path = tmp_path / f"log{keep}{extra}"
            lengths = written(path)
            with open(path, "ab") as file:
                file.write(b"x" * extra)
            with DrawLog.open(path, lengths[keep]) as log:
                assert path.stat().st_size == lengths[keep]
                assert_blocks(log, BLOCKS[:keep])
                log.append(BLOCKS[0])
                assert_blocks(log, [*BLOCKS[:keep], BLOCKS[0]])


def test_blocks_can_be_read_from_a_recorded_length_on(tmp_path: Path) -> None:
    """Such as the one before the draws that count."""
    lengths = written(tmp_path / "log")
    with DrawLog.open(tmp_path / "log", lengths[-1]) as log:
        for count, length in enumerate(lengths):
            assert_blocks(log, BLOCKS[count:], length)
        with pytest.raises(SealError, match="is outside"):
            list(log.blocks(lengths[-1] + 1))
        with pytest.raises(SealError, match=r"is truncated|is damaged"):
            list(log.blocks(lengths[1] + 1))


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    """A file shorter than the recorded length is not changed."""
    path = tmp_path / "log"
    length = written(path)[-1]
    contents = path.read_bytes()
    for size in range(length):
        path.write_bytes(contents[:size])
        with pytest.raises(SealError, match="is truncated"):
            DrawLog.open(path, length)
        assert path.read_bytes() == contents[:size]


def test_every_recorded_length_but_the_ends_of_blocks_is_refused(tmp_path: Path) -> None:
    """A length that no `append` returned belongs to another file; nothing is cut off then."""
    path = tmp_path / "log"
    lengths = written(path)
    contents = path.read_bytes()
    for keep in set(range(-1, lengths[-1] + 3)) - set(lengths):
        with pytest.raises(SealError, match="is truncated"):
            DrawLog.open(path, keep)
        assert path.read_bytes() == contents


def test_every_flipped_bit_is_refused(tmp_path: Path) -> None:
    """Among the bytes that count; beyond them it does not matter."""
    path = tmp_path / "log"
    lengths = written(path, 2)
    contents = bytearray(path.read_bytes())
    for bit in range(8 * lengths[1]):
        contents[bit // 8] ^= 1 << bit % 8
        path.write_bytes(contents)
        with pytest.raises(SealError, match="is damaged" if bit >= 64 else "first bytes are others"):
            DrawLog.open(path, lengths[1])
        assert path.read_bytes() == contents
        contents[bit // 8] ^= 1 << bit % 8
    contents[lengths[1] + 5] ^= 1
    path.write_bytes(contents)
    with DrawLog.open(path, lengths[1]) as log:
        assert_blocks(log, BLOCKS[:1])


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Sealed files too, by name."""
    seal(tmp_path / "sealed", {}, {})
    with pytest.raises(SealError, match="another kind of file of this library: SEAL instead of DRAW"):
        DrawLog.open(tmp_path / "sealed", 10)
    (tmp_path / "text").write_text("some text that is long enough")
    with pytest.raises(SealError, match="is not a file of this library"):
        DrawLog.open(tmp_path / "text", 10)
    with pytest.raises(SealError, match="does not exist"):
        DrawLog.open(tmp_path / "none", 10)


def test_another_log_is_replaced_only_if_asked(tmp_path: Path) -> None:
    """And the one there stays whole until then."""
    path = tmp_path / "log"
    lengths = written(path)
    with pytest.raises(StorageError, match="overwrite=True replaces it"):
        DrawLog.create(path, {})
    with DrawLog.open(path, lengths[-1]) as log:
        assert_blocks(log, BLOCKS)
    with DrawLog.create(path, {"new": 1}, overwrite=True) as log:
        assert log.header == {"new": 1}
        assert list(log.blocks()) == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["log"]


def test_arrays_of_objects_are_refused(tmp_path: Path) -> None:
    """Nothing is written then."""
    with DrawLog.create(tmp_path / "log", {}) as log:
        before = log.append(BLOCKS[0])
        with pytest.raises(SealError, match="not made of bytes alone"):
            log.append({"x": np.array([None])})
        assert log.length == before == (tmp_path / "log").stat().st_size


@pytest.mark.parametrize("piece", range(5))
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_blocks_before_a_failure_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, code: int
) -> None:
    """Whichever write fails half-way; the next block is then appended as if nothing had been."""
    path = tmp_path / "log"
    calls = 0

    def fail(file: BinaryIO, contents: bytes) -> None:
        nonlocal calls
        calls += 1
        if calls <= piece:
            file.write(contents)
            return
        file.write(contents[: len(contents) // 2])
        raise OSError(code, os.strerror(code))

    with DrawLog.create(path, {}) as log:
        log.append(BLOCKS[0])
        with monkeypatch.context() as patched:
            patched.setattr(draw_log, "write_all", fail)
            with pytest.raises(StorageError, match="the blocks appended before are kept"):
                log.append(BLOCKS[1])
        assert path.stat().st_size == log.length
        assert_blocks(log, BLOCKS[:1])
        log.append(BLOCKS[2])
        assert_blocks(log, [BLOCKS[0], BLOCKS[2]])


WRITER = """
import sys
import numpy as np
from consilience.storage.draw_log import DrawLog
log = DrawLog.create(sys.argv[1], {}, overwrite=True)
number = 0
while True:
    number += 1
    print(log.append({"values": np.full(5_000, number)}), flush=True)
"""


def test_a_killed_writer_keeps_every_block_it_had_recorded(tmp_path: Path) -> None:
    """Killed at arbitrary moments while it appends."""
    path = tmp_path / "log"
    for seconds in np.random.default_rng(6).uniform(0.0, 0.03, size=4):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        with process, process.stdout:
            lengths = [int(process.stdout.readline())]
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
            lengths += [int(line) for line in process.stdout if line.endswith("\n")]
        with DrawLog.open(path, lengths[-1]) as log:
            blocks = list(log.blocks())
        assert len(blocks) == len(lengths)
        for number, block in enumerate(blocks, 1):
            assert (block["values"] == number).all()
