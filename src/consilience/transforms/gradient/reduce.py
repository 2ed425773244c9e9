"""Pullbacks of reductions: each element of the cotangent spreads over the axes that were reduced."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from consilience.ir import Node
from consilience.ir.dimension import product
from consilience.ops import ArgReduce, Cumulative, Iota, Reduce, Softmax, apply
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, expand_dims, length_of, moveaxis, reshape, transpose
from consilience.transforms.gradient.mask import keep, through_mask, through_reduction
from consilience.transforms.gradient.scalar import either, eq, where
from consilience.transforms.gradient.table import no_derivative, partial_of

# (g, y, x, axes) with g and y at the rank of x
_Spread = Callable[[Node, Node, Node, Sequence[int]], Node]


@partial_of(Reduce)
def _reduce(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Reduce)
    axes, (x,) = node.op.axes, node.inputs
    spread = _SPREADS[node.op.kind]
    y = expand_dims(node, axes)
    return through_reduction(g, axes, lambda inner: spread(expand_dims(inner, axes), y, x, axes))


def _sum(g: Node, y: Node, x: Node, axes: Sequence[int]) -> Node:
    return broadcast_to(g, x.static_shape)


def _logsumexp(g: Node, y: Node, x: Node, axes: Sequence[int]) -> Node:
    # Derivatives of what has no weight, which may be infinite, do not count.
    weight = Node(Softmax(tuple(axes)), x)
    return keep(either(eq(x, -math.inf), eq(weight, 0.0)), g * weight, inverted=True)


def _extreme(g: Node, y: Node, x: Node, axes: Sequence[int]) -> Node:
    """Elements that tie share evenly; those that are less do not count, NaN does."""
    ties = expand_dims(Node(Reduce("sum", tuple(axes)), eq(x, y).astype(x.dtype)), axes)
    return keep(either(x < y, x > y), broadcast_to(g / ties, x.static_shape), inverted=True)


def _product(g: Node, y: Node, x: Node, axes: Sequence[int]) -> Node:
    if all(x.static_shape[a] == 1 for a in axes):
        return g
    return g * product_of_others(x, axes)


_SPREADS: dict[str, _Spread] = {
    "sum": _sum,
    "prod": _product,
    "max": _extreme,
    "min": _extreme,
    "logsumexp": _logsumexp,
}


def product_of_others(x: Node, axes: Sequence[int]) -> Node:
    """For every element the product of the others in the reduced axes: right with any number of zeros."""
    order = [*(i for i in range(x.ndim) if i not in axes), *axes]
    moved = transpose(x, order)
    shape = moved.static_shape
    batch = x.ndim - len(axes)
    flat = reshape(moved, (*shape[:batch], product(shape[batch:])))
    others = _product_before(flat, reverse=False) * _product_before(flat, reverse=True)
    return transpose(reshape(others, shape), [order.index(i) for i in range(x.ndim)])


def _product_before(x: Node, reverse: bool) -> Node:
    """For every element of the last axis the product of those before it (behind it when `reverse`)."""
    length = x.static_shape[-1]
    position = Node(Iota(length))
    last = length_of(length) - 1
    edge, neighbour = (
        (last, apply("minimum", position + 1, last)) if reverse else (0, apply("maximum", position - 1, 0))
    )
    shifted = where(eq(position, edge), 1.0, x[..., neighbour])
    return Node(Cumulative("prod", x.ndim - 1, reverse), shifted)


@partial_of(Cumulative)
def _cumulative(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Cumulative)
    axis, reverse = node.op.axis, node.op.reverse
    if node.op.kind == "sum":
        return Node(Cumulative("sum", axis, not reverse), g)
    # y[k] is the product of x[i] for i <= k. Leaving out x[j] for each j costs memory n * n and holds with
    # any number of zeros, also in higher derivatives.
    x = moveaxis(node.inputs[0], axis, -1)
    cotangent = expand_dims(moveaxis(g, axis, -1), -2)
    i = Node(Iota(x.static_shape[-1]))
    j = expand_dims(i, 1)
    without = Node(Cumulative("prod", x.ndim, reverse), where(eq(i, j), 1.0, expand_dims(x, -2)))
    reached = i <= j if reverse else i >= j
    return moveaxis(where(reached, cotangent * without, 0.0).sum(-1), -1, axis)


@partial_of(Softmax)
def _softmax(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Softmax)
    axes, (x,) = node.op.axes, node.inputs
    if node.op.logarithm:
        return g - Node(Softmax(axes), x) * reduce("sum", g, axes, keepdims=True)
    weighted = through_mask(g, lambda inner: inner * node)
    assert weighted is not None
    # As in `_logsumexp`, what has no weight does not count.
    return keep(eq(node, 0.0), weighted - node * reduce("sum", weighted, axes, keepdims=True), inverted=True)


no_derivative(ArgReduce, "the result is a position, an integer")
