"""Diagonal matrices: their vectors in place of the whole.

In: systems, products, inverses and factors of matrices that are known to be diagonal. Out: numbers times rows or
columns. Zeros beside a diagonal are zeros: what an infinite number would make of them is not claimed.
"""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops import Cholesky, Inverse, InverseQuadratic, MatMul, Solve, SolveTriangular, apply, cast
from consilience.ops.linalg import diagonal
from consilience.ops.matrix_equations import SolveBanded
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, expand_dims, full
from consilience.ops.structured import DiagonalMatrix
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.rules.operands import function_of
from consilience.rewrite.structure import is_identity, is_square


def diagonal_of(x: Node, facts: Facts) -> Node:
    """The main diagonal of a square matrix, without the matrix where that is possible."""
    if isinstance(x.op, DiagonalMatrix):
        return x.inputs[0]
    if is_identity(x):
        return full(x.static_shape[:-1], 1, x.dtype)
    function = function_of(x)
    if function in ("add", "mul", "neg"):
        parts = [_along(i, x, facts) for i in x.inputs]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            return broadcast_to(apply(function, *known), x.static_shape[:-1])
    return diagonal(x)


def _along(x: Node, whole: Node, facts: Facts) -> Node | None:
    """The diagonal of an operand of an elementwise function: of a matrix, or of a number that is repeated."""
    if x.ndim == 0 or all(n == 1 for n in x.static_shape):
        return x if x.ndim == 0 else x[(0,) * x.ndim]
    if x.static_shape != whole.static_shape:
        return None
    return diagonal_of(x, facts) if facts.structure(x, "diagonal") else None


def _rows(d: Node) -> Node:
    return expand_dims(d, d.ndim)


def divided(a: Node, b: Node, facts: Facts) -> Node:
    """y with a y = b for diagonal a: fails where a is singular."""
    d = diagonal_of(a, facts)
    if facts.structure(a, "positive_diagonal"):
        return apply("true_div", b, _rows(d))
    bands, right = (cast(i, "float64") for i in (expand_dims(d, d.ndim - 1), b))
    return cast(Node(SolveBanded(0, 0), bands, right), b.dtype)


@rewrites(
    Solve,
    SolveTriangular,
    name="diagonal systems",
    examples=[
        lambda t: t.solve(t.diagonal_matrix, t.matrix),
        lambda t: t.solve(t.diag(t.numbers3), t.matrix),
        lambda t: t.solve_triangular(t.diagonal_matrix, t.matrix, lower=True),
        lambda t: t.solve(2.0 * t.eye(3) * t.weight + t.diag(t.exp(t.numbers3)), t.matrix),
    ],
)
def diagonal_solve(node: Node, facts: Facts) -> Node | None:
    """A diagonal system divides."""
    a, b = node.inputs
    if not facts.structure(a, "diagonal"):
        return None
    if isinstance(node.op, Solve) and node.op.assume != "general" and not facts.structure(a, "positive_diagonal"):
        return None  # it fails for numbers below 0
    return divided(a, b, facts)


@rewrites(
    Inverse,
    name="inverse of a diagonal matrix",
    examples=[lambda t: t.inv(t.diagonal_matrix), lambda t: t.inv(t.diag(t.numbers3))],
)
def diagonal_inverse(node: Node, facts: Facts) -> Node | None:
    """One over the numbers on the diagonal."""
    (x,) = node.inputs
    assert isinstance(node.op, Inverse)
    if not facts.structure(x, "diagonal") or (
        node.op.assume != "general" and not facts.structure(x, "positive_diagonal")
    ):
        return None
    ones = full((*x.static_shape[:-1], 1), 1, x.dtype)
    return Node(DiagonalMatrix(), divided(x, ones, facts)[..., 0])


@rewrites(
    Cholesky,
    name="factor of a diagonal matrix",
    examples=[lambda t: t.cholesky(t.diagonal_matrix)],
)
def diagonal_factor(node: Node, facts: Facts) -> Node | None:
    """The square roots of positive numbers on the diagonal."""
    (x,) = node.inputs
    if not (facts.structure(x, "diagonal") and facts.structure(x, "positive_diagonal")):
        return None
    return Node(DiagonalMatrix(), apply("sqrt", diagonal_of(x, facts)))


@rewrites(
    InverseQuadratic,
    name="quadratic form of a diagonal matrix",
    examples=[lambda t: t.node(InverseQuadratic(), t.diagonal_matrix, t.right3)],
)
def diagonal_quadratic(node: Node, facts: Facts) -> Node | None:
    """Squares divided by the positive numbers on the diagonal."""
    x, b = node.inputs
    if not (facts.structure(x, "diagonal") and facts.structure(x, "positive_diagonal")):
        return None
    return reduce("sum", apply("true_div", apply("square", b), _rows(diagonal_of(x, facts))), -2)


@rewrites(
    MatMul,
    name="products with diagonal matrices",
    examples=[
        lambda t: t.diag(t.numbers3) @ t.matrix,
        lambda t: t.transpose(t.matrix) @ t.diag(t.numbers3),
        lambda t: t.diag(t.numbers3) @ t.numbers3,
        lambda t: t.numbers3 @ (t.eye(3) * t.number),
        lambda t: t.diag(t.numbers3) @ t.diagonal_matrix,
    ],
)
def diagonal_product(node: Node, facts: Facts) -> Node | None:
    """Rows or columns times the numbers on the diagonal."""
    a, b = node.inputs
    known = [x.ndim > 1 and is_square(x) and facts.structure(x, "diagonal") for x in (a, b)]
    if all(known):
        parts = apply("mul", diagonal_of(a, facts), diagonal_of(b, facts))
        return Node(DiagonalMatrix(), parts)
    if known[0]:
        d = diagonal_of(a, facts)
        return apply("mul", _rows(d) if b.ndim > 1 else d, b)
    if known[1]:
        d = diagonal_of(b, facts)
        return apply("mul", a, expand_dims(d, d.ndim - 1) if a.ndim > 1 else d)
    return None


RULES: tuple[Rule, ...] = (diagonal_solve, diagonal_inverse, diagonal_factor, diagonal_quadratic, diagonal_product)
