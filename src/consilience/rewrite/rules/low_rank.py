"""A diagonal matrix plus few columns times few rows: systems of as many unknowns as there are columns.

In: determinants, inverses and systems of D + U V for diagonal D > 0, in the forms in which users write it. Out: those
of the small matrix K = I + V D^-1 U. Sources: Sherman, Morrison and Woodbury's formula; Sylvester's for determinants.

Digits are lost where D spans many orders of magnitude, as they are by any formula that divides by D.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Dim, Node
from consilience.ops import Det, DetSign, Inverse, InverseQuadratic, LogAbsDet, MatMul, Solve, apply
from consilience.ops.reduce import reduce
from consilience.ops.shape import concatenate, expand_dims, eye, full
from consilience.ops.structured import DiagonalMatrix
from consilience.record import Record
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.rules.diagonal_matrices import diagonal_of
from consilience.rewrite.rules.operands import function_of

# Columns that are few where the length of the matrix is not known. Else they are few up to two thirds of it: a density
# with slopes takes .05-.5 times as long for a hundredth and an eighth of the length, and as long at .75 of 50 rows and
# at .9 of 200 and 400. Slopes are taken of what is chosen here, so it comes before plans are made.
FEW = 16


class LowRank(Record):
    """The matrix diag(d) + u v: d of shape (n,), u (n, r) and v (r, n)."""

    d: Node
    u: Node
    v: Node

    def scaled(self) -> Node:
        """D^-1 U."""
        return apply("true_div", self.u, expand_dims(self.d, 1))

    def small(self) -> Node:
        """K = I + V D^-1 U."""
        return apply("add", eye(self.u.static_shape[1], dtype=self.u.dtype), self.v @ self.scaled())

    def solve(self, b: Node) -> Node:
        """y with (D + U V) y = b: D^-1 b - D^-1 U K^-1 V D^-1 b."""
        y = apply("true_div", b, expand_dims(self.d, 1))
        return apply("sub", y, self.scaled() @ Node(Solve(), self.small(), self.v @ y))


def low_rank(x: Node, facts: Facts) -> LowRank | None:
    """The parts of a sum of a positive diagonal matrix and of products of few columns with few rows."""
    if function_of(x) != "add" or x.ndim != 2:
        return None
    diagonals: list[Node] = []
    pairs: list[tuple[Node, Node]] = []
    for term in x.inputs:
        if term.static_shape == x.static_shape and facts.structure(term, "diagonal"):
            if not facts.structure(term, "positive_diagonal"):
                return None
            diagonals.append(diagonal_of(term, facts))
            continue
        pair = _columns_and_rows(term, x)
        if pair is None:
            return None
        pairs.append(pair)
    if not diagonals or not pairs or not _few(pairs, x.static_shape[-1]):
        return None
    d = apply("add", *diagonals) if len(diagonals) > 1 else diagonals[0]
    u, v = (_joined([pair[i] for pair in pairs], axis) for i, axis in ((0, 1), (1, 0)))
    return LowRank(d, u, v)


def _few(pairs: Sequence[tuple[Node, Node]], length: Dim) -> bool:
    widths = [u.static_shape[1] for u, _ in pairs]
    known = [n for n in widths if isinstance(n, int)]
    if len(known) != len(widths):
        return False
    return 3 * sum(known) <= 2 * length if isinstance(length, int) else sum(known) <= FEW


def _joined(nodes: Sequence[Node], axis: int) -> Node:
    return concatenate(list(nodes), axis) if len(nodes) > 1 else nodes[0]


def _columns_and_rows(term: Node, whole: Node) -> tuple[Node, Node] | None:
    """U and V with U V = term: a product of matrices, of a column with a row, or a number everywhere."""
    n = whole.static_shape[-1]
    if isinstance(term.op, MatMul) and term.inputs[0].ndim == term.inputs[1].ndim == 2:
        u, v = term.inputs
        return u, v
    factors = term.inputs if function_of(term) in ("mul", "neg") else (term,)
    columns: list[Node] = []
    rows: list[Node] = []
    products: list[Node] = []
    for x in factors:
        shape = (1,) * (2 - x.ndim) + x.static_shape
        if shape[1] == 1:
            columns.append(x)
        elif shape[0] == 1:
            rows.append(x)
        elif isinstance(x.op, MatMul) and x.static_shape == whole.static_shape and x.inputs[0].ndim == 2:
            products.append(x)
        else:
            return None
    sign = -1.0 if function_of(term) == "neg" else 1.0
    if len(products) > 1 or (products and products[0].inputs[1].ndim != 2):
        return None
    u, v = products[0].inputs if products else (full((n, 1), 1, whole.dtype), full((1, n), 1, whole.dtype))
    return apply("mul", sign, u, *columns), apply("mul", v, *rows) if rows else v


def _whole(node: Node, facts: Facts) -> LowRank | None:
    """The parts of an op's matrix; one assumed to be positive definite must be known to be."""
    x = node.inputs[0]
    general = getattr(node.op, "assume", "general") == "general" and not isinstance(node.op, InverseQuadratic)
    return low_rank(x, facts) if general or facts.structure(x, "positive_definite") else None


