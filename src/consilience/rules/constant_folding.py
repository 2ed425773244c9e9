"""Values that depend on constants only, computed at once.

Nodes with constant inputs in, constants out. Results much larger than their inputs stay symbolic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.ir import INTEGERS, Constant, Node, TensorType, constant, numpy_dtype
from consilience.ops import (
    TABLE,
    ArgReduce,
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
    Squeeze,
    StopGradient,
    Transpose,
)
from consilience.ops.index import At, NewAxis, Slice, Specification
from consilience.ops.scalar import DRAWS
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites

# A result of at most this many elements is always computed; a larger one if it is not larger than its inputs.
SMALL = 4096
# Work beyond this many multiplications is left to the machine code.
LARGEST_PRODUCT = 1 << 22

Array = npt.NDArray[Any]


def numpy_index(specification: Specification, arrays: tuple[Array, ...]) -> tuple[Any, ...]:
    """The index NumPy understands."""
    remaining = iter(arrays)
    found: list[Any] = []
    for entry in specification:
        if isinstance(entry, Slice):
            found.append(slice(entry.start, entry.stop, entry.step))
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
    if x.dtype.kind == "f" and op.dtype in INTEGERS:
        limits = np.iinfo(op.dtype)
        if not np.isfinite(x).all() or (np.abs(x) >= float(limits.max)).any():
            return None
    return x.astype(numpy_dtype(op.dtype))


def _product(op: Any, a: Array, b: Array) -> Array | None:
    work = a.size * (b.shape[-1] if b.ndim > 1 else 1)
    return np.asarray(np.matmul(a, b)) if work <= LARGEST_PRODUCT else None


MEANINGS: dict[type, Callable[..., Array | None]] = {
    ArgReduce: _arg_reduce,
    Cast: _cast,
    Concatenate: lambda op, *arrays: np.concatenate(arrays, axis=op.axis),
    Cumulative: _cumulative,
    Elementwise: lambda op, *arrays: np.asarray(TABLE[op.function].numpy(*arrays)),
    ExpandDims: lambda op, x: np.expand_dims(x, op.axes),
    Index: lambda op, x, *arrays: np.asarray(x[numpy_index(op.specification, arrays)]),
    IndexUpdate: _update,
    MatMul: _product,
    Reduce: _reduce,
    Reshape: _reshape,
    Squeeze: lambda op, x: np.squeeze(x, op.axes),
    StopGradient: lambda op, x: x,
    Transpose: lambda op, x: x.transpose(op.axes),
}
_UNFOLDED = frozenset((*DRAWS, "fold_in"))


def value(node: Node) -> Array | None:
    """The value of a node whose inputs are constants, or None where it is better left symbolic."""
    op = node.op
    if isinstance(op, Elementwise) and op.function in _UNFOLDED:
        return None
    if not isinstance(node.type, TensorType):
        return None
    size = node.type.size
    arrays = [i.op.array for i in node.inputs if isinstance(i.op, Constant)]
    if not isinstance(size, int) or size > max(SMALL, *(a.size for a in arrays), 0):
        return None
    try:
        with np.errstate(all="ignore"):
            found = MEANINGS[type(op)](op, *arrays)
    except (IndexError, ValueError):
        return None  # an index outside its axis fails when the function runs, with its own message
    return None if found is None else np.asarray(found, dtype=numpy_dtype(node.dtype))


@rewrites(
    *MEANINGS, name="constants are folded",
    examples=[
        lambda t: t.exp(t.constant([1.0, 2.0])),
        lambda t: t.constant([[1.0, 2.0], [3.0, 5.0]]).sum(axis=0),
        lambda t: t.constant([1.0, 2.0, 3.0])[1:],
        lambda t: t.constant([[1.0, 2.0, 4.0]]).T,
        lambda t: t.constant([[1.0, 2.0], [3.0, 4.0]]) @ t.constant([1.0, -1.0]),
        lambda t: t.constant([1.0, 2.5]).astype("int64"),
    ],
)  # fmt: skip
def fold(node: Node, facts: Facts) -> Node | None:
    """A constant for a value of constants."""
    for operand in node.inputs:
        if not isinstance(operand.op, Constant):
            return None
    found = value(node)
    return constant(found) if found is not None else None


@rewrites(
    Elementwise, name="constant arrays of one value are numbers", operands=[Constant],
    examples=[lambda t: t.vector * t.constant([2.0] * 5), lambda t: t.scalar + t.constant([[1.0, 1.0]])],
)  # fmt: skip
def uniform(node: Node, facts: Facts) -> Node | None:
    """Operands that repeat one number, replaced by the number."""
    changed = False
    operands: list[Node] = []
    for operand in node.inputs:
        if isinstance(operand.op, Constant) and operand.op.array.ndim and operand.op.array.size:
            single = _single(operand)
            if single is not None:
                operands.append(single)
                changed = True
                continue
        operands.append(operand)
    return Node(node.op, *operands) if changed else None


def _single(node: Node) -> Node | None:
    assert isinstance(node.op, Constant)
    flat = node.op.array.reshape(-1)
    first = flat[:1]
    if flat[-1] != flat[0] or flat[flat.size // 2] != flat[0]:
        return None
    same = bool((flat == first).all())
    if same and flat.dtype.kind == "f" and not (np.signbit(flat) == np.signbit(first)).all():
        same = False
    return constant(first.reshape(())) if same else None


RULES: tuple[Rule, ...] = (fold, uniform)
