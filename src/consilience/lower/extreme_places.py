"""Steps that find where along an axis the greatest or least element is, among float64 or int64.

Outside: other dtypes, which `places` turns into these; orders of all elements (`order`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from consilience.ir import Node
from consilience.lower.fortran import Argument
from consilience.lower.routines import routine
from consilience.lower.scalar_code import MEMORY
from consilience.native.loops import Builder, f64, i64
from consilience.ops import ArgReduce

COLUMNS = 1024  # lines of elements that lie apart are gone through side by side


def _lines(node: Node) -> tuple[int, int, int]:
    """The numbers of blocks, of elements of a line, and of lines side by side in a block."""
    op, shape = node.op, node.inputs[0].static_shape
    assert isinstance(op, ArgReduce)
    lengths = [n for n in shape if isinstance(n, int)]
    return math.prod(lengths[: op.axis]), lengths[op.axis], math.prod(lengths[op.axis + 1 :])


def _memory(node: Node) -> list[tuple[str, int]]:
    """For the most extreme of each column."""
    inner = _lines(node)[2]
    return [("int64", min(inner, COLUMNS))] if inner > 1 else []


@routine(ArgReduce, _memory)
def _arg_reduce(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    assert isinstance(node.op, ArgReduce)
    (x,), (result, *best) = sources, targets
    outer, length, inner = _lines(node)
    memory = MEMORY[node.inputs[0].dtype]
    what = f"of_{'floats' if memory is f64 else 'integers'}"
    flip = b.const(i64, 0 if node.op.kind == "max" else -1)
    rows, width = b.const(i64, length), b.const(i64, inner)
    with b.for_(0, outer) as block:
        values = b.offset(x.pointer, b.mul(block, b.const(i64, length * inner)), memory)
        places = b.offset(result.pointer, b.mul(block, width), i64)
        if best:
            with b.for_(0, inner, COLUMNS) as begin:
                count = b.minimum(b.const(i64, COLUMNS), b.sub(width, begin))
                first, own = b.offset(values, begin, memory), b.offset(places, begin, i64)
                memory_of_best = best[0].pointer
                b.call(
                    f"consilience_routine_extremes_{what}", None, first, rows, width, count, flip, memory_of_best, own
                )
        else:
            b.store(b.call(f"consilience_routine_extreme_{what}", i64, values, rows, flip), places)
