"""Matrices whose structure is kept in sight: diagonal, block diagonal, and Kronecker products.

In: what a matrix is made of. Out: the whole matrix, on the last two axes; leading axes are a batch, equal in all
operands. Rules use the parts instead of the whole wherever that does; elsewhere they are written out.
"""

from __future__ import annotations

from consilience.ir import Dim, Node, Op, TensorType
from consilience.ir.shape_constraints import ShapeConstraint


class DiagonalMatrix(Op):
    """The square matrix with a vector on its main diagonal and zeros elsewhere."""

    core = 1
    linear = ((0,),)

    def result_type(self, *inputs: Node) -> TensorType:
        (d,) = inputs
        return d.tensor_type.with_shape((*d.static_shape, d.static_shape[-1]))


class _Batch(Op):
    """Shared by ops on several matrices."""

    core = 2

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        first, *others = (x.static_shape[:-2] for x in inputs)
        pairs = [pair for other in others for pair in zip(first, other, strict=True)]
        return tuple(ShapeConstraint(a, b, "batch axes agree") for a, b in pairs if a is not b and a != b)


class Kronecker(_Batch):
    """Every element of a matrix times all of another: shape (p r, q s) of shapes (p, q) and (r, s)."""

    linear = ((0,), (1,))

    def result_type(self, *inputs: Node) -> TensorType:
        a, b = inputs
        lengths = (x * y for x, y in zip(a.static_shape[-2:], b.static_shape[-2:], strict=True))
        return a.tensor_type.with_shape((*a.static_shape[:-2], *lengths))


class BlockDiagonal(_Batch):
    """Matrices one behind the other along the diagonal, zeros elsewhere."""

    def result_type(self, *inputs: Node) -> TensorType:
        rows: Dim = 0
        columns: Dim = 0
        for x in inputs:
            rows, columns = rows + x.static_shape[-2], columns + x.static_shape[-1]
        return inputs[0].tensor_type.with_shape((*inputs[0].static_shape[:-2], rows, columns))

    def linear_in(self, count: int) -> tuple[tuple[int, ...], ...]:
        return (tuple(range(count)),)
