"""What machine code offers its callers, for code that runs in Python: loops over draws and an entry address.

A callable of arrays with the types on both sides in; `map` and the numbers of a `LogDensity` out.
"""

from __future__ import annotations

import ctypes
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends.shapes import Lengths, static_shape
from consilience.errors import ExecutionError, OutOfBoundsError, ShapeError, Status
from consilience.ir import Node, numpy_dtype
from consilience.ir import dimension as dims

Array: TypeAlias = npt.NDArray[Any]
Form: TypeAlias = tuple[tuple[int, ...], np.dtype[Any]]

# What users' functions raised when machine code called them, oldest first; the first ones with their traceback.
FAILURES: list[Exception] = []
TRACED = 10
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)


class Callback(ABC):
    """Bound code that is called in Python (`registry.Bound`), one draw at a time.

    `inputs`, `outputs`: leaves and expressions. `lengths`: values of their symbolic lengths.
    """

    constants = 0
    workspace = 0

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node], lengths: Lengths) -> None:
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)
        self._lengths = lengths

    @abstractmethod
    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        """One array per input in, fresh arrays of the outputs out."""

    def direct(self, inputs: Sequence[tuple[np.dtype[Any], tuple[int, ...]]], one: bool) -> None:
        """Nothing: there is Python in each call (`registry.Bound`)."""
        return

    def map(self, inputs: Sequence[tuple[Array, bool]], count: int) -> tuple[list[Array], int]:
        """Values of the outputs for many draws (`registry.Bound`)."""
        draws: list[list[Array] | None] = []
        status = Status.OK
        for draw in range(count):
            try:
                draws.append(self([array[draw] if per_draw else array for array, per_draw in inputs]))
            except ExecutionError as error:
                draws.append(None)
                status |= status_of(error)
        # Lengths that only values decide are those of the draws that have values.
        one = next((d for d in draws if d is not None), None) or [np.zeros(*self._least(o)) for o in self._outputs]
        results = [np.zeros((count, *v.shape), v.dtype) for v in one]
        for draw, values in enumerate(draws):
            for result, value in zip(results, values or (), strict=values is not None):
                if value.shape != result.shape[1:]:
                    raise ShapeError(
                        f"a result has shape {result.shape[1:]} in one draw and {value.shape} in another, so that the "
                        "draws make no array; give it a fixed shape, for example by padding."
                    )
                result[draw] = value
        return results, int(status)

    @property
    def entry(self) -> int:
        """Address of the machine-code entry; each call takes the interpreter's lock."""
        return ctypes.cast(self._entry, ctypes.c_void_p).value or 0

    @functools.cached_property
    def _entry(self) -> Any:
        """The callback itself, kept as long as its address may be called."""
        return _SIGNATURE(self._call)

    def _call(self, inputs: int, outputs: int, workspace: int, constants: int) -> int:
        """The entry itself: tables of pointers in, a status out."""
        try:
            values = self([a.copy() for a in _arrays(inputs, [self._form(i) for i in self._inputs])])
        except ExecutionError as error:
            return int(status_of(error))
        except Exception as error:  # of a user's function: machine code cannot pass it on
            failed(error)
            return int(Status.PYTHON_FAILED)
        for target, value in zip(_arrays(outputs, [(v.shape, v.dtype) for v in values]), values, strict=True):
            target[...] = value
        return int(Status.OK)

    def _form(self, node: Node) -> Form:
        return static_shape(node.static_shape, self._lengths), numpy_dtype(node.dtype)

    def _least(self, node: Node) -> Form:
        """The form where no draw tells a length: 0 for those that are not known."""
        shape = [dims.substitute(n, self._lengths) for n in node.static_shape]
        return tuple(n if isinstance(n, int) else 0 for n in shape), numpy_dtype(node.dtype)


def failed(error: Exception) -> None:
    """Keep what a user's function raised. Tracebacks hold arrays alive, so that not all are kept."""
    FAILURES.append(error if len(FAILURES) < TRACED else error.with_traceback(None))


def status_of(error: ExecutionError) -> Status:
    """The bits that machine code returns for a failure."""
    return Status.OUT_OF_BOUNDS if isinstance(error, OutOfBoundsError) else Status.FACTORISATION_FAILED


def _arrays(table: int, forms: Sequence[Form]) -> list[Array]:
    """Arrays over the memory that a table of pointers names."""
    pointers = (ctypes.c_void_p * len(forms)).from_address(table) if forms else ()
    found = []
    for pointer, (shape, dtype) in zip(pointers, forms, strict=True):
        size = math.prod(shape) * dtype.itemsize
        buffer = memoryview((ctypes.c_byte * size).from_address(pointer) if size else b"")
        found.append(np.frombuffer(buffer, dtype).reshape(shape))
    return found
