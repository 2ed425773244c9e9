"""Pullbacks of Fourier transforms and correlations: linear maps, whose transposes are of the same kind."""

from __future__ import annotations

from consilience.ir import Dim, Node
from consilience.ops import apply
from consilience.ops.correlation import Correlate
from consilience.ops.fourier import FourierTransform, InverseRealFourier, RealFourier
from consilience.ops.index import getitem
from consilience.ops.shape import Iota, concatenate, expand_dims, full, length_of
from consilience.transforms.gradient.table import partial_of


def _once(count: Dim, length: Dim) -> Node:
    """For each k = 0, ..., length // 2 the number of times that k or length - k occurs below `length`, as a column."""
    k = Node(Iota(count))
    end = apply("logical_or", apply("eq", k, 0), apply("eq", apply("mul", 2, k), length_of(length)))
    return expand_dims(apply("where", end, 1.0, 2.0), 1)


@partial_of(FourierTransform)
def _fourier(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, FourierTransform)
    return Node(FourierTransform(not node.op.inverse), g)


@partial_of(RealFourier)
def _real(node: Node, g: Node, position: int) -> Node:
    length = node.inputs[0].static_shape[-1]
    return Node(InverseRealFourier(length), apply("true_div", g, _once(node.static_shape[-2], length)))


@partial_of(InverseRealFourier)
def _inverse_real(node: Node, g: Node, position: int) -> Node:
    return apply("mul", Node(RealFourier(), g), _once(node.inputs[0].static_shape[-2], node.static_shape[-1]))


@partial_of(Correlate)
def _correlate(node: Node, g: Node, position: int) -> Node:
    x, h = node.inputs
    if position == 1:
        return Node(Correlate(), x, g)
    for axis in (-1, -2):
        shape = list(g.static_shape)
        shape[axis] = h.static_shape[axis] - 1
        zeros = full(shape, 0.0, g.dtype)
        g = concatenate([zeros, g, zeros], axis)
    return Node(Correlate(), g, getitem(h, (Ellipsis, slice(None, None, -1), slice(None, None, -1))))
