"""Batched transforms and correlations: their leading axes are a batch already."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.types import Shape
from consilience.ops.correlation import Correlate
from consilience.ops.fourier import FourierTransform, InverseRealFourier, RealFourier
from consilience.transforms.vectorize.table import Operand, batched_form


@batched_form(FourierTransform)
@batched_form(RealFourier)
@batched_form(InverseRealFourier)
@batched_form(Correlate)
def _same(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    return Node(node.op, *(operand.full(batch) for operand in operands))
