"""Records: a fixed list of typed fields, one memory for CPython and machine code.

In: a class with annotated fields. Out: a class whose instances keep every field in an 8-byte slot of native
memory, so one object serves plain Python and, by its address, compiled code. Outside: translation.
"""

from __future__ import annotations

import inspect
import struct
import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, TypeVar, cast, dataclass_transform

import numpy as np
import numpy.typing as npt

from consilience.errors import NativeError
from consilience.native.typed_python.native_types import DTYPES, NativeType, native_type, u64

Class = TypeVar("Class")
_arrays: Final[weakref.WeakValueDictionary[int, npt.NDArray[Any]]] = weakref.WeakValueDictionary()
_records: Final[weakref.WeakValueDictionary[int, Any]] = weakref.WeakValueDictionary()
LINE: Final = 64  # bytes that are read together; arrays of one memory share none


@dataclass_transform(eq_default=False)
def record(cls: type[Class]) -> type[Class]:
    """Make `cls` a record: its annotated names become fields, given to the constructor in order or by name.

    Field types: f64, i64, u64, boolean, `Array[...]` (NumPy arrays of that dtype, C-contiguous), records,
    `Function` (an address). `instance.address` is what compiled code takes. An instance keeps alive every
    array and record that was ever put into it, so compiled code may exchange them among fields; when it
    exchanges them among instances, these must stay alive together.
    """
    names = tuple(cls.__annotations__)
    defaults = {name: vars(cls)[name] for name in names if name in vars(cls)}
    made = type(cls.__name__, (NativeRecord,), {k: v for k, v in vars(cls).items() if k not in _GENERATED})
    made.__native_record__ = _Layout(cls, names, defaults)  # type: ignore[attr-defined]  # found by native_type
    for position, name in enumerate(names):
        setattr(made, name, _field(position, name))
    return cast("type[Class]", made)


_GENERATED: Final = frozenset({"__dict__", "__weakref__"})


