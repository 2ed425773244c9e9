"""Kronecker products and block diagonal matrices: what is asked of the whole is asked of the parts.

In: determinants, inverses, systems, factors, products and transposes of such matrices. Out: the same of the matrices
they are made of, at the cost of these. Source: C. Van Loan (2000), "The ubiquitous Kronecker product".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from consilience.ir import Dim, Node
from consilience.ir.dimension import product
from consilience.ops import (
    Cholesky,
    Det,
    DetSign,
    Inverse,
    InverseQuadratic,
    LogAbsDet,
    MatMul,
    Solve,
    SolveTriangular,
    Transpose,
    apply,
)
from consilience.ops.linalg import matrix_transpose
from consilience.ops.reduce import reduce
from consilience.ops.shape import concatenate, expand_dims, length_of, reshape, transpose
from consilience.ops.structured import BlockDiagonal, Kronecker
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.rules.operands import number
from consilience.rewrite.structure import is_square

DEFINITE = "positive definite"


def _parts(x: Node) -> tuple[Node, ...]:
    """The square matrices that a Kronecker product or block diagonal matrix is made of; none for others."""
    known = isinstance(x.op, Kronecker | BlockDiagonal) and all(is_square(i) for i in x.inputs)
    return x.inputs if known else ()


def _definite(x: Node, parts: Sequence[Node], facts: Facts) -> Sequence[Node]:
    """The parts as they are positive definite where the whole is: two negative definite matrices change their sign."""
    if isinstance(x.op, BlockDiagonal) or any(facts.structure(i, "positive_definite") for i in parts):
        return parts
    first = parts[0][..., :1, :1]
    sign = apply("where", apply("lt", first, 0), number(-1, x.dtype), number(1, x.dtype))
    return [apply("mul", sign, i) for i in parts]


def _assumed(node: Node, facts: Facts) -> tuple[Node, Sequence[Node]]:
    """The matrix an op is applied to, and its parts as the op assumes them."""
    x = node.inputs[0]
    parts = _parts(x)
    definite = isinstance(node.op, Cholesky | InverseQuadratic) or getattr(node.op, "assume", "") == DEFINITE
    return x, _definite(x, parts, facts) if parts and definite else parts


def _cut(b: Node, lengths: Sequence[Dim]) -> list[Node]:
    """Rows of b in turn."""
    found: list[Node] = []
    start: Dim = 0
    for length in lengths:
        found.append(b[..., start : start + length, :])
        start = start + length
    return found


def _solved(op: Solve | SolveTriangular, x: Node, parts: Sequence[Node], b: Node) -> Node:
    """The solution of a system of parts."""
    if isinstance(x.op, BlockDiagonal):
        rights = _cut(b, [i.static_shape[-1] for i in parts])
        return concatenate([Node(op, i, r) for i, r in zip(parts, rights, strict=True)], -2)
    return _applied(parts, b, lambda i, c: Node(op, i, c))


def _applied(parts: Sequence[Node], x: Node, apply_one: Callable[[Node, Node], Node]) -> Node:
    """One matrix on the first of the two axes that make the rows of x, the other on the second."""
    first, second = parts
    *batch, _, columns = x.static_shape
    lead, rank = tuple(batch), len(batch)
    q, s = first.static_shape[-1], second.static_shape[-1]
    turn = (*range(rank), rank + 1, rank, rank + 2)
    inner = apply_one(first, reshape(x, (*lead, q, s * columns)))
    p = inner.static_shape[-2]
    turned = reshape(transpose(reshape(inner, (*lead, p, s, columns)), turn), (*lead, s, p * columns))
    outer = apply_one(second, turned)
    r = outer.static_shape[-2]
    return reshape(transpose(reshape(outer, (*lead, r, p, columns)), turn), (*lead, p * r, columns))


def _times(length: Dim, x: Node) -> Node:
    return apply("mul", number(length, x.dtype) if isinstance(length, int) else length_of(length), x)


def _power(x: Node, length: Dim) -> Node:
    return apply("pow", x, number(length, x.dtype) if isinstance(length, int) else length_of(length))


@rewrites(
    LogAbsDet,
    Det,
    DetSign,
    name="determinants from parts",
    operands=[Kronecker, BlockDiagonal],
    examples=[
        lambda t: t.det(t.kron(t.square_matrix, t.square_matrix_b)),
        lambda t: t.slogdet(t.kron(t.square_matrix, t.square_matrix_b))[0],
        lambda t: t.slogdet(t.kron(t.square_matrix, t.square_matrix_b))[1],
        lambda t: t.node(LogAbsDet(DEFINITE), t.kron(-t.positive_definite, -t.positive_definite)),
        lambda t: t.det(t.block_diagonal(t.square_matrix, t.square_matrix_b)),
        lambda t: t.slogdet(t.block_diagonal(t.square_matrix, t.lower, t.square_matrix_b))[1],
        lambda t: t.slogdet(t.block_diagonal(t.square_matrix, t.square_matrix_b))[0],
    ],
)
def determinant_of_parts(node: Node, facts: Facts) -> Node | None:
    """det(A kron B) is det(A)^n det(B)^m for A of m and B of n rows; of blocks it is the product."""
    x, parts = _assumed(node, facts)
    if not parts:
        return None
    found = [Node(node.op, i) for i in parts]
    logarithm = isinstance(node.op, LogAbsDet)
    if isinstance(x.op, Kronecker):
        combine = _times if logarithm else lambda length, i: _power(i, length)
        lengths = (parts[1].static_shape[-1], parts[0].static_shape[-1])
        found = [combine(length, i) for length, i in zip(lengths, found, strict=True)]
    return apply("add" if logarithm else "mul", *found) if len(found) > 1 else found[0]


@rewrites(
    Inverse,
    Cholesky,
    name="inverses and factors from parts",
    operands=[Kronecker, BlockDiagonal],
    examples=[
        lambda t: t.inv(t.kron(t.square_matrix, t.square_matrix_b)),
        lambda t: t.inv(t.block_diagonal(t.square_matrix, t.square_matrix_b)),
        lambda t: t.cholesky(t.kron(t.positive_definite, t.positive_definite)),
        lambda t: t.cholesky(t.kron(-t.definite, -t.definite)),
        lambda t: t.cholesky(t.block_diagonal(t.positive_definite, t.definite)),
    ],
)
def inverse_of_parts(node: Node, facts: Facts) -> Node | None:
    """The inverse of A kron B is that of A kron that of B; so are Cholesky factors."""
    x, parts = _assumed(node, facts)
    return Node(x.op, *(Node(node.op, i) for i in parts)) if parts else None


@rewrites(
    Solve,
    SolveTriangular,
    name="systems of parts",
    operands=[Kronecker, BlockDiagonal],
    examples=[
        lambda t: t.solve(t.kron(t.square_matrix, t.square_matrix_b), t.right6),
        lambda t: t.solve(t.kron(t.square_matrix_b, t.square_matrix), t.right6[:, 0]),
        lambda t: t.solve(t.kron(-t.definite, -t.definite), t.right9, "pos"),
        lambda t: t.solve(t.block_diagonal(t.square_matrix, t.square_matrix_b), t.right6[:5]),
        lambda t: t.solve_triangular(t.kron(t.lower, t.cholesky(t.square_matrix_b @ t.transpose(t.square_matrix_b))),
                                     t.right6, lower=True, trans=1),
        lambda t: t.solve_triangular(t.block_diagonal(t.lower, t.square_matrix_b), t.right6[:5], lower=False),
    ],
)  # fmt: skip
def solve_parts(node: Node, facts: Facts) -> Node | None:
    """Kronecker factors are solved for along one axis each, blocks for their own rows."""
    x, parts = _assumed(node, facts)
    op, b = node.op, node.inputs[1]
    assert isinstance(op, Solve | SolveTriangular)
    if not parts:
        return None
    # One triangle of a Kronecker product is read, which is more than those of the parts.
    read = "lower" if isinstance(op, SolveTriangular) and op.lower else "upper"
    whole = isinstance(op, SolveTriangular) and isinstance(x.op, Kronecker)
    if whole and not all(facts.structure(i, read) for i in parts):
        return None
    return _solved(op, x, parts, b)


@rewrites(
    InverseQuadratic,
    name="quadratic forms of parts",
    operands=[Kronecker, BlockDiagonal],
    examples=[
        lambda t: t.node(InverseQuadratic(), t.kron(t.positive_definite, t.definite_b), t.right6),
        lambda t: t.node(InverseQuadratic(), t.kron(-t.definite_b, -t.definite), t.right6),
        lambda t: t.node(InverseQuadratic(), t.block_diagonal(t.definite, t.definite_b), t.right6[:5]),
    ],
)
def quadratic_of_parts(node: Node, facts: Facts) -> Node | None:
    """b' A^-1 b is the sum of squares of L^-1 b, for the Cholesky factor L of parts."""
    x, parts = _assumed(node, facts)
    if not parts:
        return None
    half = _solved(SolveTriangular(True, False), x, [Node(Cholesky(), i) for i in parts], node.inputs[1])
    return reduce("sum", apply("square", half), -2)


