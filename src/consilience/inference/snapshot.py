"""The state of a record as plain numbers and arrays, and back: all of its declared fields.

Addresses of code stay outside, since they are other ones in another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from consilience.errors import SamplingError
from consilience.native.typed_python.records import NativeRecord, layout, release


def fields(record: NativeRecord, prefix: str = "") -> Iterator[tuple[NativeRecord, str, str]]:
    """All number and array fields, those of records inside included: owner, field, dotted name."""
    described = layout(type(record))
    for name, type_ in zip(described.names, described.types, strict=True):
        if type_.kind == "record":
            yield from fields(getattr(record, name), f"{prefix}{name}.")
        elif type_.kind != "function":
            yield record, name, prefix + name


def take(record: Any) -> dict[str, Any]:
    """Copies of the values of all fields."""
    values = {}
    for owner, field, name in fields(record):
        value = getattr(owner, field)
        # What nobody writes to is shared; zeros of memory that was never written to take none in such a copy.
        if isinstance(value, np.ndarray) and value.flags.writeable:
            bits = value.view(np.int64) if value.dtype == np.float64 else value  # also those of -0.0
            value = value.copy() if bits.any() else np.zeros(value.shape, value.dtype)
        values[name] = value
    return values


def put_back(record: Any, values: Mapping[str, Any]) -> None:
    """Write values taken from a record of the same kind into this one; SamplingError if they do not fit.

    Arrays whose length the state decides, as a metric's directions, are replaced; others are written into.
    """
    for owner, field, name in fields(record):
        if name not in values:
            raise SamplingError(
                f"a saved chain needs the field `{name}`, which is not there; it was saved by another version."
            )
        value, present = values[name], getattr(owner, field)
        if np.asarray(value).dtype.kind not in "biuf" or np.ndim(value) != np.ndim(present):
            raise SamplingError(f"a saved chain has something else in its field `{name}` than numbers of its kind.")
        if not isinstance(present, np.ndarray):
            setattr(owner, field, value)
        elif present.shape == np.shape(value) and present.flags.writeable:
            present[...] = value
        else:
            own = not isinstance(value, np.ndarray) or value.flags.writeable
            setattr(owner, field, np.array(value, present.dtype) if own else value)
            release(owner)
