"""Equations of matrices by their Schur forms, and systems with bands, by LAPACK.

In: a node at lengths that are known. Out: its value in factorisations, products and the steps below, and their code.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from consilience.ir import Node, Op, TensorType, constant
from consilience.lower.expand import expands
from consilience.lower.fortran import (
    Argument,
    at,
    batch_loop,
    fail_unless,
    fortran_char,
    fortran_int,
    last_length,
    succeeded,
)
from consilience.lower.routines import routine
from consilience.native.loops import Builder, f64, i8, i32, i64, ptr
from consilience.ops import Item, Solve, Transpose, apply
from consilience.ops.correlation import Correlate
from consilience.ops.factorisations import Schur
from consilience.ops.index import getitem
from consilience.ops.linalg import matrix_transpose
from consilience.ops.loop import fresh
from consilience.ops.matrix_equations import (
    DiagonalSums,
    SolveBanded,
    SolveRiccati,
    SolveSylvester,
    ToeplitzInverse,
    ToeplitzInverseSums,
    ToeplitzSolve,
    TridiagonalLU,
    TridiagonalLUSolve,
)
from consilience.ops.reduce import reduce
from consilience.ops.scan import scan
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, eye, full, squeeze, stack


class TriangularSylvester(Op):
    """Y with R' Y + Y S' = F for R and S that are zero above their diagonal blocks of length 1 or 2.

    Where `left` is true R stands in place of R', where `right` is true S in place of S'.
    """

    left: bool
    right: bool

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[2].tensor_type


class Solution(Op):
    """Matrices, if all of them solve their equations, as a bool for each tells; else the function fails."""

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type


# Doubling ends where X grows by so small a share, or after so many steps; the solution must be exact to SOLVED.
CONVERGED, SOLVED, MOST_DOUBLINGS = 1e-15, 1e-6, 60


class BandedLU(Op):
    """`y'` with A y = b: from A's columns of diagonals, with free memory in front of each, and the rows of b'."""

    below: int
    above: int

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[1].tensor_type


@expands(SolveSylvester)
def expand_sylvester(node: Node) -> Node:
    """A = U R U' and B = V S V' make R Y + Y S = U' Q V of A X + X B = Q, with X = U Y V'."""
    op = node.op
    assert isinstance(op, SolveSylvester)
    a, b, q = node.inputs
    if 0 in node.static_shape:
        return q
    r, u = _schur(a)
    last = (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)
    mirrored = isinstance(b.op, Transpose) and b.inputs[0] is a and b.op.axes == last
    s, v = (r, u) if mirrored else _schur(b)
    rotated = matrix_transpose(u) @ q @ v
    step = TriangularSylvester(op.transposed, op.transposed is not mirrored)
    y = Node(step, matrix_transpose(r), matrix_transpose(s), rotated)
    return u @ y @ matrix_transpose(v)


def _schur(a: Node) -> tuple[Node, Node]:
    form = Node(Schur(), a)
    return Node(Item(0), form), Node(Item(1), form)


@expands(SolveRiccati)
def expand_riccati(node: Node) -> Node:
    """Doubling: every step squares the closed loop, until X does not change; then X must solve the equation.

    Source: E. Chu, H. Fan, W. Lin and C. Wang (2004), "Structure-preserving algorithms for periodic discrete-time
    algebraic Riccati equations".
    """
    if 0 in node.static_shape:
        return node.inputs[0]
    identity = broadcast_to(eye(node.static_shape[-1]), node.static_shape)

    def closed(g: Node, h: Node, right: Node) -> Node:
        return Node(Solve(), apply("add", identity, g @ h), right)

    a, g, h = (fresh(node) for _ in range(3))
    across, inner = closed(g, h, a), closed(g, h, g)
    growth = matrix_transpose(a) @ h @ across
    last = apply("le", _size(growth), apply("mul", CONVERGED, _size(apply("add", h, growth))))
    following = (a @ across, apply("add", g, a @ inner @ matrix_transpose(a)), apply("add", h, growth))
    states = dict(zip((a, g, h), zip(node.inputs, following, strict=True), strict=True))
    x = scan(states, {}, [], length=MOST_DOUBLINGS, stop=reduce("all", last)).last[2]
    first, weight, source = node.inputs
    rest = apply("sub", apply("add", source, matrix_transpose(first) @ x @ closed(weight, x, first)), x)
    return Node(Solution(), x, apply("le", _size(rest), apply("mul", SOLVED, _size(x))))


def _size(x: Node) -> Node:
    """The greatest sum of the absolute values of a row, for every matrix of a batch."""
    return reduce("max", reduce("sum", apply("abs", x), -1), -1)


@expands(SolveBanded)
def expand_banded(node: Node) -> Node:
    """LAPACK's band storage by columns: behind free memory for what elimination fills in."""
    op = node.op
    assert isinstance(op, SolveBanded)
    bands, b = node.inputs
    if 0 in node.static_shape:
        return b
    columns = matrix_transpose(bands)
    free = full((*columns.static_shape[:-1], op.below), 0.0, node.dtype)
    stored = concatenate([free, columns], -1) if op.below else columns
    return matrix_transpose(Node(BandedLU(op.below, op.above), stored, matrix_transpose(b)))


