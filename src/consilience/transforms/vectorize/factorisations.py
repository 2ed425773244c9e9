"""Batched factorisations: they work on the last two axes already."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node, TupleType
from consilience.ir.types import Shape
from consilience.ops import Item
from consilience.ops.factorisations import (
    LDL,
    LU,
    QR,
    SVD,
    ColumnOrder,
    ComplexSchur,
    Eig,
    Eigh,
    Eigvals,
    Eigvalsh,
    Householder,
    LeastSquares,
    PivotPermutation,
    PseudoInverse,
    Schur,
    SingularValues,
)
from consilience.transforms.vectorize.table import Operand, batched_form


@batched_form(Eigh)
@batched_form(Eigvalsh)
@batched_form(SVD)
@batched_form(SingularValues)
@batched_form(QR)
@batched_form(Householder)
@batched_form(ColumnOrder)
@batched_form(Eig)
@batched_form(Eigvals)
@batched_form(LU)
@batched_form(PivotPermutation)
@batched_form(LDL)
@batched_form(Schur)
@batched_form(ComplexSchur)
@batched_form(PseudoInverse)
@batched_form(LeastSquares)
def _same(node: Node, operands: Sequence[Operand], batch: Shape) -> Node | list[Node]:
    made = Node(node.op, *(operand.full(batch) for operand in operands))
    return [Node(Item(i), made) for i in range(len(made.type.items))] if isinstance(made.type, TupleType) else made
