"""Batched calls: the user's batched form where there is one, otherwise that of the function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import GraphError
from consilience.ir import FLOATS, Node, Region, TensorType, close, tensor_input
from consilience.ir.types import Shape
from consilience.ops import Item, reduce
from consilience.ops.call import FunctionCall
from consilience.ops.python_call import PythonCall, PythonFunction
from consilience.ops.scan import fresh
from consilience.ops.shape import broadcast_to
from consilience.record import replace
from consilience.transforms.vectorize.engine import propagate
from consilience.transforms.vectorize.table import Operand, batched_form


@batched_form(FunctionCall)
def _call(node: Node, operands: Sequence[Operand], batch: Shape) -> list[Node]:
    op = node.op
    assert isinstance(op, FunctionCall)
    if op.batched is None:
        if op.pullback is not None:
            return _with_derivative(op, op.pullback, operands, batch)
        known = {op.body.parameter(i): operand for i, operand in enumerate(operands)}
        return [result.full(batch) for result in propagate(op.body.results, known, batch)]
    found, flags = op.batched.rule(batch[0], [o.batched for o in operands], *(o.value for o in operands))
    results = list(found) if isinstance(found, list | tuple) else [found]
    told = list(flags) if isinstance(flags, list | tuple) else [flags]
    if len(results) != len(op.body.results) or len(told) != len(results):
        raise GraphError(
            f"the batched form of `{op.name}` must give {len(op.body.results)} results and whether each is batched, "
            f"got {len(results)} and {len(told)}."
        )
    return [
        value if is_batched else broadcast_to(value, (*batch, *value.static_shape))
        for value, is_batched in zip(results, told, strict=True)
    ]


def _with_derivative(op: FunctionCall, pullback: Region, operands: Sequence[Operand], batch: Shape) -> list[Node]:
    """The call for the whole batch, with the user's derivative for every position of it."""
    inputs = [fresh(o.value) for o in operands]
    known = [Operand(o.core, leaf, o.batched) for o, leaf in zip(operands, inputs, strict=True)]
    results = _region(op.body, known, batch)
    made = [[tensor_input(r.dtype, r.static_shape) for r in results] for _ in range(2)]
    types = op.body.results
    cores = [Operand(core, leaf, True) for leaves in made for core, leaf in zip(types, leaves, strict=True)]
    slopes = [
        slope if o.batched or slope.dtype not in FLOATS else reduce("sum", slope, tuple(range(len(batch))))
        for o, slope in zip(operands, _region(pullback, [*known, *cores], batch), strict=False)
    ]
    slopes = [slope if slope.dtype in FLOATS else leaf for leaf, slope in zip(inputs, slopes, strict=True)]
    whole = replace(op, body=close(results, inputs)[0], pullback=close(slopes, [*inputs, *made[0], *made[1]])[0])
    call = Node(whole, *(o.value for o in operands))
    return [Node(Item(k), call) for k in range(len(results))]


def _region(region: Region, operands: Sequence[Operand], batch: Shape) -> list[Node]:
    """The results of a region for the whole batch."""
    known = {region.parameter(i): operand for i, operand in enumerate(operands)}
    return [result.full(batch) for result in propagate(region.results, known, batch)]


@batched_form(PythonCall)
def _python_call(node: Node, operands: Sequence[Operand], batch: Shape) -> list[Node]:
    op = node.op
    assert isinstance(op, PythonCall)
    gradient = op.function.gradient
    flags = tuple(o.batched for o in operands)
    of = PythonFunction(
        _Each(op.function.function, flags, len(batch)),
        op.function.name,
        None if gradient is None else _Each(gradient, (*flags, *[True] * len(op.results)), len(batch), sums=flags),
        slopes=op.function.slopes,
    )
    types = tuple(TensorType(t.dtype, (*batch, *t.shape)) for t in op.results)
    call = Node(PythonCall(of, types), *(o.value for o in operands))
    return [Node(Item(k), call) for k in range(len(types))]


class _Each:
    """A function of arrays, called for every batch position.

    flags   which operands are batched
    sums    of a gradient: which operands are batched; cotangents of the others are summed over the batch
    """

    def __init__(self, function: Any, flags: tuple[bool, ...], rank: int, sums: tuple[bool, ...] | None = None) -> None:
        self.function, self.flags, self.rank, self.sums = function, flags, rank, sums

    def __call__(self, *arrays: npt.NDArray[Any]) -> list[Any]:
        batch = next(a.shape[: self.rank] for a, flag in zip(arrays, self.flags, strict=True) if flag)
        rows = []
        for place in np.ndindex(*batch):
            found = self.function(*(a[place] if flag else a for a, flag in zip(arrays, self.flags, strict=True)))
            rows.append(list(found) if isinstance(found, list | tuple) else [found])
        columns = [None if any(v is None for v in column) else np.stack(column) for column in zip(*rows, strict=True)]
        stacked = [None if c is None else c.reshape(*batch, *c.shape[1:]) for c in columns]
        if self.sums is None:
            return stacked
        axes = tuple(range(self.rank))
        return [c if c is None or flag else c.sum(axes) for c, flag in zip(stacked, self.sums, strict=False)]
