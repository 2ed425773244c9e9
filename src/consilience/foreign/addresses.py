"""Where the machine code of other packages' functions starts.

A function of ctypes, Numba or cffi, or a number in; its address with what keeps it alive out. What it computes stays
outside.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from consilience.errors import ModelError
from consilience.record import Record


class MachineCode(Record, eq=False):
    """Machine code of a user.

    `address`: where it starts. `name`: for messages. `kept`: the object that must live as long as the code is used.
    """

    address: int
    name: str
    kept: Any


def given(function: Any) -> MachineCode | None:
    """The machine code behind an object; None where it has none that is known.

    Raises ModelError for addresses that cannot be called: 0, or functions that need the interpreter's lock.
    """
    found = _address(function)
    if found is None:
        return None
    if found <= 0:
        raise ModelError(f"{function!r} is no address of a function; it must be a positive integer.")
    name = getattr(function, "__name__", None) or f"function at {type(function).__name__}"
    return MachineCode(found, name if isinstance(name, str) else type(function).__name__, function)


def _address(function: Any) -> int | None:
    if isinstance(function, bool):
        return None
    if isinstance(function, int):
        return function
    if isinstance(function, _FUNCTION):
        if function._flags_ & _NEEDS_LOCK:
            raise ModelError(
                f"{function!r} is a function of `ctypes.PyDLL`, which needs the interpreter's lock; open its library "
                "with `ctypes.CDLL`."
            )
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    if isinstance(function, ctypes.c_void_p):
        return function.value or 0
    kind = type(function)
    if kind.__module__ == "_cffi_backend":
        import cffi  # type: ignore[import-untyped]  # it has no stubs

        return int(cffi.FFI().cast("uintptr_t", function))
    if kind.__module__.split(".")[0] == "numba":
        address = getattr(function, "address", None)
        if not isinstance(address, int):
            raise ModelError(
                f"{function!r} has no address; compile it with `numba.cfunc`, with the signature "
                "`int32(CPointer(float64), CPointer(float64), CPointer(float64), voidptr)`."
            )
        return address
    return None


_NEEDS_LOCK: Final = 4  # FUNCFLAG_PYTHONAPI
_FUNCTION: Any = ctypes.CFUNCTYPE(None).__base__
