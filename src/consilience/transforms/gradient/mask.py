"""Cotangents of the form where(c, h, 0), what is chosen of a value, and sums over stretched axes.

A pullback is linear in the cotangent, and a scalar function's works element by element, so it commutes with
a mask: f(where(c, h, 0)) = where(c, f(h), 0). Keeping the mask outermost is what makes the derivative of
`where(x > 0, log(x), 0)` zero instead of 0 * inf at x = 0. What indices choose is in `choices`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from consilience.ir import Node, constant_value
from consilience.ir.types import Shape
from consilience.ops import BroadcastTo, Elementwise, Reduce, apply
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
