"""Batched products with sparse matrices: more columns, or one block diagonal matrix for the whole batch."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.dimension import product
from consilience.ir.types import Shape
from consilience.ops.shape import reshape, transpose
from consilience.ops.sparse.factorisation import SparseCholesky, SparseCholeskyPullback, SparseTriangularSolve
from consilience.ops.sparse.products import SampledProduct, SparseProduct, TransposedSparseProduct, block_diagonal
from consilience.transforms.vectorize.table import Operand, batched_form


def _flat(operand: Operand, batch: Shape) -> Node:
    """One value per position of the batch, as one axis."""
    return reshape(operand.full(batch), (product(batch), *operand.core.static_shape))


def _stacked(operand: Operand, batch: Shape) -> Node:
    """The values of all positions, below each other."""
    rows, *rest = operand.core.static_shape
    return reshape(operand.full(batch), (product((*batch, rows)), *rest))


@batched_form(SparseProduct)
@batched_form(TransposedSparseProduct)
def _product(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    entries, columns, begins, x = operands
    rank = len(batch)
    if not (entries.batched or columns.batched or begins.batched):
        height, width = x.core.static_shape
        wide = reshape(transpose(x.value, (rank, *range(rank), rank + 1)), (height, product((*batch, width))))
        result = Node(node.op, entries.value, columns.value, begins.value, wide)
        parts = reshape(result, (result.static_shape[0], *batch, width))
        return transpose(parts, (*range(1, rank + 1), 0, rank + 1))
    assert isinstance(node.op, SparseProduct | TransposedSparseProduct)
    length = node.op.width if isinstance(node.op, SparseProduct) else node.op.length
    shifted, starts = block_diagonal(_flat(columns, batch), _flat(begins, batch), length)
    result = Node(
        type(node.op)(product((*batch, length))), _stacked(entries, batch), shifted, starts, _stacked(x, batch)
    )
    return reshape(result, (*batch, *node.static_shape))


@batched_form(SampledProduct)
def _sampled(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    u, v, columns, begins = operands
    length = v.core.static_shape[0]
    shifted, starts = block_diagonal(_flat(columns, batch), _flat(begins, batch), length)
    result = Node(node.op, _stacked(u, batch), _stacked(v, batch), shifted, starts)
    return reshape(result, (*batch, *node.static_shape))


@batched_form(SparseCholesky)
@batched_form(SparseCholeskyPullback)
@batched_form(SparseTriangularSolve)
def _factorisation(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    """Leading axes of entries and right sides are a batch; places are constants."""
    values = 1 if isinstance(node.op, SparseCholesky) else 2
    return Node(node.op, *(o.full(batch) for o in operands[:values]), *(o.core for o in operands[values:]))
