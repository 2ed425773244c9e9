"""Small tensors in the bodies of loops, number by number: states of a few numbers live in registers.

A static graph of primitives in, an equal one out, in which loops carry numbers instead of small tensors. What has no
form in single numbers (library calls, branches) gets its operands put together, and its result is taken apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.ir import Node, constant, constant_value, is_leaf, rebuild, tensor_input, topological, with_regions
from consilience.lower.views import static
from consilience.ops import (
    BroadcastTo,
    Cast,
    Concatenate,
    Elementwise,
    ExpandDims,
    Index,
    IndexUpdate,
    Iota,
    Item,
    MatMul,
    Reduce,
    Reshape,
    Squeeze,
    Transpose,
)
from consilience.ops.index import At, Gather, NewAxis, SliceIndex, Specification
from consilience.ops.loop import Scan, fresh, parts
from consilience.ops.scan import scan
from consilience.ops.shape import concatenate, expand_dims, reshape

# Tensors of so many elements are taken apart, as long as a body does not grow beyond so many numbers.
SMALL = 16
LONGEST = 2500

# An object array of scalar nodes.
Numbers: TypeAlias = "npt.NDArray[np.object_]"
COMBINE = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "bitwise_or", "all": "bitwise_and"}


class _TooLong(Exception):
    """A body has too many numbers."""


def in_numbers(outputs: Sequence[Node]) -> list[Node]:
    """Equal outputs, in which loops with small states carry numbers."""
    order = topological(outputs)
    memo: dict[Node, Node] = {}
    items: dict[Node, list[Node]] = {}
    for node in order:
        if isinstance(node.op, Item) and node.inputs[0] in items:
            memo[node] = items[node.inputs[0]][node.op.position]
            continue
        op = with_regions(node.op, in_numbers)
        here = rebuild(node if op is node.op else Node(op, *node.inputs), tuple(memo[i] for i in node.inputs))
        memo[node] = here
        if isinstance(here.op, Scan) and _worth(here.op):
            try:
                items[node] = _taken_apart(here)
            except _TooLong:
                continue
    return [memo[output] for output in outputs]


def _worth(op: Scan) -> bool:
    """Whether anything in the body is a small tensor."""
    return any(
        1 < _size(node) <= SMALL and not is_leaf(node)
        for node in topological(op.body.results)
        if not isinstance(node.op, Item | Scan)
    )


def _size(node: Node) -> int:
    return math.prod(static(node.static_shape)) if hasattr(node.type, "shape") else 0


def _taken_apart(node: Node) -> list[Node]:
    """The results of a loop whose small carried values are numbers."""
    of = parts(node)
    op = of.op
    body = _Body()
    states: dict[Node, list[Node]] = {}
    for carry in of.carries:
        if 0 < _size(carry) <= SMALL:
            leaves = [tensor_input(carry.dtype, ()) for _ in range(_size(carry))]
            states[carry] = leaves
            body.numbers[carry] = _array(leaves, carry)
        else:
            states[carry] = [fresh(carry)]
            body.tensors[carry] = states[carry][0]
    heads = {head: fresh(head) for head in of.heads}
    body.tensors.update(heads)
    for parameter, outside in zip(of.fixed, of.constants, strict=True):
        body.tensors[parameter] = outside
        if 0 < _size(parameter) <= SMALL:
            body.numbers[parameter] = elements(outside)
    for inner in topological(op.body.results):
        body.visit(inner)
    carried: dict[Node, tuple[Node, Node]] = {}
    for carry, initial, following in zip(of.carries, of.initial, op.nexts, strict=True):
        if carry in body.numbers:
            ends = body.apart(following).ravel()
            carried.update(zip(states[carry], zip(elements(initial).ravel(), ends, strict=True), strict=True))
        else:
            carried[states[carry][0]] = (initial, body.together(following))
    loop = scan(
        carried,
        {heads[h]: s for h, s in zip(of.heads, of.sequences, strict=True)},
        [body.together(element) for element in op.elements],
        length=op.length,
        limit=of.limit,
        stop=body.apart(op.body.results[-1]).item() if op.until else None,
        reverse=op.reverse,
        truncate=op.truncate,
    )
    last = dict(zip(carried, loop.last, strict=True))
    whole = [
        _joined(_array([last[leaf] for leaf in states[c]], c)) if c in body.numbers else last[states[c][0]]
        for c in of.carries
    ]
    return [loop.steps, *whole, *loop.traces]


def _array(nodes: Iterable[Node], like: Node) -> Numbers:
    listed = list(nodes)
    found = np.empty(len(listed), object)
    for i, one in enumerate(listed):  # assigned at once, NumPy would ask every node for an array
        found[i] = one
    return found.reshape(static(like.static_shape))


def elements(node: Node) -> Numbers:
    """The numbers of a small tensor."""
    shape = static(node.static_shape)
    known = constant_value(node)
    if known is not None:
        return _array([constant(x, node.dtype) for x in known.ravel()], node)
    if isinstance(node.op, BroadcastTo) and not node.inputs[0].ndim:
        return _array([node.inputs[0]] * math.prod(shape), node)
    return _array([_element(node, place) for place in np.ndindex(*shape)], node)


def _element(node: Node, place: tuple[int, ...]) -> Node:
    return Node(Index(tuple(At(i) for i in place)), node) if place else node


def _joined(numbers: Numbers) -> Node:
    """Numbers as one tensor."""
    if not numbers.ndim:
        single: Node = numbers.item()
        return single
    flat = list(numbers.ravel())
    if all(n is flat[0] for n in flat):
        return Node(BroadcastTo(numbers.shape), flat[0])
    return reshape(concatenate([expand_dims(n, 0) for n in flat]), numbers.shape)


class _Body:
    """The values of a body: as numbers, as tensors, or both."""

    def __init__(self) -> None:
        self.numbers: dict[Node, Numbers] = {}
        self.tensors: dict[Node, Node] = {}
        self.count = 0

    def apart(self, node: Node) -> Numbers:
        """The numbers of a value."""
        if node not in self.numbers:
            self.numbers[node] = elements(self.tensors[node])
        return self.numbers[node]

    def together(self, node: Node) -> Node:
        """A value as a tensor."""
        if node not in self.tensors:
            self.tensors[node] = _joined(self.numbers[node])
        return self.tensors[node]

    def visit(self, node: Node) -> None:
        """Give a node of the body a value."""
        if node in self.numbers or node in self.tensors:
            return
        small = 0 < _size(node) <= SMALL and all(_size(i) <= SMALL * SMALL for i in node.inputs)
        rule = RULES.get(type(node.op))
        if small and rule is not None and all(self._small(i) for i in node.inputs):
            found = rule(node, [self.apart(i) for i in node.inputs])
            if found is not None:
                self.numbers[node] = found
                self.count += found.size
                if self.count > LONGEST:
                    raise _TooLong
                return
        self.tensors[node] = rebuild(node, tuple(self.together(i) for i in node.inputs))

    def _small(self, node: Node) -> bool:
        return node in self.numbers or 0 < _size(node) <= SMALL


Rule: TypeAlias = Callable[[Node, list[Numbers]], "Numbers | None"]


def _elementwise(node: Node, operands: list[Numbers]) -> Numbers:
    shape = static(node.static_shape)
    columns = [np.broadcast_to(o, shape).ravel() for o in operands]
    return _array([Node(node.op, *row) for row in zip(*columns, strict=True)], node)


def _reduced(node: Node, operands: list[Numbers]) -> Numbers | None:
    op = node.op
    assert isinstance(op, Reduce)
    function = COMBINE.get(op.kind)
    (x,) = operands
    if function is None or node.dtype != _dtype(x):
        return None
    kept = [a for a in range(x.ndim) if a not in op.axes]
    rows = x.transpose([*kept, *op.axes]).reshape(math.prod(x.shape[a] for a in kept), -1)
    if not rows.shape[1]:
        return None
    return _array([_combined(function, list(row)) for row in rows], node)


def _dtype(numbers: Numbers) -> str:
    first: Any = numbers.flat[0]
    return str(first.dtype)


def _combined(function: str, terms: list[Node]) -> Node:
    if len(terms) == 1:
        return terms[0]
    if function in ("add", "mul"):
        return Node(Elementwise(function), *terms)
    result = terms[0]
    for term in terms[1:]:
        result = Node(Elementwise(function), result, term)
    return result


def _product(node: Node, operands: list[Numbers]) -> Numbers | None:
    a, b = operands
    if a.ndim != 2 or b.ndim != 2 or a.size * b.shape[1] > SMALL * SMALL:
        return None
    times = Elementwise("mul")
    return _array(
        [
            _combined("add", [Node(times, x, y) for x, y in zip(row, column, strict=True)])
            for row in a
            for column in b.T
        ],
        node,
    )


def _key(specification: Specification) -> tuple[Any, ...] | None:
    """NumPy's index for an index without arrays."""
    found: list[Any] = []
    for entry in specification:
        if isinstance(entry, At):
            found.append(entry.position)
        elif isinstance(entry, SliceIndex) and entry.static:
            found.append(entry.bounds())
        elif isinstance(entry, NewAxis):
            found.append(None)
        else:
            return None
    return tuple(found)


