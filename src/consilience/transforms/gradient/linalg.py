"""Pullbacks of linear algebra, on the last two axes of batches.

Ops on symmetric matrices (`Cholesky`, `InverseQuadratic`, and `Solve`, `Inverse`, `LogAbsDet` of positive definite
ones) read the lower triangle, and the cotangent of their matrix lies in it: an entry below the diagonal stands for two.
So slopes are those of what is computed, whatever the other triangle holds (see `folded`). Sources: M. Giles (2008),
"Collected matrix derivative results"; I. Murray (2016), "Differentiation of the Cholesky decomposition".
"""

from __future__ import annotations

import numpy as np

from consilience.ir import Node, constant
from consilience.ir.dimension import product
from consilience.ops import (
    Cholesky,
    Det,
    DetSign,
    Elementwise,
    Inverse,
    InverseQuadratic,
    Iota,
    Item,
    LogAbsDet,
    MatMul,
    Solve,
    SolveTriangular,
    apply,
    cast,
    cond,
)
from consilience.ops.arrangement import full_like
from consilience.ops.factorisations import SVD
from consilience.ops.index import Index, IndexUpdate, getitem
from consilience.ops.linalg import diagonal
from consilience.ops.reduce import reduce
from consilience.ops.shape import Reshape, broadcast_to, expand_dims, reshape, squeeze
from consilience.rewrite.structure import is_symmetric, weights_between
from consilience.transforms.gradient.mask import all_zero, keep, masked, total
from consilience.transforms.gradient.reduce import product_of_others
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
    if a.ndim == b.ndim == 2 and (weights := weights_between(a, b)) is not None:
        # B c B' is symmetric, and what its slopes are is so for both of its factors: one product.
        either = symmetric(g) @ b.mT
        return either if position == 0 else apply("mul", *weights, either).mT if weights else either.mT
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


def folded(x: Node, node: Node, even: bool = False) -> Node:
    """The cotangent of the first operand of a node that reads one triangle of it, from that of a symmetric matrix.

    A matrix that is symmetric whatever its parts are has both: half of a slope on each of two mirrored entries.

    `even`: whether the cotangent is symmetric.
    """
    if is_symmetric(node.inputs[0]):
        return x if even else symmetric(x)
    i, j = positions(x)
    lower = node.op.triangle_read() == "lower"
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
    inner, along = _lower_of_product(node, g)
    phi = where(eq(i, j), 0.5 * total([part for part in (inner, along) if part is not None]), 0.0)
    if inner is not None:
        phi = where(i > j, inner, phi)
    solve = SolveTriangular(lower=True, transposed=True)
    half = Node(solve, node, phi)
    return folded(Node(solve, node, half.mT), node)


def _lower_of_product(factor: Node, g: Node) -> tuple[Node | None, Node | None]:
    """What has the lower triangle of L' g, and what is to be added to its diagonal, as a column; None: nothing.

    Above the diagonal g does not matter. A product u w' with few columns stays one, (L' u) w'.
    """
    i, j = positions(factor)
    in_lower, own = apply("ge", i, j), diagonal(factor)
    rows, entries, rest = list[Node](), list[Node](), list[Node]()
    waiting = [(g, 1.0)]
    while waiting:
        x, sign = waiting.pop()
        mask = masked(x)
        if mask is not None and mask.condition is in_lower and not mask.inverted:
            waiting.append((mask.inner, sign))
        elif x.op == Elementwise("add") and all(part.static_shape == x.static_shape for part in x.inputs):
            waiting += [(part, sign) for part in reversed(x.inputs)]
        elif x.op == Elementwise("neg"):
            waiting.append((x.inputs[0], -sign))
        elif (values := _written(x, own)) is not None:
            entries.append(sign * values * own)
        elif (pair := _narrow(x)) is not None:
            rows.append((sign * (factor.mT @ pair[0])) @ pair[1])
        else:
            rest.append(sign * x)
    if rest:
        rows.append(factor.mT @ total(rest))
    return total(rows) if rows else None, expand_dims(total(entries), own.ndim) if entries else None


