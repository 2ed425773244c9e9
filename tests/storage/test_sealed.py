"""Sealed files come back exactly, or are refused with a reason."""

from __future__ import annotations

import enum
import errno
import json
import math
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from consilience.errors import SealError, StorageError
from consilience.storage import files, sealed
from consilience.storage.sealed import seal, unseal

HEADER = {"seed": 2**64 - 1, "step": 0.1, "names": ["mu", "τ"], "flag": True, "none": None}
ARRAYS = {"state": np.arange(6.0).reshape(2, 3), "count": np.array(7, dtype=np.int64)}

plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
element_types = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes(endianness="?")
    | hnp.floating_dtypes(endianness="?")
    | hnp.complex_number_dtypes(endianness="?")
    | hnp.datetime64_dtypes(endianness="?")
    | hnp.unicode_string_dtypes(endianness="?", min_len=1, max_len=5)
    | hnp.byte_string_dtypes(min_len=1, max_len=5)
)
arrays_of_bytes = hnp.arrays(element_types, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))


def same(first: object, second: object) -> bool:
    """Equal and of equal types, NaN equal to NaN, zeros by their signs."""
    if type(first) is not type(second):
        return False
    if isinstance(first, float) and isinstance(second, float):
        return struct.pack("<d", first) == struct.pack("<d", second) or (math.isnan(first) and math.isnan(second))
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    return first == second


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(header=st.dictionaries(st.text(), plain_values, max_size=5))
def test_header_comes_back_exactly(tmp_path: Path, header: dict[str, Any]) -> None:
    """Numbers of any size, NaN, infinities and text of any alphabet."""
    seal(tmp_path / "file", header, {})
    found, arrays = unseal(tmp_path / "file")
    assert same(found, header)
    assert arrays == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(arrays=st.dictionaries(st.text(), arrays_of_bytes, max_size=4))
def test_arrays_come_back_exactly(tmp_path: Path, arrays: dict[str, Any]) -> None:
    """Every bit, element type, byte order and shape; in C order, and free to be written to."""
    seal(tmp_path / "file", {}, arrays)
    _, found = unseal(tmp_path / "file")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].dtype.byteorder == array.dtype.byteorder
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()
        assert found[name].flags.c_contiguous
        assert found[name].flags.writeable


def test_memory_order_does_not_matter(tmp_path: Path) -> None:
    """Transposed and strided views come back in C order with their values."""
    base = np.arange(24.0).reshape(4, 6)
    seal(tmp_path / "file", {}, {"transposed": base.T, "strided": base[::2, ::-3]})
    _, found = unseal(tmp_path / "file")
    np.testing.assert_array_equal(found["transposed"], base.T)
    np.testing.assert_array_equal(found["strided"], base[::2, ::-3])


def test_records_keep_their_fields(tmp_path: Path) -> None:
    """Fields with shapes, nested records and gaps between fields."""
    inner = np.dtype([("a", "<i4"), ("b", "<f8", (2, 2))])
    dtype = np.dtype([("x", ">f4"), ("inner", inner, (3,)), ("name", "<U3")], align=True)
    array = np.zeros(4, dtype)
    array["inner"]["b"] = np.arange(48.0).reshape(4, 3, 2, 2)
    array["name"] = "abc"
    seal(tmp_path / "file", {}, {"records": array})
    found = unseal(tmp_path / "file")[1]["records"]
    assert found.dtype.names == dtype.names
    assert (found == array).all()


def test_numpy_scalars_become_numbers(tmp_path: Path) -> None:
    """Also within lists; enumerations become their values and tuples lists."""

    class Choice(enum.IntEnum):
        FIRST = 1

    header = {"f": np.float64(0.1), "g": np.float32(0.1), "i": [np.int64(-5), np.bool_(True)], "t": (1, Choice.FIRST)}
    seal(tmp_path / "file", header, {})
    assert same(unseal(tmp_path / "file")[0], {"f": 0.1, "g": float(np.float32(0.1)), "i": [-5, True], "t": [1, 1]})


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"a": [1, {"b": object()}]}, {}, r"the header\['a'\]\[1\]\['b'\] is a object"),
        ({"a": np.zeros(3)}, {}, "arrays are given by name beside it"),
        ({"a": 1j}, {}, "is a complex"),
        ({"a": b"bytes"}, {}, "is a bytes"),
        ({"a": {1: 2}}, {}, r"the header\['a'\] has the key 1; keys must be text"),
        ({}, {"a": np.array([None, "x"])}, "array 'a' has element type object"),
        ({}, {"a": np.zeros(2, dtype=[("x", "O")])}, "not made of bytes alone"),
        ({}, {"a": np.array(["x"], dtype=np.dtypes.StringDType())}, "not made of bytes alone"),
        ({}, {"a": np.zeros(2, dtype=[])}, "not made of bytes alone"),
    ],
)
def test_contents_that_cannot_be_kept_are_refused(
    tmp_path: Path, header: dict[str, Any], arrays: dict[str, Any], message: str
) -> None:
    """Nothing is converted with loss or pickled, and the file before stays."""
    seal(tmp_path / "file", HEADER, ARRAYS)
    with pytest.raises(SealError, match=message):
        seal(tmp_path / "file", header, arrays)
    assert unseal(tmp_path / "file")[0] == HEADER