@rewrites(
    LogAbsDet,
    Det,
    DetSign,
    name="determinant of diagonal plus low rank",
    operands=["add"],
    examples=[
        lambda t: t.det(t.diag(t.weights) + t.column5 @ t.row5),
        lambda t: t.slogdet(t.eye(5) * t.weight - 3.0 * t.column5 @ t.row5)[0],
        lambda t: t.slogdet(t.eye(5) * t.weight + t.tall @ t.transpose(t.tall))[1],
        lambda t: t.slogdet(t.eye(5) + t.tall @ t.definite_b @ t.transpose(t.tall))[1],
        lambda t: t.slogdet(t.diag(t.weights) + t.weight)[1],
    ],
)
def determinant_of_low_rank(node: Node, facts: Facts) -> Node | None:
    """det(D + U V) is det(D) det(I + V D^-1 U)."""
    parts = _whole(node, facts)
    if parts is None:
        return None
    if isinstance(node.op, LogAbsDet):
        return apply("add", reduce("sum", apply("log", parts.d), 0), Node(LogAbsDet(), parts.small()))
    small = Node(node.op, parts.small())
    return small if isinstance(node.op, DetSign) else apply("mul", reduce("prod", parts.d, 0), small)


@rewrites(
    Solve,
    name="systems of diagonal plus low rank",
    operands=["add"],
    examples=[
        lambda t: t.solve(t.diag(t.weights) + t.column5 @ t.row5, t.vector),
        lambda t: t.solve(t.eye(5) * t.weight + t.tall @ t.transpose(t.tall), t.tall),
        lambda t: t.solve(t.eye(5) + t.column5 * t.row5, t.tall),
        lambda t: t.solve(t.eye(5) + t.tall @ t.transpose(t.tall), t.tall, "pos"),
    ],
)
def solve_low_rank(node: Node, facts: Facts) -> Node | None:
    """Woodbury's formula for the inverse times a right side."""
    parts = _whole(node, facts)
    return None if parts is None else parts.solve(node.inputs[1])


@rewrites(
    InverseQuadratic,
    name="quadratic form of diagonal plus low rank",
    operands=["add"],
    examples=[
        lambda t: t.node(InverseQuadratic(), t.eye(5) * t.weight + t.tall @ t.transpose(t.tall), t.tall),
    ],
)
def quadratic_of_low_rank(node: Node, facts: Facts) -> Node | None:
    """b' A^-1 b by the solution."""
    parts = _whole(node, facts)
    b = node.inputs[1]
    return None if parts is None else reduce("sum", apply("mul", b, parts.solve(b)), -2)


@rewrites(
    Inverse,
    name="inverse of diagonal plus low rank",
    operands=["add"],
    examples=[
        lambda t: t.inv(t.diag(t.weights) + t.column5 @ t.row5),
        lambda t: t.inv(t.eye(5) * t.weight + t.tall @ t.definite_b @ t.transpose(t.tall)),
    ],
)
def inverse_of_low_rank(node: Node, facts: Facts) -> Node | None:
    """Woodbury's formula: D^-1 - D^-1 U K^-1 V D^-1."""
    parts = _whole(node, facts)
    if parts is None:
        return None
    across = apply("true_div", parts.v, parts.d)
    correction = parts.scaled() @ Node(Solve(), parts.small(), across)
    return apply("sub", Node(DiagonalMatrix(), apply("reciprocal", parts.d)), correction)


RULES: tuple[Rule, ...] = (
    determinant_of_low_rank,
    solve_low_rank,
    quadratic_of_low_rank,
    inverse_of_low_rank,
)
