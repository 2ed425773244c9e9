"""Increasing vectors as free vectors."""

from __future__ import annotations

from typing import ClassVar

from consilience.distributions.mathematics import exp, log
from consilience.distributions.transforms.transform import Transform
from consilience.ir import Node
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import concatenate


class Ordered(Transform):
    """Increasing vectors to R^n: the first element, then the logarithms of the steps.

    positive    vectors of positive elements: the logarithm of the first element as well
    ascending   False for decreasing vectors: the same, read from their end
    """

    name: ClassVar[str] = "ordered"
    event_rank: ClassVar[int] = 1
    positive: bool = False
    ascending: bool = True

    def to_line(self, value: Node) -> Node:
        value = value if self.ascending else value[..., ::-1]
        first = log(value[..., :1]) if self.positive else value[..., :1]
        return concatenate([first, log(value[..., 1:] - value[..., :-1])], -1)

    def from_line(self, unconstrained: Node) -> Node:
        first = exp(unconstrained[..., :1]) if self.positive else unconstrained[..., :1]
        value = cumulative("sum", concatenate([first, exp(unconstrained[..., 1:])], -1), -1)
        return value if self.ascending else value[..., ::-1]

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return reduce("sum", unconstrained if self.positive else unconstrained[..., 1:], -1)


ordered = Ordered()
