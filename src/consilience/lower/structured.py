"""Structured matrices written out, where a whole matrix is needed."""

from __future__ import annotations

from consilience.ir import Node
from consilience.lower.expand import expands
from consilience.ops import Iota, apply
from consilience.ops.elementwise import as_tensor
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, full, reshape
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker


@expands(DiagonalMatrix)
def expand_diagonal(node: Node) -> Node:
    """The vector where the row is the column, and zero elsewhere."""
    (d,) = node.inputs
    places = Node(Iota(d.static_shape[-1]))
    found = apply("where", apply("eq", expand_dims(places, 1), places), expand_dims(d, d.ndim), as_tensor(0, d.dtype))
    return broadcast_to(found, node.static_shape)


@expands(Kronecker)
def expand_kronecker(node: Node) -> Node:
    """Products of elements on four axes, taken together two and two."""
    a, b = node.inputs
    rank = a.ndim
    wide, tall = expand_dims(a, (rank - 1, rank + 1)), expand_dims(b, (rank - 2, rank))
    return reshape(apply("mul", wide, tall), node.static_shape)


@expands(BlockDiagonal)
def expand_block_diagonal(node: Node) -> Node:
    """Rows of blocks with zeros on both sides."""
    *lead, _, width = node.static_shape
    rows, from_left = [], 0
    for block in node.inputs:
        height, own = block.static_shape[-2:]
        assert isinstance(own, int)
        assert isinstance(width, int)
        sides = [full((*lead, height, n), 0, node.dtype) for n in (from_left, width - from_left - own)]
        rows.append(concatenate([sides[0], block, sides[1]], -1))
        from_left += own
    return concatenate(rows, -2)
