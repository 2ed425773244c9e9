"""Rows of data that occur many times, computed once: sums over independent rows as sums over distinct rows and counts.

Outputs in, equal outputs out. What a row is follows from the graph: elements along the first axis that no op joins.
Counts are sufficient statistics of any likelihood whose data and predictors take few values. Data that may be exchanged
later are no constants, and stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.ir import Constant, Node, TensorType, constant, is_leaf, rebuild, topological
from consilience.ir.side_tables import carry, without_sources
from consilience.ir.types import ALGEBRAIC, FLOATS
from consilience.ops.assertion import Assume
from consilience.ops.elementwise import Cast, Elementwise
from consilience.ops.index import FULL, Gather, Index
from consilience.ops.linalg import MatMul
from consilience.ops.reduce import Reduce, reduce
from consilience.ops.shape import ExpandDims, Squeeze

# Sums over fewer rows cost next to nothing.
FEWEST: Final = 500
# Distinct rows may be this part of all.
SHARE: Final = 0.25
# Rows that are looked at first: continuous data show there that they are.
SAMPLE: Final = 4096


def equal_rows_counted(outputs: Sequence[Node]) -> list[Node]:
    """Equal outputs, where sums over rows of constant data that repeat themselves are sums over the distinct rows.

    The order of summation changes, so results are equal up to rounding.

    Parameters
    ----------
    outputs : sequence of Node
        Expressions of any shape; rows are counted along the first axis of what a sum adds up.

    Returns
    -------
    list of Node
        One expression per output, of its type.
    """
    order = topological(outputs)
    found: dict[Node, Node] = {}
    with without_sources():
        for node in order:
            here = node if is_leaf(node) else rebuild(node, tuple([found[i] for i in node.inputs]))
            if counts_rows(here):
                counted = _counted(here)
                if counted is not None:
                    here = counted
                    carry(node, here)
            found[node] = here
    return [found[output] for output in outputs]


def counts_rows(node: Node) -> bool:
    """Whether a node is a sum over the first axis, long enough to be worth a look."""
    op = node.op
    if not isinstance(op, Reduce) or op.kind != "sum" or 0 not in op.axes or node.dtype not in FLOATS:
        return False
    rows = node.inputs[0].static_shape[0]
    return isinstance(rows, int) and rows >= FEWEST


def _counted(total: Node) -> Node | None:
    """The sum over distinct rows; None where rows are not independent, not constant, or mostly different."""
    assert isinstance(total.op, Reduce)
    (each,) = total.inputs
    rows = each.static_shape[0]
    assert isinstance(rows, int)
    along = along_rows(each, rows)
    if along is None:
        return None
    data = [node for node in along if isinstance(node.op, Constant)]
    chosen = _distinct([node.op.array for node in data if isinstance(node.op, Constant)], rows)
    if chosen is None:
        return None
    first, counts = chosen
    made: dict[Node, Node] = {}
    for node in along:
        if isinstance(node.op, Constant):
            made[node] = constant(node.op.array[first])
        else:
            made[node] = rebuild(node, tuple([made.get(i, i) for i in node.inputs]))
    weights = constant(counts.astype(each.dtype).reshape(-1, *[1] * (each.ndim - 1)))
    return reduce("sum", weights * made[each], total.op.axes)


def along_rows(each: Node, rows: int) -> list[Node] | None:
    """What has one value per row, inputs first; None where an op joins rows, or where a row has what is no constant."""
    along: dict[Node, None] = {}
    for node in topological([each], stop=lambda n: isinstance(n.op, Constant)):
        op = node.op
        if isinstance(op, Constant):
            if op.array.ndim and op.array.shape[0] == rows and op.array.dtype.kind in "fiub":
                along[node] = None
            continue
        inside = [i in along for i in node.inputs]
        if not any(inside):
            continue
        of = node.type
        if not isinstance(of, TensorType) or of.shape[:1] != (rows,) or not _keeps_rows(node, inside):
            return None
        along[node] = None
    return list(along) if each in along else None


def _keeps_rows(node: Node, inside: Sequence[bool]) -> bool:
    """Whether the first axis of the result, and of the operands that have one value per row, is that of the rows."""
    op = node.op
    if isinstance(op, Elementwise):
        if node.dtype not in ALGEBRAIC:
            return False
        return all(
            i.ndim == node.ndim if own else i.ndim < node.ndim or i.static_shape[0] == 1
            for i, own in zip(node.inputs, inside, strict=True)
        )
    if isinstance(op, Cast | Assume):
        return True
    if isinstance(op, MatMul):
        x, other = node.inputs
        return inside[0] and not inside[1] and x.ndim == 2 and other.ndim <= 2
    if isinstance(op, Reduce):
        return 0 not in op.axes
    if isinstance(op, ExpandDims | Squeeze):
        return 0 not in op.axes
    if isinstance(op, Index):
        gathers = [e for e in op.specification if isinstance(e, Gather)]
        if inside[0]:
            return op.specification[0] == FULL and not gathers
        # Parameters of the row's group: x[group], or x[group, level].
        places = op.specification[: len(gathers)]
        return all(inside[1:]) and all(i.ndim == 1 for i in node.inputs[1:]) and all(e == Gather() for e in places)
    return False


def _distinct(
    arrays: Sequence[npt.NDArray[Any]], rows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """The first place of each distinct row, in order, and how often it occurs; None where most occur once."""
    columns = [array.reshape(rows, -1)[:, k] for array in arrays for k in range(array[:1].size)]
    few = min(rows, SAMPLE)
    for length in dict.fromkeys((few, rows)):
        code = np.zeros(length, np.int64)
        for column in columns:
            _, own = np.unique(column[:length], return_inverse=True)
            _, first, code, counts = np.unique(
                code * (int(own.max()) + 1) + own, return_index=True, return_inverse=True, return_counts=True
            )
            if len(first) > SHARE * length:
                return None
    order = np.argsort(first)
    return first[order], counts[order]


__all__ = ["along_rows", "counts_rows", "equal_rows_counted"]
