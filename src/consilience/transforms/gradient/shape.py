"""Pullbacks of ops that move or repeat elements: move them back, or sum the repetitions."""

from __future__ import annotations

from consilience.ir import Dim, Node
from consilience.ops import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Index,
    Iota,
    LengthOf,
    Reshape,
    Squeeze,
    Transpose,
)
from consilience.ops.index import FULL, Gather, Slice
from consilience.ops.random import Key
from consilience.ops.shape import expand_dims, length_of, reshape, transpose
from consilience.transforms.gradient.table import no_derivative, partial_of


@partial_of(Reshape)
def _reshape(node: Node, g: Node, position: int) -> Node:
    return reshape(g, node.inputs[0].static_shape)


@partial_of(Transpose)
def _transpose(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Transpose)
    axes = node.op.axes
    return transpose(g, [axes.index(i) for i in range(len(axes))])


@partial_of(ExpandDims)
def _expand_dims(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, ExpandDims)
    return Node(Squeeze(node.op.axes), g)


@partial_of(Squeeze)
def _squeeze(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Squeeze)
    return expand_dims(g, node.op.axes)


@partial_of(BroadcastTo)
def _broadcast_to(node: Node, g: Node, position: int) -> Node:
    return g  # the engine sums over stretched axes


@partial_of(Concatenate)
def _concatenate(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Concatenate)
    axis = node.op.axis
    lengths = [x.static_shape[axis] for x in node.inputs]
    lead = (FULL,) * axis
    trail = (FULL,) * (g.ndim - axis - 1)
    before, after = _static_sum(lengths[:position]), _static_sum(lengths[position + 1 :])
    own = lengths[position]
    if before is not None and (isinstance(own, int) or after is not None):
        if isinstance(own, int):
            part = Slice(before or None, before + own)
        else:
            part = Slice(before or None, -after if after else None)
        return Node(Index((*lead, part, *trail)), g)
    if after is not None and isinstance(own, int):
        return Node(Index((*lead, Slice(-after - own, -after or None), *trail)), g)
    start: Dim = 0
    for length in lengths[:position]:
        start = start + length
    return Node(Index((*lead, Gather(), *trail)), g, Node(Iota(own)) + length_of(start))


def _static_sum(lengths: list[Dim]) -> int | None:
    total = 0
    for length in lengths:
        if not isinstance(length, int):
            return None
        total += length
    return total


no_derivative(Key, "made of a seed, an integer")
no_derivative(Iota, "made of a length, an integer")
no_derivative(LengthOf, "made of a length, an integer")
