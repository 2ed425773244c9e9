"""Rows of data that occur many times, computed once: sums over independent rows as sums over distinct rows and counts.

Outputs in, equal outputs out. What a row is follows from the graph: elements along the first axis that no op joins.
Counts are sufficient statistics of any likelihood whose data and predictors take few values. Data that may be exchanged
later are no constants, and stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, isqrt, sqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.analysis.separability import kept_axes
from consilience.ir import Constant, Node, TensorType, constant, is_leaf, rebuild, topological
from consilience.ir.side_tables import carry, without_sources
from consilience.ir.types import ALGEBRAIC, FLOATS
from consilience.ops.index import Gather, Index
from consilience.ops.reduce import Reduce, reduce
from consilience.ops.shape import BroadcastTo, Iota, Reshape

# Sums over fewer rows cost next to nothing.
FEWEST: Final = 500
# Distinct rows may be this part of all.
SHARE: Final = 0.25
# Rows that are looked at first, at least: continuous data show there that they are.
SAMPLE: Final = 4096


def equal_rows_counted(outputs: Sequence[Node]) -> list[Node]:
    """Equal outputs, where sums over rows of constant data that repeat themselves are sums over the distinct rows.

    The order of summation changes, so results are equal up to rounding.

    `outputs`: expressions of any shape; rows are counted along the first axis of what a sum adds up. Returns: one
    expression per output, of its type.
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
    (distinct,) = at_rows([each], along, first)
    weights = constant(counts.astype(each.dtype).reshape(-1, *[1] * (each.ndim - 1)))
    return reduce("sum", weights * distinct, total.op.axes)


def at_rows(outputs: Sequence[Node], along: Sequence[Node], places: npt.NDArray[np.int64]) -> list[Node]:
    """Expressions with one value per row for some of the rows, given all of `along_rows` that they are made of."""
    made: dict[Node, Node] = {}
    for node in along:
        op = node.op
        if isinstance(op, Constant):
            made[node] = constant(op.array[places])
        elif isinstance(op, BroadcastTo | Reshape):
            shaped = type(op)((len(places), *node.static_shape[1:]))
            made[node] = Node(shaped, made.get(node.inputs[0], node.inputs[0]))
        else:
            inputs = [made.get(i, i) for i in node.inputs]
            if _reads_own_row(node):
                inputs[1] = Node(Iota(len(places)))
            made[node] = rebuild(node, tuple(inputs))
    return [made.get(output, output) for output in outputs]


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
            if isinstance(op, BroadcastTo) and node.static_shape[:1] == (rows,) and _same_for_rows(node):
                along[node] = None
            continue
        of = node.type
        if not isinstance(of, TensorType) or of.shape[:1] != (rows,) or not _keeps_rows(node, inside):
            return None
        along[node] = None
    return list(along) if each in along else None


def _same_for_rows(node: Node) -> bool:
    return node.inputs[0].ndim < node.ndim or node.inputs[0].static_shape[0] == 1


def _reads_own_row(node: Node) -> bool:
    """Whether it is x[0, k[0]], x[1, k[1]], …: one value of each row."""
    op = node.op
    return (
        isinstance(op, Index)
        and op.specification == (Gather(), Gather())
        and node.inputs[1].op == Iota(node.inputs[0].static_shape[0])
    )


def _keeps_rows(node: Node, inside: Sequence[bool]) -> bool:
    """Whether the first axis of the result, and of the operands that have one value per row, is that of the rows."""
    if node.dtype not in ALGEBRAIC:
        return False
    if inside[0] and _reads_own_row(node):
        return inside[2] and node.inputs[2].ndim == 1
    return all(kept.get(0) == (0 if own else None) for kept, own in zip(kept_axes(node), inside, strict=True))


def some_rows(rows: int) -> npt.NDArray[np.int64]:
    """Places of rows that are looked at first, spread over all of them without any order; few rows all count."""
    count = max(SAMPLE, 4 * isqrt(rows))
    if rows <= count:
        return np.arange(rows)
    return np.unique(np.arange(count) * 0x9E3779B1 % rows)


def too_different(distinct: int, looked_at: int, rows: int) -> bool:
    """Whether so many of the rows that were looked at are distinct that more than a share of all must be."""
    most = SHARE * rows
    if looked_at == rows:
        return distinct > most
    expected = most * -expm1(-looked_at / most)  # of rows that fall into so many kinds at random
    return distinct > expected + 3 * sqrt(looked_at - expected)


def _distinct(
    arrays: Sequence[npt.NDArray[Any]], rows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """The first place of each distinct row, in order, and how often it occurs; None where most occur once."""
    columns = [array.reshape(rows, -1)[:, k] for array in arrays for k in range(array[:1].size)]
    first, counts = np.zeros(1, np.int64), np.full(1, rows)
    for places in (some_rows(rows), slice(None)):
        code = np.zeros(rows, np.int64)[places]
        for column in columns:
            _, own = np.unique(column[places], return_inverse=True)
            _, first, code, counts = np.unique(
                code * (int(own.max()) + 1) + own, return_index=True, return_inverse=True, return_counts=True
            )
            if too_different(len(first), len(code), rows):
                return None
    order = np.argsort(first)
    return first[order], counts[order]


__all__ = ["along_rows", "at_rows", "counts_rows", "equal_rows_counted", "some_rows", "too_different"]
