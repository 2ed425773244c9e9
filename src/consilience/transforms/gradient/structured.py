"""Pullbacks of structured matrices: what every part contributes to the whole."""

from __future__ import annotations

from consilience.ir import Dim, Node
from consilience.ops.linalg import diagonal
from consilience.ops.reduce import reduce
from consilience.ops.shape import expand_dims, reshape
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker
from consilience.transforms.gradient.table import partial_of


@partial_of(DiagonalMatrix)
def _diagonal(node: Node, g: Node, position: int) -> Node:
    return diagonal(g)


@partial_of(Kronecker)
def _kronecker(node: Node, g: Node, position: int) -> Node:
    a, b = node.inputs
    rank = a.ndim
    (p, q), (r, s) = a.static_shape[-2:], b.static_shape[-2:]
    apart = reshape(g, (*a.static_shape[:-2], p, r, q, s))
    if position == 0:
        return reduce("sum", apart * expand_dims(b, (rank - 2, rank)), (rank - 1, rank + 1))
    return reduce("sum", apart * expand_dims(a, (rank - 1, rank + 1)), (rank - 2, rank))


@partial_of(BlockDiagonal)
def _block_diagonal(node: Node, g: Node, position: int) -> Node:
    above: Dim = 0
    left: Dim = 0
    for block in node.inputs[:position]:
        above, left = above + block.static_shape[-2], left + block.static_shape[-1]
    height, width = node.inputs[position].static_shape[-2:]
    return g[..., above : above + height, left : left + width]
