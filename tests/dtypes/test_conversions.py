"""Conversions between dtypes: every float16, roundings at ties, casts in a row."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends import llvm
from consilience.ir import tensor_input
from consilience.lower import half
from consilience.native.loops import Builder, Module, Value, f32, f64, i16, i64, ptr
from tests.dtypes.numbers import DTYPES, FLOATS, INTEGERS, Array, check, values
from tests.native.interpret import interpret

ALL_HALVES = np.arange(2**16, dtype="uint16").view("float16")


def between_halves() -> Array:
    """Every float16, the middle to the next one, and numbers just beside the middles, as float64."""
    finite = np.sort(ALL_HALVES[np.isfinite(ALL_HALVES)].astype("float64"))
    middle = (finite[1:] + finite[:-1]) / 2
    beyond = [65519.99, 65520.0, 65520.01, 1e6, 1e300, np.inf, np.nan, 2.0**-25, np.nextafter(2.0**-25, 1), 5e-324]
    sides = [np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
    return np.concatenate([finite, middle, *sides, beyond, np.negative(beyond)])


def test_every_float16_is_read_and_written() -> None:
    """Bit for bit; of NaN that it is one."""
    x = pt.tensor(dtype="float16", shape=(None,))
    wide, same = pt.function([x], [x.astype("float32"), x[::-1]])(ALL_HALVES)
    np.testing.assert_array_equal(wide, ALL_HALVES.astype("float32"))
    known = ~np.isnan(ALL_HALVES)
    np.testing.assert_array_equal(same[::-1].view("uint16")[known], ALL_HALVES.view("uint16")[known])
    assert np.isnan(same[::-1][~known]).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_are_rounded_once_to_the_nearest_float16(dtype: str) -> None:
    """Ties to even, small ones to multiples of the least, large ones to infinity: the bits of NumPy."""
    array = between_halves()
    with np.errstate(all="ignore"):
        array = array.astype(dtype)
        wanted = array.astype("float16")
    x = pt.tensor(dtype=dtype, shape=(None,))
    found = x.astype("float16").eval({x: array})
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(found.view("uint16")[known], wanted.view("uint16")[known])
    assert np.isnan(found[~known]).all()


@pytest.mark.parametrize("kind", [f64, f32])
def test_conversions_run_in_the_interpreter(kind: object) -> None:
    """The same instructions without machine code, on every 97th number."""
    array = between_halves()[::97].astype("float64" if kind is f64 else "float32")
    module = Module()
    b: Builder = module.function("convert", [("source", ptr), ("target", ptr), ("n", i64)], None)
    source, target, n = b.parameters
    with b.for_(0, n) as i:
        number: Value = b.load(f64 if kind is f64 else f32, b.offset(source, i, f64 if kind is f64 else f32))
        bits = half.narrowed(b, half.rounded(b, number))
        b.store(half.narrowed(b, half.widened(b, bits)), b.offset(target, i, i16))
    b.ret()
    result = np.zeros(len(array), "int16")
    interpret(module, "convert", array, result, len(array))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(result.view("float16"), array.astype("float16"))


def of_nan(target: str) -> Array:
    """What NaN becomes: the least number, which is no index; 0 in an unsigned type."""
    return np.array(np.iinfo(target).min, target)


def saturated(array: Array, target: str) -> Array:
    """A cast as it is meant here: NumPy's, but floats beyond an integer's range go to its end."""
    with np.errstate(all="ignore"):
        if array.dtype.kind != "f" or target not in INTEGERS:
            return array.astype(target)
        limits = np.iinfo(target)
        inside = np.isfinite(array) & (array > float(limits.min) - 1) & (array < float(limits.max))
        edges = np.where(array > 0, limits.max, limits.min).astype(target)
        return np.where(inside, array.astype(target), np.where(np.isnan(array), of_nan(target), edges))


@pytest.mark.parametrize("source", DTYPES)
def test_casts_in_a_row_are_taken_one_by_one(source: str) -> None:
    """Simplification leaves a cast out only where it loses nothing."""
    array = values(source, 60)
    x = pt.tensor(dtype=source, shape=(None,))
    rows = {f"{a} {b}": x.astype(a).astype(b) for a in DTYPES for b in DTYPES}
    for row, found in pt.function([x], rows, backend="reference")(array).items():
        first, second = row.split()
        check(f"{source} {row}", found, saturated(saturated(array, first), second), 0 if second in FLOATS else None)


@pytest.mark.parametrize("size", [3, 9, 17])
@pytest.mark.parametrize("source", DTYPES)
def test_nothing_is_written_beyond_the_end(source: str, size: int) -> None:
    """Conversions to every dtype, with bytes after the last element that must stay."""
    array = values(source, size)
    for target in DTYPES:
        x = tensor_input(source, (size,))
        compiled = llvm.Compiled([x], [x.astype(target)])
        entry = compiled.library.function("entry", ctypes.c_int64, *[ctypes.c_void_p] * 4)
        result = np.full(size * np.dtype(target).itemsize + 64, 0xA5, "uint8")
        inputs, outputs = np.array([array.ctypes.data], "uint64"), np.array([result.ctypes.data], "uint64")
        scratch = llvm.workspace_address(compiled.workspace)
        assert entry(inputs.ctypes.data, outputs.ctypes.data, scratch, compiled.bind().constants) == 0
        assert (result[-64:] == 0xA5).all(), target
