"""Derivatives and batches of random variables: those of their draws, for a fixed key.

A derivative passes a variable whose draw is a differentiable function of its parameters (the pathwise derivative);
the draws that are not, such as gamma variables in their shape, refuse it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from consilience.distributions.densities import drawn
from consilience.distributions.random_variable import RandomVariable, distribution_of
from consilience.ir import Node, Shape, TensorType, substitute, tensor_input
from consilience.ops.shape import expand_dims
from consilience.transforms.gradient.engine import accumulate
from consilience.transforms.gradient.table import Cotangents, pullback_of
from consilience.transforms.vectorize.engine import propagate
from consilience.transforms.vectorize.table import Operand, batched_form

if TYPE_CHECKING:
    from consilience.distributions.distribution import Distribution


@pullback_of(RandomVariable)
def _pathwise(node: Node, cotangent: Node, wanted: Sequence[bool]) -> Cotangents:
    operands = [_stand_in(operand) for operand in node.inputs]
    sample = drawn(Node(node.op, *operands))
    asked = [operand for operand, w in zip(operands, wanted, strict=True) if w]
    found = accumulate({sample: cotangent}, asked)
    places = dict(zip(operands, node.inputs, strict=True))
    known = dict(zip(asked, found, strict=True))
    parts = [known.get(operand) for operand in operands]
    return [None if part is None else substitute([part], places)[0] for part in parts]


@batched_form(RandomVariable)
def _batch_of_variables(node: Node, operands: Sequence[Operand], batch: Shape) -> Node:
    """Parameters of a batch make a variable of a larger shape; keys of a batch, a draw for each."""
    op = node.op
    assert isinstance(op, RandomVariable)
    key, *parameters = operands
    if key.batched:
        stand_ins = [_stand_in(operand) for operand in node.inputs]
        sample = drawn(Node(op, *stand_ins))
        known = {s: Operand(s, o.value, o.batched) for s, o in zip(stand_ins, operands, strict=True)}
        (result,) = propagate([sample], known, batch)
        return result.full(batch)
    bound = op.bind(node.inputs)
    wider = _wider(bound, iter(parameters), (*batch, *op.shape), len(op.shape) - bound.event_rank, batch)
    return Node(wider.op, key.value, *wider.inputs[1:])


def _wider(bound: Distribution, operands: Iterator[Operand], shape: Shape, rank: int, batch: Shape) -> Node:
    """The variable with batch axes in front of its own, whose batch has a rank.

    `operands`: inputs of the variable without its key, those of components behind the parameters.
    """
    values = [_at_batch_rank(next(operands), rank, own, batch) for own in bound.event_ranks()]
    groups = []
    for axes, group in zip(bound.component_axes(), bound.components, strict=True):
        made = []
        for one in group:
            inner = distribution_of(one)
            missing = rank + axes - (one.ndim - inner.event_rank)
            wanted = (*batch, *(1,) * missing, *one.static_shape)
            made.append(_wider(inner, operands, wanted, rank + axes, batch))
        groups.append(made)
    return bound.variable(values, shape, None, bound.settings, groups)


def _at_batch_rank(operand: Operand, rank: int, event_rank: int, batch: Shape) -> Node:
    """The operand with axes of length 1 between those of the batch and its own, up to the variable's rank."""
    missing = rank + event_rank - operand.core.ndim
    if not operand.batched or missing <= 0:
        return operand.value
    return expand_dims(operand.value, range(len(batch), len(batch) + missing))


def _stand_in(operand: Node) -> Node:
    assert isinstance(operand.type, TensorType)
    return tensor_input(operand.dtype, operand.static_shape)
