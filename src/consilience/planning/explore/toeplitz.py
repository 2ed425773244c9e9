"""Symmetric Toeplitz matrices, T[i, j] = c[|i - j|], such as covariances of a process at points of a regular grid.

They are recognised where they are functions of numbers, of the unit matrix, and of constant Toeplitz matrices, element
by element. The inverse has the first column x, and all its elements are sums of products of those of x; determinants,
systems and the slopes of both in the parameters of T take n^2 steps in place of n^3. Sources: I. Gohberg and A.
Semencul (1972); T. Kailath, A. Vieira and M. Morf (1978), "Inverses of Toeplitz operators, innovations, and orthogonal
polynomials".

Equal over the reals, with errors in proportion to the condition of T, as those of a Cholesky factor are. The constants,
differences of inputs as they were rounded, may differ along a diagonal by ROUNDED.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from consilience.ir import Constant, Node, constant, constant_value
from consilience.ops import (
    Assume,
    BroadcastTo,
    Elementwise,
    ExpandDims,
    Index,
    Inverse,
    LogAbsDet,
    MatMul,
    Reduce,
    Solve,
    apply,
)
from consilience.ops.index import SliceIndex
from consilience.ops.linalg import diagonal
from consilience.ops.matrix_equations import DiagonalSums, ToeplitzInverse, ToeplitzInverseSums, ToeplitzSolve
from consilience.ops.reduce import reduce
from consilience.ops.scalar import DRAWS
from consilience.ops.shape import Reshape, reshape
from consilience.ops.structured import DiagonalMatrix
from consilience.planning.explore.matrix_products import LARGEST, transpose_of
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.rules.operands import function_of
from consilience.rewrite.structure import is_identity

# For each row, how many units in the last place an element of a constant may differ from the mean of its diagonal:
# differences of inputs are rounded as the inputs are, of which neighbours may be n times as close.
ROUNDED: Final = 8.0
# Fewer rows are not worth the search.
LEAST: Final = 3

# The first column, shape (n,) or () where all elements are equal, and the sign with which it is the first row.
Column: TypeAlias = tuple[Node, int]
_EVEN: Final = frozenset(("square", "abs", "cosh", "cos"))
_ODD: Final = frozenset(("neg", "sin", "sinh", "tanh", "arctan", "erf"))
_known: WeakKeyDictionary[Node, Column | None] = WeakKeyDictionary()


def column_of(x: Node) -> Column | None:
    """The first column of a Toeplitz matrix that is symmetric or the negative of its transpose; None for others."""
    return _column(x, x.static_shape[-1] if x.ndim else 1, {})


def _column(x: Node, n: object, memo: dict[Node, Column | None]) -> Column | None:
    if x not in memo:
        memo[x] = _found(x, n, memo)
    return memo[x]


def _found(x: Node, n: object, memo: dict[Node, Column | None]) -> Column | None:
    if all(length == 1 for length in x.static_shape):
        return (reshape(x, ()) if x.ndim else x), 1
    if x.static_shape != (n, n) or not isinstance(n, int) or n < LEAST or x.dtype not in ("float64", "bool"):
        return None
    op = x.op
    if isinstance(op, Constant):
        if x not in _known:
            _known[x] = _of_constant(op.array)
        return _known[x]
    if is_identity(x):
        return constant(np.eye(1, n)[0]), 1
    if isinstance(op, DiagonalMatrix):
        same = _same_everywhere(x.inputs[0])
        return None if same is None else (apply("mul", same, constant(np.eye(1, n)[0])), 1)
    if isinstance(op, Assume):
        return _column(x.inputs[0], n, memo)
    if isinstance(op, BroadcastTo) and all(length == 1 for length in x.inputs[0].static_shape):
        return _column(x.inputs[0], n, memo)
    if not isinstance(op, Elementwise) or op.function in DRAWS:
        return None
    parts = [_column(i, n, memo) for i in x.inputs]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return _of_differences(x, n) if op.function == "add" else None
    signs = [sign for _, sign in known]
    if -1 not in signs or op.function in _EVEN:
        sign = 1
    elif op.function in ("mul", "true_div"):
        sign = int(np.prod(signs))
    elif op.function in _ODD or (op.function in ("add", "sub") and 1 not in signs):
        sign = -1
    else:
        return None
    return apply(op.function, *(column for column, _ in known)), sign


def _of_constant(array: npt.NDArray[Any]) -> Column | None:
    """By the means of its diagonals, if what is on them differs by rounding alone."""
    n = len(array)
    if array.dtype != np.float64 or not np.isfinite(array).all():
        return None
    sign = 1 if np.array_equal(array, array.T) else -1
    if sign < 0 and not np.array_equal(array, -array.T):
        return None
    means = np.array([np.diagonal(array, -k).mean() for k in range(n)])
    wanted = means[np.abs(np.subtract.outer(np.arange(n), np.arange(n)))]
    off = np.abs(np.tril(array - wanted)) > ROUNDED * n * np.finfo(np.float64).eps * np.abs(wanted)
    return None if off.any() else (constant(means), sign)


def _of_differences(x: Node, n: int) -> Column | None:
    """Differences of all pairs of points of a regular grid, which is as exact as its numbers are."""
    shapes = {i.static_shape: constant_value(i) for i in x.inputs}
    down, across = shapes.get((n, 1)), shapes.get((1, n), shapes.get((n,)))
    if len(x.inputs) != 2 or down is None or across is None or not np.array_equal(down.ravel(), -across.ravel()):
        return None
    steps = regular_steps(down.ravel())
    return None if steps is None else (constant(steps), -1)


def regular_steps(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Distances from the first of at least two points, with their sign, where all are as far apart within rounding."""
    n = len(points)
    steps = np.arange(n) * ((points[-1] - points[0]) / (n - 1))
    off = 2.0 * np.max(np.abs(points - points[0] - steps))
    return steps if 0.0 <= off <= ROUNDED * n * np.finfo(np.float64).eps * abs(steps[1]) else None


