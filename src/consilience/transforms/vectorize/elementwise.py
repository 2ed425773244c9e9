"""Batched scalar functions: broadcasting does it, once the core's axes line up behind the batch axes."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.types import Shape
from consilience.ops import AlteredGradient, Assume, Cast, Elementwise, Require, StopGradient
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.transforms.vectorize.table import Operand, batched_form


@batched_form(Elementwise)
def _elementwise(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    return Node(node.op, *(operand.at_rank(node.ndim, batch) for operand in operands))


@batched_form(Assume)
@batched_form(Cast)
@batched_form(Require)
@batched_form(StopGradient)
@batched_form(AlteredGradient)
def _same(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    return Node(node.op, operands[0].value)


@batched_form(Asserted)
@batched_form(ParameterCheck)
def _checked(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    return Node(node.op, *(operand.full(batch) for operand in operands))
