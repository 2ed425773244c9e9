"""Cotangents of the form where(c, h, 0), what is chosen of a value, and sums over stretched axes.

A pullback is linear in the cotangent, and a scalar function's works element by element, so it commutes with
a mask: f(where(c, h, 0)) = where(c, f(h), 0). Keeping the mask outermost is what makes the derivative of
`where(x > 0, log(x), 0)` zero instead of 0 * inf at x = 0.

Indices choose, too, and extremes, and triangles. Where cotangents are 0 because something else was chosen, their own
numbers do not tell: they are 0 by chance, too, and then their derivatives count. What tells is how a cotangent was
made: an index writes it into zeros, a mask lies on it. `Choices` finds that, and writes a mask where a slope may be
infinite and nowhere else, so that the derivatives of other functions stay as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from consilience.ir import Node, constant, constant_value
from consilience.ir.types import Shape
from consilience.ops import (
    BroadcastTo,
    Cast,
    Concatenate,
    Cumulative,
    Elementwise,
    ExpandDims,
    Index,
    IndexUpdate,
    MatMul,
    Reduce,
    Reshape,
    Squeeze,
    Transpose,
    apply,
    cast,
)
from consilience.ops.index import FULL, At, Entry, NewAxis, SliceIndex
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, expand_dims


class Masked(NamedTuple):
    """`where(condition, inner, 0)`, or `where(condition, 0, inner)` when `inverted`."""

    condition: Node
    inverted: bool
    inner: Node

    def holds(self) -> Node:
        """The condition under which the cotangent is not zero."""
        return apply("logical_not", self.condition) if self.inverted else self.condition


def masked(cotangent: Node) -> Masked | None:
    """The parts of a masked cotangent; None when it is not one."""
    if cotangent.op != Elementwise("where"):
        return None
    condition, then, otherwise = cotangent.inputs
    if _is_zero(otherwise) and then.static_shape == cotangent.static_shape:
        return Masked(condition, False, then)
    if _is_zero(then) and otherwise.static_shape == cotangent.static_shape:
        return Masked(condition, True, otherwise)
    return None


def keep(condition: Node, value: Node, inverted: bool = False) -> Node:
    """where(condition, value, 0), merged with a mask that `value` carries already."""
    inner = masked(value)
    if inner is not None:
        if inner.condition is condition and inner.inverted == inverted:
            return value
        own = apply("logical_not", condition) if inverted else condition
        return apply("where", apply("logical_and", own, inner.holds()), inner.inner, 0)
    return apply("where", condition, 0, value) if inverted else apply("where", condition, value, 0)


def through_mask(cotangent: Node, rule: Callable[[Node], Node | None]) -> Node | None:
    """`rule(cotangent)` for a rule that is linear and elementwise, with the mask kept outermost."""
    parts = masked(cotangent)
    if parts is None:
        return rule(cotangent)
    result = rule(parts.inner)
    return None if result is None else keep(parts.condition, result, parts.inverted)


def through_reduction(cotangent: Node, axes: Sequence[int], rule: Callable[[Node], Node]) -> Node:
    """The same for a rule that spreads each element of the cotangent over the reduced `axes`."""
    parts = masked(cotangent)
    if parts is None:
        return rule(cotangent)
    condition = expand_dims(broadcast_to(parts.condition, cotangent.static_shape), axes)
    return keep(condition, rule(parts.inner), parts.inverted)


def total(parts: Sequence[Node]) -> Node:
    """The sum of the cotangents of one value, as one n-ary addition; a mask common to all stays outermost."""
    if len(parts) == 1:
        return parts[0]
    masks = [masked(part) for part in parts]
    first = masks[0]
    if first is not None and all(
        m is not None and m.condition is first.condition and m.inverted == first.inverted for m in masks
    ):
        return keep(first.condition, apply("add", *[m.inner for m in masks if m is not None]), first.inverted)
    return apply("add", *parts)


def unbroadcast(cotangent: Node, shape: Shape) -> Node:
    """Undo the broadcasting of a value of the given shape: sum over the axes along which it was repeated."""
    if cotangent.static_shape == shape:
        return cotangent
    added = cotangent.ndim - len(shape)
    stretched = tuple(
        axis
        for axis, length in enumerate(cotangent.static_shape[added:], added)
        if shape[axis - added] == 1 and length != 1
    )
    axes = (*range(added), *stretched)
    if axes:
        cotangent = Node(Reduce("sum", axes), cotangent)
        if stretched:
            cotangent = expand_dims(cotangent, [axis - added for axis in stretched])
    # What is left are lengths that an shape constraint makes equal.
    return cotangent if cotangent.static_shape == shape else Node(BroadcastTo(shape), cotangent)


def _is_zero(node: Node) -> bool:
    value = constant_value(node)
    return value is not None and value.size == 1 and value.ndim == 0 and value.item() == 0


# ---- what was chosen

# True where an element was chosen, of the shape of the cotangent; None where all may have been.
Chosen: TypeAlias = Node | None

# Functions whose slopes, like their values, are finite at any arguments, and those of which they are at finite ones.
FLAT: Final = frozenset(("abs", "add", "maximum", "minimum", "neg", "sub", "where"))
SMOOTH: Final = FLAT | {
    "arcsinh", "arctan", "cos", "cosh", "erf", "erfc", "erfcx", "exp", "exp2", "expm1", "hypot", "log1p_square",
    "log_ndtr", "logaddexp", "mul", "sigmoid", "sin", "sinh", "softplus", "square", "tanh",
}  # fmt: skip
LARGEST: Final = 1 << 20  # positions that are looked at while derivatives are taken


class Choices:
    """What is chosen of values, as their cotangents tell, for one walk through a graph."""

    def __init__(self, forward: Iterable[Node]) -> None:
        # The graph itself has no cotangents.
        self._chosen: dict[Node, Chosen] = dict.fromkeys(forward)
        self._finite: dict[Node, bool] = {}
        self._whole: set[Node] = set()  # masks that leave out all that was not chosen

    def kept(self, node: Node, cotangent: Node) -> Node:
        """The cotangent of a scalar function, masked by what was chosen if the function may have infinite slopes."""
        mask = masked(cotangent)
        if (mask is not None and mask.condition in self._whole) or self._bounded(node):
            return cotangent
        chosen = self.of(cotangent if mask is None else mask.inner)
        if chosen is None:
            return cotangent
        found = keep(chosen, cotangent)
        self._whole.add(found.inputs[0])
        return found

    def of(self, cotangent: Node) -> Chosen:
        """Where a cotangent is not 0 by choice."""
        stack = [cotangent]
        while stack:
            node = stack[-1]
            if node not in self._chosen:
                parts, rule = _rule(node)
                left = [part for part in parts if part not in self._chosen]
                if left:
                    stack += left
                    continue
                self._chosen[node] = rule([self._chosen[part] for part in parts])
            stack.pop()
        return self._chosen[cotangent]

    def _bounded(self, node: Node) -> bool:
        """Whether a scalar function has finite slopes here, as far as functions tell and numbers do not overflow."""
        assert isinstance(node.op, Elementwise)
        if node.op.function in FLAT:
            return True
        return _smooth(node) and all(self._is_finite(operand) for operand in node.inputs)

    def _is_finite(self, node: Node) -> bool:
        stack = [node]
        while stack:
            top = stack[-1]
            if top not in self._finite:
                value = constant_value(top)
                infinite = value is not None and value.size <= LARGEST and not np.isfinite(value).all()
                steep = isinstance(top.op, Elementwise) and not (_smooth(top) or top.op.function == "sqrt")
                if infinite or steep:
                    self._finite[top] = False
                else:
                    left = [operand for operand in top.inputs if operand not in self._finite]
                    if left:
                        stack += left
                        continue
                    self._finite[top] = all(self._finite[operand] for operand in top.inputs)
            stack.pop()
        return self._finite[node]


def chosen_columns(cotangent: Node) -> Chosen:
    """Which columns of matrices were chosen."""
    chosen = Choices(()).of(cotangent)
    return None if chosen is None else reduce("any", chosen, -2)


def _smooth(node: Node) -> bool:
    assert isinstance(node.op, Elementwise)
    if node.op.function in SMOOTH:
        return True
    if node.op.function not in ("pow", "true_div"):
        return False
    second = constant_value(node.inputs[1])
    return second is not None and bool((second >= 1 if node.op.function == "pow" else second != 0).all())


# The operands that are cotangents, and what is chosen of the result where that of one of them is known.
_Rule: TypeAlias = tuple[Sequence[Node], Callable[[Sequence[Chosen]], Chosen]]


def _alone(node: Node, rule: Callable[[Node], Chosen]) -> _Rule:
    return node.inputs[:1], lambda parts: None if parts[0] is None else rule(parts[0])


def _rule(node: Node) -> _Rule:
    op = node.op
    match op:
        case Elementwise():
            return _of_function(node, op.function)
        case Cast():
            return _alone(node, lambda part: part)
        case Reshape() | Transpose() | ExpandDims() | Squeeze() | BroadcastTo() | Index():
            return _alone(node, lambda part: Node(op, part, *node.inputs[1:]))
        case IndexUpdate():
            return _of_update(node, op)
        case Concatenate():
            return node.inputs, lambda parts: _joined(node, op, parts)
        case Reduce() if op.kind == "sum":
            return _alone(node, lambda part: Node(Reduce("any", op.axes), part))
        case Cumulative() if op.kind == "sum":
            return _alone(node, lambda part: apply("gt", Node(op, cast(part, "int64")), 0))
        case MatMul() if all(x.ndim > 1 for x in node.inputs):
            return node.inputs, lambda parts: _of_product(node, parts)
    return (), lambda parts: None


def _of_function(node: Node, function: str) -> _Rule:
    mask = masked(node)
    if mask is not None:
        return (mask.inner,), lambda parts: _all_of(node, [mask.holds(), *parts])
    groups = node.op.zero_in(len(node.inputs))  # 0 where all of a group are
    if not groups:
        return (), lambda parts: None
    places = sorted({place for group in groups for place in group})

    def chosen(parts: Sequence[Chosen]) -> Chosen:
        known = dict(zip(places, parts, strict=True))
        return _all_of(node, [_any_of(node, [known[place] for place in group]) for group in groups])

    return [node.inputs[place] for place in places], chosen


def _combined(node: Node, function: str, parts: Sequence[Chosen]) -> Node:
    some = [part for part in parts if part is not None]
    return broadcast_to(functools.reduce(partial(apply, function), some), node.static_shape)


def _any_of(node: Node, parts: Sequence[Chosen]) -> Chosen:
    if len(parts) == 1:
        return parts[0]
    return None if any(part is None for part in parts) else _combined(node, "logical_or", parts)


def _all_of(node: Node, parts: Sequence[Chosen]) -> Chosen:
    return None if all(part is None for part in parts) else _combined(node, "logical_and", parts)


def _of_update(node: Node, op: IndexUpdate) -> _Rule:
    base, values, *arrays = node.inputs

    def write(into: Chosen, part: Node, mode: str = "set") -> Node:
        whole = constant(False) if into is None else into
        places = [broadcast_to(x, like.static_shape) for x, like in ((whole, base), (part, values))]
        return Node(IndexUpdate(op.specification, mode), *places, *arrays)

    def written(parts: Sequence[Chosen]) -> Chosen:
        (part,) = parts
        if part is None:
            return None if _covers(node, op, arrays) else write(None, constant(True))
        if not arrays:
            return write(None, part)
        return apply("gt", write(constant(0, "int64"), cast(part, "int64"), "inc"), 0)  # any that meet in one place

    if all_zero(base):
        return (values,), written
    if op.mode == "set" and all_zero(values):
        return (base,), lambda parts: write(constant(True) if parts[0] is None else parts[0], constant(False))
    return (), lambda parts: None


def all_zero(x: Node) -> bool:
    """Whether x is a constant of zeros, or one repeated."""
    value = constant_value(x.inputs[0] if isinstance(x.op, BroadcastTo) else x)
    return value is not None and not value.any()


def _covers(node: Node, op: IndexUpdate, arrays: Sequence[Node]) -> bool:
    """Whether every place is written to, as far as constants tell."""
    if all(entry == FULL or isinstance(entry, NewAxis) for entry in op.specification):
        return True
    shape, known = node.static_shape, [constant_value(array) for array in arrays]
    open_ended = any(isinstance(entry, SliceIndex) and not entry.static for entry in op.specification)
    if open_ended or not all(isinstance(n, int) for n in shape) or any(k is None for k in known):
        return False
    entries = iter(known)
    reached = np.zeros(shape, bool)  # integers, as was looked at
    if reached.size > LARGEST:
        return False
    reached[tuple(_plain(entry, entries) for entry in op.specification)] = True
    return bool(reached.all())


def _plain(entry: Entry, arrays: Iterator[Any]) -> Any:
    """An entry as NumPy has it."""
    match entry:
        case SliceIndex():
            return entry.bounds()
        case At():
            return entry.position
        case NewAxis():
            return None
        case _:
            return next(arrays)


def _joined(node: Node, op: Concatenate, parts: Sequence[Chosen]) -> Chosen:
    whole = [all_zero(x) for x in node.inputs]
    if not any(whole) and all(part is None for part in parts):
        return None
    return Node(
        op,
        *(
            broadcast_to(constant(not zero), x.static_shape) if part is None else part
            for part, x, zero in zip(parts, node.inputs, whole, strict=True)
        ),
    )


def _of_product(node: Node, parts: Sequence[Chosen]) -> Chosen:
    """Rows of the first matrix and columns of the second that hold something."""
    sides = [
        None if part is None else reduce("any", part, part.ndim - axis, keepdims=True)
        for part, axis in zip(parts, (1, 2), strict=True)
    ]
    return _all_of(node, sides)
