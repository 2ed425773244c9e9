"""Batched views, joins and repetitions: the batch axes stay in front."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ir.types import Shape
from consilience.ops import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Iota,
    LengthOf,
    Reshape,
    Squeeze,
    Transpose,
)
from consilience.ops.random import Key
from consilience.ops.shape import broadcast_to
from consilience.transforms.vectorize.table import Operand, batched_form, no_batched_form


@batched_form(Reshape)
def _reshape(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    return Node(Reshape((*batch, *node.static_shape)), operands[0].value)


@batched_form(Transpose)
def _transpose(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, Transpose)
    rank = len(batch)
    return Node(Transpose((*range(rank), *(a + rank for a in node.op.axes))), operands[0].value)


@batched_form(ExpandDims)
def _expand_dims(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, ExpandDims)
    return Node(ExpandDims(tuple(a + len(batch) for a in node.op.axes)), operands[0].value)


@batched_form(Squeeze)
def _squeeze(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, Squeeze)
    return Node(Squeeze(tuple(a + len(batch) for a in node.op.axes)), operands[0].value)


@batched_form(BroadcastTo)
def _broadcast_to(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    return broadcast_to(operands[0].at_rank(node.ndim, batch), (*batch, *node.static_shape))


@batched_form(Concatenate)
def _concatenate(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    assert isinstance(node.op, Concatenate)
    return Node(Concatenate(node.op.axis + len(batch)), *(operand.full(batch) for operand in operands))


for _op in (Iota, LengthOf, Key):
    no_batched_form(_op, "it has no inputs, so it is the same for the whole batch")
