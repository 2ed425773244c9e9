"""Least squares and pseudo-inverses written in singular values and eigenvalues.

In: a node at lengths that are known. Out: its value in factorisations and products.
"""

from __future__ import annotations

from consilience.ir import Node
from consilience.lower.expand import expands
from consilience.ops import apply
from consilience.ops.factorisations import LeastSquares, PseudoInverse, factors, greatest_size
from consilience.ops.linalg import matrix_transpose
from consilience.ops.shape import expand_dims, full


def _reciprocals(values: Node, share: Node) -> Node:
    """1 / values, and 0 where a value is at most `share` of the greatest, as rows of matrices."""
    kept = apply("gt", apply("abs", values), apply("mul", expand_dims(share, share.ndim), greatest_size(values)))
    found = apply("where", kept, apply("reciprocal", apply("where", kept, values, 1.0)), 0.0)
    return expand_dims(found, found.ndim - 1)


@expands(PseudoInverse, LeastSquares)
def expand_least_squares(node: Node) -> Node:
    """V diag(1/s) U', times the right side where there is one; 0 where there is no singular value."""
    op = node.op
    assert isinstance(op, PseudoInverse | LeastSquares)
    x, *right, share = node.inputs
    if 0 in x.static_shape or 0 in node.static_shape:
        return full(node.static_shape, 0.0, node.dtype)
    left, values, across = factors(op, x)
    back = apply("mul", matrix_transpose(across), _reciprocals(values, share))
    return back @ (matrix_transpose(left) @ right[0] if right else matrix_transpose(left))