@routine(TriangularSylvester)
def _triangular_sylvester(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """LAPACK reads R, S and F as their transposes: S Y' + Y' R = F' with both or either transposed."""
    op = node.op
    assert isinstance(op, TriangularSylvester)
    (left, right, f), (y,) = sources, targets
    *batch, m, n = f.view.shape
    info, scale = b.stack(i32, 1), b.stack(f64, 1)
    rows, columns, plus = fortran_int(b, n), fortran_int(b, m), fortran_int(b, 1)
    first, second = fortran_char(b, "N" if op.right else "T"), fortran_char(b, "N" if op.left else "T")
    with ExitStack() as loops:
        number = batch_loop(b, loops, batch)
        r = at(b, left.pointer, b.mul(number, b.const(i64, m * m)))
        s = at(b, right.pointer, b.mul(number, b.const(i64, n * n)))
        offset = b.mul(number, b.const(i64, m * n))
        own = at(b, y.pointer, offset)
        b.call("memcpy", ptr, own, at(b, f.pointer, offset), b.const(i64, 8 * m * n))
        b.call("blas_dtrsyl", None, first, second, plus, rows, columns, s, rows, r, columns, own, rows, scale, info)
        # What would overflow is scaled down; what is nearly singular is disturbed. Neither is a solution.
        fail_unless(b, b.and_(succeeded(b, info), b.cmp("eq", b.load(f64, scale), b.const(f64, 1.0))))


@routine(Solution)
def _solution(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (x, good), (result,) = sources, targets
    with ExitStack() as loops:
        number = batch_loop(b, loops, good.view.shape)
        fail_unless(b, b.cmp("ne", b.load(i8, b.offset(good.pointer, number, i8)), b.const(i8, 0)))
    b.call("memcpy", ptr, result.pointer, x.pointer, b.const(i64, 8 * x.view.size))


def _banded_scratch(node: Node) -> list[tuple[str, int]]:
    *_, n, height = node.inputs[0].static_shape
    assert isinstance(n, int)
    assert isinstance(height, int)
    return [("float64", n * height), ("int32", n)]


@routine(BandedLU, _banded_scratch)
def _banded(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    op = node.op
    assert isinstance(op, BandedLU)
    (bands, right), (solution, work, pivots) = sources, targets
    *batch, count, n = right.view.shape
    height = bands.view.shape[-1]
    info, size, many, lead = b.stack(i32, 1), fortran_int(b, n), fortran_int(b, count), fortran_int(b, height)
    below, above = fortran_int(b, op.below), fortran_int(b, op.above)
    with ExitStack() as loops:
        number = batch_loop(b, loops, batch)
        matrix = at(b, bands.pointer, b.mul(number, b.const(i64, n * height)))
        offset = b.mul(number, b.const(i64, n * count))
        own = at(b, solution.pointer, offset)
        b.call("memcpy", ptr, work.pointer, matrix, b.const(i64, 8 * n * height))
        b.call("memcpy", ptr, own, at(b, right.pointer, offset), b.const(i64, 8 * n * count))
        b.call("blas_dgbsv", None, size, below, above, many, work.pointer, lead, pivots.pointer, own, size, info)
        fail_unless(b, succeeded(b, info))


def _tridiagonal_scratch(node: Node) -> list[tuple[str, int]]:
    return [("float64", last_length(node))] * isinstance(node.op, TridiagonalLUSolve)


@routine(TridiagonalLU)
def _tridiagonal_lu(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (bands,), (packed, pivots) = sources, targets
    *batch, _, n = bands.view.shape
    info, size = b.stack(i32, 1), fortran_int(b, n)
    with ExitStack() as loops:
        number = batch_loop(b, loops, batch)
        given = at(b, bands.pointer, b.mul(number, b.const(i64, 3 * n)))
        rows = [at(b, packed.pointer, b.add(b.mul(number, b.const(i64, 4 * n)), b.const(i64, i * n))) for i in range(4)]
        exchanged = b.offset(pivots.pointer, b.mul(number, b.const(i64, n)), i32)
        b.call("memset", ptr, rows[0], b.const(i32, 0), b.const(i64, 32 * n))
        # The diagonal above the main one begins at its second column.
        for row, start, count in ((0, 2 * n, n - 1), (1, n, n), (2, 1, n - 1)):
            b.call("memcpy", ptr, rows[row], at(b, given, start), b.const(i64, 8 * count))
        b.call("blas_dgttrf", None, size, *rows, exchanged, info)


@routine(TridiagonalLUSolve, _tridiagonal_scratch)
def _tridiagonal_solve(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    op = node.op
    assert isinstance(op, TridiagonalLUSolve)
    (packed, pivots, right), (solution, column) = sources, targets
    *batch, n, columns = right.view.shape
    info, size, one, letter = (
        b.stack(i32, 1),
        fortran_int(b, n),
        fortran_int(b, 1),
        fortran_char(b, "NT"[op.transposed]),
    )
    with ExitStack() as loops:
        number = batch_loop(b, loops, batch)
        rows = [at(b, packed.pointer, b.add(b.mul(number, b.const(i64, 4 * n)), b.const(i64, i * n))) for i in range(4)]
        exchanged = b.offset(pivots.pointer, b.mul(number, b.const(i64, n)), i32)
        offset = b.mul(number, b.const(i64, n * columns))
        with b.for_(0, n) as i:
            fail_unless(b, b.cmp("ne", b.load(f64, at(b, rows[1], i)), b.const(f64, 0.0)))
        with b.for_(0, columns) as j:  # one column at a time: the library wants them contiguous
            with b.for_(0, n) as i:
                place = b.add(offset, b.add(b.mul(i, b.const(i64, columns)), j))
                b.store(b.load(f64, at(b, right.pointer, place)), at(b, column.pointer, i))
            b.call("blas_dgttrs", None, letter, size, one, *rows, exchanged, column.pointer, size, info)
            with b.for_(0, n) as i:
                place = b.add(offset, b.add(b.mul(i, b.const(i64, columns)), j))
                b.store(b.load(f64, at(b, column.pointer, i)), at(b, solution.pointer, place))


@routine(ToeplitzInverse, lambda node: [("float64", 2 * last_length(node))])
def _toeplitz_inverse(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (c,), (result, work) = sources, targets
    pointers = (a.pointer for a in (c, result, work))
    good = b.call("consilience_routine_toeplitz_inverse", i64, *pointers, b.const(i64, last_length(node)))
    fail_unless(b, b.cmp("eq", good, b.const(i64, 1)))


@expands(ToeplitzSolve)
def expand_toeplitz_solve(node: Node) -> Node:
    """(L L' - M M') b / x[0] for triangular Toeplitz matrices of the columns x, and 0, x[n - 1], …, x[1]."""
    x, b = node.inputs
    rows = matrix_transpose(b)
    mirrored = concatenate([full((1,), 0.0, x.dtype), _backwards(x)[:-1]], 0)
    first, second = (_backwards(_lagged(h, _backwards(_lagged(h, rows)))) for h in (x, mirrored))
    return matrix_transpose(apply("true_div", apply("sub", first, second), x[0]))


@expands(ToeplitzInverseSums)
def expand_toeplitz_inverse_sums(node: Node) -> Node:
    """Those of that formula: sums over m of (n - k - 2 m) x[m] x[m + k] / x[0], doubled beside the diagonal."""
    (x,) = node.inputs
    n = last_length(node)
    places = np.arange(n)
    weights = np.where(places > 0, 2.0, 1.0)
    rows = apply("mul", stack([apply("mul", constant(n - 2.0 * places), x), x], 0), apply("reciprocal", x[0]))
    lagged = _lagged(rows, broadcast_to(x, (2, n)))
    return apply("sub", apply("mul", constant(weights), lagged[0]), apply("mul", constant(weights * places), lagged[1]))


@expands(DiagonalSums)
def expand_diagonal_sums(node: Node) -> Node:
    """Correlations of the columns of U with those of V, and the other way round."""
    u, v = (matrix_transpose(i) for i in node.inputs)
    n = u.static_shape[-1]
    assert isinstance(n, int)
    lagged = reduce("sum", _lagged(u, v), 0)
    other = lagged if u is v else reduce("sum", _lagged(v, u), 0)
    return apply("mul", constant(np.where(np.arange(n) > 0, 1.0, 0.5)), apply("add", lagged, other))


def _backwards(x: Node) -> Node:
    return getitem(x, (Ellipsis, slice(None, None, -1)))


def _lagged(h: Node, x: Node) -> Node:
    """Sums over m of h[m] x[m + k] for k = 0, 1, …, along the rows of x; one h serves for all of them."""
    count, n = x.static_shape
    assert isinstance(n, int)
    longer = concatenate([x, full((count, n - 1), 0.0, x.dtype)], 1) if n > 1 else x
    h = broadcast_to(h, (count, n))
    return squeeze(Node(Correlate(), expand_dims(longer, 1), expand_dims(h, 1)), 1)