def _indexed(node: Node, operands: list[Numbers]) -> Numbers | None:
    op = node.op
    assert isinstance(op, Index)
    key = _key(op.specification)
    if key is None:
        return None
    part = operands[0][key]
    return _array([part], node) if isinstance(part, Node) else part


def _updated(node: Node, operands: list[Numbers]) -> Numbers | None:
    op = node.op
    assert isinstance(op, IndexUpdate)
    key = _key(op.specification)
    if key is None or any(isinstance(entry, Gather) for entry in op.specification):
        return None
    result, values = operands[0].copy(), operands[1]
    places = np.arange(result.size).reshape(result.shape)[key]
    flat = result.ravel()
    for place, value in zip(np.ravel(places), np.broadcast_to(values, np.shape(places)).ravel(), strict=True):
        flat[place] = value if op.mode == "set" else Node(Elementwise("add"), flat[place], value)
    return flat.reshape(result.shape)


def _transposed(node: Node, operands: list[Numbers]) -> Numbers:
    assert isinstance(node.op, Transpose)
    return operands[0].transpose(node.op.axes)


def _reshaped(node: Node, operands: list[Numbers]) -> Numbers:
    return operands[0].reshape(static(node.static_shape))


def _broadcast(node: Node, operands: list[Numbers]) -> Numbers:
    return np.broadcast_to(operands[0], static(node.static_shape))


def _concatenated(node: Node, operands: list[Numbers]) -> Numbers:
    assert isinstance(node.op, Concatenate)
    return np.concatenate(operands, node.op.axis)


def _iota(node: Node, operands: list[Numbers]) -> Numbers:
    return _array([constant(i, "int64") for i in range(_size(node))], node)


RULES: dict[type, Rule] = {
    Elementwise: _elementwise,
    Cast: _elementwise,
    Reduce: _reduced,
    MatMul: _product,
    Index: _indexed,
    IndexUpdate: _updated,
    Transpose: _transposed,
    Reshape: _reshaped,
    ExpandDims: _reshaped,
    Squeeze: _reshaped,
    BroadcastTo: _broadcast,
    Concatenate: _concatenated,
    Iota: _iota,
}
