"""Increasing vectors as free vectors."""

from __future__ import annotations

from typing import ClassVar

from consilience.distributions.mathematics import exp, greater, log, maximum, where
from consilience.distributions.transforms.transform import Transform
from consilience.ir import Node
from consilience.ops.elementwise import cast
from consilience.ops.order import Sort
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import Iota, concatenate, length_of


class Ordered(Transform):
    """Increasing vectors to R^n: the first element, then the logarithms of the steps.

    positive: Vectors of positive elements: the logarithm of the first element as well.
    ascending: False for decreasing vectors: the same, read from their end.
    See SimplexSteps: Increasing probabilities.
    >>> import consilience.distributions.transforms as tr
    >>> tr.Ordered().backward([1.0, 0.0, 0.0]).eval().tolist()
    [1.0, 2.0, 3.0]
    """

    name: ClassVar[str] = "ordered"
    event_rank: ClassVar[int] = 1
    positive: bool = False
    ascending: bool = True

    def to_line(self, value: Node) -> Node:
        value = value if self.ascending else value[..., ::-1]
        first = log(value[..., :1]) if self.positive else value[..., :1]
        return concatenate([first, log(value[..., 1:] - value[..., :-1])], -1)

    def admissible(self, value: Node) -> Node:
        """Sorted, and equal elements spread over a stretch of length 2, of logarithms for positive ones."""
        ascending = value if self.ascending else value[..., ::-1]
        length = value.static_shape[-1]
        place = cast(Node(Iota(length)), value.dtype)
        spread = 2.0 * place / maximum(cast(length_of(length), value.dtype) - 1.0, 1.0) - 1.0
        elements = Node(Sort(value.ndim - 1), value)
        moved = elements * exp(spread) if self.positive else elements + spread
        steps = reduce("all", greater(ascending[..., 1:], ascending[..., :-1]), -1, keepdims=True)
        return where(steps, value, moved if self.ascending else moved[..., ::-1])

    def from_line(self, unconstrained: Node) -> Node:
        first = exp(unconstrained[..., :1]) if self.positive else unconstrained[..., :1]
        value = cumulative("sum", concatenate([first, exp(unconstrained[..., 1:])], -1), -1)
        return value if self.ascending else value[..., ::-1]

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return reduce("sum", unconstrained if self.positive else unconstrained[..., 1:], -1)


ordered = Ordered()
