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
from consilience.ops.index import FULL, Gather, Slice
from consilience.ops.random import Key
from consilience.ops.shape import expand_dims, length_of, reshape, transpose
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
    starts, ends = _running_sums(lengths), _running_sums(lengths[::-1])[::-1]
    lead, trail = (FULL,) * axis, (FULL,) * (g.ndim - axis - 1)
    found: list[Node | None] = []
    for own, before, after, asked in zip(lengths, starts, ends, wanted, strict=True):
        if not asked:
            found.append(None)
        elif isinstance(before, int) and (isinstance(own, int) or isinstance(after, int)):
            stop = before + own if isinstance(own, int) else -after if isinstance(after, int) and after else None
            found.append(Node(Index((*lead, Slice(before or None, stop), *trail)), g))
        elif isinstance(after, int) and isinstance(own, int):
            found.append(Node(Index((*lead, Slice(-after - own, -after or None), *trail)), g))
        else:
            found.append(Node(Index((*lead, Gather(), *trail)), g, Node(Iota(own)) + length_of(before)))
    return found


def _running_sums(lengths: Sequence[Dim]) -> list[Dim]:
    """The sum of the lengths before each."""
    sums: list[Dim] = []
    total: Dim = 0
    for length in lengths:
        sums.append(total)
        total = total + length
    return sums


no_derivative(Key, "made of a seed, an integer")
no_derivative(Iota, "made of a length, an integer")
no_derivative(LengthOf, "made of a length, an integer")
