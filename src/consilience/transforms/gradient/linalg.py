"""Pullbacks of linear algebra, on the last two axes of batches.

Ops on symmetric matrices (`Cholesky`, `InverseQuadratic`, and `Solve`, `Inverse`, `LogAbsDet` of positive definite
ones) read the lower triangle, and the cotangent of their matrix lies in it: an entry below the diagonal stands for two.
So slopes are those of what is computed, whatever the other triangle holds (see `folded`). Sources: M. Giles (2008),
"Collected matrix derivative results"; I. Murray (2016), "Differentiation of the Cholesky decomposition".
"""

from __future__ import annotations

from consilience.ir import Node
from consilience.ir.dimension import product
from consilience.ops import (
    Cholesky,
    Det,
    DetSign,
    Inverse,
    InverseQuadratic,
    Iota,
    LogAbsDet,
    MatMul,
    Solve,
    SolveTriangular,
)
from consilience.ops.shape import expand_dims, reshape, squeeze
from consilience.rewrite.structure import is_symmetric
from consilience.transforms.gradient.mask import keep
from consilience.transforms.gradient.scalar import eq, where
from consilience.transforms.gradient.table import no_derivative, partial_of


@partial_of(MatMul)
def _matmul(node: Node, g: Node, position: int) -> Node:
    a, b = node.inputs
    if a.ndim == 1 and b.ndim == 1:
        return g * (b if position == 0 else a)
    if a.ndim == 1:
        # y[..., j] = sum over i of a[i] b[..., i, j]
        if position == 1:
            return expand_dims(a, 1) * expand_dims(g, -2)
        return b @ g if b.ndim == 2 else squeeze(b @ expand_dims(g, -1), -1)
    if b.ndim == 1:
        # y[..., i] = sum over j of a[..., i, j] b[j]
        if position == 0:
            return expand_dims(g, -1) * expand_dims(b, 0)
        return reshape(g, (product(g.static_shape),)) @ rows(a)
    if position == 0:
        return g @ b.mT
    if b.ndim == 2:
        return rows(a).mT @ rows(g)
    return a.mT @ g


def rows(x: Node) -> Node:
    """A batch of matrices as one matrix, below each other."""
    return reshape(x, (product(x.static_shape[:-1]), x.static_shape[-1]))


def symmetric(x: Node) -> Node:
    """The symmetric part."""
    return 0.5 * (x + x.mT)


def folded(x: Node, matrix: Node, lower: bool = True, even: bool = False) -> Node:
    """The cotangent of a matrix of which one triangle is read, from that of a matrix that is symmetric.

    A matrix that is symmetric whatever its parts are has both: half of a slope on each of two mirrored entries.

    Parameters
    ----------
    even : bool, default False
        Whether the cotangent is symmetric.
    """
    if is_symmetric(matrix):
        return x if even else symmetric(x)
    i, j = positions(x)
    both = where(i > j if lower else i < j, 2.0 * x if even else x + x.mT, x)
    return keep(i >= j if lower else i <= j, both)


def triangle(x: Node, lower: bool) -> Node:
    """x with zeros outside of one triangle."""
    i, j = positions(x)
    return where(i >= j if lower else i <= j, x, 0.0)


def positions(x: Node) -> tuple[Node, Node]:
    """Numbers of the rows, as a column, and of the columns of square matrices."""
    n = Node(Iota(x.static_shape[-1]))
    return expand_dims(n, 1), expand_dims(n, 0)


@partial_of(Cholesky)
def _cholesky(node: Node, g: Node, position: int) -> Node:
    # S = L^-T phi(L' g) L^-1 with phi: the lower triangle, its diagonal halved.
    i, j = positions(node)
    inner = node.mT @ g
    phi = where(i > j, inner, where(eq(i, j), 0.5 * inner, 0.0))
    solve = SolveTriangular(lower=True, transposed=True)
    half = Node(solve, node, phi)
    return folded(Node(solve, node, half.mT), node.inputs[0])


@partial_of(SolveTriangular)
def _solve_triangular(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, SolveTriangular)
    lower, transposed = node.op.lower, node.op.transposed
    right = Node(SolveTriangular(lower, not transposed), node.inputs[0], g)
    if position == 1:
        return right
    return triangle(-(node @ right.mT) if transposed else -(right @ node.mT), lower)


@partial_of(Solve)
def _solve(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Solve)
    a = node.inputs[0]
    if node.op.assume == "positive definite":
        right = Node(node.op, a, g)
        return right if position == 1 else folded(-(right @ node.mT), a)
    right = Node(node.op, a.mT, g)
    return right if position == 1 else -(right @ node.mT)


@partial_of(InverseQuadratic)
def _inverse_quadratic(node: Node, g: Node, position: int) -> Node:
    a, b = node.inputs
    solved = Node(Solve("positive definite"), a, b)
    scaled = solved * expand_dims(g, -2)
    return folded(-(scaled @ solved.mT), a, even=True) if position == 0 else 2.0 * scaled


@partial_of(Inverse)
def _inverse(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Inverse)
    if node.op.assume == "positive definite":
        return folded(-(node @ g @ node), node.inputs[0])
    return -(node.mT @ g @ node.mT)


@partial_of(LogAbsDet)
def _log_abs_det(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, LogAbsDet)
    a = node.inputs[0]
    inverse = Node(Inverse(node.op.assume), a)
    if node.op.assume == "positive definite":
        return folded(_on_matrices(g) * inverse, a, even=True)
    return _on_matrices(g) * inverse.mT


@partial_of(Det)
def _det(node: Node, g: Node, position: int) -> Node:
    """Jacobi's formula; asks for the inverse, so it fails for a singular matrix."""
    return _on_matrices(g * node) * Node(Inverse(), node.inputs[0]).mT


def _on_matrices(x: Node) -> Node:
    """One number per matrix of a batch."""
    return expand_dims(x, (x.ndim, x.ndim + 1))


no_derivative(DetSign, "piecewise constant: the slope is 0 wherever there is one")
