"""Points of a sphere as free vectors of the same length.

No bijection leads from a sphere to all of R^(n-1), so the free vector has a radius besides, which follows a density
of its own: the chi distribution of n standard normal elements, independent of the point.
"""

from __future__ import annotations

from typing import ClassVar

from consilience.distributions.mathematics import LOG_2, gammaln, sqrt, square
from consilience.distributions.transforms.transform import Transform
from consilience.ir import Node
from consilience.ops.elementwise import as_tensor, cast
from consilience.ops.reduce import count, reduce


class UnitVector(Transform):
    """Vectors of length 1 to R^n: x = y / |y|. `forward` gives the y of radius sqrt(n).

    Densities on the sphere are with respect to its area. The log Jacobian is that of the polar coordinates with the
    log density of the radius, so that a density that integrates to 1 on the sphere does so over all y.

    See Circular: Angles.
    >>> import consilience.distributions.transforms as tr
    >>> tr.UnitVector().backward([3.0, 4.0]).eval().tolist()
    [0.6, 0.8]
    """

    name: ClassVar[str] = "unit_vector"
    event_rank: ClassVar[int] = 1

    def to_line(self, value: Node) -> Node:
        return value * sqrt(_length(value))

    def from_line(self, unconstrained: Node) -> Node:
        return unconstrained / sqrt(reduce("sum", square(unconstrained), -1, keepdims=True))

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        half = 0.5 * _length(unconstrained)
        return (1.0 - half) * LOG_2 - gammaln(half) - 0.5 * reduce("sum", square(unconstrained), -1)


def _length(vector: Node) -> Node:
    return cast(as_tensor(count(vector, (vector.ndim - 1,))), vector.dtype)


unit_vector = UnitVector()
