"""Batched equations and functions of matrices: they work on the last two axes already."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.types import Shape
from consilience.ops import Item
from consilience.ops.matrix_equations import (
    DiagonalSums,
    SolveBanded,
    SolveRiccati,
    SolveSylvester,
    ToeplitzInverse,
    ToeplitzInverseSums,
    ToeplitzSolve,
    TridiagonalLU,
    TridiagonalLUSolve,
)
from consilience.ops.matrix_functions import MatrixFunction, MatrixFunctionDerivative
from consilience.transforms.vectorize.table import Operand, batched_form, no_batched_form


@batched_form(SolveSylvester)
@batched_form(SolveBanded)
@batched_form(SolveRiccati)
@batched_form(TridiagonalLUSolve)
@batched_form(MatrixFunction)
@batched_form(MatrixFunctionDerivative)
def _same(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    return Node(node.op, *(operand.full(batch) for operand in operands))


@batched_form(TridiagonalLU)
def _factors(node: Node, operands: Sequence[Operand], batch: Shape) -> list[Node]:
    made = Node(node.op, operands[0].value)
    return [Node(Item(0), made), Node(Item(1), made)]


for _op in (ToeplitzInverse, ToeplitzSolve, ToeplitzInverseSums, DiagonalSums):
    no_batched_form(_op, "Toeplitz matrices come into programs that are not batched any more")
