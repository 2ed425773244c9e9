"""Pullbacks of ops that move or repeat elements: move them back, or sum the repetitions."""

from __future__ import annotations

from collections.abc import Sequence

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
from consilience.ops.index import FULL, SliceIndex
from consilience.ops.random import Key
from consilience.ops.shape import expand_dims, reshape, transpose
from consilience.transforms.gradient.table import no_derivative, partial_of, pullback_of


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


@pullback_of(Concatenate)
def _concatenate(node: Node, g: Node, wanted: Sequence[bool]) -> list[Node | None]:
    assert isinstance(node.op, Concatenate)
    axis = node.op.axis
    lengths = [x.static_shape[axis] for x in node.inputs]
    lead, trail = (FULL,) * axis, (FULL,) * (g.ndim - axis - 1)
    found: list[Node | None] = []
    start: Dim = 0
    for position, (own, asked) in enumerate(zip(lengths, wanted, strict=True)):
        stop = None if position == len(lengths) - 1 else start + own
        found.append(Node(Index((*lead, SliceIndex(start or None, stop), *trail)), g) if asked else None)
        start = start + own
    return found


no_derivative(Key, "made of a seed, an integer")
no_derivative(Iota, "made of a length, an integer")
no_derivative(LengthOf, "made of a length, an integer")