class _Layout:
    """Field names at once, field types when first asked for: annotations may name later classes."""

    def __init__(self, owner: type, names: tuple[str, ...], defaults: dict[str, Any]) -> None:
        self.owner = owner
        self.names = names
        self.defaults = defaults
        self._types: tuple[NativeType, ...] | None = None

    @property
    def types(self) -> tuple[NativeType, ...]:
        if self._types is None:
            evaluated = inspect.get_annotations(self.owner, eval_str=True)
            self._types = tuple(native_type(evaluated[name]) for name in self.names)
            for name, type in zip(self.names, self._types, strict=True):
                if type.kind in ("f32", "i32", "i8", "tuple", "none"):
                    raise NativeError(
                        f"field {name} of record {self.owner.__name__} takes 8 bytes: f64, i64, u64, "
                        f"boolean, Array, Function or a record, got {type}"
                    )
        return self._types

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of an element of each field that is an array; 0 for numbers. NativeError if there are other fields."""
        for name, type in zip(self.names, self.types, strict=True):
            if type.kind not in ("array", "f64", "i64", "boolean"):
                raise NativeError(
                    f"field {name} of record {self.owner.__name__} is a {type}, which lies in memory of its own"
                )
        return tuple(DTYPES[t.element.kind].itemsize if t.element is not None else 0 for t in self.types)

    @cached_property
    def packed(self) -> struct.Struct:
        """All slots, one after another."""
        return struct.Struct("=" + "".join("d" if t.kind == "f64" else "q" for t in self.types))

    def in_order(self, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """A value for every field, from those given in order, those given by name, and defaults."""
        names, owner = self.names, self.owner.__name__
        if len(values) > len(names):
            raise TypeError(f"{owner} has {len(names)} fields, got {len(values)} values")
        given = dict(zip(names, values, strict=False))
        if repeated := given.keys() & named.keys():
            raise TypeError(f"{owner} got {sorted(repeated)} twice")
        given = self.defaults | given | named
        if given.keys() != set(names):
            wrong = sorted(set(names) ^ given.keys())
            raise TypeError(f"{owner} has the fields {names}; missing or unknown: {wrong}")
        return tuple([given[name] for name in names])


def layout(cls: type) -> _Layout:
    """Names and types of the fields of a record class."""
    return cast("_Layout", cls.__dict__["__native_record__"])


class NativeRecord:
    """Base of all record classes."""

    _slots: npt.NDArray[np.int64]
    _address: int
    _objects: list[tuple[int, Any] | None]  # address and object last seen in each pointer slot
    _kept: dict[int, Any]  # all objects that were put into the record, by address
    _memory: npt.NDArray[np.uint8]  # in which all its arrays lie, if they were made with it

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = layout(type(self))
        if named or len(values) != len(fields.names):
            values = fields.in_order(values, named)
        self._slots = np.zeros(max(len(values), 1), np.int64)  # an address of its own for an empty record, too
        self._floats = self._slots.view(np.float64)
        self._address = int(self._slots.ctypes.data)  # kept: NumPy takes as long to tell as to make the array
        self._objects = [None] * len(values)
        self._kept = {}
        _records[self._address] = self
        for position, type_ in enumerate(fields.types):
            _write(self, position, type_, values[position])

    @property
    def address(self) -> int:
        """Where the slots lie; what compiled code takes for this record."""
        return self._address

    def __reduce__(self) -> tuple[type[NativeRecord], tuple[Any, ...]]:
        # Copies and pickles are made of the fields' values: copied slots would point into the original.
        return type(self), tuple(getattr(self, name) for name in layout(type(self)).names)

    def __repr__(self) -> str:
        names = layout(type(self)).names
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"


def with_memory(cls: type[Class], **fields: float) -> Class:
    """A record whose arrays lie one behind another in one memory, for which they are given by their lengths.

    It is made quicker than one whose arrays are made by themselves: 17 us for one of 28 fields, where that took 54.
    The arrays' elements are not set. Raises TypeError for missing or unknown fields, NativeError for a class with
    fields that are no numbers and no arrays.
    """
    described = layout(cls)
    slots: list[float] = []
    arrays: list[int] = []
    end = LINE
    for value, size in zip(described.in_order((), fields), described.sizes, strict=True):
        if size:
            arrays.append(len(slots))
            slots.append(end)
            end += -(-int(value) * size // LINE) * LINE
        else:
            slots.append(value)
    memory = np.empty(end + LINE, np.uint8)  # so that an empty array has a place too
    start = int(memory.ctypes.data)
    _arrays[start] = memory
    start -= start % LINE  # the first line is not used
    for place in arrays:
        slots[place] += start
    bits = np.frombuffer(bytearray(described.packed.pack(*slots)), np.int64)
    found = cast("NativeRecord", object.__new__(cls))
    found._slots = bits
    found._floats = bits.view(np.float64)
    found._address = int(bits.ctypes.data)
    found._objects = [None] * len(bits)
    found._kept = {}
    found._memory = memory
    _records[found._address] = found
    return cast("Class", found)


def zeros(cls: type[Class]) -> Class:
    """A record of numbers and truth values, all of them 0 or False."""
    return cls(*([0] * len(layout(cls).names)))


def address(instance: object) -> int:
    """Where the slots of a record lie, for callers that type checkers do not let see `.address`."""
    if not isinstance(instance, NativeRecord):
        raise NativeError(f"an instance of a @record class has an address, got {type(instance).__name__}")
    return instance.address


def release(instance: object) -> None:
    """Let go of arrays and records that were once put into this record and are in none of its fields now.

    Compiled code must not have handed them on to other fields.
    """
    if not isinstance(instance, NativeRecord):
        raise NativeError(f"an instance of a @record class can be released, got {type(instance).__name__}")
    present = set(instance._slots.tolist())
    instance._kept = {address: kept for address, kept in instance._kept.items() if address in present}


def _field(position: int, name: str) -> property:
    def read(self: NativeRecord) -> Any:
        type_ = layout(type(self)).types[position]
        match type_.kind:
            case "f64":
                return float(self._floats[position])
            case "i64":
                return int(self._slots[position])
            case "boolean":
                return bool(self._slots[position])
            case "u64":
                return u64(int(self._slots[position]))
            case _:
                return _object(self, position, name, type_)

    def write(self: NativeRecord, value: Any) -> None:
        _write(self, position, layout(type(self)).types[position], value)

    return property(read, write)


def _write(record: NativeRecord, position: int, type_: NativeType, value: Any) -> None:
    """Put a value into a field."""
    match type_.kind:
        case "f64":
            record._floats[position] = value
        case "i64" | "boolean":
            record._slots[position] = value
        case "u64":
            record._slots[position] = signed(int(value))
        case _:
            address = pointer(value, type_, record, position)
            record._slots[position] = address
            record._objects[position] = (address, value)
            record._kept[address] = value


def signed(value: int) -> int:
    """The low 64 bits of `value` as a signed integer."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def pointer(value: Any, type_: NativeType, what: str | NativeRecord, position: int = 0) -> int:
    """Address of an array of the right dtype, a record, or a function.

    what   for errors: an argument in words, or a record with the position of a field
    """
    if type_.kind == "array":
        dtype = DTYPES[cast("NativeType", type_.element).kind]
        if not isinstance(value, np.ndarray) or value.dtype != dtype or not value.flags.c_contiguous:
            got = f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__
            raise NativeError(f"{_place(what, position)} needs a C-contiguous array of {dtype}, got {got}")
        address = int(value.ctypes.data)
        _arrays[address] = value
        return address
    if type_.kind == "record":
        if type_.record is None or not isinstance(value, type_.record):
            raise NativeError(f"{_place(what, position)} needs a {type_}, got {type(value).__name__}")
        return cast("NativeRecord", value).address
    address_of: Callable[[], int] | int | None = getattr(value, "address", None)
    if isinstance(value, int):
        return value
    if isinstance(address_of, int):
        return address_of
    if callable(value):
        return 0  # a plain Python callable: usable under CPython only
    raise NativeError(f"{_place(what, position)} needs a function or an address, got {type(value).__name__}")


