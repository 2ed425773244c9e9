"""Arrays whose sums along some axes are zero as free arrays that are one shorter along each of these axes.

The map is an isometry (a Householder reflection that takes the vector of ones to the last axis), so that its
Jacobian is 1 and independent normal elements stay independent and normal.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import ClassVar

from consilience.distributions.mathematics import sqrt
from consilience.distributions.transforms.transform import Transform
from consilience.ir import Node, Shape
from consilience.ops.elementwise import as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.reduce import count, reduce
from consilience.ops.shape import concatenate, full


class ZeroSumTransform(Transform):
    """Arrays that sum to zero along each of some axes to R^(n - 1) along these axes.

    zerosum_axes: Axes, counted from the end: -1 is the last.
    See SumTo1: Vectors of sum 1.
    >>> import consilience.distributions.transforms as tr
    >>> bool(abs(tr.ZeroSumTransform([-1]).backward([1.0, 2.0]).sum().eval()) < 1e-12)
    True
    """

    name: ClassVar[str] = "zerosum"
    zerosum_axes: tuple[int, ...]

    def __init__(self, zerosum_axes: Sequence[int]) -> None:
        axes = tuple(operator.index(axis) for axis in zerosum_axes)
        if not axes or max(axes) >= 0 or len(set(axes)) < len(axes):
            raise ValueError(
                "`zerosum_axes` must be different axes counted from the end, such as -1 for the last, "
                f"got {zerosum_axes!r}."
            )
        object.__setattr__(self, "zerosum_axes", axes)

    def rank(self) -> int:
        return -min(self.zerosum_axes)

    def to_line(self, value: Node) -> Node:
        for axis in self.zerosum_axes:
            n = _length(value, axis)
            before, last = _parts(value, axis)
            value = before - last / (1.0 + sqrt(n))
        return value

    def from_line(self, unconstrained: Node) -> Node:
        value = unconstrained
        for axis in self.zerosum_axes:
            n = _length(value, axis) + 1.0
            total = reduce("sum", value, axis, keepdims=True)
            value = concatenate([value - total / (n + sqrt(n)), -total / sqrt(n)], axis)
        return value

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return full(unconstrained.static_shape[: unconstrained.ndim - self.rank()], 0.0, unconstrained.dtype)

    def unconstrained_shape(self, shape: Shape) -> Shape:
        axes = [axis + len(shape) for axis in self.zerosum_axes]
        return tuple(length - 1 if axis in axes else length for axis, length in enumerate(shape))


def _length(value: Node, axis: int) -> Node:
    return cast(as_tensor(count(value, (value.ndim + axis,))), value.dtype)


def _parts(value: Node, axis: int) -> tuple[Node, Node]:
    """All elements along an axis but the last, and the last."""
    rest = (slice(None),) * (-axis - 1)
    return getitem(value, (Ellipsis, slice(None, -1), *rest)), getitem(value, (Ellipsis, slice(-1, None), *rest))
