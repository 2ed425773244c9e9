"""Shared variables are named slots; their values live in contexts, so compiled code stays pure.

There is a default context. A function call may be given another one; two contexts never see each other.
"""

from __future__ import annotations

import copy
import itertools
import threading
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ArgumentError, DtypeError, ExecutionError, GraphError, ShapeError
from consilience.ir import Node, Shared, numpy_dtype, shared_slot, topological
from consilience.ir import dimension as dims
from consilience.ir.arithmetic import means
from consilience.ir.leaves import FEW_COLUMNS, stays
from consilience.ir.lengths import symbols_in
from consilience.ir.side_tables import describe
from consilience.ir.types import dtype_of

_versions = itertools.count(1)


class Context:
    """Values of shared slots. Thread-safe; a value not set here is looked up in `parent`.

    parent: Context whose values show through where this one has none.

    Attributes
    ----------
    updating
        Lock held by whoever computes new values from old ones, such as a function with updates.

    See shared: A value in the context that is there by default.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pm.shared(2.0)
    >>> own = pt.Context()
    >>> own.set(x, 3.0)
    >>> pm.function([], 2 * x, context=own)().item()
    6.0
    """

    def __init__(self, parent: Context | None = None) -> None:
        if parent is not None and not isinstance(parent, Context):
            raise ArgumentError(f"`parent` of a `Context` must be another one or None, got {parent!r}.")
        self._parent = parent
        self._lock = threading.Lock()
        self._values: weakref.WeakKeyDictionary[Node, tuple[npt.NDArray[Any], int]] = weakref.WeakKeyDictionary()
        self.updating = threading.RLock()

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

    def value_or_none(self, slot: Node) -> npt.NDArray[Any] | None:
        """The slot's value, read-only, or None if this context has none of its own."""
        with self._lock:
            found = self._values.get(slot)
        return None if found is None else found[0]

    def __reduce__(self) -> Any:
        if self is DEFAULT:
            return "DEFAULT"
        with self._lock:
            own = {slot: value for slot, (value, _) in self._values.items()}
        return _filled, (self._parent, own)

    def snapshot(self, slots: Iterable[Node]) -> list[npt.NDArray[Any]]:
        """Values of several slots as they are at one moment, read-only."""
        listed = list(slots)
        with self._lock:
            own = [self._values.get(slot) for slot in listed]
        return [self.get(slot) if found is None else found[0] for slot, found in zip(listed, own, strict=True)]

    def set(self, slot: Node, value: npt.ArrayLike) -> None:
        """Give the slot a value of its dtype and shape; the array is copied."""
        self.set_all({slot: value})

    def set_all(self, values: Mapping[Node, npt.ArrayLike]) -> None:
        """Give several slots their values at one moment, all or, where one does not fit, none."""
        arrays = {slot: _fitting(slot, value) for slot, value in values.items()}
        for slot in arrays:
            _owners.update((atom, slot) for length in slot.static_shape if (atom := dims.as_symbol(length)) is not None)
        with self._lock:
            for slot, array in arrays.items():
                self._values[slot] = (array, next(_versions))


# The slots whose lengths are symbols: a graph may depend on the length of a value that it does not contain.
_owners: weakref.WeakValueDictionary[dims.Atom, Node] = weakref.WeakValueDictionary()


def slots_of(nodes: Iterable[Node], inputs: Iterable[Node] = ()) -> list[Node]:
    """The slots on whose values or lengths a graph depends.

    `inputs`: inputs of the function: lengths that their values tell are asked of no slot.
    """
    nodes = list(nodes)
    found = dict.fromkeys(n for n in topological(nodes) if isinstance(n.op, Shared))
    if _owners:
        told = {dims.as_symbol(n) for leaf in inputs for n in getattr(leaf.type, "shape", ())}
        owners = (_owners.get(a) for a in sorted(symbols_in(nodes) - told, key=lambda atom: atom.serial))
        found.update((slot, None) for slot in owners if slot is not None)
    return list(found)


