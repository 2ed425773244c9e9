"""Making sums and products from operands of several shapes, the form shared by the algebra rules.

Operands of equal smaller shape stand in a sum (product) of their own, so that it is computed before it
is repeated. A number belongs to the smallest operands and stands first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.ir import Constant, Node, Shape, constant, numpy_dtype
from consilience.ops import Elementwise
from consilience.ops.elementwise import broadcast_shape
from consilience.rewrite.facts import Facts
from consilience.rewrite.structure import function_of as function_of

# Sums and products of more operands are left whole: taking them apart again and again costs quadratic time.
INNER_LIMIT = 16

ADD, MUL, NEG = Elementwise("add"), Elementwise("mul"), Elementwise("neg")


def is_number(node: Node) -> bool:
    """A constant of rank 0."""
    return isinstance(node.op, Constant) and not node.op.array.shape and node.dtype != "key"


def value_of(node: Node) -> npt.NDArray[Any]:
    """The array of a constant."""
    assert isinstance(node.op, Constant)
    return node.op.array


def number(value: Any, dtype: str) -> Node:
    """A constant of rank 0."""
    return constant(np.asarray(value, dtype=numpy_dtype(dtype)))


def in_range(values: npt.NDArray[Any]) -> bool:
    """Whether all numbers are in the range where neither they nor their inverses overflow or lose digits."""
    if values.dtype.kind != "f":
        return True
    limits = np.finfo(values.dtype)
    size = np.abs(values)
    return bool(((size > 256 * limits.tiny) & (size < limits.max / 256)).all())


def usable(value: Any) -> bool:
    """Zero, or in the range where no digits are lost."""
    return bool(value == 0) or in_range(np.asarray(value))


def is_inner(node: Node, facts: Facts) -> bool:
    """Whether a sum (product) inside another is taken apart.

    One that is read elsewhere too stays whole: it is computed once, and rounding that cancels goes on
    to cancel.
    """
    if node in facts.open_nodes:
        return True
    return node not in facts.shared_nodes and len(node.inputs) <= INNER_LIMIT


def has_number(node: Node) -> bool:
    """A number and one operand: a number outside joins it, as in 1 - (1 - p), however often it is read."""
    return len(node.inputs) == 2 and is_number(node.inputs[0])


def split_coefficient(node: Node) -> tuple[npt.NDArray[Any] | None, Node]:
    """A product as (number, rest); (None, node) without a leading number."""
    if function_of(node) != "mul":
        return None, node
    first, *others = node.inputs
    if is_number(first):
        return value_of(first), others[0] if len(others) == 1 else Node(MUL, *others)
    if function_of(first) == "mul" and is_number(first.inputs[0]):
        inner = first.inputs[1:]
        rest = inner[0] if len(inner) == 1 else Node(MUL, *inner)
        return value_of(first.inputs[0]), Node(MUL, rest, *others)
    return None, node


def negated(node: Node) -> Node:
    """-node, without two signs in a row."""
    return node.inputs[0] if function_of(node) == "neg" else Node(NEG, node)


def combine(op: Elementwise, numbers: Sequence[Node], operands: Sequence[Node], shape: Shape) -> Node:
    """One sum or product of numbers and operands; `shape` is that of the result, where known."""
    if not operands:
        return numbers[0] if len(numbers) == 1 else Node(op, *numbers)
    full = _extent(shape)
    extents = [_extent(x.static_shape) for x in operands]
    if all(extent == full for extent in extents):
        return _join(op, [*numbers, *operands])
    groups: dict[Extent, list[Node]] = {}
    for extent, x in zip(extents, operands, strict=True):
        groups.setdefault(extent, []).append(x)
    home = () if () in groups else min((e for e in groups if e != full), key=lambda e: (len(e), -sum(e)))
    groups[home][:0] = numbers
    order = list(groups)
    if numbers:
        order.remove(home)
        order.insert(0, home)
    parts: list[Node] = []
    for extent in order:
        if extent == full:
            parts += groups[extent]
        else:
            parts.append(_join(op, groups[extent]))
    return _join(op, parts)


Extent: TypeAlias = tuple[bool, ...]


def _extent(shape: Shape) -> Extent:
    """Which axes have length 1: operands that agree on this have equal lengths, proved or owed."""
    return tuple(n == 1 for n in shape)


def _join(op: Elementwise, operands: Sequence[Node]) -> Node:
    return operands[0] if len(operands) == 1 else Node(op, *operands)


def full_shape(operands: Sequence[Node]) -> Shape:
    """Broadcast shape of some operands."""
    return broadcast_shape(operands)[0]
