"""Probability vectors of length n as free vectors of length n - 1.

The coordinates are centred log ratios: symmetric in the categories, unlike stick breaking. Densities on the
simplex are with respect to its first n - 1 elements.
"""

from __future__ import annotations

from typing import ClassVar

from consilience.distributions.mathematics import log
from consilience.distributions.transforms.transform import Transform
from consilience.ir import Node, Shape
from consilience.ops.elementwise import as_tensor, cast
from consilience.ops.reduce import count, reduce, softmax
from consilience.ops.reductions import mean
from consilience.ops.shape import concatenate, full


class Simplex(Transform):
    """Positive vectors of sum 1 to R^(n-1): z = log x - mean(log x) without its last element."""

    name: ClassVar[str] = "simplex"
    event_rank: ClassVar[int] = 1

    def forward(self, value: Node) -> Node:
        logarithm = log(value)
        return (logarithm - mean(logarithm, -1, keepdims=True))[..., :-1]

    def backward(self, unconstrained: Node) -> Node:
        z = _centred(unconstrained)
        return softmax(z, -1)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        # |J| = n * prod(x): log x sums to -n * logsumexp(z), because z sums to 0.
        z = _centred(unconstrained)
        n = cast(as_tensor(count(z, (z.ndim - 1,))), z.dtype)
        return log(n) - n * reduce("logsumexp", z, -1)

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return (*shape[:-1], shape[-1] - 1)


class SumTo1(Transform):
    """Vectors of sum 1 to their first n - 1 elements, which a further transform such as `logodds` may take to R^(n-1).

    Elements that sum to more than 1 give a last element below 0: then the density must be -inf.
    """

    name: ClassVar[str] = "sumto1"
    event_rank: ClassVar[int] = 1

    def forward(self, value: Node) -> Node:
        return value[..., :-1]

    def backward(self, unconstrained: Node) -> Node:
        return concatenate([unconstrained, 1.0 - reduce("sum", unconstrained, -1, keepdims=True)], -1)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return full(unconstrained.static_shape[:-1], 0.0, unconstrained.dtype)

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return (*shape[:-1], shape[-1] - 1)


def _centred(unconstrained: Node) -> Node:
    return concatenate([unconstrained, -reduce("sum", unconstrained, -1, keepdims=True)], -1)


simplex = Simplex()
sum_to_1 = SumTo1()
