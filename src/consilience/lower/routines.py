"""Steps done by routines of their own: BLAS and LAPACK, running sums, positions of extremes.

Matrices lie in row-major order; the libraries read them as their transposes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Final

from consilience.errors import MissingRuleError
from consilience.first_use import RowsByFamily
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
from consilience.lower.kernel_code import combine, identity
from consilience.lower.primitives import LUFactor, LUPivotSign, LUSolve, SmallSolve
from consilience.lower.scalar_code import MEMORY, from_memory, register_type, to_memory
from consilience.lower.views import View, row_major
from consilience.native.loops import Builder, Value, f64, i32, i64, ptr
from consilience.ops import Cholesky, Cumulative, MatMul
from consilience.ops.linalg import transposed

Routine = Callable[[Builder, Node, Sequence[Argument], Sequence[Argument]], None]
# The dtype and length of every vector of memory that the code of a node works in.
Scratch = Callable[[Node], Sequence[tuple[str, int]]]
# A file below is read when the code of an op of these files is asked for.
ROUTINES: Final = RowsByFamily[tuple[Routine, Scratch | None]](
    __package__,
    "consilience.ops",
    {
        "extreme_places": "reduce.ArgReduce",
        "factorisations": "factorisations",
        "matrix_equations": "matrix_equations",
        "native_calls": "python_call",
        "order": "order consilience.lower.primitives",
        "sparse": "sparse.factorisation sparse.products consilience.lower.primitives",
        "state_space": "state_space",
        "triangles": "linalg.Cholesky linalg.SolveTriangular consilience.lower.primitives.CholeskyInverse",
    },
)


def routine(op: type, scratch: Scratch | None = None) -> Callable[[Routine], Routine]:
    """Register the code of an op, and what it needs: memory for its own use comes behind the targets."""

    def register(function: Routine) -> Routine:
        ROUTINES[op] = function, scratch
        return function

    return register


def scratch(node: Node) -> Sequence[tuple[str, int]]:
    """Dtype and length of the memory that the code of a node works in."""
    _, needed = ROUTINES.get(type(node.op), (None, None))
    return () if needed is None else needed(node)


def write(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """Append the code of one step; failures leave the function with a status."""
    rule, _ = ROUTINES.get(type(node.op), (None, None))
    if rule is None:
        raise MissingRuleError(
            f"`{type(node.op).__name__}` has no machine code; add a routine in lower/routines.py, "
            "or compile with `backend='reference'`."
        )
    rule(b, node, sources, targets)


# ---- factorisations


@routine(LUFactor)
def _lu_factor(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """Factors of the transpose (what the library sees); `LUSolve` asks for the transposed solution."""
    (x,), (packed, pivots) = sources, targets
    *batch, n, _ = x.view.shape
    info, size = b.stack(i32, 1), fortran_int(b, n)
    with ExitStack() as loops:
        number = batch_loop(b, loops, batch)
        offset = b.mul(number, b.const(i64, n * n))
        target = at(b, packed.pointer, offset)
        copy(b, x, packed, offset, n * n)
        exchanged = b.offset(pivots.pointer, b.mul(number, b.const(i64, n)), i32)
        b.call("blas_dgetrf", None, size, size, target, size, exchanged, info)


@routine(LUPivotSign)
def _lu_pivot_sign(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (pivots,), (sign,) = sources, targets
    *batch, n = pivots.view.shape
    with ExitStack() as loops:
        number = batch_loop(b, loops, batch)
        total = b.variable(b.const(f64, 1.0))
        with b.for_(0, n) as i:
            place = b.add(b.mul(number, b.const(i64, n)), i)
            exchanged = b.cast(b.load(i32, b.offset(pivots.pointer, place, i32)), i64)
            same = b.cmp("eq", exchanged, b.add(i, b.const(i64, 1)))
            b.set(total, b.select(same, b.get(total), b.neg(b.get(total))))
        b.store(b.get(total), at(b, sign.pointer, number))


@routine(LUSolve)
def _lu_solve(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """A X = B by rows is X' A' = B' by columns, with P A' = L U: X' = B' U^-1 L^-1 P; of A' it is B' P' L'^-1 U'^-1."""
    assert isinstance(node.op, LUSolve)
    (packed, pivots, right), (solution,) = sources, targets
    *batch, n, columns = right.view.shape
    info, size, count = b.stack(i32, 1), fortran_int(b, n), fortran_int(b, columns)
    one, letter = fortran_int(b, 1), fortran_char(b, "N" if node.op.transposed else "T")
    side, upper, low = (fortran_char(b, text) for text in "RUL")
    plain, turned, unit = fortran_char(b, "N"), fortran_char(b, "T"), fortran_double(b, 1.0)
    with ExitStack() as loops:
        number = batch_loop(b, loops, batch)
        matrix = at(b, packed.pointer, b.mul(number, b.const(i64, n * n)))
        exchanged = b.offset(pivots.pointer, b.mul(number, b.const(i64, n)), i32)
        offset = b.mul(number, b.const(i64, n * columns))
        target = at(b, solution.pointer, offset)
        with b.for_(0, n) as i:
            pivot = b.load(f64, at(b, matrix, b.mul(i, b.const(i64, n + 1))))
            fail_unless(b, b.cmp("ne", pivot, b.const(f64, 0.0)))
        copy(b, right, solution, offset, n * columns)
        if columns == 1:
            b.call("blas_dgetrs", None, letter, size, one, matrix, size, exchanged, target, size, info)
        elif node.op.transposed:
            _exchange(b, exchanged, target, n, columns, backwards=False)
            b.call("blas_dtrsm", None, side, low, turned, upper, count, size, unit, matrix, size, target, count)
            b.call("blas_dtrsm", None, side, upper, turned, plain, count, size, unit, matrix, size, target, count)
        else:
            b.call("blas_dtrsm", None, side, upper, plain, plain, count, size, unit, matrix, size, target, count)
            b.call("blas_dtrsm", None, side, low, plain, upper, count, size, unit, matrix, size, target, count)
            _exchange(b, exchanged, target, n, columns, backwards=True)


