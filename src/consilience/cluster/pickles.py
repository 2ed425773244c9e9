"""What leaves the process, as bytes: and, where it can't or is very large, the part of it that is to blame by name."""

from __future__ import annotations

import contextlib
import inspect
import io
import pickle
from collections import deque
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType, MethodType
from typing import Any, Final

from consilience.errors import SamplingError, warn

MOST_PARTS: Final = 200  # that are looked at for one that does not pickle
LARGE: Final = 256 * 2**20
"""Bytes above which what is sent is worth a warning."""


def dumps(value: Any, what: str) -> bytes:
    """The pickle of a value, with functions that are written out by cloudpickle where it is installed.

    what     its name in errors
    raises   SamplingError that names the part that does not pickle
    """
    try:
        return _dumps(value)
    except Exception as error:  # a pickle may fail with whatever the value's own methods raise
        where, told = _culprit(value, what, error)
        install = ""
        if isinstance(error, pickle.PicklingError | AttributeError) and find_spec("cloudpickle") is None:
            install = " `pip install cloudpickle` lets functions go that are defined in a session or in a function;"
        raise SamplingError(
            f"{what} can't be sent to workers, as {where} does not pickle ({told});{install} what belongs to this "
            "process, such as locks, files and connections, is to be made by the worker itself."
        ) from error


def sent(value: Any, what: str) -> bytes:
    """As `dumps`, for what goes to workers; ConsilienceWarning names its largest part if it has over `LARGE` bytes."""
    made = dumps(value, what)
    if len(made) > LARGE:
        where, size = _largest(value, what, len(made))
        warn(
            f"{what} goes to each worker with {len(made) / 2**30:.2g} GiB, of which {size / 2**30:.2g} GiB are "
            f"{where}; let workers read it from a file that they share."
        )
    return made


def _dumps(value: Any) -> bytes:
    if find_spec("cloudpickle") is None:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    written: bytes = import_module("cloudpickle").dumps(value, pickle.HIGHEST_PROTOCOL)
    return written


def _culprit(value: Any, name: str, error: Exception) -> tuple[str, str]:
    """The part that fails though its own parts don't, the nearest to the whole, and how."""
    waiting = deque([(value, name, error)])
    failing = {id(value): value}  # kept, or others would get their numbers
    for _ in range(MOST_PARTS):
        if not waiting:
            break
        whole, label, told = waiting.popleft()
        within = False
        for own, part in _parts(whole, label):
            if id(part) in failing:
                within = True
                continue
            try:
                _dumps(part)
            except Exception as inner:  # as above
                within = True
                failing[id(part)] = part
                waiting.append((part, own, inner))
        if not within:
            return label, f"{type(told).__name__}: {told}"
    return name, f"{type(error).__name__}: {error}"


def _largest(value: Any, name: str, size: int, seen: frozenset[int] = frozenset()) -> tuple[str, int]:
    """The innermost part that has most of the bytes."""
    for label, part in _parts(value, name):
        if id(part) not in seen and (own := _size(part)) > size / 2:
            return _largest(part, label, own, seen | {id(value)})
    return name, size


def _size(value: Any) -> int:
    counted = _Counted()
    maker = pickle if find_spec("cloudpickle") is None else import_module("cloudpickle")
    try:
        maker.Pickler(counted, pickle.HIGHEST_PROTOCOL).dump(value)
    except Exception:  # parts of what pickles as a whole, such as cells, may not pickle by themselves
        return 0
    return counted.bytes


class _Counted(io.RawIOBase):
    """A file that counts and forgets."""

    bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.bytes += memoryview(data).nbytes
        return memoryview(data).nbytes


def _parts(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """What a value is made of, as a user would find it."""
    if isinstance(value, MethodType):
        yield f"{name}.__self__", value.__self__
    elif isinstance(value, FunctionType):
        own = inspect.unwrap(value).__name__
        found = inspect.getclosurevars(value)
        yield from ((f"`{key}`, which {own} uses,", part) for key, part in {**found.nonlocals, **found.globals}.items())
    elif isinstance(value, Mapping):
        yield from ((f"{name}[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"{name}[{i}]", part) for i, part in enumerate(value))
    elif "__reduce__" in {name for kind in type(value).__mro__[:-1] for name in vars(kind)}:
        with contextlib.suppress(Exception):  # which is why it fails
            yield from ((name, part) for part in value.__reduce__()[1])
    else:
        state = value.__getstate__()  # what a pickle holds of it
        if isinstance(state, Mapping):
            yield from ((f"{name}.{key}", part) for key, part in state.items())
        elif isinstance(state, tuple):
            yield from ((name, part) for part in state)
