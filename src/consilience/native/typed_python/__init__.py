"""Typed Python: a subset of Python that runs under CPython and compiles to machine code.

Enters: functions under `@native` and classes under `@record`, annotated with the types exported here.
Leaves: the same objects, callable from Python, and their machine code. Outside: tensors and graphs.

Types: f64 i64 u64 boolean; f32 i32 i8 as elements of arrays and as parameters (they widen to f64 or i64
when read and are rounded or wrapped when written); `Array[element]`, `FunctionPointer[[...], result]`, record
classes, and `tuple[...]` as the result of a function.

Statements: assignment to names, elements, fields and tuples of these; augmented assignment; if, while, for
over range (whose step is a literal) or simd (turns side by side), break, continue, return, pass, calls.
Expressions: numbers, arithmetic, comparisons, and/or/not, bit operations, `x if c else y`, `a[i]`, `a[start:]`,
fields, conversions such as i64(x), abs, min, max, `stack(f64, 8)`, functions of
`consilience.native.mathematics`, other native functions, function values. Globals may be numbers, native
functions, and modules that hold these.

A name has one type in the whole function, that of its first assignment; write 0.0 for a sum of floats. An
integer becomes f64 where one is needed; nothing else is converted silently.

Both worlds agree in every bit, but for what follows.

* i64: Python's integers do not overflow, the machine's wrap. Keep them in range, mask them, or use u64, which
  counts modulo 2**64 in both worlds. `//` and `%` round down in both.
* Division of floats by zero raises under CPython (or warns, for numbers read from arrays) and gives infinity
  or NaN natively: `mathematics.divide` gives the latter in both.
* Division of integers by zero, shifts by 64 or more, and indices outside an array are errors that machine
  code does not notice.
* Elements read from arrays are NumPy numbers under CPython: write u64(a[i]) or f64(a[i]) before arithmetic
  on elements that are not f64 or i64.
* Sums in `for i in simd(n)` are added up in eight parts, and `@native(contract=True)` lets products and sums
  fuse; both change the last bits.
"""

from consilience.native.typed_python.function import NativeFunction, native
from consilience.native.typed_python.library import NativeLibrary, compile_native
from consilience.native.typed_python.native_types import (
    Array,
    FunctionPointer,
    boolean,
    f32,
    f64,
    i8,
    i32,
    i64,
    simd,
    stack,
    u64,
)
from consilience.native.typed_python.records import NativeRecord, address, record

__all__ = [
    "Array",
    "FunctionPointer",
    "NativeFunction",
    "NativeLibrary",
    "NativeRecord",
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
    "simd",
    "stack",
    "u64",
]