def _same_everywhere(d: Node) -> Node | None:
    """The number that all elements of a vector are."""
    while isinstance(d.op, BroadcastTo | ExpandDims):
        d = d.inputs[0]
    if isinstance(d.op, Constant):
        values = np.unique(d.op.array)
        return constant(values[0]) if len(values) == 1 else None
    if all(length == 1 for length in d.static_shape):
        return reshape(d, ()) if d.ndim else d
    if not isinstance(d.op, Elementwise) or d.op.function in DRAWS:
        return None
    parts = [_same_everywhere(i) for i in d.inputs]
    known = [part for part in parts if part is not None]
    return apply(d.op.function, *known) if len(known) == len(parts) else None


def _column_of_definite(node: Node, facts: Facts) -> Node | None:
    """The first column of an op's matrix, which is positive definite."""
    x = node.inputs[0]
    if x.ndim != 2 or not (
        getattr(node.op, "assume", "general") == "positive definite" or facts.structure(x, "positive_definite")
    ):
        return None
    found = column_of(x)
    return found[0] if found is not None and found[1] == 1 and found[0].ndim == 1 else None


def _inverse_column(column: Node) -> Node:
    return Node(ToeplitzInverse(), column)[0]


# A covariance of five points of a regular grid.
_STEPS: Final = np.subtract.outer(np.arange(5.0), np.arange(5.0))
_SQUARES: Final = np.square(_STEPS)


def _inverse(t: Any) -> Node:
    found: Node = t.node(Inverse("positive definite"), t.exp(-_SQUARES) + t.weight * t.eye(5))
    return found


@rewrites(
    LogAbsDet,
    name="determinant of a Toeplitz matrix",
    tier="explore",
    examples=[
        lambda t: t.node(LogAbsDet("positive definite"), t.exp(-_SQUARES) * t.weight + t.eye(5)),
    ],
)
def determinant_of_toeplitz(node: Node, facts: Facts) -> Node | None:
    """The product of the variances that are left of each element."""
    column = _column_of_definite(node, facts)
    return None if column is None else reduce("sum", apply("log", Node(ToeplitzInverse(), column)[1]), 0)


@rewrites(
    Solve,
    name="system of a Toeplitz matrix",
    tier="explore",
    examples=[
        lambda t: t.solve(t.exp(-_SQUARES) + t.diag(t.broadcast_to(t.weight, (5,))), t.tall, "pos"),
    ],
)
def solve_toeplitz(node: Node, facts: Facts) -> Node | None:
    """By the first column of the inverse."""
    column = _column_of_definite(node, facts)
    return None if column is None else Node(ToeplitzSolve(), _inverse_column(column), node.inputs[1])