@rewrites(
    MatMul,
    name="products of parts",
    operands=[Kronecker, BlockDiagonal],
    examples=[
        lambda t: t.kron(t.square_matrix, t.square_matrix_b) @ t.right6,
        lambda t: t.kron(t.matrix, t.matrix_b) @ t.right8,
        lambda t: t.kron(t.square_matrix_b, t.square_matrix) @ t.right6[:, 0],
        lambda t: t.transpose(t.right6) @ t.kron(t.square_matrix, t.square_matrix_b),
        lambda t: t.right6[:, 1] @ t.kron(t.square_matrix, t.square_matrix_b),
        lambda t: t.kron(t.matrix, t.matrix_b) @ t.kron(t.transpose(t.matrix), t.square_matrix_b),
        lambda t: t.block_diagonal(t.matrix_b, t.matrix) @ t.right6,
        lambda t: t.transpose(t.right6) @ t.block_diagonal(t.matrix, t.square_matrix),
        lambda t: t.block_diagonal(t.matrix, t.matrix_b) @ t.right6[:, 1],
    ],
)
def product_of_parts(node: Node, facts: Facts) -> Node | None:
    """(A kron B)(C kron D) is A C kron B D; a matrix is multiplied by A along one axis and by B along the other."""
    a, b = node.inputs
    if a.static_shape[:-2] != b.static_shape[:-2] and min(a.ndim, b.ndim) > 1:
        return None
    if isinstance(a.op, Kronecker) and isinstance(b.op, Kronecker):
        pairs = list(zip(a.inputs, b.inputs, strict=True))
        if all(i.static_shape[-1] == j.static_shape[-2] for i, j in pairs):
            return Node(Kronecker(), *(Node(MatMul(), i, j) for i, j in pairs))
    if isinstance(a.op, Kronecker | BlockDiagonal) and (b.ndim > 1 or a.ndim == 2):
        if b.ndim == 1:
            whole = _multiplied(a, expand_dims(b, 1))
            return None if whole is None else whole[:, 0]
        return _multiplied(a, b)
    if isinstance(b.op, Kronecker | BlockDiagonal) and (a.ndim > 1 or b.ndim == 2):
        left = Node(b.op, *(matrix_transpose(i) for i in b.inputs))
        if a.ndim == 1:
            whole = _multiplied(left, expand_dims(a, 1))
            return None if whole is None else whole[:, 0]
        turned = _multiplied(left, matrix_transpose(a))
        return None if turned is None else matrix_transpose(turned)
    return None


