"""Batched linear algebra: most ops work on the last two axes already."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.dimension import product
from consilience.ir.types import Shape
from consilience.ops import MatMul, Solve, SolveTriangular
from consilience.ops.matrix_equations import DiagonalSums, ToeplitzInverse, ToeplitzInverseSums, ToeplitzSolve
from consilience.ops.shape import expand_dims, reshape, squeeze, transpose
from consilience.transforms.vectorize.table import Operand, batched_form, no_batched_form


@batched_form(MatMul)
def _matmul(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    a, b = operands
    if not b.batched and b.core.ndim <= 2:
        return Node(MatMul(), a.value, b.value)  # a batch of vectors is a matrix to NumPy
    if not a.batched and b.core.ndim == 1 and a.core.ndim <= 2:
        return Node(MatMul(), b.value, a.value.mT if a.core.ndim == 2 else a.value)
    if not a.batched and a.core.ndim == 1:
        return Node(MatMul(), a.value, b.value)
    rank = max(a.core.ndim, b.core.ndim, 2)
    left, right = _as_matrices(a, rank, -2, batch), _as_matrices(b, rank, -1, batch)
    result = Node(MatMul(), left, right)
    gone = [axis for axis, operand in ((-2, a), (-1, b)) if operand.core.ndim == 1]
    return squeeze(result, gone) if gone else result


def _as_matrices(operand: Operand, rank: int, axis: int, batch: Shape) -> Node:
    """A vector as a matrix with one row or column, and batch axes of the core lined up."""
    value, core_rank = operand.value, operand.core.ndim
    if core_rank == 1:
        value, core_rank = expand_dims(value, axis), 2
    if operand.batched and core_rank < rank:
        value = expand_dims(value, range(len(batch), len(batch) + rank - core_rank))
    return value


@batched_form(Solve)
@batched_form(SolveTriangular)
def _solve(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    a, b = operands
    if a.batched:
        return Node(node.op, a.value, b.full(batch))
    # One matrix, many right sides: they become columns, so that the matrix is factorised once.
    rank = len(batch)
    columns = transpose(b.value, [*range(rank, b.value.ndim), *range(rank)])
    core = b.core.static_shape
    flat = reshape(columns, (*core[:-1], product((core[-1], *batch))))
    solved = reshape(Node(node.op, a.value, flat), (*core, *batch))
    return transpose(solved, [*range(len(core), len(core) + rank), *range(len(core))])


for _op in (ToeplitzInverse, ToeplitzSolve, ToeplitzInverseSums, DiagonalSums):
    no_batched_form(_op, "Toeplitz matrices come into programs that are not batched any more")
