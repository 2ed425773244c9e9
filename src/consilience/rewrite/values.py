"""The NumPy meaning of ops that need no library: what folding of constants and the rule checker compute with.

Op and arrays in, array out, or None where the value is not worth having. Arrays may hold objects that
calculate, such as numbers of many digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.ir import INTEGERS, numpy_dtype
from consilience.ops import (
    TABLE,
    AlteredGradient,
    ArgReduce,
    ArgSort,
    Assume,
    Cast,
    Concatenate,
    Cumulative,
    Elementwise,
    ExpandDims,
    Index,
    IndexUpdate,
    MatMul,
    Reduce,
    Reshape,
    Sort,
    Squeeze,
    StopGradient,
    Transpose,
)
from consilience.ops.elementwise import converted_as_read
from consilience.ops.index import At, NewAxis, SliceIndex, Specification

# Work beyond this many multiplications is left to the machine code.
LARGEST_PRODUCT = 1 << 22

Array: TypeAlias = npt.NDArray[Any]


def numpy_index(specification: Specification, arrays: tuple[Array, ...]) -> tuple[Any, ...]:
    """The index NumPy understands."""
    remaining = iter(arrays)
    found: list[Any] = []
    for entry in specification:
        if isinstance(entry, SliceIndex):
            found.append(entry.bounds())
        elif isinstance(entry, NewAxis):
            found.append(None)
        else:
            found.append(entry.position if isinstance(entry, At) else next(remaining))
    return tuple(found)


def _reduce(op: Any, x: Array) -> Array | None:
    if op.kind == "logsumexp" or (op.kind in ("max", "min") and x.size == 0):
        return None
    return np.asarray(getattr(np, op.kind)(x, axis=op.axes))


def _arg_reduce(op: Any, x: Array) -> Array:
    return np.asarray((np.argmax if op.kind == "max" else np.argmin)(x, axis=op.axis))


def _cumulative(op: Any, x: Array) -> Array:
    run = np.cumsum if op.kind == "sum" else np.cumprod
    return np.flip(run(np.flip(x, op.axis), axis=op.axis), op.axis) if op.reverse else np.asarray(run(x, axis=op.axis))


def _update(op: Any, x: Array, values: Array, *arrays: Array) -> Array:
    result = x.copy()
    index = numpy_index(op.specification, arrays)
    if op.mode == "set":
        result[index] = values
    else:
        np.add.at(result, index, values)
    return result


def _reshape(op: Any, x: Array) -> Array | None:
    return x.reshape(op.shape) if all(isinstance(n, int) for n in op.shape) else None


def _cast(op: Any, x: Array) -> Array | None:
    if isinstance(x, np.ndarray) and converted_as_read(x):
        return None
    if x.dtype.kind == "f" and op.dtype in INTEGERS:
        limits = np.iinfo(op.dtype)
        inside = np.isfinite(x) & (x > float(limits.min) - 1) & (x < float(limits.max))
        if not inside.all():
            return None
    return x.astype(numpy_dtype(op.dtype))


def _product(op: Any, a: Array, b: Array) -> Array | None:
    work = a.size * (b.shape[-1] if b.ndim > 1 else 1)
    return np.asarray(np.matmul(a, b)) if work <= LARGEST_PRODUCT else None


MEANINGS: dict[type, Callable[..., Array | None]] = {
    ArgReduce: _arg_reduce,
    Cast: _cast,
    ArgSort: lambda op, x: np.argsort(x, axis=op.axis, kind="stable"),
    Assume: lambda op, x: x,
    Concatenate: lambda op, *arrays: np.concatenate(arrays, axis=op.axis),
    Cumulative: _cumulative,
    Elementwise: lambda op, *arrays: np.asarray(TABLE[op.function].numpy(*arrays)),
    ExpandDims: lambda op, x: np.expand_dims(x, op.axes),
    Index: lambda op, x, *arrays: np.asarray(x[numpy_index(op.specification, arrays)]),
    IndexUpdate: _update,
    MatMul: _product,
    Reduce: _reduce,
    Reshape: _reshape,
    Sort: lambda op, x: np.sort(x, axis=op.axis, kind="stable"),
    Squeeze: lambda op, x: np.squeeze(x, op.axes),
    StopGradient: lambda op, x: x,
    AlteredGradient: lambda op, x: x,
    Transpose: lambda op, x: x.transpose(op.axes),
}
