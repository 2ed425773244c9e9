"""The names with which typed Python says its types, and what they do under CPython.

In: annotations of `@native` functions and `@record` classes. Out: `NativeType` values for the translator, and
callables (`i64(x)`, `u64(x)`) that convert exactly as the machine does. Outside: translation itself.
"""

from __future__ import annotations

import math
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_origin,
    overload,
)

import numpy as np

from consilience.errors import NativeError
from consilience.native import program
from consilience.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable as FunctionPointer

__all__ = [
    "Array",
    "FunctionPointer",
    "NativeType",
    "boolean",
    "f32",
    "f64",
    "i8",
    "i32",
    "i64",
    "native_type",
    "simd",
    "stack",
    "u64",
]

Element = TypeVar("Element")


class NativeType(Record):
    """A type of typed Python.

    `kind`: f64 f32 i64 i32 i8 u64 boolean, array (of `element`), function (`parameters` -> `result`), record
    (`record` is the class), tuple (of `parameters`), none.
    """

    kind: str
    element: NativeType | None = None
    parameters: tuple[NativeType, ...] = ()
    result: NativeType | None = None
    record: type | None = None

    def __str__(self) -> str:
        match self.kind:
            case "array":
                return f"Array[{self.element}]"
            case "function":
                return f"FunctionPointer[[{', '.join(map(str, self.parameters))}], {self.result}]"
            case "record":
                return "record" if self.record is None else self.record.__name__
            case "tuple":
                return f"tuple[{', '.join(map(str, self.parameters))}]"
            case _:
                return self.kind

    @property
    def register(self) -> program.Type:
        """The type of a register that holds such a value."""
        return REGISTERS.get(self.kind, program.ptr)

    @property
    def number(self) -> bool:
        return self.kind in NUMBERS


REGISTERS: Final = {
    "f64": program.f64,
    "f32": program.f32,
    "i64": program.i64,
    "i32": program.i32,
    "i8": program.i8,
    "u64": program.i64,
    "boolean": program.i1,
    "none": program.void,
}
NUMBERS: Final = frozenset({"f64", "f32", "i64", "i32", "i8", "u64"})
F64: Final = NativeType("f64")
F32: Final = NativeType("f32")
I64: Final = NativeType("i64")
I32: Final = NativeType("i32")
I8: Final = NativeType("i8")
U64: Final = NativeType("u64")
BOOLEAN: Final = NativeType("boolean")
NONE: Final = NativeType("none")
DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i8": np.dtype(np.int8),
    "u64": np.dtype(np.uint64),
    "boolean": np.dtype(np.bool_),
}
MASK: Final = (1 << 64) - 1


def _signed(x: Any, bits: int) -> int:
    """`x` as the machine converts it: floats saturate and NaN gives 0, integers keep their low bits."""
    if isinstance(x, (float, np.floating)):
        if math.isnan(x):
            return 0
        limit = 1 << (bits - 1)
        return -limit if x <= -limit else limit - 1 if x >= limit else int(x)
    low = int(x) & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


if TYPE_CHECKING:
    f64: TypeAlias = float
    f32: TypeAlias = float
    i64: TypeAlias = int
    i32: TypeAlias = int
    i8: TypeAlias = int
    u64: TypeAlias = int
    boolean: TypeAlias = bool

    class Array(Protocol[Element]):
        """Consecutive elements in memory: a pointer natively, a NumPy array under CPython."""

        @overload
        def __getitem__(self, index: int) -> Element: ...
        @overload
        def __getitem__(self, index: slice[Any, Any, Any]) -> Array[Element]: ...
        def __setitem__(self, index: int, value: Element) -> None: ...

else:
    f64 = float
    boolean = bool

    class f32:
        """A number rounded to 32 bits."""

        def __new__(cls, x):
            return float(np.float32(x))

    class i64:
        """An integer in [-2**63, 2**63): floats saturate, NaN gives 0, integers keep their low 64 bits."""

        def __new__(cls, x):
            return _signed(x, 64)

    class i32:
        """An integer in [-2**31, 2**31), converted as i64 is."""

        def __new__(cls, x):
            return _signed(x, 32)

    class i8:
        """An integer in [-128, 128), converted as i64 is."""

        def __new__(cls, x):
            return _signed(x, 8)

    class u64(int):
        """An integer modulo 2**64: every operation with it keeps the low 64 bits."""

        __slots__ = ()

        def __new__(cls, x):
            if isinstance(x, (float, np.floating)):
                x = 0 if math.isnan(x) or x <= 0 else MASK if x >= 2.0**64 else int(x)
            return int.__new__(cls, int(x) & MASK)

        def __repr__(self):
            return f"u64({int(self)})"

    def _wrapping(name):
        plain = getattr(int, name)

        def method(self, *others):
            result = plain(self, *others)
            return result if result is NotImplemented else u64(result)

        method.__name__ = name
        return method

    for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
        setattr(u64, f"__{_name}__", _wrapping(f"__{_name}__"))
        setattr(u64, f"__r{_name}__", _wrapping(f"__r{_name}__"))
    for _name in ("__neg__", "__invert__", "__pos__"):
        setattr(u64, _name, _wrapping(_name))

    class Array(Generic[Element]):
        """Consecutive elements in memory: a pointer natively, a NumPy array under CPython."""

    class FunctionPointer:
        """`FunctionPointer[[f64, i64], f64]`: a machine address natively, any callable under CPython."""

        def __class_getitem__(cls, item):
            parameters, result = item
            return NativeType("function", parameters=tuple(map(native_type, parameters)), result=native_type(result))


_SCALARS: Final[dict[object, NativeType]] = {
    float: F64,
    int: I64,
    bool: BOOLEAN,
    None: NONE,
    type(None): NONE,
    f32: F32,
    i64: I64,
    i32: I32,
    i8: I8,
    u64: U64,
}


def native_type(annotation: object) -> NativeType:
    """The type an annotation stands for; `NativeError` when typed Python has none for it."""
    if isinstance(annotation, NativeType):
        return annotation
    if isinstance(annotation, type) and annotation.__dict__.get("__native_record__") is not None:
        return NativeType("record", record=annotation)
    try:
        known = _SCALARS.get(annotation)
    except TypeError:
        known = None
    if known is not None:
        return known
    origin = get_origin(annotation)
    if origin is Array:
        (element,) = get_args(annotation)
        inner = native_type(element)
        if inner.kind not in DTYPES:
            raise NativeError(f"arrays hold numbers or booleans, got Array[{inner}]")
        return NativeType("array", element=inner)
    if origin is tuple:
        return NativeType("tuple", parameters=tuple(native_type(a) for a in get_args(annotation)))
    raise NativeError(
        f"typed Python knows f64 f32 i64 i32 i8 u64 boolean, Array[...], FunctionPointer[[...], ...], tuple[...] "
        f"and record classes, got the annotation {annotation!r}"
    )


def stack(element: type[Element], count: int) -> Array[Element]:
    """`count` elements that live as long as the call; `count` a constant. Not initialised natively."""
    memory: Any = np.zeros(count, DTYPES[native_type(element).kind])
    return cast("Array[Element]", memory)


def simd(count: int) -> range:
    """`for i in simd(count)`: turns that may run side by side, eight at a time.

    The author promises that arrays of the loop are the same or do not overlap. Turns read and write elements
    `a[i]` or `a[i + k]`, assign to names of their own, keep extremes (`least = min(least, x)`), and add to sums
    (`total += x`), which are added up in eight parts: their last bits differ from CPython's, where this is
    `range(count)`.
    """
    return range(count)
