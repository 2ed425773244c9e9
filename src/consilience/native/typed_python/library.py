"""Native functions as machine code.

In: native functions. Out: a loaded library, and callables that take Python values. Outside: translation,
loading and the cache on disk (`jit`).
"""

from __future__ import annotations

import ctypes
from _ctypes import CFuncPtr
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from consilience.errors import NativeError
from consilience.native.mathematics import LIBRARY
from consilience.native.own_code import load_own
from consilience.native.typed_python.function import NativeFunction, compilers
from consilience.native.typed_python.native_types import NativeType, u64
from consilience.native.typed_python.records import pointer, signed

if TYPE_CHECKING:
    from consilience.native.jit import Library

CTYPES: Final[dict[str, Any]] = {
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "i8": ctypes.c_int8,
    "u64": ctypes.c_uint64,
    "boolean": ctypes.c_bool,
    "none": None,
}


def compile_native(
    functions: Iterable[NativeFunction[..., Any]] = (),
    exports: Mapping[str, NativeFunction[..., Any]] | None = None,
) -> Library:
    """Compile native functions, and all they call, into one library.

    Each of `functions` is exported under its own name, each of `exports` under the name given. Calls follow
    the C convention: numbers by value, arrays, records and functions as addresses; a function that returns a
    tuple returns nothing and takes one more argument, the address of an 8-byte slot per result.
    """
    named = {function.name: function for function in functions}
    named.update(exports or {})
    if not named:
        raise NativeError("compile_native needs at least one function")
    if len(set(map(id, named.values()))) != len(named):
        raise NativeError(f"one function is exported under two names: {', '.join(named)}")
    return load_own(named, imports=LIBRARY)


class NativeLibrary:
    """A native function as machine code, callable with Python values.

    Arrays go in as NumPy arrays, records as instances, functions as native or compiled functions or
    as addresses. The interpreter's lock is released during the call.
    """

    def __init__(self, function: NativeFunction[..., Any]) -> None:
        self.function = function
        self.name = function.name
        self.parameters, self.result = function.signature
        self.library = compile_native([function])
        self.address = self.library.address(function.name)
        types = [CTYPES.get(t.kind, ctypes.c_void_p) for t in self.parameters.values()]
        restype = CTYPES.get(self.result.kind, ctypes.c_void_p)
        if self.result.kind == "tuple":
            types.append(ctypes.c_void_p)
            restype = None
        self._call = self.library.function(function.name, restype, *types)
        self._conversions = tuple(_conversion(name, t) for name, t in self.parameters.items())

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.function, "compiled")

    def __call__(self, *args: Any) -> Any:
        if len(args) != len(self._conversions):
            raise TypeError(f"{self.name} takes {len(self._conversions)} arguments, got {len(args)}")
        values = [convert(a) for convert, a in zip(self._conversions, args, strict=True)]
        if self.result.kind != "tuple":
            result = self._call(*values)
            return u64(result) if self.result.kind == "u64" else result
        slots = (ctypes.c_int64 * len(self.result.parameters))()
        self._call(*values, ctypes.addressof(slots))
        return tuple(_from_slot(slots[k], t) for k, t in enumerate(self.result.parameters))


def _conversion(name: str, type_: NativeType) -> Callable[[Any], Any]:
    if type_.kind == "u64":
        return lambda value: int(value) & ((1 << 64) - 1)
    if type_.kind == "i64":
        return lambda value: signed(value.__index__())
    if type_.kind in CTYPES:
        return lambda value: value
    if type_.kind == "function":
        return lambda value: _address(name, value)
    return lambda value: pointer(value, type_, f"argument `{name}`")


def _address(name: str, value: Any) -> int:
    if isinstance(value, NativeFunction):
        return value.compiled.address
    if isinstance(value, int):
        return value
    if isinstance(value, CFuncPtr):
        return ctypes.cast(value, ctypes.c_void_p).value or 0
    address = getattr(value, "address", None)
    if isinstance(address, int):
        return address
    raise NativeError(
        f"argument `{name}` needs a function that machine code can call (a @native function, a ctypes "
        f"function or an address), got {type(value).__name__}"
    )


def _from_slot(bits: int, type_: NativeType) -> Any:
    match type_.kind:
        case "f64":
            return ctypes.c_double.from_buffer(ctypes.c_int64(bits)).value
        case "boolean":
            return bool(bits)
        case "u64":
            return u64(bits)
        case "i64":
            return bits
        case _:
            return cast("Any", bits & ((1 << 64) - 1))


compilers.append(NativeLibrary)
