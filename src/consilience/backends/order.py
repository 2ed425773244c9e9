"""What orders mean in NumPy: arrays in, arrays out."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import OutOfBoundsError

Array: TypeAlias = npt.NDArray[Any]


def places(side: Any, batch: int, vectors: Array, values: Array) -> Array:
    """Where values go into vectors, whose first `batch` axes are common."""
    result = np.empty(values.shape, "int64")
    for place in np.ndindex(values.shape[:batch]):
        result[place] = np.searchsorted(vectors[place], values[place], side)
    return result


def with_scratch(result: Array, x: Array) -> list[Array]:
    """A result, and memory that routines work in."""
    scratch = np.zeros(x.shape[-1:], "int64")
    return [result, scratch, scratch]


def selected(x: Array, positions: Array) -> Array:
    """Elements of the last axis in ascending order, at positions."""
    length = x.shape[-1]
    if not ((-length <= positions) & (positions < length)).all():
        raise OutOfBoundsError(f"positions {positions} in an axis of length {length}.")
    return np.sort(x, -1, kind="stable")[..., positions]
