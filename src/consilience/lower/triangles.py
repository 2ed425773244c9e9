"""Factors, inverses and solutions with triangular matrices: products by the library, blocks on diagonals by our own.

Row-major matrices in memory in, the same memory changed. What is too long is halved where blocks begin, and the halves
meet in one product: LAPACK's own routines reach a third of what its products do where there are some hundred rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from consilience.ir import Node
from consilience.lower.fortran import (
    Argument,
    at,
    batch_loop,
    copy,
    fail_unless,
    fortran_char,
    fortran_double,
    fortran_int,
)
from consilience.lower.primitives import CholeskyInverse
from consilience.lower.routines import routine
from consilience.native.loops import Builder, Value, f64, i32, i64
from consilience.native.routines import SIDES, SMALL
from consilience.ops import Cholesky, SolveTriangular
from consilience.record import Record

BLOCK: Final = 32
"""Rows of a block on the diagonal; `lower_inverse` has memory for as many."""


class Triangle(Record, eq=False):
    """A triangular matrix T of `n` rows from `pointer` on, rows `step` apart.

    `turned`: whether memory has T' there.
    """

    pointer: Value
    n: int
    step: int
    lower: bool = True
    turned: bool = False

    def place(self, row: int, column: int) -> int:
        """Of an element of T, behind the first one."""
        return column * self.step + row if self.turned else row * self.step + column


class Triangles:
    """Writes calls for matrices of one program; numbers that libraries read from memory are written there once."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self._given: dict[tuple[type, int | float | str], Value] = {}

    def _blas(self, name: str, *arguments: Value | float | str) -> None:
        self.b.call(f"blas_{name}", None, *(a if isinstance(a, Value) else self._in_memory(a) for a in arguments))

    def _in_memory(self, value: float | str) -> Value:
        key = type(value), value
        if key not in self._given:
            match value:
                case str():
                    self._given[key] = fortran_char(self.b, value)
                case int():
                    self._given[key] = fortran_int(self.b, value)
                case _:
                    self._given[key] = fortran_double(self.b, value)
        return self._given[key]

    def _native(self, name: str, *arguments: Value | int, result: bool = False) -> Value:
        given = [a if isinstance(a, Value) else self.b.const(i64, a) for a in arguments]
        return self.b.call(f"consilience_routine_{name}", i64 if result else None, *given)

    def solve(self, t: Triangle, right: Value, columns: int, step: int, begin: int = 0, end: int | None = None) -> None:
        """Solutions of T X = B in the place of B, whose rows lie `step` apart, by rows `begin` to `end` of T alone."""
        end = t.n if end is None else end
        if end - begin <= BLOCK:
            down, along = t.place(1, 0), t.place(0, 1)
            if t.lower:
                places = (t.place(begin, begin), down, along, right, begin * step, step)
            else:
                places = (t.place(end - 1, end - 1), -down, -along, right, (end - 1) * step, -step)
            self._native("solve_rows", t.pointer, *places, end - begin, columns)
            return
        middle = begin + _half(end - begin)
        known, left = ((begin, middle), (middle, end)) if t.lower else ((middle, end), (begin, middle))
        self.solve(t, right, columns, step, *known)
        # By columns, as the library reads memory: B' less X' T'.
        part = at(self.b, t.pointer, t.place(left[0], known[0]))
        source, target = (at(self.b, right, rows[0] * step) for rows in (known, left))
        sizes = (columns, left[1] - left[0], known[1] - known[0])
        form = "T" if t.turned else "N"
        self._blas("dgemm", "N", form, *sizes, -1.0, source, step, part, t.step, 1.0, target, step)
        self.solve(t, right, columns, step, *left)

    def factor(self, a: Value, n: int, step: int) -> None:
        """U with U' U = A by the upper triangle of A in its place; fails where A is not positive definite."""
        if n <= BLOCK:
            good = self._native("upper_factor", a, 0, step, n, result=True)
            fail_unless(self.b, self.b.cmp("eq", good, self.b.const(i64, 1)))
            return
        half = _half(n)
        self.factor(a, half, step)
        beside, below = at(self.b, a, half), at(self.b, a, half * step + half)
        self.solve(Triangle(a, half, step, turned=True), beside, n - half, step)
        self._blas("dsyrk", "L", "N", n - half, half, -1.0, beside, step, 1.0, below, step)
        self.factor(below, n - half, step)

    def invert(self, a: Value, n: int, step: int) -> None:
        """The inverse of a lower triangle in its place; what is above the diagonal may change."""
        if n <= BLOCK:
            self._native("lower_inverse", a, 0, step, n)
            return
        half = _half(n)
        self.invert(a, half, step)
        left, below = at(self.b, a, half * step), at(self.b, a, half * step + half)
        self._blas("dtrmm", "L", "U", "N", "N", half, n - half, -1.0, a, step, left, step)
        self.solve(Triangle(below, n - half, step), left, half, step)
        self.invert(below, n - half, step)