@rewrites(
    Reduce,
    name="sum over the diagonals of a matrix",
    operands=[Elementwise, Index, Inverse, MatMul],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: (t.exp(_SQUARES * -t.weight) * t.number).sum(),
        lambda t: (_SQUARES * (_inverse(t) - 0.5 * t.tall @ t.transpose(t.tall)) * t.exp(_SQUARES * -t.weight)).sum(),
        lambda t: (t.column5 * t.row5 * t.exp(_SQUARES * -t.weight)).sum(),
        lambda t: (_STEPS * -_inverse(t) / (1.0 + t.weight) * (t.weight * _STEPS)).sum(),
        lambda t: t.where(_SQUARES * t.weight > 2.0, t.tall @ t.transpose(t.tall), 0.0).sum(),
        lambda t: diagonal(_inverse(t)).sum(),
    ],
)
def sum_of_diagonals(node: Node, facts: Facts) -> Node | None:
    """The sum of M ∘ A for Toeplitz M is that of M's first column times sums over the diagonals of A."""
    assert isinstance(node.op, Reduce)
    x = node.inputs[0]
    if node.op.kind != "sum" or node.ndim or x.dtype != "float64":
        return None
    diagonal_alone = x.ndim == 1
    if diagonal_alone:
        inner = _of_diagonal(x)
        if inner is None:
            return None
        x = inner
    n = x.static_shape[-1]
    if x.ndim != 2 or x.static_shape != (n, n) or not isinstance(n, int) or n < LEAST:
        return None
    found = _summed(x, n, facts, {})
    if found is None or found[1] != 1:
        return None
    return found[0][0] if diagonal_alone else reduce("sum", found[0], 0)


def _of_diagonal(x: Node) -> Node | None:
    """The matrix of which x is the diagonal."""
    if not isinstance(x.op, Index) or len(x.inputs) > 1 or not isinstance(x.inputs[0].op, Reshape):
        return None
    matrix = x.inputs[0].inputs[0]
    n = matrix.static_shape[-1]
    (entry,) = x.op.specification if x.inputs[0].ndim == 1 else (None,)
    if matrix.static_shape != (n, n) or not isinstance(n, int) or not isinstance(entry, SliceIndex) or not entry.static:
        return None
    return matrix if entry.range(n * n) == range(0, n * n, n + 1) else None


# Functions that are linear in some operand, by its places; of `where`, if the other value is zero.
_LINEAR: Final = {"neg": (0,), "mul": range(1000), "true_div": (0,), "where": (1, 2)}


def _summed(x: Node, n: int, facts: Facts, memo: dict[Node, Column | None]) -> Column | None:
    """Sums over the diagonals of a matrix, those on both sides together.

    Where the matrix is linear in A, element by element, they are the same function of the sums over the diagonals of A.
    """
    if isinstance(x.op, Inverse):
        own = _column_of_definite(x, facts)
        return None if own is None else (Node(ToeplitzInverseSums(), _inverse_column(own)), 1)
    if isinstance(x.op, MatMul):
        u, v = x.inputs
        return (Node(DiagonalSums(), u, transpose_of(v)), 1) if u.ndim == v.ndim == 2 else None
    column = _column(x, n, memo)
    if column is not None:
        return apply("mul", column[0], constant(np.array([n, *(2.0 * (n - k) for k in range(1, n))]))), column[1]
    function = function_of(x)
    if function == "add":
        parts = [part for i in x.inputs if (part := _summed(i, n, facts, memo)) is not None]
        signs = {sign for _, sign in parts}
        if len(parts) < len(x.inputs) or len(signs) > 1:
            return None
        return apply("add", *(sums for sums, _ in parts)), signs.pop()
    columns = [_column(i, n, memo) for i in x.inputs]
    others = [place for place, own in enumerate(columns) if own is None]
    known = [own for own in columns if own is not None]
    vectors = _outer([x.inputs[place] for place in others], n) if function == "mul" else None
    if vectors is not None:
        inner: Column | None = (Node(DiagonalSums(), *vectors), 1)
        others = others[:1]
    elif len(others) == 1 and others[0] in _LINEAR.get(function, ()):
        inner = _summed(x.inputs[others[0]], n, facts, memo)
    else:
        return None
    if inner is None or (function == "where" and not _zero(x.inputs[3 - others[0]])):
        return None
    operands = [own for own, _ in known]
    operands.insert(others[0], inner[0])
    return apply(function, *operands), inner[1] * int(np.prod([sign for _, sign in known]))


def _zero(x: Node) -> bool:
    value = constant_value(x)
    return value is not None and value.size == 1 and value.item() == 0.0


def _outer(factors: list[Node], n: int) -> tuple[Node, Node] | None:
    """Two columns whose products are those of a column with a row."""
    columns = [i for i in factors if i.static_shape == (n, 1)]
    rows = [i for i in factors if i.static_shape in ((n,), (1, n))]
    if not columns or not rows or len(columns) + len(rows) < len(factors):
        return None
    row = apply("mul", *rows) if len(rows) > 1 else rows[0]
    return apply("mul", *columns) if len(columns) > 1 else columns[0], reshape(row, (n, 1))


RULES: tuple[Rule, ...] = (determinant_of_toeplitz, solve_toeplitz, sum_of_diagonals)
