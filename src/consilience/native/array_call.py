"""An entry as a function of Python's arrays, without Python in between: what a call of a small function costs least.

In: an entry with its constants, and dtypes and shapes of what it reads and writes. Out: a built-in function of arrays
and numbers, which gives None for arguments of any other kind. Outside: conversions, errors, scratch memory beyond a few
kilobytes. It reads fields of arrays where CPython and NumPy promise them; `possible` says whether they are there.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, TypeAlias

import numpy as np

from consilience.native.capsule import capsule_pointer
from consilience.native.loops import Builder, Module, Value, i8, i32, i64, ptr
from consilience.native.own_code import load_program

Layout: TypeAlias = Sequence[tuple[np.dtype[Any], tuple[int, ...]]]

MOST_ARRAYS: Final = 32
"""Arrays that an entry may read, and that it may write."""
SCRATCH: Final = 1 << 13
"""Bytes of memory that are there for an entry."""
LARGEST: Final = 1 << 22
"""Bytes of a result; larger ones are allocated where a shortage of memory has a message of its own."""

# Bytes before the fields of an object, of an array (the start of `PyArrayObject_fields`), of a number and of what
# NumPy's table of functions has.
_KIND, _DATA, _RANK, _LENGTHS, _DTYPE, _FLAGS, _NUMBER, _NEW = 8, 16, 24, 32, 56, 64, 16, 93
_PLAIN: Final = 0x101  # rows one after the other, and where numbers of the dtype may be
# Words of the record before those of inputs, and of one array.
_HEAD, _ROW = 12, 4
_FASTCALL = 0x80


class _Record(np.ndarray[Any, np.dtype[np.int64]]):
    """What the code knows of an entry, with all that lives as long as it does."""

    kept: object


class _Definition(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


@functools.cache
def possible() -> bool:
    """Whether objects of this interpreter and arrays of this NumPy have their fields where the code reads them."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    array, number = np.arange(6.0).reshape(2, 3), 0.5
    word, half = ctypes.c_int64.from_address, ctypes.c_int32.from_address
    at = id(array)
    return (
        word(at + _KIND).value == id(type(array))
        and word(at + _DATA).value == array.ctypes.data
        and half(at + _RANK).value == array.ndim
        and [word(word(at + _LENGTHS).value + 8 * k).value for k in range(2)] == [2, 3]
        and word(at + _DTYPE).value == id(array.dtype) == id(np.dtype("float64"))
        and half(at + _FLAGS).value == array.flags.num
        and all(ctypes.c_double.from_address(id(x) + _NUMBER).value == 0.5 for x in (number, np.float64(number)))
    )


def array_call(
    entry: int, constants: int, workspace: int, inputs: Layout, outputs: Layout, one: bool, kept: object
) -> Callable[..., Any] | None:
    """A function of arrays: the result of an entry, a list of them, or None where the arguments are of another kind.

    entry, constants, workspace   as of `registry.Bound`
    inputs, outputs   dtypes and shapes; arguments have exactly these, in C order. A float will do for a float64
    one               whether the only result is given, rather than a list
    kept              what lives as long as the function
    returns           None where there are too many arrays, or too large ones. The function gives the status of the
                      entry, a whole number, in place of results, where it is not 0
    """
    largest = max((d.itemsize * int(np.prod(shape, dtype=float)) for d, shape in outputs), default=0)
    many = max(len(inputs), len(outputs)) > MOST_ARRAYS
    if many or workspace > SCRATCH or largest > LARGEST or not outputs or not possible():
        return None
    arrays = [*inputs, *outputs]
    lengths = [length for _, shape in arrays for length in shape]
    first = _HEAD + _ROW * len(arrays)
    record = np.zeros(first + len(lengths) + 1, np.int64).view(_Record)
    start = record.ctypes.data
    dtypes = [np.dtype(dtype) for dtype, _ in arrays]
    record.kept = kept, dtypes
    record[first:-1] = lengths
    kinds = [id(np.ndarray), id(float), id(np.float64)]
    record[:_HEAD] = [entry, constants, len(inputs), len(outputs), int(one), *kinds, _new_array(), id(None), 0, 0]
    for k, (dtype, (_, shape)) in enumerate(zip(dtypes, arrays, strict=True)):
        number = k < len(inputs) and not shape and dtype == np.float64
        told = number if k < len(inputs) else dtype.num
        record[_HEAD + _ROW * k :][:_ROW] = [id(dtype), len(shape), start + 8 * first, told]
        first += len(shape)
    made = ctypes.pythonapi.PyCFunction_NewEx
    made.restype, made.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    function: Callable[..., Any] = made(ctypes.addressof(_definition()), record, None)
    return function


@functools.cache
def _new_array() -> int:
    """The address of NumPy's `PyArray_New`."""
    table = capsule_pointer(import_module("numpy._core._multiarray_umath")._ARRAY_API, None)
    return ctypes.c_int64.from_address(table + 8 * _NEW).value


