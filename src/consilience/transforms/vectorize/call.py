"""Batched calls: the user's batched form where there is one, otherwise that of the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import GraphError, ShapeError
from consilience.ir import FLOATS, Node, Region, TensorType, close, tensor_input
from consilience.ir.shape_constraints import collect
from consilience.ir.types import Shape
from consilience.ops import Item, reduce
from consilience.ops.assertion import require
from consilience.ops.call import FunctionCall
from consilience.ops.loop import fresh
from consilience.ops.python_call import PythonCall, PythonFunction
from consilience.ops.shape import broadcast_to
from consilience.record import Record, replace
from consilience.transforms.vectorize.engine import propagate, with_common_lengths
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
    one = op.function
    flags = tuple(o.batched for o in operands)
    every = (*flags, *[True] * len(op.results))
    of = PythonFunction(
        _Each(one.function, flags, len(batch), tuple(t.shape for t in op.results)),
        one.name,
        None if one.gradient is None else _Each(one.gradient, every, len(batch), sums=flags),
        slopes=one.slopes,
        pullback=None if one.pullback is None else _BatchedPullback(one.pullback, flags, len(batch)),
        alone=one.alone,
    )
    types = tuple(TensorType(t.dtype, (*batch, *t.shape)) for t in op.results)
    call = Node(PythonCall(of, types), *(o.value for o in operands))
    return [Node(Item(k), call) for k in range(len(types))]


class _BatchedPullback(Record):
    """A derivative of the user's, written out for one batch position and batched then.

    `flags`: which operands are batched.
    """

    pullback: Callable[..., Sequence[Node | None]]
    flags: tuple[bool, ...]
    rank: int

    def __call__(
        self, inputs: Sequence[Node], results: Sequence[Node], cotangents: Sequence[Node], wanted: Sequence[bool]
    ) -> list[Node | None]:
        batch = results[0].static_shape[: self.rank]
        known: dict[Node, Operand] = {}

        def core(value: Node, batched: bool = True) -> Node:
            leaf = tensor_input(value.dtype, value.static_shape[self.rank if batched else 0 :])
            known[leaf] = Operand(leaf, value, batched)
            return leaf

        own = [core(value, batched) for value, batched in zip(inputs, self.flags, strict=True)]
        found = self.pullback(own, [core(r) for r in results], [core(c) for c in cotangents], wanted)
        there, cores = with_common_lengths([f for f in found if f is not None], known, batch)
        slopes = iter(require([r.full(batch) for r in propagate(there, cores, batch)], collect(there)))
        each = [None if f is None else next(slopes) for f in found]
        axes = tuple(range(self.rank))
        return [
            s if s is None or batched else reduce("sum", s, axes) for s, batched in zip(each, self.flags, strict=True)
        ]


class _Each(Record):
    """A function of arrays, called for every batch position.

    `flags`: which operands are batched. `shapes`: of its results, as far as they are known. `sums`: of a gradient:
    which operands are batched; cotangents of the others are summed over the batch.
    """

    function: Callable[..., Any]
    flags: tuple[bool, ...]
    rank: int
    shapes: tuple[Shape, ...] = ()
    sums: tuple[bool, ...] | None = None

    def __call__(self, *arrays: npt.NDArray[Any]) -> list[Any]:
        batch = next(a.shape[: self.rank] for a, flag in zip(arrays, self.flags, strict=True) if flag)
        rows = []
        for place in np.ndindex(*batch):
            found = self.function(
                *(np.asarray(a[place]) if flag else a for a, flag in zip(arrays, self.flags, strict=True))
            )
            rows.append(list(found) if isinstance(found, list | tuple) else [found])
        if not rows and self.sums is not None:
            return [np.zeros_like(a) for a in arrays[: len(self.sums)]]
        if not rows:  # of a type that becomes any other
            return [np.zeros((*batch, *(n if isinstance(n, int) else 0 for n in s)), bool) for s in self.shapes]
        _same_shapes(rows)
        columns = [None if any(v is None for v in column) else np.stack(column) for column in zip(*rows, strict=True)]
        stacked = [None if c is None else c.reshape(*batch, *c.shape[1:]) for c in columns]
        if self.sums is None:
            return stacked
        axes = tuple(range(self.rank))
        return [c if c is None or flag else c.sum(axes) for c, flag in zip(stacked, self.sums, strict=False)]


def _same_shapes(rows: Sequence[Sequence[Any]]) -> None:
    """ShapeError where results differ in shape from one batch position to another."""
    for k, column in enumerate(zip(*rows, strict=True)):
        shapes = sorted({np.shape(value) for value in column if value is not None})
        if len(shapes) > 1:
            raise ShapeError(
                f"a Python function gave arrays of different shapes at different batch positions (result {k}): "
                f"{shapes[0]} and {shapes[-1]}."
            )