def _exchange(b: Builder, exchanged: Value, target: Value, n: int, columns: int, *, backwards: bool) -> None:
    """Exchange rows as a factorisation did, or back."""
    with b.for_(0, n) as done:
        i = b.sub(b.const(i64, n - 1), done) if backwards else done
        other = b.sub(b.cast(b.load(i32, b.offset(exchanged, i, i32)), i64), b.const(i64, 1))
        here = b.mul(i, b.const(i64, columns))
        there = b.mul(other, b.const(i64, columns))
        with b.if_(b.cmp("ne", i, other)), b.for_(0, columns) as j:
            first, second = at(b, target, b.add(here, j)), at(b, target, b.add(there, j))
            kept = b.load(f64, first)
            b.store(b.load(f64, second), first)
            b.store(kept, second)


@routine(SmallSolve)
def _small_solve(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    (a, right), (solution,) = sources, targets
    *batch, n, columns = right.view.shape
    lengths = (b.const(i64, length) for length in (math.prod(batch), n, columns))
    good = b.call("consilience_routine_small_solve", i64, a.pointer, right.pointer, solution.pointer, *lengths)
    fail_unless(b, b.cmp("eq", good, b.const(i64, 1)))


# ---- products


@routine(MatMul)
def _matmul(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """C = A B by rows is C' = B' A' by columns; with a factor of Cholesky's half of the work."""
    (left, right), (result,) = sources, targets
    *batch, rows, columns = result.view.shape
    inner = left.view.shape[-1]
    known = _triangular(node)
    one, zero, plain = fortran_double(b, 1.0), fortran_double(b, 0.0), fortran_char(b, "N")
    m, n, k = fortran_int(b, columns), fortran_int(b, rows), fortran_int(b, inner)
    with ExitStack() as loops:
        position = [loops.enter_context(b.for_(0, length)) for length in batch]
        a = at(b, left.pointer, _batch_offset(b, left.view, position, len(batch)))
        c = at(b, right.pointer, _batch_offset(b, right.view, position, len(batch)))
        target = at(b, result.pointer, _batch_offset(b, result.view, position, len(batch)))
        if columns == 1:
            step, letter = fortran_int(b, 1), fortran_char(b, "T")
            b.call("blas_dgemv", None, letter, k, n, one, a, k, c, step, zero, target, step)
        elif rows == 1:
            step = fortran_int(b, 1)
            b.call("blas_dgemv", None, plain, m, k, one, c, m, a, step, zero, target, step)
        elif known is not None:
            place, triangle = known
            side, letter = fortran_char(b, "RL"[place]), fortran_char(b, triangle)
            factor, other = (a, c) if place == 0 else (c, a)
            b.call("memcpy", ptr, target, other, b.const(i64, 8 * rows * columns))
            b.call("blas_dtrmm", None, side, letter, plain, plain, m, n, one, factor, k, target, m)
        else:
            b.call("blas_dgemm", None, plain, plain, m, n, k, one, c, m, a, k, zero, target, m)


def _triangular(node: Node) -> tuple[int, str] | None:
    """Which operand of a product is a factor of Cholesky's, and the triangle that a library sees of it."""
    for place, operand in enumerate(node.inputs):
        if isinstance(operand.op, Cholesky):
            return place, "U"
        of = transposed(operand)
        if of is not None and isinstance(of.op, Cholesky):
            return place, "L"
    return None


def _batch_offset(b: Builder, view: View, position: Sequence[Value], rank: int) -> Value:
    """Offset of one matrix; batch axes of length 1 are repeated, missing ones ignored."""
    strides = row_major(view.shape)
    own = len(view.shape) - 2
    total = b.const(i64, 0)
    for axis in range(own):
        if view.shape[axis] != 1:
            total = b.add(total, b.mul(position[rank - own + axis], b.const(i64, strides[axis])))
    return total


# ---- order along an axis


def _around(b: Builder, loops: ExitStack, shape: Sequence[int], axis: int) -> tuple[Value, int]:
    """Loops over all other axes: the element where a line along `axis` starts, and the step along it."""
    strides = row_major(tuple(shape))
    start = b.const(i64, 0)
    for i, length in enumerate(shape):
        if i != axis:
            index = loops.enter_context(b.for_(0, length))
            start = b.add(start, b.mul(index, b.const(i64, strides[i])))
    return start, strides[axis]


@routine(Cumulative)
def _cumulative(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    op = node.op
    assert isinstance(op, Cumulative)
    (x,), (result,) = sources, targets
    length, memory = x.view.shape[op.axis], MEMORY[node.dtype]
    with ExitStack() as loops:
        start, step = _around(b, loops, x.view.shape, op.axis)
        total = b.variable(b.const(register_type(node.dtype), identity(op.kind, node.dtype)))
        with b.for_(0, length) as i:
            position = b.sub(b.const(i64, length - 1), i) if op.reverse else i
            place = b.add(start, b.mul(position, b.const(i64, step)))
            value = from_memory(b, node.dtype, b.load(memory, b.offset(x.pointer, place, memory)))
            b.set(total, combine(b, op.kind, b.get(total), value, node.dtype))
            b.store(to_memory(b, node.dtype, b.get(total)), b.offset(result.pointer, place, memory))