@functools.cache
def _definition() -> _Definition:
    library = load_program(["array_call"], _program)
    made = _Definition(b"array_call", library.address("array_call"), _FASTCALL, None)
    made.library = library
    return made


def _program() -> Module:
    module = Module()
    b = module.function("array_call", [("self", ptr), ("arguments", ptr), ("given", i64)], ptr)
    own, arguments, given = b.parameters

    def field(of: Value, at: int, kind: Any = ptr) -> Value:
        return b.load(kind, b.offset(of, b.const(i64, at), i8))

    record = field(own, _DATA)

    def word(k: int, kind: Any = i64) -> Value:
        return field(record, 8 * k, kind)

    entry, constants, inputs, outputs, one = word(0, ptr), word(1, ptr), word(2), word(3), word(4)
    array, number, numpy_number, make, none = word(5), word(6), word(7), word(8, ptr), word(9, ptr)
    null = b.bitcast(b.const(i64, 0), ptr)
    ins, outs, made = (b.stack(ptr, MOST_ARRAYS) for _ in range(3))
    scratch = b.stack(i8, SCRATCH)

    with b.if_(b.cmp("ne", given, inputs)):
        _another_kind(b, none)
    with b.for_(0, inputs) as k:
        value = b.load(ptr, b.offset(arguments, k, ptr))
        row = b.offset(record, b.add(b.mul(k, b.const(i64, 8 * _ROW)), b.const(i64, 8 * _HEAD)), i8)
        kind = field(value, _KIND, i64)
        with b.if_(b.cmp("eq", kind, array)):
            plain = b.and_(field(value, _FLAGS, i32), b.const(i32, _PLAIN))
            rank = b.cast(field(value, _RANK, i32), i64)
            wrong = b.variable(b.cmp("ne", plain, b.const(i32, _PLAIN)))
            b.set(wrong, b.or_(b.get(wrong), b.cmp("ne", field(value, _DTYPE, i64), field(row, 0, i64))))
            b.set(wrong, b.or_(b.get(wrong), b.cmp("ne", rank, field(row, 8, i64))))
            with b.if_(b.get(wrong)):
                _another_kind(b, none)
            theirs, ours = field(value, _LENGTHS), field(row, 16)
            with b.for_(0, rank) as axis:
                length, wanted = (b.load(i64, b.offset(of, axis, i64)) for of in (theirs, ours))
                with b.if_(b.cmp("ne", length, wanted)):
                    _another_kind(b, none)
            b.store(field(value, _DATA), b.offset(ins, k, ptr))
        with b.else_():
            known = b.or_(b.cmp("eq", kind, number), b.cmp("eq", kind, numpy_number))
            with b.if_(b.not_(b.and_(known, b.cmp("ne", field(row, 24, i64), b.const(i64, 0))))):
                _another_kind(b, none)
            b.store(b.offset(value, b.const(i64, _NUMBER), i8), b.offset(ins, k, ptr))

    results = b.offset(record, b.add(b.mul(inputs, b.const(i64, 8 * _ROW)), b.const(i64, 8 * _HEAD)), i8)
    zero = b.const(i32, 0)
    with b.for_(0, outputs) as k:
        row = b.offset(results, b.mul(k, b.const(i64, 8 * _ROW)), i8)
        rank, dtype = b.cast(field(row, 8, i64), i32), b.cast(field(row, 24, i64), i32)
        kind = b.bitcast(array, ptr)
        new = b.call_pointer(make, ptr, kind, rank, field(row, 16), dtype, null, null, zero, zero, null)
        with b.if_(b.cmp("eq", b.bitcast(new, i64), b.const(i64, 0))):
            _let_go(b, made, k)
            b.ret(null)
        b.store(new, b.offset(made, k, ptr))
        b.store(field(new, _DATA), b.offset(outs, k, ptr))

    thread = b.call("PyEval_SaveThread", ptr)
    status = b.call_pointer(entry, i64, ins, outs, scratch, constants)
    b.call("PyEval_RestoreThread", None, thread)
    with b.if_(b.cmp("ne", status, b.const(i64, 0))):
        _let_go(b, made, outputs)
        b.ret(b.call("PyLong_FromLongLong", ptr, status))
    with b.if_(b.cmp("ne", one, b.const(i64, 0))):
        b.ret(b.load(ptr, made))
    listed = b.call("PyList_New", ptr, outputs)
    with b.if_(b.cmp("eq", b.bitcast(listed, i64), b.const(i64, 0))):
        _let_go(b, made, outputs)
        b.ret(null)
    with b.for_(0, outputs) as k:
        b.call("PyList_SetItem", i32, listed, k, b.load(ptr, b.offset(made, k, ptr)))
    b.ret(listed)
    return module


def _another_kind(b: Builder, none: Value) -> None:
    b.call("Py_IncRef", None, none)
    b.ret(none)


def _let_go(b: Builder, made: Value, count: Value) -> None:
    with b.for_(0, count) as k:
        b.call("Py_DecRef", None, b.load(ptr, b.offset(made, k, ptr)))