def _place(what: str | NativeRecord, position: int) -> str:
    return what if isinstance(what, str) else f"{type(what).__name__}.{layout(type(what)).names[position]}"


def _object(self: NativeRecord, position: int, name: str, type_: NativeType) -> Any:
    """The Python object behind a pointer slot, also after compiled code has exchanged it."""
    address = int(self._slots[position])
    kept = self._objects[position]
    if kept is not None and kept[0] == address:
        return kept[1]
    found = self._kept.get(address)
    if type_.kind == "array":
        found = found.reshape(-1) if isinstance(found, np.ndarray) else _arrays.get(address)
        if found is None:
            found = _inside(address, DTYPES[cast("NativeType", type_.element).kind])
    elif type_.kind == "record":
        found = _records.get(address)
    elif found is None:
        found = address
    if found is None:
        raise NativeError(
            f"{type(self).__name__}.{name} points to {address:#x}, which no array or record known here owns"
        )
    self._objects[position] = (address, found)
    return found


def _inside(address: int, dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """A view from `address` to the end of the known array, or memory of arrays, that contains it."""
    for start, array in list(_arrays.items()):
        skipped = address - start
        if 0 <= skipped < array.nbytes and array.dtype == dtype:
            return array.reshape(-1)[skipped // dtype.itemsize :]
        if 0 <= skipped < array.nbytes and array.dtype == np.uint8:
            return array[skipped : skipped + (array.nbytes - skipped) // dtype.itemsize * dtype.itemsize].view(dtype)
    return None
