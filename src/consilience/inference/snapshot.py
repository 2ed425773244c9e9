"""The state of a record as plain numbers and arrays, and back.

Machine addresses, and what only the present window needs, stay outside: a record names its fields to leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from consilience.errors import SamplingError
from consilience.native.typed_python.records import NativeRecord, layout


def fields(record: NativeRecord, without: frozenset[str], prefix: str = "") -> Iterator[tuple[NativeRecord, str, str]]:
    """All number and array fields, those of records inside included: owner, field, dotted name."""
    described = layout(type(record))
    for name, type_ in zip(described.names, described.types, strict=True):
        if name in without:
            continue
        if type_.kind == "record":
            yield from fields(getattr(record, name), without, f"{prefix}{name}.")
        elif type_.kind != "function":
            yield record, name, prefix + name


def take(record: Any, without: frozenset[str]) -> dict[str, Any]:
    """Copies of the values of all fields but those named in `without`."""
    values = {}
    for owner, field, name in fields(record, without):
        value = getattr(owner, field)
        values[name] = value.copy() if isinstance(value, np.ndarray) else value
    return values


def put_back(record: Any, values: Mapping[str, Any], without: frozenset[str]) -> None:
    """Write values taken from a record of the same kind into this one; SamplingError if they do not fit."""
    for owner, field, name in fields(record, without):
        if name not in values:
            raise SamplingError(
                f"a saved chain needs the field `{name}`, which is not there; it was saved by another version."
            )
        value, present = values[name], getattr(owner, field)
        if isinstance(present, np.ndarray):
            if present.shape != np.shape(value):
                raise SamplingError(
                    f"a saved chain's `{name}` has the shape {np.shape(value)}, the model's chain {present.shape}; "
                    "it was saved for another model."
                )
            present[...] = value
        else:
            setattr(owner, field, value)
