"""Increasing vectors as free vectors."""

from __future__ import annotations

from typing import ClassVar

from consilience.distributions.mathematics import exp, log
from consilience.distributions.transforms.transform import Transform
from consilience.ir import Node
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import concatenate


class Ordered(Transform):
    """Increasing vectors to R^n: the first element, then the logarithms of the steps."""

    name: ClassVar[str] = "ordered"
    event_rank: ClassVar[int] = 1

    def forward(self, value: Node) -> Node:
        return concatenate([value[..., :1], log(value[..., 1:] - value[..., :-1])], -1)

    def backward(self, unconstrained: Node) -> Node:
        steps = concatenate([unconstrained[..., :1], exp(unconstrained[..., 1:])], -1)
        return cumulative("sum", steps, -1)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return reduce("sum", unconstrained[..., 1:], -1)


ordered = Ordered()
