"""Frozen values with named fields: annotations of a class enter, constructor, equality and hash leave.

As frozen dataclasses, but one constructor is compiled for all classes with equally many fields: to compile one for
each of a hundred classes takes longer than all else while the library loads. What changes is a plain class.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import attrgetter
from types import FunctionType
from typing import Any, ClassVar, TypeVar, dataclass_transform

R = TypeVar("R", bound="Record")


@dataclass_transform(frozen_default=True)
class Record:
    """A frozen value: the annotations of a subclass are its fields, in order, with their defaults.

    Two records are equal if they are of one class with equal fields; `class X(Record, eq=False)` compares by
    identity. `__post_init__`, where defined, checks a record just made. Records pickle, copy and match by position.
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()

    # No metaclass and so no slots: a metaclass of its own makes every `isinstance` slower.
    def __init_subclass__(cls, *, eq: bool = True, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        annotated = vars(cls).get("__annotations__", {})
        own = [name for name, kind in annotated.items() if not str(kind).startswith(("ClassVar", "typing.ClassVar"))]
        cls.__match_args__ = tuple(dict.fromkeys((*cls.__match_args__, *own)))  # type: ignore[misc]  # as below
        if "__init__" not in vars(cls):
            cls.__init__ = _constructor(cls)  # type: ignore[method-assign]  # every class has its own
        if eq and "__eq__" not in vars(cls):
            _compare_by_value(cls)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; `replace` makes a changed one.", name=name, obj=self)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; its fields stay.", name=name, obj=self)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({shown})"


def field_names(record: Record | type[Record]) -> tuple[str, ...]:
    """Names of the fields, in the order of the constructor."""
    return record.__match_args__


def as_plain(value: Any) -> Any:
    """The record as a dictionary of its fields, records within included; what else comes stays as it is."""
    if isinstance(value, Record):
        return {name: as_plain(getattr(value, name)) for name in field_names(value)}
    return value


def replace(record: R, /, **changes: Any) -> R:
    """The record with some fields changed."""
    kept = {name: getattr(record, name) for name in field_names(record) if name not in changes}
    return type(record)(**kept, **changes)


def _compare_by_value(record: type[Record]) -> None:
    """Give a class the equality of its fields, and the hash unless it has one of its own."""
    fields = record.__match_args__
    values: Callable[[Any], Any] = attrgetter(*fields) if fields else type

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    own_hash = "__hash__" in vars(record)
    record.__eq__ = equal  # type: ignore[method-assign]  # every class has its own
    if not own_hash:
        record.__hash__ = hashed  # type: ignore[method-assign]  # as above


def _constructor(record: type[Record]) -> FunctionType:
    """What sets the fields of a new record, given by position or by name."""
    fields = record.__match_args__
    defaults = tuple(getattr(record, name) for name in fields if hasattr(record, name))
    if not all(hasattr(record, name) for name in fields[len(fields) - len(defaults) :]):
        raise TypeError(f"{record.__name__} has a field without a default behind one with a default.")
    constructor = _template(len(fields), hasattr(record, "__post_init__"))(*fields)
    constructor.__code__ = constructor.__code__.replace(co_varnames=("self", *fields))
    constructor.__defaults__ = defaults
    constructor.__qualname__ = f"{record.__qualname__}.__init__"
    return constructor


@functools.cache
def _template(count: int, checked: bool) -> Callable[..., FunctionType]:
    """Makes the constructor of `count` fields from their names, but for the names of its parameters."""
    names = [f"name_{n}" for n in range(count)]
    values = [f"value_{n}" for n in range(count)]
    steps = [f"set(self, {name}, {value})" for name, value in zip(names, values, strict=True)]
    steps += ["self.__post_init__()"] if checked else []
    lines = [
        f"def make({', '.join(names)}):",
        f"    def __init__({', '.join(['self', *values])}):",
        *(f"        {step}" for step in steps or ["pass"]),
        "    return __init__",
    ]
    namespace: dict[str, Any] = {"set": object.__setattr__}
    exec("\n".join(lines), namespace)
    made: Callable[..., FunctionType] = namespace["make"]
    return made
