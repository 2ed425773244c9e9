"""Batched state spaces: leading axes of all operands but the last constant one."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.types import Shape
from consilience.ops import Item
from consilience.ops.state_space import KalmanFilter, KalmanSlopes
from consilience.transforms.vectorize.table import Operand, batched_form


@batched_form(KalmanFilter)
@batched_form(KalmanSlopes)
def _same(node: Node, operands: Sequence[Operand], batch: Shape) -> list[Node]:
    whole = [x.core if k == 8 else x.full(batch) for k, x in enumerate(operands)]
    made = Node(node.op, *whole)
    return [Node(Item(k), made) for k in range(2 if isinstance(node.op, KalmanFilter) else 9)]
