"""Log densities of positive definite matrices in terms of what they may be linear in: X, its inverse, log det X.

An expression of matrices X in; the same one with these statistics as leaves out, wherever algebra leads there:
`log det(c X)` is `p log c + log det X`, and `b' X^-1 b` is linear in the inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from consilience.elimination.statistics import (
    LOG,
    MOVES,
    PowerOf,
    Statistics,
    Value,
    keeps_matrices,
    moved,
    without_matrix_axes,
)
from consilience.ir import Node
from consilience.ops import Elementwise
from consilience.ops.assertion import Assume, Require
from consilience.ops.elementwise import apply
from consilience.ops.index import getitem
from consilience.ops.linalg import Inverse, InverseQuadratic, LogAbsDet, Solve, matmul
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, expand_dims

INVERSE: Final = -1.0  # as a statistic: the power of a matrix, no power of its elements


class MatrixStatistics(Statistics):
    """Inputs that stand for the matrices, their inverses and, at [..., 0, 0], the logarithms of their determinants.

    `leaf`: stands for symmetric positive definite matrices (..., p, p).
    """

    def __init__(self, leaf: Node) -> None:
        super().__init__(leaf, at_most_one=False, sums_to_one=False)

    def _applied(self, node: Node, operands: Sequence[Value]) -> Value:
        a = operands[0]
        b = operands[1] if len(operands) > 1 else None
        match node.op:
            case Assume() | Require():
                return a
            case Elementwise(function="neg" | "mul"):
                one, other = (b, a) if isinstance(a, Node) else (a, b)
                if isinstance(one, PowerOf) and (other is None or isinstance(other, Node)):
                    return PowerOf(-one.factor if other is None else one.factor * other, one.exponent, one.base)
            case Elementwise(function="true_div") if isinstance(a, PowerOf) and isinstance(b, Node):
                return PowerOf(a.factor / b, a.exponent, a.base)
            case LogAbsDet() if isinstance(a, PowerOf) and (factor := without_matrix_axes(a.factor)) is not None:
                logs = getitem(self._input(LOG, a.base), (..., 0, 0))
                order = self.leaf.static_shape[-1]
                return broadcast_to(order * apply("log", factor) + a.exponent * logs, node.static_shape)
            case Inverse() if (inverse := _inverted(a)) is not None:
                return inverse
            case Solve() | InverseQuadratic() if isinstance(b, Node) and (inverse := _inverted(a)) is not None:
                found = matmul(broadcast_to(self._node(inverse), node.inputs[0].static_shape), b)
                return found if isinstance(node.op, Solve) else reduce("sum", b * found, -2)
            case op if isinstance(op, MOVES) and isinstance(a, PowerOf) and keeps_matrices(node):
                same = node.static_shape[-2:] == self.leaf.static_shape[-2:]
                if same and all(isinstance(own, Node) for own in operands[1:]):
                    return PowerOf(moved(a.factor, node), a.exponent, moved(a.base, node))
        return Node(node.op, *self._whole_nodes(node, operands))


def _inverted(value: Value) -> PowerOf | None:
    if not isinstance(value, PowerOf):
        return None
    factor = without_matrix_axes(value.factor)
    if factor is None:
        return None
    if factor.ndim:
        factor = expand_dims(factor, (factor.ndim, factor.ndim + 1))
    return PowerOf(1.0 / factor, -value.exponent, value.base)


__all__ = ["INVERSE", "MatrixStatistics"]
