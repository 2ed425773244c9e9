"""Typed Python: a subset of Python that runs under CPython and compiles to machine code.

Enters: functions under `@native` and classes under `@record`, annotated with the types exported here. Leaves:
the same objects, callable from Python and compiled by `compile_native`. Outside: tensors and graphs.
"""

from consilience.native.typed_python.function import NativeFunction, native
from consilience.native.typed_python.library import Compiled, compile_native
from consilience.native.typed_python.native_types import (
    Array,
    Function,
    boolean,
    f32,
    f64,
    i8,
    i32,
    i64,
    stack,
    u64,
)
from consilience.native.typed_python.records import Record, address, record

__all__ = [
    "Array",
    "Compiled",
    "Function",
    "NativeFunction",
    "Record",
    "address",
    "boolean",
    "compile_native",
    "f32",
    "f64",
    "i8",
    "i32",
    "i64",
    "native",
    "record",
    "stack",
    "u64",
]
