"""Writing or adding values at places given by index arrays, element by element in order."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from consilience.ir import Node
from consilience.lower.fusion import gather_layout, index_view
from consilience.lower.kernel_code import combine, index_offset
from consilience.lower.scalar_code import MEMORY, from_memory, to_memory
from consilience.lower.steps import ScatterStep
from consilience.lower.views import View, proved_inside, static
from consilience.native.loops import Builder, Value, Variable, i64
from consilience.ops import Index, IndexUpdate


def write_scatter(
    b: Builder,
    step: ScatterStep,
    *,
    target: Value,
    values: Value | None,
    indices: Sequence[Value | None],
    status: Variable,
    lanes: int,
) -> None:
    """Append the loop nest over the values.

    values, indices   pointers; None for a range, which is computed
    """
    node = step.node
    op = node.op
    assert isinstance(op, IndexUpdate)
    base, new, *arrays = node.inputs
    shape = static(new.static_shape)
    strides, extra, axes, place, rank = gather_layout(
        Index(op.specification), Node(Index(op.specification), base, *arrays), step.target
    )
    views = [index_view(v, shape, place, rank) for v in step.indices]
    details = [(n, s, proved_inside(a, n)) for a, (n, s) in zip(arrays, axes, strict=True)]
    memory = MEMORY[node.dtype]
    start = b.offset(target, b.const(i64, extra), memory) if extra else target
    with ExitStack() as loops:
        position = [loops.enter_context(b.for_(0, n)) for n in shape]
        picked = [_element(b, v, p, position, "int64") for v, p in zip(views, indices, strict=True)]
        offset = index_offset(b, picked, details, status)
        offset = b.add(offset, _affine(b, strides, position))
        pointer = b.offset(start, offset, memory)
        value = _element(b, step.values, values, position, node.dtype)
        if op.mode == "inc":
            old = from_memory(b, node.dtype, b.load(memory, pointer))
            value = combine(b, "sum", old, value, node.dtype)
        b.store(to_memory(b, node.dtype, value), pointer)


def _affine(b: Builder, strides: Sequence[int], position: Sequence[Value]) -> Value:
    total = b.const(i64, 0)
    for stride, index in zip(strides, position, strict=True):
        if stride:
            total = b.add(total, index if stride == 1 else b.mul(index, b.const(i64, stride)))
    return total


def _element(b: Builder, view: View, pointer: Value | None, position: Sequence[Value], dtype: str) -> Value:
    offset = _affine(b, view.strides, position)
    if pointer is None:
        return b.add(offset, b.const(i64, view.offset))
    return from_memory(b, dtype, b.load(MEMORY[dtype], b.offset(pointer, offset, MEMORY[dtype])))
