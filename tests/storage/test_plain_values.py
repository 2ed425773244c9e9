"""Plain values come back from bytes exactly, or are refused with their place."""

from __future__ import annotations

import enum
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from consilience.errors import StorageError
from consilience.output.storage.plain_values import pack, unpack

element_types = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes(endianness="?")
    | hnp.floating_dtypes(endianness="?")
    | hnp.complex_number_dtypes(endianness="?")
    | hnp.datetime64_dtypes(endianness="?")
    | hnp.unicode_string_dtypes(endianness="?", min_len=1, max_len=5)
    | hnp.byte_string_dtypes(min_len=1, max_len=5)
)
arrays = hnp.arrays(element_types, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | arrays,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text().filter(lambda key: key != "ndarray"), inner, max_size=4)
    ),
    max_leaves=12,
)


def same(first: Any, second: Any) -> bool:
    """Equal and of equal types, NaN equal to NaN, zeros by their signs, arrays by every bit."""
    if type(first) is not type(second):
        return False
    if isinstance(first, float):
        return struct.pack("<d", first) == struct.pack("<d", second) or (math.isnan(first) and math.isnan(second))
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    if isinstance(first, np.ndarray):
        kind = (first.dtype, first.dtype.byteorder, first.shape)
        return kind == (second.dtype, second.dtype.byteorder, second.shape) and first.tobytes() == second.tobytes()
    return bool(first == second)


@settings(deadline=None)
@given(values)
def test_values_come_back_exactly(value: Any) -> None:
    """Numbers of any size, NaN, infinities, text of any alphabet, arrays of every element type and shape."""
    assert same(unpack(pack(value)), value)


def test_arrays_may_be_written_to_and_are_in_c_order() -> None:
    """Transposed and strided views, too."""
    base = np.arange(24.0).reshape(4, 6)
    for array in (base.T, base[::2, ::-3], np.asfortranarray(base)):
        found = unpack(pack([array]))[0]
        np.testing.assert_array_equal(found, array)
        assert found.flags.c_contiguous
        assert found.flags.writeable


def test_records_keep_their_fields() -> None:
    """Fields with shapes and nested records."""
    inner = np.dtype([("a", "<i4"), ("b", "<f8", (2, 2))])
    array = np.zeros(4, np.dtype([("x", ">f4"), ("inner", inner, (3,)), ("name", "<U3")]))
    array["inner"]["b"] = np.arange(48.0).reshape(4, 3, 2, 2)
    array["name"] = "abc"
    assert same(unpack(pack({"records": array})), {"records": array})


def test_numpy_scalars_become_numbers() -> None:
    """Enumerations become their values and tuples lists."""

    class Choice(enum.IntEnum):
        FIRST = 1

    value = {"f": np.float64(0.1), "g": np.float32(0.1), "i": [np.int64(-5), np.bool_(True)], "t": (1, Choice.FIRST)}
    assert same(unpack(pack(value)), {"f": 0.1, "g": float(np.float32(0.1)), "i": [-5, True], "t": [1, 1]})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, {"b": object()}]}, r"\['a'\]\[1\]\['b'\] is a object; numbers, text, arrays of them"),
        ({"a": 1j}, r"\['a'\] is a complex"),
        ([b"bytes"], r"\[0\] is a bytes"),
        ({1, 2}, r"the value is a set"),
        ({"a": {1: 2}}, r"\['a'\] is a dictionary with the keys \[1\]"),
        ({"ndarray": 0}, r"the value is a dictionary with the keys \['ndarray'\]"),
        ([np.array([None, "x"])], r"\[0\] is an array of object"),
        ([np.zeros(2, dtype=[("x", "O")])], r"\[0\] is an array of \[\('x', 'O'\)\]"),
        ([np.array(["x"], dtype=np.dtypes.StringDType())], r"\[0\] is an array of StringDType"),
    ],
)
def test_values_that_cannot_be_kept_are_refused(value: object, message: str) -> None:
    """Nothing is converted with loss or pickled."""
    with pytest.raises(StorageError, match=message):
        pack(value)


def test_numbers_longer_than_floats_are_refused() -> None:
    """An extended float would lose digits."""
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("extended floats are doubles here")
    with pytest.raises(StorageError, match="is a longdouble"):
        pack(np.longdouble(1))
