"""Machine code as a function that Numba's compiled code calls: no second translation, and the same numbers.

Bound machine code with the forms of its inputs and outputs in; a Numba dispatcher out. Numba is imported here alone.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience.backends.callback import Form
from consilience.backends.registry import Bound
from consilience.errors import MissingPackageError, Status

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_size_t] * 4)
_ALIGNMENT = 64


def numba_function(
    name: str, bound: Bound, inputs: Sequence[Form], outputs: Sequence[Form], names: Sequence[str], single: bool
) -> Any:
    """A function for `numba.njit` code, which releases the interpreter's lock.

    inputs, outputs   shapes and dtypes; numbers stand for arrays of rank 0 on both sides
    names             of the inputs, for messages
    single            whether the only output is returned itself, not in a tuple
    returns           a dispatcher, which keeps `bound` alive; each call allocates its outputs and scratch memory
    raises            MissingPackageError without Numba; the function itself: numba.TypingError for other dtypes,
                      ValueError for other shapes, ArithmeticError where an index is out of bounds or a matrix cannot
                      be factorised
    """
    try:
        import numba
    except ImportError as error:
        raise MissingPackageError("Numba is not there: pip install 'consilience[numba]'.") from error

    _register()
    entry = _ENTRY(bound.entry)
    scope: dict[str, Any] = {"np": np, "contiguous": _contiguous, "entry": entry, "constants": bound.constants}
    parameters = [f"x{i}" for i in range(len(inputs))]
    body: list[str] = []
    for i, ((shape, dtype), own) in enumerate(zip(inputs, names, strict=True)):
        if shape:
            scope[f"like{i}"] = np.empty((0,) * len(shape), dtype)
            body += [
                f"in{i} = contiguous(x{i}, like{i})",
                f"if in{i}.shape != {shape!r}:",
                f"    raise ValueError({f'`{own}` must have the shape {shape} that this function was made for.'!r})",
            ]
        else:
            scope[f"in{i}_type"] = dtype
            body += [f"in{i} = np.empty(1, in{i}_type)", f"in{i}[0] = x{i}"]
    for i, (shape, dtype) in enumerate(outputs):
        scope[f"out{i}_type"] = dtype
        body.append(f"out{i} = np.empty({shape or (1,)!r}, out{i}_type)")
    for table, count in (("in", len(inputs)), ("out", len(outputs))):
        body.append(f"{table}s = np.zeros({max(1, count)}, np.uint64)")
        body += [f"{table}s[{i}] = {table}{i}.ctypes.data" for i in range(count)]
    body += [
        f"scratch = np.empty({bound.workspace + _ALIGNMENT}, np.uint8)",
        f"at = (scratch.ctypes.data + {_ALIGNMENT - 1}) // {_ALIGNMENT} * {_ALIGNMENT}",
        "status = entry(ins.ctypes.data, outs.ctypes.data, at, constants)",
        # Numba frees an array behind its last use, which an address is not.
        f"alive = ({', '.join(['scratch', 'ins', 'outs', *(f'in{i}' for i in range(len(inputs)))])})",
        "if status != 0:",
        f"    if status & {int(Status.OUT_OF_BOUNDS)}:",
        f"        raise ArithmeticError({f'an index lies outside its axis in `{name}`.'!r})",
        f"    raise ArithmeticError({f'a matrix is singular or not positive definite in `{name}`.'!r})",
    ]
    results = [f"out{i}" if shape else f"out{i}[0]" for i, (shape, _) in enumerate(outputs)]
    together = ", ".join(results) + ","
    body.append(f"return {results[0] if single else f'({together})' if results else None}")
    text = "\n".join([f"def run({', '.join(parameters)}):", *(f"    {line}" for line in body)])
    exec(compile(text, f"<{name} for Numba>", "exec"), scope)
    made = scope["run"]
    made.__name__ = made.__qualname__ = name if name.isidentifier() else "function"
    made.__doc__ = f"`{name}` at the shapes {', '.join(str(shape) for shape, _ in inputs)} of {', '.join(names)}."
    result = numba.njit(nogil=True)(made)
    result.machine_code = bound  # type: ignore[attr-defined]  # keeps it alive
    return result


def _contiguous(x: Any, like: Any) -> Any:
    """An array in C's order, of the dtype of another; what it means stands in `_contiguous_in_numba`."""
    raise NotImplementedError("this is called by code of Numba alone.")


def _same(x: Any, like: Any) -> Any:
    return x


def _copied(x: Any, like: Any) -> Any:
    return np.ascontiguousarray(x)


@functools.cache
def _register() -> None:
    """Tell Numba how `_contiguous` is compiled: nothing at all, where types say that there is nothing to do."""
    from numba import errors, extending, types

    @extending.overload(_contiguous)
    def _contiguous_in_numba(x: Any, like: Any) -> Any:
        if not isinstance(x, types.Array) or x.dtype != like.dtype or x.ndim != like.ndim:
            raise errors.TypingError(f"an array of {like.dtype} with {like.ndim} axes was needed, got {x}.")
        return _same if x.layout == "C" else _copied
