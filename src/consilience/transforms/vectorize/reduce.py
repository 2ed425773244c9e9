"""Batched reductions: the same axes, counted behind the batch axes."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.types import Shape
from consilience.ops import ArgReduce, Cumulative, Reduce, Softmax
from consilience.ops.collective import Collective
from consilience.transforms.vectorize.table import Operand, batched_form


@batched_form(Reduce)
def _reduce(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, Reduce)
    return Node(Reduce(node.op.kind, tuple(a + len(batch) for a in node.op.axes)), operands[0].value)


@batched_form(ArgReduce)
def _arg_reduce(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, ArgReduce)
    return Node(ArgReduce(node.op.kind, node.op.axis + len(batch)), operands[0].value)


@batched_form(Cumulative)
def _cumulative(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, Cumulative)
    return Node(Cumulative(node.op.kind, node.op.axis + len(batch), node.op.reverse), operands[0].value)


@batched_form(Softmax)
def _softmax(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, Softmax)
    axes = tuple(a + len(batch) for a in node.op.axes)
    return Node(Softmax(axes, node.op.logarithm), operands[0].value)


@batched_form(Collective)
def _collective(node: Node, operands: Sequence[Operand], batch: Shape) -> Node | Operand:
    assert isinstance(node.op, Collective)
    x, position = operands
    if not position.batched:  # of another batch than the one that is meant
        return Node(node.op, x.value, position.value)
    return Operand(node, Node(Reduce(node.op.kind, tuple(range(len(batch)))), x.full(batch)), False)
