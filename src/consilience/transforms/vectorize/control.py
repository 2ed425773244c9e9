"""Batched choices: one condition keeps its branches lazy, a batch of conditions needs both branches."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node, Parameter, Region, TensorType
from consilience.ir.types import Shape
from consilience.ops import Cond, Item, apply
from consilience.ops.assertion import require
from consilience.ops.shape import expand_dims
from consilience.record import replace
from consilience.transforms.vectorize.engine import propagate
from consilience.transforms.vectorize.table import Operand, batched_form, no_batched_form


@batched_form(Cond)
def _cond(node: Node, operands: Sequence[Operand], batch: Shape) -> list[Node]:
    assert isinstance(node.op, Cond)
    condition, *arguments = operands
    if condition.batched:
        return _both(node.op, condition, arguments, batch)
    types = tuple(argument.value.tensor_type for argument in arguments)
    regions = [_batched_region(region, arguments, types, batch) for region in (node.op.then, node.op.otherwise)]
    chosen = replace(node.op, then=regions[0], otherwise=regions[1])
    choice = Node(chosen, condition.value, *(argument.value for argument in arguments))
    return [Node(Item(i), choice) for i in range(len(node.op.then.results))]


def _batched_region(
    region: Region, arguments: Sequence[Operand], types: tuple[TensorType, ...], batch: Shape
) -> Region:
    known = {}
    for i, argument in enumerate(arguments):
        parameter = region.parameter(i)
        known[parameter] = Operand(parameter, Node(Parameter(i, types[i])), argument.batched)
    return Region(types, tuple(result.full(batch) for result in propagate(region.results, known, batch)))


def _both(op: Cond, condition: Operand, arguments: Sequence[Operand], batch: Shape) -> list[Node]:
    """Both branches everywhere, chosen from batch position by batch position."""
    branches = []
    for region, owed in zip((op.then, op.otherwise), op.owed, strict=True):
        known = {region.parameter(i): argument for i, argument in enumerate(arguments)}
        branches.append(require([result.full(batch) for result in propagate(region.results, known, batch)], owed))
    return [
        apply("where", expand_dims(condition.value, range(len(batch), then.ndim)), then, otherwise)
        for then, otherwise in zip(*branches, strict=True)
    ]


no_batched_form(Item, "the engine takes members of tuples itself")