def _multiplied(x: Node, b: Node) -> Node | None:
    """The parts of x times their share of b, unless the whole has fewer elements to multiply by."""
    if isinstance(x.op, BlockDiagonal):
        rights = _cut(b, [i.static_shape[-1] for i in x.inputs])
        return concatenate([Node(MatMul(), i, r) for i, r in zip(x.inputs, rights, strict=True)], -2)
    (p, q), (r, s) = (i.static_shape[-2:] for i in x.inputs)
    apart, whole = p * s * (q + r), product((p, q, r, s))
    if isinstance(apart, int) and isinstance(whole, int) and apart > whole:
        return None
    return _applied(x.inputs, b, lambda i, c: Node(MatMul(), i, c))


@rewrites(
    Transpose,
    name="transposes of parts",
    operands=[Kronecker, BlockDiagonal],
    examples=[
        lambda t: t.transpose(t.kron(t.matrix, t.matrix_b)),
        lambda t: t.transpose(t.block_diagonal(t.matrix, t.matrix_b)),
    ],
)
def transpose_of_parts(node: Node, facts: Facts) -> Node | None:
    """The transpose of a Kronecker product is that of the transposes; so are those of blocks."""
    (x,) = node.inputs
    rank = x.ndim
    if not isinstance(node.op, Transpose) or node.op.axes != (*range(rank - 2), rank - 1, rank - 2):
        return None
    return Node(x.op, *(matrix_transpose(i) for i in x.inputs)) if isinstance(x.op, Kronecker | BlockDiagonal) else None


RULES: tuple[Rule, ...] = (
    determinant_of_parts,
    inverse_of_parts,
    solve_parts,
    quadratic_of_parts,
    product_of_parts,
    transpose_of_parts,
)
