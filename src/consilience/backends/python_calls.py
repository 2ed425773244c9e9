"""Programs around functions of NumPy arrays: machine code up to each call, Python for it, machine code behind it.

A graph with calls in; two programs without them, or with fewer, and what Python computes between. Functions called
inside loops and branches stay outside: their graphs are the reference backend's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends.callback import Callback
from consilience.backends.registry import Bound, Executable
from consilience.errors import ExecutionError
from consilience.ir import Node, Region, substitute, tensor_input, topological
from consilience.lower.views import static
from consilience.ops import Item
from consilience.ops.python_call import PythonCall, called
from consilience.record import field_names

Array: TypeAlias = npt.NDArray[Any]
Make: TypeAlias = Callable[[Sequence[Node], Sequence[Node], Sequence[Node]], Executable]


def calls_in(outputs: Sequence[Node]) -> list[Node]:
    """Calls of Python functions, those inside regions left out."""
    return [node for node in topological(outputs) if in_python(node)]


def in_python(node: Node) -> bool:
    """Whether a node calls a Python function, which machine code has no form of."""
    return isinstance(node.op, PythonCall) and node.op.function.native is None


def calls_inside(outputs: Sequence[Node]) -> bool:
    """Whether a loop or branch calls a Python function."""
    for node in topological(outputs):
        for name in field_names(node.op):
            region = getattr(node.op, name)
            if isinstance(region, Region) and (calls_in(region.results) or calls_inside(region.results)):
                return True
    return False


class AroundPython:
    """A graph with calls of Python functions, compiled up to the first ones and behind them."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node], data: Sequence[Node], make: Make) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        calls = calls_in(outputs)
        self.ready = [node for node in calls if calls_in([node]) == [node]]
        operands = list(dict.fromkeys(i for node in self.ready for i in node.inputs))
        self.places = [[operands.index(i) for i in node.inputs] for node in self.ready]
        self.first = make(inputs, operands, data)
        leaves = {
            Node(Item(k), node): tensor_input(of.dtype, of.shape)
            for node in self.ready
            for k, of in enumerate(node.op.results)  # type: ignore[attr-defined]  # PythonCall
        }
        rest = substitute(outputs, leaves)
        self.rest = make([*inputs, *leaves.values()], rest, data)

    def bind(self, values: Sequence[Array] = ()) -> Bound:
        """With its data."""
        return _BoundAround(self, self.first.bind(values), self.rest.bind(values))


class _BoundAround(Callback):
    """The two programs with their data, and the calls between."""

    def __init__(self, around: AroundPython, first: Bound, rest: Bound) -> None:
        super().__init__(around.inputs, around.outputs, {})
        self._around, self._first, self._rest = around, first, rest

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        around = self._around
        operands = self._first(arrays)
        found: list[Array] = []
        for node, places in zip(around.ready, around.places, strict=True):
            op = node.op
            assert isinstance(op, PythonCall)
            found += called(op, [operands[i] for i in places], [static(of.shape) for of in op.results])
        return self._rest([*arrays, *(np.ascontiguousarray(v) for v in found)])

    def map(self, inputs: Sequence[tuple[Array, bool]], count: int) -> tuple[list[Array], int]:
        """The two programs for all draws at once, and Python between them draw by draw."""
        around = self._around
        if count == 1:  # without tables of addresses and strides
            try:
                return [np.asarray(r)[None] for r in self([a[0] if per_draw else a for a, per_draw in inputs])], 0
            except ExecutionError:
                return super().map(inputs, count)
        operands, status = self._first.map(inputs, count)
        if status or not count:
            return super().map(inputs, count)
        found: list[tuple[Array, bool]] = []
        for node, places in zip(around.ready, around.places, strict=True):
            op = node.op
            assert isinstance(op, PythonCall)
            shapes = [static(of.shape) for of in op.results]
            try:
                rows = [called(op, [operands[i][draw] for i in places], shapes) for draw in range(count)]
            except ExecutionError:  # some draw has no value
                return super().map(inputs, count)
            found += [(np.stack(column), True) for column in zip(*rows, strict=True)]
        results, status = self._rest.map([*inputs, *found], count)
        return super().map(inputs, count) if status else (results, status)
