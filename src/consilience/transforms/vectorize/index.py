"""Batched reading and writing by index.

Where tensor and index arrays are both batched, the batch positions become index arrays themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.types import Shape
from consilience.ops import Index, IndexUpdate, Iota, MaskPositions
from consilience.ops.elementwise import broadcast_shape
from consilience.ops.index import FULL, Gather, Specification, gather_place
from consilience.ops.shape import expand_dims, transpose
from consilience.transforms.vectorize.table import Operand, batched_form, no_batched_form


@batched_form(Index)
def _index(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, Index)
    x, *arrays = operands
    gathered = _gathered_rank(arrays)
    if x.batched:
        specification, indices, order = _with_batch(node.op.specification, arrays, gathered, batch)
        read = Node(Index(specification), x.value, *indices)
        order = _completed(order, read.ndim)
        return transpose(read, [order.index(i) for i in range(read.ndim)])
    # One tensor, many places: the arrays carry the batch axes to where their axes stand in the result.
    place = gather_place(node.op.specification)
    assert place is not None
    read = Node(node.op, x.value, *(array.at_rank(gathered, batch) for array in arrays))
    axes = range(place, place + len(batch))
    return transpose(read, [*axes, *(i for i in range(read.ndim) if i not in axes)])


@batched_form(IndexUpdate)
def _index_update(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, IndexUpdate)
    x, values, *arrays = operands
    specification, indices, order = _with_batch(node.op.specification, arrays, _gathered_rank(arrays), batch)
    many = values.full(batch)
    moved = transpose(many, _completed(order, many.ndim))
    return Node(IndexUpdate(specification, node.op.mode), x.full(batch), moved, *indices)


no_batched_form(MaskPositions, "the number of True elements differs from one batch position to another; use `where`")


def _gathered_rank(arrays: Sequence[Operand]) -> int:
    """Number of axes of the index arrays together, as the node was written."""
    return len(broadcast_shape([array.core for array in arrays])[0])


def _with_batch(
    specification: Specification, arrays: Sequence[Operand], gathered: int, batch: Shape
) -> tuple[Specification, list[Node], list[int]]:
    """The specification behind batch axes, its index arrays, and how to order the axes of a part.

    Of the order, axis i of `x[specification]` is axis order[i] of (*batch, *core part); axes it leaves out agree.
    """
    rank = len(batch)
    place = gather_place(specification)
    if not any(array.batched for array in arrays):
        result: Specification = ((FULL,) * rank) + specification
        values = [array.value for array in arrays]
        # Index arrays that are apart put their axes first, before the batch.
        apart = place is not None and gather_place(result) == 0 and rank > 0
        if not apart:
            return result, values, []
        return result, values, [*range(rank, rank + gathered), *range(rank)]
    assert place is not None
    grids = [expand_dims(Node(Iota(n)), _others(i, rank + gathered)) for i, n in enumerate(batch)]
    result = ((Gather(),) * rank) + specification
    values = [*grids, *(array.at_rank(gathered, batch) for array in arrays)]
    # Batch and gathered axes come first together; the axes that stood before the gathered ones follow.
    if place == 0:
        return result, values, []
    return (
        result,
        values,
        [*range(rank), *range(rank + place, rank + place + gathered), *range(rank, rank + place)],
    )


def _others(axis: int, rank: int) -> list[int]:
    return [i for i in range(rank) if i != axis]


def _completed(order: Sequence[int], rank: int) -> list[int]:
    """An order of the first axes as an order of all."""
    return [*order, *range(len(order), rank)]
