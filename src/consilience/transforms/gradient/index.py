"""Pullbacks of reading and writing parts of a tensor: each is the other's."""

from __future__ import annotations

import numpy as np

from consilience.ir import Node, constant, constant_value, side_tables
from consilience.ir.dimension import product
from consilience.ops import BroadcastTo, Index, IndexUpdate, Iota, MaskPositions, apply
from consilience.ops.index import Gather
from consilience.ops.shape import broadcast_to, reshape
from consilience.transforms.gradient.table import no_derivative, partial_of


@partial_of(Index)
def _index(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Index)
    x, *arrays = node.inputs
    result = Node(IndexUpdate(node.op.specification, "inc"), zeros_like(x), g, *arrays)
    side_tables.pass_on(node, result)  # an index outside its axis is the one the user wrote
    return result


@partial_of(IndexUpdate)
def _index_update(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, IndexUpdate)
    _, values, *arrays = node.inputs
    op = node.op
    if position == 0:
        if op.mode == "inc":
            return g
        return Node(IndexUpdate(op.specification, "set"), g, zeros_like(values), *arrays)
    read = Node(Index(op.specification), g, *arrays)
    if op.mode == "inc" or _distinct(op, arrays):
        return read
    return apply("where", _last_written(op, values, node, arrays), read, 0.0)


def _distinct(op: IndexUpdate, arrays: list[Node]) -> bool:
    """Whether no position is written twice, as far as constants tell."""
    if not any(isinstance(entry, Gather) for entry in op.specification):
        return True
    known = [constant_value(array) for array in arrays]
    if any(k is None for k in known):
        return False
    together = np.broadcast_arrays(*[k for k in known if k is not None])
    if any((k < 0).any() for k in together):
        return False
    rows = np.stack([k.reshape(-1) for k in together], axis=-1)
    return len(np.unique(rows, axis=0)) == len(rows)


def _last_written(op: IndexUpdate, values: Node, node: Node, arrays: list[Node]) -> Node:
    """Where a value is the one that stays: number the values, write the numbers, read them back."""
    numbers = reshape(Node(Iota(product(values.static_shape))), values.static_shape)
    empty = broadcast_to(constant(-1, "int64"), node.static_shape)
    written = Node(IndexUpdate(op.specification, "set"), empty, numbers, *arrays)
    return apply("eq", Node(Index(op.specification), written, *arrays), numbers)


def zeros_like(x: Node) -> Node:
    """Zeros of the type of a float tensor."""
    zero = constant(0.0, x.dtype)
    return Node(BroadcastTo(x.static_shape), zero) if x.ndim else zero


no_derivative(MaskPositions, "the result is positions, integers")