def _fitting(slot: Node, value: npt.ArrayLike) -> npt.NDArray[Any]:
    """A value with the dtype and shape of a slot, which nobody writes to: a copy, unless it is such already."""
    given, wanted = np.asarray(seed_of(value)), numpy_dtype(slot.dtype)
    if not np.can_cast(given.dtype, wanted, "same_kind"):
        raise DtypeError(f"{describe(slot)} holds {slot.dtype}, got an array of {given.dtype}.")
    in_place = stays(given, wanted) or (given.ndim == 2 and given.shape[1] <= FEW_COLUMNS and stays(given.T, wanted))
    array = given if in_place else np.array(given, dtype=wanted, order="C", copy=True)
    declared = slot.static_shape
    if len(declared) != array.ndim:
        raise ShapeError(f"{describe(slot)} holds arrays of {len(declared)} axes, got shape {array.shape}.")
    if any(isinstance(n, int) and n != m for n, m in zip(declared, array.shape, strict=True)):
        raise ShapeError(f"{describe(slot)} cannot hold an array of shape {array.shape}; its shape is {declared}.")
    array.setflags(write=False)
    return array


def seed_of(value: Any) -> Any:
    """The seed of a random key that a generator of NumPy's gives, which stays as it is; other values themselves."""
    return copy.deepcopy(value).integers(2**62) if isinstance(value, np.random.Generator) else value


DEFAULT = Context()


def _filled(parent: Context | None, values: Mapping[Node, npt.NDArray[Any]]) -> Context:
    context = Context(parent)
    context.set_all(values)
    return context


def shared(
    value: npt.ArrayLike | np.random.Generator,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    *,
    shape: tuple[int | None, ...] | None = None,
    borrow: bool = False,
) -> Node:
    """A shared slot that starts with `value` in the default context; for a generator of NumPy's a random key.

    value: First value: an array or a number.
    name : ...
    strict: Accepted, as is `borrow`: later values are converted where their kind allows it, and values are copied.
    allow_downcast: Accepted, as is `borrow`: later values are converted where their kind allows it, and values are
        copied.
    shape: Lengths that stay fixed; None in it lets a length change with the value, as all do by default.
    borrow: Accepted, without effect: values are copied.
    Returns: A tensor whose value functions read anew at each call.
    See In: An input with settings of its own.
    See Out: An output.
    See Mode: How a function is compiled.
    >>> x = pt.shared(2.0)
    >>> square = pt.function([], x**2)
    >>> x.set_value(3.0)
    >>> square().item()
    9.0
    """
    if isinstance(value, np.random.Generator):
        return random_slot(seed_of(value), name)
    array = np.asarray(value)
    slot = shared_slot(dtype_of(array), (None,) * array.ndim if shape is None else shape, name)
    DEFAULT.set(slot, array)
    return slot


def random_slot(seed: int, name: str | None = "seed") -> Node:
    """A shared random key that starts with a seed in the default context."""
    slot = shared_slot("key", (), name)
    DEFAULT.set(slot, np.int64(seed))
    return slot


@means("get_value")
def get_value(slot: Node, borrow: bool = False) -> npt.NDArray[Any]:
    """The value of a shared variable in the default context: a copy, or the array that is held, which is read-only."""
    held = DEFAULT.get(_checked(slot, "get_value"))
    return held if borrow else np.array(held)


@means("set_value")
def set_value(slot: Node, value: npt.ArrayLike | np.random.Generator | None, seed: Any = None) -> None:
    """Give a shared variable another value in the default context, a random key that of a seed or a generator."""
    if value is None and _checked(slot, "set_value").dtype == "key":
        value = np.random.default_rng(seed)
    DEFAULT.set(_checked(slot, "set_value"), value)  # type: ignore[arg-type]  # `_fitting` takes generators


def _checked(slot: Node, method: str) -> Node:
    if not isinstance(slot.op, Shared):
        raise GraphError(
            f"only shared variables hold a value; {describe(slot)} is none, so it has no `{method}`. "
            "Compute it with `.eval()`."
        )
    return slot