def _written(x: Node, own: Node) -> Node | None:
    """What was written along the diagonal of zeros; `own`: the diagonal of another such matrix."""
    if not (isinstance(x.op, Reshape) and isinstance(x.inputs[0].op, IndexUpdate) and isinstance(own.op, Index)):
        return None
    update = x.inputs[0]
    base, values, *arrays = update.inputs
    assert isinstance(update.op, IndexUpdate)
    same = update.op.specification == own.op.specification and not arrays
    return values if same and values.static_shape == own.static_shape and all_zero(base) else None


def _narrow(x: Node) -> tuple[Node, Node] | None:
    """The factors of a product over an axis that is shorter than half of a square matrix."""
    if not (isinstance(x.op, MatMul) and all(part.ndim == x.ndim for part in x.inputs)):
        return None
    inner, length = x.inputs[1].static_shape[-2], x.static_shape[-1]
    narrow = isinstance(inner, int) and isinstance(length, int) and 2 * inner <= length
    return (x.inputs[0], x.inputs[1]) if narrow else None


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
        return right if position == 1 else folded(-(right @ node.mT), node)
    right = Node(node.op, a.mT, g)
    return right if position == 1 else -(right @ node.mT)


@partial_of(InverseQuadratic)
def _inverse_quadratic(node: Node, g: Node, position: int) -> Node:
    a, b = node.inputs
    solved = Node(Solve("positive definite"), a, b)
    scaled = solved * expand_dims(g, -2)
    return folded(-(scaled @ solved.mT), node, even=True) if position == 0 else 2.0 * scaled


@partial_of(Inverse)
def _inverse(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Inverse)
    if node.op.triangle_read():
        return folded(-(node @ g @ node), node)
    return -(node.mT @ g @ node.mT)


@partial_of(LogAbsDet)
def _log_abs_det(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, LogAbsDet)
    a = node.inputs[0]
    inverse = Node(Inverse(node.op.assume), a)
    if node.op.assume == "positive definite":
        return folded(_on_matrices(g) * inverse, node, even=True)
    return _on_matrices(g) * inverse.mT


@partial_of(Det)
def _det(node: Node, g: Node, position: int) -> Node:
    """Jacobi's formula: the cofactors, which are det(A) inv(A)' for regular matrices."""
    x = node.inputs[0]
    n = x.static_shape[-1]
    cofactors: Node | list[Node]
    if n in (1, 2, 3):
        cofactors = _few_cofactors(x, n)
    else:
        some = reduce("any", eq(node, 0.0))
        by_inverse = _on_matrices(node) * Node(Inverse(), x).mT
        cofactors = cond(some, *(broadcast_to(c, x.static_shape) for c in (_cofactors_by_values(x), by_inverse)))
    assert isinstance(cofactors, Node)
    return _on_matrices(g) * cofactors


def _few_cofactors(x: Node, n: int) -> Node:
    """Those of 1, 2 or 3 rows, from elements further down and to the right, round and round."""
    if n == 1:
        return full_like(x, 1.0)

    def at(i: int, j: int) -> Node:
        rows, columns = (constant((np.arange(n) + k) % n) for k in (i, j))
        return getitem(getitem(x, (..., rows, slice(None))), (..., columns))

    if n == 2:
        return at(1, 1) * constant(np.asarray([[1, -1], [-1, 1]], x.dtype))
    return at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)


def _cofactors_by_values(x: Node) -> Node:
    """With x = U diag(s) V': det(U V') U C V', where C has on its diagonal the products of the other values."""
    made = Node(SVD(), cast(x, "float64"))
    u, s, v = (cast(Node(Item(i), made), x.dtype) for i in range(3))
    others = product_of_others(s, (s.ndim - 1,))
    return _on_matrices(Node(DetSign(), u @ v)) * ((u * expand_dims(others, -2)) @ v)


def _on_matrices(x: Node) -> Node:
    """One number per matrix of a batch."""
    return expand_dims(x, (x.ndim, x.ndim + 1))


no_derivative(DetSign, "piecewise constant: the slope is 0 wherever there is one")
