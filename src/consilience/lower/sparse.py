"""Loops over the entries of sparse matrices, and calls of the routines that factorise them.

Entries are read in the order they lie in; sums are taken in the dtype of the entries. Columns and beginnings of rows
that are not known to be right are compared with the lengths as they are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from consilience.errors import Status
from consilience.ir import Node
from consilience.lower.expand import expands
from consilience.lower.fortran import Argument
from consilience.lower.primitives import SparseCholeskyWithMemory, SparsePullbackWithMemory
from consilience.lower.routines import routine
from consilience.lower.scalar_code import MEMORY
from consilience.native.loops import Builder, Type, Value, f64, i32, i64, ptr
from consilience.ops import Item
from consilience.ops.sparse.factorisation import SparseCholesky, SparseCholeskyPullback, SparseTriangularSolve
from consilience.ops.sparse.products import SampledProduct, SparseProduct, TransposedSparseProduct, proved_compressed

# So many sums of one row are kept in registers.
FEW_COLUMNS = 8


class _Entries:
    """The places of the entries of a matrix, and the check of those that are not known to be right."""

    def __init__(self, b: Builder, node: Node, arrays: Sequence[Argument], inputs: Sequence[Node], length: int) -> None:
        self.b, self.columns, self.begins = b, *arrays
        self.proved = proved_compressed(inputs[0], inputs[1], length)
        self.length = b.const(i64, length)
        self.count = b.const(i64, self.columns.view.size)
        self.rows = self.begins.view.size - 1

    def begin(self, row: Value) -> Value:
        """Where a row begins."""
        memory = MEMORY[self.begins.view.storage.dtype]
        return self.b.cast(self.b.load(memory, self.b.offset(self.begins.pointer, row, memory)), i64)

    def column(self, entry: Value) -> Value:
        """The column of an entry."""
        b, memory = self.b, MEMORY[self.columns.view.storage.dtype]
        column = b.cast(b.load(memory, b.offset(self.columns.pointer, entry, memory)), i64)
        if not self.proved:
            self._need(b.cmp("ult", column, self.length))
        return column

    @contextmanager
    def all_rows(self) -> Iterator[tuple[Value, Value, Value]]:
        """A loop over rows: the row, its first entry, and the first entry of the next row."""
        b = self.b
        start = b.variable(self.begin(b.const(i64, 0)))
        if not self.proved:
            self._need(b.cmp("eq", b.get(start), b.const(i64, 0)))
        with b.for_(0, self.rows) as row:
            first, last = b.get(start), self.begin(b.add(row, b.const(i64, 1)))
            if not self.proved:
                self._need(b.and_(b.cmp("le", first, last), b.cmp("le", last, self.count)))
            yield row, first, last
            b.set(start, last)
        if not self.proved:
            self._need(b.cmp("eq", b.get(start), self.count))

    def _need(self, condition: Value) -> None:
        with self.b.if_(self.b.not_(condition)):
            self.b.ret(self.b.const(i64, int(Status.OUT_OF_BOUNDS)))


def _clear(b: Builder, target: Argument) -> None:
    size = 8 if target.view.storage.dtype == "float64" else 4
    b.call("memset", ptr, target.pointer, b.const(i32, 0), b.const(i64, target.view.size * size))


@routine(SparseProduct)
def _product(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """Row by row: the sum of the entries times the rows of x, in registers where x has few columns."""
    entries, *arrays, x = sources
    (result,) = targets
    length, width = x.view.shape
    memory = MEMORY[node.dtype]
    matrix = _Entries(b, node, arrays, node.inputs[1:3], length)
    few = width <= FEW_COLUMNS
    if not few:
        _clear(b, result)
    with matrix.all_rows() as (row, first, last):
        totals = [b.variable(b.const(memory, 0.0)) for _ in range(width if few else 0)]
        line = b.mul(row, b.const(i64, width))
        with b.for_(first, last) as entry:
            value = b.load(memory, b.offset(entries.pointer, entry, memory))
            source = b.mul(matrix.column(entry), b.const(i64, width))
            for j, total in enumerate(totals):
                element = b.load(memory, b.offset(x.pointer, b.add(source, b.const(i64, j)), memory))
                b.set(total, b.fma(value, element, b.get(total)))
            if not few:
                _add(b, value, (x.pointer, source), (result.pointer, line), width, memory)
        for j, total in enumerate(totals):
            b.store(b.get(total), b.offset(result.pointer, b.add(line, b.const(i64, j)), memory))


def _add(
    b: Builder, factor: Value, source: tuple[Value, Value], target: tuple[Value, Value], width: int, memory: Type
) -> None:
    """target += factor * source, for lines of `width` elements that begin at offsets from pointers."""
    with b.for_(0, width) as j:
        of = b.load(memory, b.offset(source[0], b.add(source[1], j), memory))
        place = b.offset(target[0], b.add(target[1], j), memory)
        b.store(b.fma(factor, of, b.load(memory, place)), place)


@routine(TransposedSparseProduct)
def _transposed(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """Every entry adds a row of x to a row of the result."""
    entries, *arrays, x = sources
    (result,) = targets
    length, width = result.view.shape
    memory = MEMORY[node.dtype]
    matrix = _Entries(b, node, arrays, node.inputs[1:3], length)
    _clear(b, result)
    with matrix.all_rows() as (row, first, last):
        line = b.mul(row, b.const(i64, width))
        with b.for_(first, last) as entry:
            value = b.load(memory, b.offset(entries.pointer, entry, memory))
            place = b.mul(matrix.column(entry), b.const(i64, width))
            _add(b, value, (x.pointer, line), (result.pointer, place), width, memory)


@routine(SampledProduct)
def _sampled(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    """For every entry the inner product of a row of u and a row of v."""
    u, v, *arrays = sources
    (result,) = targets
    length, width = v.view.shape
    memory = MEMORY[node.dtype]
    matrix = _Entries(b, node, arrays, node.inputs[2:4], length)
    with matrix.all_rows() as (row, first, last):
        line = b.mul(row, b.const(i64, width))
        with b.for_(first, last) as entry:
            other = b.mul(matrix.column(entry), b.const(i64, width))
            total = b.variable(b.const(memory, 0.0))
            with b.for_(0, width) as j:
                left = b.load(memory, b.offset(u.pointer, b.add(line, j), memory))
                right = b.load(memory, b.offset(v.pointer, b.add(other, j), memory))
                b.set(total, b.fma(left, right, b.get(total)))
            b.store(b.get(total), b.offset(result.pointer, entry, memory))


# ---- factors of symmetric positive definite matrices


def _part(b: Builder, whole: Argument, number: Value, rank: int) -> Value:
    """The address of one position of a batch, of which `rank` axes belong to each."""
    size = math.prod(whole.view.shape[len(whole.view.shape) - rank :])
    return b.offset(whole.pointer, b.mul(number, b.const(i64, size)), f64)


@expands(SparseCholesky)
def _without_memory(node: Node) -> Node:
    return Node(Item(0), Node(SparseCholeskyWithMemory(), *node.inputs))


@expands(SparseCholeskyPullback)
def _pullback_without_memory(node: Node) -> Node:
    return Node(Item(0), Node(SparsePullbackWithMemory(), *node.inputs))


@routine(SparseCholeskyWithMemory)
def _cholesky(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    values, *pattern = sources
    factor, column = targets
    count = b.const(i64, pattern[1].view.size - 1)
    places = [p.pointer for p in pattern]
    with b.for_(0, math.prod(values.view.shape[:-1])) as number:
        given = [_part(b, values, number, 1), *places, _part(b, factor, number, 1), column.pointer]
        done = b.call("consilience_routine_sparse_cholesky", i64, *given, count)
        with b.if_(b.cmp("eq", done, b.const(i64, 0))):
            b.ret(b.const(i64, int(Status.FACTORISATION_FAILED)))


@routine(SparsePullbackWithMemory)
def _pullback(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    factor, cotangent, *pattern = sources
    result, copy, column = targets
    count = b.const(i64, pattern[1].view.size - 1)
    places = [p.pointer for p in pattern]
    with b.for_(0, math.prod(factor.view.shape[:-1])) as number:
        b.call("memcpy", ptr, copy.pointer, _part(b, cotangent, number, 1), b.const(i64, 8 * copy.view.size))
        given = [_part(b, factor, number, 1), copy.pointer, *places, _part(b, result, number, 1), column.pointer]
        b.call("consilience_routine_sparse_cholesky_pullback", None, *given, count)


@routine(SparseTriangularSolve)
def _triangular_solve(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    op = node.op
    assert isinstance(op, SparseTriangularSolve)
    factor, right, rows, begins = sources
    (solution,) = targets
    *batch, count, width = right.view.shape
    name = f"consilience_routine_sparse_{'upper' if op.transposed else 'lower'}_solve"
    with b.for_(0, math.prod(batch)) as number:
        target = _part(b, solution, number, 2)
        b.call("memcpy", ptr, target, _part(b, right, number, 2), b.const(i64, 8 * count * width))
        given = [_part(b, factor, number, 1), rows.pointer, begins.pointer, target]
        b.call(name, None, *given, b.const(i64, count), b.const(i64, width))