def test_numbers_longer_than_floats_are_refused(tmp_path: Path) -> None:
    """An extended float would lose digits."""
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("extended floats are doubles here")
    with pytest.raises(SealError, match="no Python number holds exactly"):
        seal(tmp_path / "file", {"a": np.longdouble(1)}, {})


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    """Whatever the byte at which the file ends, the error says that it is truncated."""
    path = tmp_path / "file"
    seal(path, HEADER, ARRAYS)
    contents = path.read_bytes()
    for length in range(len(contents)):
        path.write_bytes(contents[:length])
        with pytest.raises(SealError, match=r"file'.* is truncated"):
            unseal(path)
        assert path.read_bytes() == contents[:length]
    path.write_bytes(contents)
    assert unseal(path)[0] == HEADER


def test_every_flipped_bit_is_refused(tmp_path: Path) -> None:
    """One bit anywhere; the error says that the file is damaged, or none of ours."""
    path = tmp_path / "file"
    seal(path, HEADER, ARRAYS)
    contents = bytearray(path.read_bytes())
    for bit in range(8 * len(contents)):
        contents[bit // 8] ^= 1 << bit % 8
        path.write_bytes(contents)
        with pytest.raises(SealError, match="is damaged" if bit >= 64 else "first bytes are others"):
            unseal(path)
        contents[bit // 8] ^= 1 << bit % 8


def test_bytes_after_the_end_are_refused(tmp_path: Path) -> None:
    """A file that grew was changed by something else."""
    path = tmp_path / "file"
    seal(path, HEADER, ARRAYS)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(SealError, match="is damaged: 1 bytes follow its end"):
        unseal(path)


@pytest.mark.parametrize("contents", [b"x", b"PK\x03\x04" * 20, b"\x93NUMPY\x01\x00" * 9, json.dumps(HEADER).encode()])
def test_other_files_are_refused(tmp_path: Path, contents: bytes) -> None:
    """They are told from our own by their first bytes, and left alone."""
    path = tmp_path / "file"
    path.write_bytes(contents)
    with pytest.raises(SealError, match="is not a file of this library"):
        unseal(path)
    assert path.read_bytes() == contents


def test_newer_versions_are_refused(tmp_path: Path) -> None:
    """The error names both versions."""
    path = tmp_path / "file"
    seal(path, HEADER, ARRAYS)
    start = struct.pack("<8s4sI", sealed.MARK, b"SEAL", sealed.VERSION + 1)
    path.write_bytes(start + struct.pack("<I", zlib.crc32(start)) + path.read_bytes()[sealed.OPENING.size :])
    with pytest.raises(SealError, match="has format version 2, and this library reads up to 1"):
        unseal(path)


def test_missing_files_and_directories_are_refused(tmp_path: Path) -> None:
    """By what they are."""
    with pytest.raises(SealError, match="does not exist"):
        unseal(tmp_path / "none")
    with pytest.raises(SealError, match="could not be read"):
        unseal(tmp_path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """With the reason and what to do."""
    with pytest.raises(StorageError, match=r"none.file' could not be written .*the directory .*none' must exist"):
        seal(tmp_path / "none" / "file", HEADER, ARRAYS)
    (tmp_path / "directory").mkdir()
    with pytest.raises(StorageError, match=r"directory' could not be written"):
        seal(tmp_path / "directory", HEADER, ARRAYS)
    assert [entry.name for entry in tmp_path.iterdir()] == ["directory"]


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_what_was_there_is_kept_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    """Whichever call fails; no temporary file stays."""
    path = tmp_path / "file"
    seal(path, HEADER, ARRAYS)

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        if call == "open":
            patched.setattr(files, "open", fail, raising=False)
        else:
            patched.setattr(files.os, call, fail)
        with pytest.raises(StorageError, match="what was there before is kept") as caught:
            seal(path, {"new": 1}, {})
    advice = {errno.ENOSPC: "free some space", errno.EACCES: "permissions", errno.EIO: "name another"}
    assert advice[code] in str(caught.value)
    assert unseal(path)[0] == HEADER
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


WRITER = """
import sys
import numpy as np
from consilience.storage.sealed import seal
number = 0
while True:
    number += 1
    seal(sys.argv[1], {"number": number}, {"values": np.full(20_000, number)})
    if number == 3:
        print(flush=True)
"""


def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    """Killed at arbitrary moments while it replaces the file over and over."""
    path = tmp_path / "file"
    wait = np.random.default_rng(5).uniform(0.0, 0.02, size=4)
    for seconds in wait:
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        with process, process.stdout:
            process.stdout.readline()
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
        header, arrays = unseal(path)
        assert header["number"] >= 3
        assert (arrays["values"] == header["number"]).all()
    files.forget_leftovers(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
