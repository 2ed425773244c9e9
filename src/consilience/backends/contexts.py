"""Shared variables are named slots; their values live in contexts, so compiled code stays pure.

There is a default context. A function call may be given another one; two contexts never see each other.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, ExecutionError, ShapeError
from consilience.ir import Node, numpy_dtype, shared_slot
from consilience.ir.side_tables import describe
from consilience.ir.types import dtype_of

_versions = itertools.count(1)


class Context:
    """Values of shared slots. Thread-safe; a value not set here is looked up in `parent`."""

    def __init__(self, parent: Context | None = None) -> None:
        self._parent = parent
        self._lock = threading.Lock()
        self._values: weakref.WeakKeyDictionary[Node, tuple[npt.NDArray[Any], int]] = weakref.WeakKeyDictionary()

    def get(self, slot: Node) -> npt.NDArray[Any]:
        """The slot's value, read-only."""
        return self.versioned(slot)[0]

    def versioned(self, slot: Node) -> tuple[npt.NDArray[Any], int]:
        """The value and a number that changes whenever the value is set."""
        with self._lock:
            found = self._values.get(slot)
        if found is not None:
            return found
        if self._parent is not None:
            return self._parent.versioned(slot)
        raise ExecutionError(
            f"the shared slot {describe(slot)} has no value in this context; set one with `context.set`."
        )

    def set(self, slot: Node, value: npt.ArrayLike) -> None:
        """Give the slot a value of its dtype and shape; the array is copied."""
        given, wanted = np.asarray(value), numpy_dtype(slot.dtype)
        if not np.can_cast(given.dtype, wanted, "same_kind"):
            raise DtypeError(f"{describe(slot)} holds {slot.dtype}, got an array of {given.dtype}.")
        array = np.array(given, dtype=wanted, order="C", copy=True)
        declared = slot.static_shape
        fits = len(declared) == array.ndim and all(
            not isinstance(n, int) or n == m for n, m in zip(declared, array.shape, strict=True)
        )
        if not fits:
            raise ShapeError(f"{describe(slot)} cannot hold an array of shape {array.shape}; its shape is {declared}.")
        array.setflags(write=False)
        with self._lock:
            self._values[slot] = (array, next(_versions))


DEFAULT = Context()


def shared(value: npt.ArrayLike, name: str | None = None, *, shape: tuple[int | None, ...] | None = None) -> Node:
    """A shared slot that starts with `value` in the default context.

    shape   lengths that stay fixed; None in it lets a length change with the value. Default: all fixed.
    """
    array = np.asarray(value)
    slot = shared_slot(dtype_of(array), array.shape if shape is None else shape, name)
    DEFAULT.set(slot, array)
    return slot
