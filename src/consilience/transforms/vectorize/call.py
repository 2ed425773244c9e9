"""Batched calls: the user's batched form where there is one, otherwise that of the function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import GraphError
from consilience.ir import Node, Parameter, Region, TensorType, close, tensor_input
from consilience.ir.types import Shape
from consilience.ops import Item, reduce
from consilience.ops.call import FunctionCall
from consilience.ops.python_call import PythonCall, PythonFunction
from consilience.ops.shape import broadcast_to
from consilience.transforms.vectorize.engine import propagate
from consilience.transforms.vectorize.table import Operand, batched_form


@batched_form(FunctionCall)
def _call(node: Node, operands: Sequence[Operand], batch: Shape) -> list[Node]:
    op = node.op
    assert isinstance(op, FunctionCall)
    if op.batched is None:
        if op.pullback is not None:
            return _with_pullback(op.name, op.body, op.pullback, operands, batch)
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


def _with_pullback(
    name: str, body: Region, pullback: Region, operands: Sequence[Operand], batch: Shape
) -> list[Node]:
    """A call with the batched forms of the function and of its derivative."""
    inside = [tensor_input(o.value.dtype, o.value.static_shape) for o in operands]
    own = [Operand(body.parameter(i), leaf, o.batched) for i, (leaf, o) in enumerate(zip(inside, operands, strict=True))]
    results = [r.full(batch) for r in propagate(body.results, {o.core: o for o in own}, batch)]
    others = [Node(Parameter(i, of)) for i, of in enumerate(pullback.parameters)][len(own) :]
    more = [tensor_input(core.dtype, (*batch, *core.static_shape)) for core in others]
    known = {o.core: o for o in own} | {
        core: Operand(core, leaf, True) for core, leaf in zip(others, more, strict=True)
    }
    cotangents = [
        found.full(batch) if o.batched else reduce("sum", found.full(batch), range(len(batch)))
        for found, o in zip(propagate(pullback.results, known, batch), own, strict=True)
    ]
    call = FunctionCall(name, close(results, inside)[0], close(cotangents, [*inside, *more])[0])
    node = Node(call, *(o.value for o in operands))
    return [Node(Item(k), node) for k in range(len(results))]


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