def _half(n: int) -> int:
    """About half of the rows, in whole blocks."""
    return (-(-n // BLOCK) + 1) // 2 * BLOCK


@routine(Cholesky)
def _cholesky(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """By rows of the upper triangle, which lie together, and back. Small matrices need no library."""
    (x,), (factor,) = sources, targets
    *batch, n, _ = x.view.shape
    if n <= SMALL:
        lengths = (b.const(i64, length) for length in (math.prod(batch), n))
        good = b.call("consilience_routine_small_cholesky", i64, x.pointer, factor.pointer, *lengths)
        fail_unless(b, b.cmp("eq", good, b.const(i64, 1)))
        return
    with ExitStack() as loops:
        offset = b.mul(batch_loop(b, loops, batch), b.const(i64, n * n))
        source, target = at(b, x.pointer, offset), at(b, factor.pointer, offset)
        size = b.const(i64, n)
        b.call("consilience_routine_lower_to_upper", None, source, target, size)
        Triangles(b).factor(target, n, n)
        b.call("consilience_routine_upper_to_lower", None, target, size)


@routine(CholeskyInverse)
def _cholesky_inverse(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """The inverse of the factor in place of a copy, and its product with its transpose."""
    (factor,), (inverse,) = sources, targets
    *batch, n, _ = factor.view.shape
    info = b.stack(i32, 1)
    size, letter = fortran_int(b, n), fortran_char(b, "U")
    with ExitStack() as loops:
        offset = b.mul(batch_loop(b, loops, batch), b.const(i64, n * n))
        copy(b, factor, inverse, offset, n * n)
        target = at(b, inverse.pointer, offset)
        Triangles(b).invert(target, n, n)
        b.call("blas_dlauum", None, letter, size, target, size, info)
        b.call("consilience_routine_mirror_lower", None, target, target, b.const(i64, n))


@routine(SolveTriangular)
def _solve_triangular(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """A X = B by rows is X' A' = B' by columns: dtrsm from the right with the transposed triangle for few columns."""
    op = node.op
    assert isinstance(op, SolveTriangular)
    (a, right), (solution,) = sources, targets
    *batch, n, columns = right.view.shape
    letter, size, unit = fortran_char(b, "U" if op.lower else "L"), fortran_int(b, n), fortran_char(b, "N")
    # As columns the matrix is A': a single solution asks for its transpose, several are solved for from the right.
    form = fortran_char(b, "N" if op.transposed == (columns == 1) else "T")
    many = columns >= SIDES
    if columns == 1:
        step = fortran_int(b, 1)
    elif not many:
        side, count, one = fortran_char(b, "R"), fortran_int(b, columns), fortran_double(b, 1.0)
    with ExitStack() as loops:
        number = batch_loop(b, loops, batch)
        matrix = at(b, a.pointer, b.mul(number, b.const(i64, n * n)))
        offset = b.mul(number, b.const(i64, n * columns))
        target = at(b, solution.pointer, offset)
        copy(b, right, solution, offset, n * columns)
        if not isinstance(node.inputs[0].op, Cholesky):  # whose diagonal is positive, or it has failed
            with b.for_(0, n) as i:
                pivot = b.load(f64, at(b, matrix, b.mul(i, b.const(i64, n + 1))))
                fail_unless(b, b.cmp("ne", pivot, b.const(f64, 0.0)))
        if columns == 1:
            b.call("blas_dtrsv", None, letter, form, unit, size, matrix, size, target, step)
        elif many:
            lower = op.lower != op.transposed
            Triangles(b).solve(Triangle(matrix, n, n, lower, op.transposed), target, columns, columns)
        else:
            b.call("blas_dtrsm", None, side, letter, form, unit, count, size, one, matrix, size, target, count)
