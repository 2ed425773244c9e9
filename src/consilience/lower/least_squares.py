"""Least squares and pseudo-inverses written in singular values and eigenvalues.

In: a node at lengths that are known. Out: its value in factorisations and products.
"""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops import Item, apply
from consilience.ops.factorisations import SVD, Eigh, LeastSquares, PseudoInverse
from consilience.ops.linalg import matrix_transpose
from consilience.ops.reduce import reduce
from consilience.ops.shape import expand_dims, full


def _reciprocals(values: Node, share: Node) -> Node:
    """1 / values, and 0 where a value is at most `share` of the greatest, as rows of matrices."""
    size = apply("abs", values)
    limit = apply("mul", expand_dims(share, share.ndim), reduce("max", size, -1, keepdims=True))
    kept = apply("gt", size, limit)
    found = apply("where", kept, apply("reciprocal", apply("where", kept, values, 1.0)), 0.0)
    return expand_dims(found, found.ndim - 1)


def _factors(op: PseudoInverse | LeastSquares, x: Node) -> tuple[Node, Node, Node]:
    """U, values s and V' with x = U diag(s) V'."""
    if isinstance(op, PseudoInverse) and op.hermitian:
        factors = Node(Eigh(), x)
        vectors = Node(Item(1), factors)
        return vectors, Node(Item(0), factors), matrix_transpose(vectors)
    factors = Node(SVD(), x)
    left, values, right = (Node(Item(i), factors) for i in range(3))
    return left, values, right


def expand_least_squares(node: Node) -> Node:
    """V diag(1/s) U', times the right side where there is one; 0 where there is no singular value."""
    op = node.op
    assert isinstance(op, PseudoInverse | LeastSquares)
    x, *right, share = node.inputs
    if 0 in x.static_shape or 0 in node.static_shape:
        return full(node.static_shape, 0.0, node.dtype)
    left, values, across = _factors(op, x)
    back = apply("mul", matrix_transpose(across), _reciprocals(values, share))
    return back @ (matrix_transpose(left) @ right[0] if right else matrix_transpose(left))
