"""Batched order: the same axis, counted behind the batch axes; each batch position has vectors of its own."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.types import Shape
from consilience.ops import ArgSort, SearchSorted, Sort
from consilience.transforms.vectorize.table import Operand, batched_form


@batched_form(Sort)
def _sort(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, Sort)
    return Node(Sort(node.op.axis + len(batch)), operands[0].value)


@batched_form(ArgSort)
def _arg_sort(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, ArgSort)
    return Node(ArgSort(node.op.axis + len(batch)), operands[0].value)


@batched_form(SearchSorted)
def _search_sorted(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, SearchSorted)
    vectors, values = operands
    if not vectors.batched and not node.op.batch:
        return Node(node.op, vectors.value, values.value)
    return Node(SearchSorted(node.op.side, node.op.batch + len(batch)), vectors.full(batch), values.full(batch))
