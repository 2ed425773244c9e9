"""Batched structured matrices: they work on the last axes already."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.types import Shape
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker
from consilience.transforms.vectorize.table import Operand, batched_form


@batched_form(DiagonalMatrix)
@batched_form(Kronecker)
@batched_form(BlockDiagonal)
def _same(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    return Node(node.op, *(operand.full(batch) for operand in operands))
