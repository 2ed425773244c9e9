"""Probability vectors of length n as free vectors of length n - 1.

The coordinates are centred log ratios: symmetric in the categories, unlike stick breaking. Densities on the
simplex are with respect to its first n - 1 elements.
"""

from __future__ import annotations

from typing import ClassVar

from consilience.distributions.mathematics import log
from consilience.distributions.transforms.transform import Transform, chain
from consilience.ir import Node, Shape
from consilience.ops.elementwise import as_tensor, cast
from consilience.ops.reduce import count, cumulative, reduce, softmax
from consilience.ops.reductions import mean
from consilience.ops.shape import Iota, concatenate, full


class Simplex(Transform):
    """Positive vectors of sum 1 to R^(n-1): z = log x - mean(log x) without its last element.

    See SumTo1: Without logarithms.
    >>> import consilience.distributions.transforms as tr
    >>> tr.Simplex().backward([0.0, 0.0]).eval().round(4).tolist()
    [0.3333, 0.3333, 0.3333]
    """

    name: ClassVar[str] = "simplex"
    event_rank: ClassVar[int] = 1

    def to_line(self, value: Node) -> Node:
        logarithm = log(value)
        return (logarithm - mean(logarithm, -1, keepdims=True))[..., :-1]

    def from_line(self, unconstrained: Node) -> Node:
        z = _centred(unconstrained)
        return softmax(z, -1)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        # |J| = n * prod(x), and x is computed with its logarithm.
        z = _centred(unconstrained)
        n = cast(as_tensor(count(z, (z.ndim - 1,))), z.dtype)
        return log(n) + reduce("sum", softmax(z, -1, logarithm=True), -1)

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return (*shape[:-1], shape[-1] - 1)


class SimplexSteps(Transform):
    """Increasing probability vectors to probability vectors: the steps, each as often as it occurs in the elements.

    In a chain with `simplex`, which is `ordered_simplex`, weights of a mixture keep their order.

    See Simplex: Probability vectors to the real line.
    >>> import consilience.distributions.transforms as tr
    >>> tr.SimplexSteps().forward([0.2, 0.3, 0.5]).eval().round(4).tolist()
    [0.6, 0.2, 0.2]
    """

    name: ClassVar[str] = "ordered"
    event_rank: ClassVar[int] = 1

    def to_line(self, value: Node) -> Node:
        steps = concatenate([value[..., :1], value[..., 1:] - value[..., :-1]], -1)
        return steps * _occurrences(value)

    def from_line(self, unconstrained: Node) -> Node:
        return cumulative("sum", unconstrained / _occurrences(unconstrained), -1)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        total = reduce("sum", log(_occurrences(unconstrained)), -1)
        return full(unconstrained.static_shape[:-1], -total, unconstrained.dtype)


def _occurrences(vector: Node) -> Node:
    """n, n - 1, …, 1: in how many elements of an increasing vector each of its steps occurs."""
    return cast(count(vector, (vector.ndim - 1,)) - Node(Iota(vector.static_shape[-1])), vector.dtype)


class SumTo1(Transform):
    """Vectors of sum 1 to their first n - 1 elements, which a further transform such as `logodds` may take to R^(n-1).

    Elements that sum to more than 1 give a last element below 0: then the density must be -inf.

    See Simplex: To the whole of R^(n-1).
    >>> import consilience.distributions.transforms as tr
    >>> tr.SumTo1().backward([0.2, 0.3]).eval().tolist()
    [0.2, 0.3, 0.5]
    """

    name: ClassVar[str] = "sumto1"
    event_rank: ClassVar[int] = 1

    def to_line(self, value: Node) -> Node:
        return value[..., :-1]

    def from_line(self, unconstrained: Node) -> Node:
        return concatenate([unconstrained, 1.0 - reduce("sum", unconstrained, -1, keepdims=True)], -1)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return full(unconstrained.static_shape[:-1], 0.0, unconstrained.dtype)

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return (*shape[:-1], shape[-1] - 1)


def _centred(unconstrained: Node) -> Node:
    return concatenate([unconstrained, -reduce("sum", unconstrained, -1, keepdims=True)], -1)


simplex = Simplex()
sum_to_1 = SumTo1()
simplex_steps = SimplexSteps()
ordered_simplex = chain(simplex_steps, simplex)
