"""Pullbacks of calls: the user's where there is one, otherwise through the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import GraphError, MissingRuleError
from consilience.ir import FLOATS, Node, TupleType
from consilience.ops import Item
from consilience.ops.call import FunctionCall
from consilience.ops.python_call import PythonCall, PythonFunction
from consilience.ops.shape import expand_dims
from consilience.transforms.gradient.engine import accumulate
from consilience.transforms.gradient.index import zeros_like
from consilience.transforms.gradient.table import Cotangents, pullback_of


@pullback_of(FunctionCall)
def _call(node: Node, g: tuple[Node | None, ...], wanted: Sequence[bool]) -> Cotangents:
    op = node.op
    assert isinstance(op, FunctionCall)
    if op.pullback is None:
        results = op.body.apply(*node.inputs)
        starts: dict[Node, Node] = {}
        for result, cotangent in zip(results, g, strict=True):
            if cotangent is not None:
                starts[result] = starts[result] + cotangent if result in starts else cotangent
        asked = [i for i, w in zip(node.inputs, wanted, strict=True) if w]
        found = dict(zip(asked, accumulate(starts, asked), strict=True))
        return [found.get(i) if w else None for i, w in zip(node.inputs, wanted, strict=True)]
    made = op.pullback.apply(*node.inputs, *_results(node), *_seeds(node, g))
    return [c if w and i.dtype in FLOATS else None for c, i, w in zip(made, node.inputs, wanted, strict=True)]


@pullback_of(PythonCall)
def _python_call(node: Node, g: tuple[Node | None, ...], wanted: Sequence[bool]) -> Cotangents:
    op = node.op
    assert isinstance(op, PythonCall)
    gradient = op.function.gradient
    if op.function.pullback is not None:
        return op.function.pullback(node.inputs, _results(node), _seeds(node, g), wanted)
    if op.function.slopes:
        if g[1] is not None:
            raise MissingRuleError(f"the function `{op.function.name}` gives a gradient, but no second derivatives.")
        return [None if g[0] is None else expand_dims(g[0], -1) * Node(Item(1), node)]
    if gradient is None:
        raise MissingRuleError(
            f"the Python function `{op.function.name}` has no derivative; give `gradient=`, a function of its inputs "
            "and of one cotangent per result, or sample its parameters by a step method without gradients (`pm.Slice`, "
            "`pm.DEMetropolisZ`)."
        )
    floats = [i for i in node.inputs if i.dtype in FLOATS]
    function = _Filled(gradient, tuple(i.dtype in FLOATS for i in node.inputs))
    pulled = PythonFunction(function, f"gradient of {op.function.name}", alone=op.function.alone)
    call = Node(PythonCall(pulled, tuple(i.tensor_type for i in floats)), *node.inputs, *_seeds(node, g))
    found = iter([Node(Item(k), call) for k in range(len(floats))])
    each = [next(found) if i.dtype in FLOATS else None for i in node.inputs]
    return [c if w else None for c, w in zip(each, wanted, strict=True)]


class _Filled:
    """A user's gradient with zeros for None, for float operands only."""

    def __init__(self, gradient: Callable[..., Any], floats: tuple[bool, ...]) -> None:
        self.gradient, self.floats = gradient, floats

    def __call__(self, *arrays: npt.NDArray[Any]) -> list[Any]:
        found = self.gradient(*arrays)
        listed = list(found) if isinstance(found, list | tuple) else [found]
        if len(listed) != len(self.floats):
            raise GraphError(f"a gradient must give {len(self.floats)} cotangents, one per input, got {len(listed)}.")
        pairs = zip(listed, arrays, self.floats, strict=False)
        return [np.zeros_like(a) if c is None else c for c, a, is_float in pairs if is_float]


def _results(node: Node) -> list[Node]:
    assert isinstance(node.type, TupleType)
    return [Node(Item(k), node) for k in range(len(node.type.items))]


def _seeds(node: Node, g: tuple[Node | None, ...]) -> list[Node]:
    """A cotangent for every result, zero where nothing reads it."""
    return [zeros_like(Node(Item(k), node)) if c is None else c for k, c in enumerate(g)]
