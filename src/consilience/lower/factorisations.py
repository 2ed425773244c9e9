"""Factorisations by LAPACK, matrix by matrix of a batch; eigenvalues of small symmetric matrices by Jacobi's rotations.

Matrices lie in row-major order, and LAPACK reads their transposes; where these do not serve as well, matrices are
transposed in memory before. Numbers that are not finite make the function fail where a routine might not end with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TypeAlias

from consilience.ir import Node
from consilience.lower.fortran import (
    Argument,
    at,
    batch_loop,
    fail_unless,
    fortran_char,
    fortran_int,
    succeeded,
)
from consilience.lower.routines import routine
from consilience.lower.views import static
from consilience.native.loops import Builder, Value, i32, i64, ptr
from consilience.native.routines import SMALL
from consilience.ops.factorisations import (
    LDL,
    LU,
    QR,
    SVD,
    ColumnOrder,
    ComplexSchur,
    Eig,
    Eigh,
    Eigvals,
    Eigvalsh,
    Householder,
    PivotPermutation,
    Schur,
    SingularValues,
)

Arguments: TypeAlias = Sequence[Argument]
BLOCK = 64  # columns that LAPACK's routines treat at a time, at most


def _native(b: Builder, name: str, *arguments: Value | int) -> None:
    """A routine in typed Python."""
    b.call(f"consilience_routine_{name}", None, *(b.const(i64, a) if isinstance(a, int) else a for a in arguments))


def _finite(b: Builder, name: str, *arguments: Value | int) -> None:
    """A routine that tells whether all numbers are finite, and fails otherwise."""
    given = [b.const(i64, a) if isinstance(a, int) else a for a in arguments]
    fail_unless(b, b.cmp("eq", b.call(f"consilience_routine_{name}", i64, *given), b.const(i64, 1)))


def _lengths(node: Node) -> tuple[list[int], int, int]:
    """Batch, rows and columns of the operand."""
    *batch, rows, columns = static(node.inputs[0].static_shape)
    return batch, rows, columns


def _each(b: Builder, loops: ExitStack, batch: Sequence[int], *arrays: tuple[Argument, int]) -> list[Value]:
    """Loop over a batch; the address of the current part of every array, given with the size of a part."""
    number = batch_loop(b, loops, batch)
    return [at(b, array.pointer, b.mul(number, b.const(i64, size))) for array, size in arrays]


# ---- symmetric matrices


def _eigh_scratch(node: Node) -> list[tuple[str, int]]:
    _, n, _ = _lengths(node)
    if n <= SMALL:
        return []
    vectors = isinstance(node.op, Eigh)
    work = 1 + 6 * n + 2 * n * n if vectors else (2 + BLOCK) * n + 1
    return [("float64", work), ("int32", 3 + 5 * n if vectors else 1), ("float64", n * n)]


@routine(Eigh, _eigh_scratch)
@routine(Eigvalsh, _eigh_scratch)
def _eigh(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    """dsyevd, to which the lower triangle is the upper one; it leaves eigenvectors as rows."""
    op = node.op
    assert isinstance(op, Eigh | Eigvalsh)
    vectors = isinstance(op, Eigh)
    batch, n, _ = _lengths(node)
    (x,), values = sources, targets[0]
    if n <= SMALL:
        rows = targets[1].pointer if vectors else values.pointer
        _finite(b, "small_eigen", x.pointer, values.pointer, rows, math.prod(batch), n, int(op.lower), int(vectors))
        return
    work, numbers, a = targets[-3:]
    info, size = b.stack(i32, 1), fortran_int(b, n)
    job, triangle = fortran_char(b, "V" if vectors else "N"), fortran_char(b, "U" if op.lower else "L")
    amounts = fortran_int(b, work.view.size), fortran_int(b, numbers.view.size)
    with ExitStack() as loops:
        parts = [(x, n * n), (values, n), *([(targets[1], n * n)] if vectors else [])]
        source, own, *columns = _each(b, loops, batch, *parts)
        _finite(b, "triangle_finite", source, n, int(op.lower))
        b.call("memcpy", ptr, a.pointer, source, b.const(i64, 8 * n * n))
        b.call("blas_dsyevd", None, job, triangle, size, a.pointer, size, own, work.pointer, amounts[0],
               numbers.pointer, amounts[1], info)  # fmt: skip
        fail_unless(b, succeeded(b, info))
        if vectors:
            _native(b, "orient_rows", a.pointer, n, n)
            _native(b, "transpose", a.pointer, columns[0], n, n)


def _ldl_scratch(node: Node) -> list[tuple[str, int]]:
    _, n, _ = _lengths(node)
    return [("float64", n * n), ("float64", n * BLOCK), ("int32", n)]


@routine(LDL, _ldl_scratch)
def _ldl(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    batch, n, _ = _lengths(node)
    (x,), (factor, blocks, order, a, work, pivots) = sources, targets
    info, size, triangle, amount = b.stack(i32, 1), fortran_int(b, n), fortran_char(b, "L"), fortran_int(b, n * BLOCK)
    with ExitStack() as loops:
        source, low, middle, rows = _each(b, loops, batch, (x, n * n), (factor, n * n), (blocks, n * n), (order, n))
        _finite(b, "triangle_finite", source, n, 1)
        _native(b, "mirror_lower", source, a.pointer, n)
        b.call("blas_dsytrf", None, triangle, size, a.pointer, size, pivots.pointer, work.pointer, amount, info)
        _native(b, "unpack_ldl", a.pointer, pivots.pointer, low, middle, rows, n)


# ---- any matrices


def _svd_scratch(node: Node) -> list[tuple[str, int]]:
    op = node.op
    _, m, n = _lengths(node)
    k = min(m, n)
    sizes = [m * n, 10 * k + BLOCK * (m + n) + 1]
    if isinstance(op, SVD):
        sizes[1] += 4 * k * k
        sizes += [m * (m if op.full else k), (n if op.full else k) * n] if m > n else []
    return [("int32", 8 * k), *(("float64", size) for size in sizes)]


@routine(SVD, _svd_scratch)
@routine(SingularValues, _svd_scratch)
def _svd(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    """dgesdd of the transpose, x' = V diag(s) U': columns of V are rows of V' here, rows of U' columns of U.

    A matrix with more rows than columns is transposed before, since its QR is faster than an LQ.
    """
    op = node.op
    batch, m, n = _lengths(node)
    k, count = min(m, n), 3 if isinstance(op, SVD) else 1
    (x,), (numbers, a, work, *halves) = sources, targets[count:]
    if not k:
        _unit_factors(b, batch, targets[:count])
        return
    width, height = (m, n) if isinstance(op, SVD) and op.full else (k, k)
    info, rows, columns = b.stack(i32, 1), fortran_int(b, m), fortran_int(b, n)
    wide, high, amount = fortran_int(b, width), fortran_int(b, height), fortran_int(b, work.view.size)
    job = fortran_char(b, "N" if isinstance(op, SingularValues) else "A" if op.full else "S")  # type: ignore[attr-defined]  # SVD
    with ExitStack() as loops:
        parts = [(targets[0], m * width), (targets[2], height * n)] if isinstance(op, SVD) else []
        source, values, *vectors = _each(b, loops, batch, (x, m * n), (targets[count // 2], k), *parts)
        _finite(b, "all_finite", source, m * n)
        if m > n:
            left, right = [half.pointer for half in halves] or [a.pointer, a.pointer]  # not written
            _native(b, "transpose", source, a.pointer, m, n)
            operands = (rows, columns, a.pointer, rows, values, left, rows, right, high)
        else:
            left, right = vectors or [a.pointer, a.pointer]
            b.call("memcpy", ptr, a.pointer, source, b.const(i64, 8 * m * n))
            operands = (columns, rows, a.pointer, columns, values, right, columns, left, wide)
        b.call("blas_dgesdd", None, job, *operands, work.pointer, amount, numbers.pointer, info)
        fail_unless(b, succeeded(b, info))
        if vectors and m > n:
            _native(b, "transpose", left, vectors[0], width, m)
            _native(b, "transpose", right, vectors[1], n, height)
        if vectors:
            _native(b, "orient_factors", *vectors, k, width, m, n)


def _unit_factors(b: Builder, batch: Sequence[int], factors: Arguments) -> None:
    """The square orthogonal factors of a matrix without elements are unit matrices."""
    for factor in factors:
        *_, rows, columns = (1, *factor.view.shape)
        if factor.view.size and rows == columns:
            with ExitStack() as loops:
                (own,) = _each(b, loops, batch, (factor, rows * rows))
                _native(b, "identity", own, rows)


def _qr_scratch(node: Node) -> list[tuple[str, int]]:
    op = node.op
    _, m, n = _lengths(node)
    width = max(m, n) if isinstance(op, QR) and op.mode == "full" else n
    sizes = [m * width, BLOCK * max(m, n, 1)]
    return [("float64", size) for size in (sizes if isinstance(op, Householder) else [*sizes, min(m, n)])]


@routine(QR, _qr_scratch)
def _qr(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    op = node.op
    assert isinstance(op, QR)
    batch, m, n = _lengths(node)
    k = min(m, n)
    (x,), (upper, packed, work, tau) = sources, targets[-4:]
    height = m if op.mode == "full" else k
    if not k:
        _unit_factors(b, batch, targets[:-4])
        return
    info, amount = b.stack(i32, 1), fortran_int(b, work.view.size)
    rows, columns, kept, wide = (fortran_int(b, length) for length in (m, n, k, height))
    with ExitStack() as loops:
        parts = [] if op.mode == "r" else [(targets[0], m * height)]
        source, own, *rest = _each(b, loops, batch, (x, m * n), (upper, height * n), *parts)
        a = packed.pointer
        _native(b, "transpose", source, a, m, n)
        b.call("blas_dgeqrf", None, rows, columns, a, rows, tau.pointer, work.pointer, amount, info)
        _native(b, "upper_rows", a, own, height, n, m)
        for q in rest:
            b.call("blas_dorgqr", None, rows, wide, kept, a, rows, tau.pointer, work.pointer, amount, info)
            _native(b, "transpose", a, q, height, m)


def _column_order_scratch(node: Node) -> list[tuple[str, int]]:
    _, m, n = _lengths(node)
    sizes = (m * n, min(m, n), (n + 1) * BLOCK + 2 * n)
    return [("int32", n), *(("float64", size) for size in sizes)]


@routine(ColumnOrder, _column_order_scratch)
def _column_order(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    """dgeqp3 for the sake of its pivots."""
    batch, m, n = _lengths(node)
    (x,), (order, pivots, packed, tau, work) = sources, targets
    info, rows, columns, amount = b.stack(i32, 1), fortran_int(b, m), fortran_int(b, n), fortran_int(b, work.view.size)
    with ExitStack() as loops:
        source, own = _each(b, loops, batch, (x, m * n), (order, n))
        b.call("memset", ptr, pivots.pointer, b.const(i32, 0), b.const(i64, 4 * n))  # all columns are free
        if m:
            _native(b, "transpose", source, packed.pointer, m, n)
            b.call("blas_dgeqp3", None, rows, columns, packed.pointer, rows, pivots.pointer, tau.pointer,
                   work.pointer, amount, info)  # fmt: skip
        _native(b, "column_numbers", pivots.pointer, own, n)


@routine(Householder, _qr_scratch)
def _householder(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    batch, m, n = _lengths(node)
    (x,), (result, factors, packed, work) = sources, targets
    info, rows, columns, amount = b.stack(i32, 1), fortran_int(b, m), fortran_int(b, n), fortran_int(b, work.view.size)
    with ExitStack() as loops:
        source, target, tau = _each(b, loops, batch, (x, m * n), (result, m * n), (factors, min(m, n)))
        _native(b, "transpose", source, packed.pointer, m, n)
        b.call("blas_dgeqrf", None, rows, columns, packed.pointer, rows, tau, work.pointer, amount, info)
        _native(b, "transpose", packed.pointer, target, n, m)


@routine(LU, lambda node: [("float64", _lengths(node)[1] * _lengths(node)[2])])
def _lu(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    batch, m, n = _lengths(node)
    k = min(m, n)
    (x,), (packed, pivots, a) = sources, targets
    info, rows, columns = b.stack(i32, 1), fortran_int(b, m), fortran_int(b, n)
    with ExitStack() as loops:
        place = batch_loop(b, loops, batch)
        offset = b.mul(place, b.const(i64, m * n))
        exchanged = b.offset(pivots.pointer, b.mul(place, b.const(i64, k)), i32)
        _native(b, "transpose", at(b, x.pointer, offset), a.pointer, m, n)
        b.call("blas_dgetrf", None, rows, columns, a.pointer, rows, exchanged, info)
        _native(b, "transpose", a.pointer, at(b, packed.pointer, offset), n, m)
        _native(b, "count_from_zero", exchanged, k)


@routine(PivotPermutation)
def _pivot_permutation(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    op = node.op
    assert isinstance(op, PivotPermutation)
    (pivots,), (order,) = sources, targets
    *batch, count = pivots.view.shape
    length = order.view.shape[-1]
    with ExitStack() as loops:
        place = batch_loop(b, loops, batch)
        given = b.offset(pivots.pointer, b.mul(place, b.const(i64, count)), i32)
        (own,) = (b.offset(order.pointer, b.mul(place, b.const(i64, length)), i64),)
        _native(b, "permutation", given, own, count, length, int(op.inverse))


# ---- square matrices


def _eig_scratch(node: Node) -> list[tuple[str, int]]:
    _, n, _ = _lengths(node)
    return [("float64", n * n), ("float64", n * n), ("float64", (2 * BLOCK + 8) * n)]


@routine(Eig, _eig_scratch)
@routine(Eigvals, _eig_scratch)
def _eig(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    vectors = isinstance(node.op, Eig)
    batch, n, _ = _lengths(node)
    (x,), (a, rows, work) = sources, targets[-3:]
    info, size, amount = b.stack(i32, 1), fortran_int(b, n), fortran_int(b, work.view.size)
    none, job = fortran_char(b, "N"), fortran_char(b, "V" if vectors else "N")
    with ExitStack() as loops:
        parts = [(target, n * n) for target in targets[2:-3]]
        source, re, im, *halves = _each(b, loops, batch, (x, n * n), (targets[0], n), (targets[1], n), *parts)
        _finite(b, "all_finite", source, n * n)
        _native(b, "transpose", source, a.pointer, n, n)
        b.call("blas_dgeev", None, none, job, size, a.pointer, size, re, im, rows.pointer, size, rows.pointer, size,
               work.pointer, amount, info)  # fmt: skip
        fail_unless(b, succeeded(b, info))
        if vectors:
            _native(b, "eigenvectors", rows.pointer, im, *halves, n)


def _schur_scratch(node: Node) -> list[tuple[str, int]]:
    _, n, _ = _lengths(node)
    return [("float64", size) for size in (n * n, n * n, 2 * n, BLOCK * n)]


@routine(Schur, _schur_scratch)
def _schur(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    batch, n, _ = _lengths(node)
    (x,), (form, basis, t, z, values, work) = sources, targets
    info, count, size, amount = b.stack(i32, 1), b.stack(i32, 1), fortran_int(b, n), fortran_int(b, work.view.size)
    job, unsorted, im = fortran_char(b, "V"), fortran_char(b, "N"), at(b, values.pointer, n)
    with ExitStack() as loops:
        source, *results = _each(b, loops, batch, (x, n * n), (form, n * n), (basis, n * n))
        _finite(b, "all_finite", source, n * n)
        _native(b, "transpose", source, t.pointer, n, n)
        # Nothing is selected: the function for that and its memory are not used.
        b.call("blas_dgees", None, job, unsorted, work.pointer, size, t.pointer, size, count, values.pointer, im,
               z.pointer, size, work.pointer, amount, count, info)  # fmt: skip
        fail_unless(b, succeeded(b, info))
        for part, result in zip((t, z), results, strict=True):
            _native(b, "transpose", part.pointer, result, n, n)


def _complex_schur_scratch(node: Node) -> list[tuple[str, int]]:
    _, n, _ = _lengths(node)
    return [("float64", size) for size in (2 * n * n, 2 * n * n, 2 * n, 2 * BLOCK * n, n)]


@routine(ComplexSchur, _complex_schur_scratch)
def _complex_schur(b: Builder, node: Node, sources: Arguments, targets: Arguments) -> None:
    batch, n, _ = _lengths(node)
    (x,), halves, (t, z, values, work, numbers) = sources, targets[:4], targets[4:]
    info, count, size, amount = b.stack(i32, 1), b.stack(i32, 1), fortran_int(b, n), fortran_int(b, BLOCK * n)
    job, unsorted = fortran_char(b, "V"), fortran_char(b, "N")
    with ExitStack() as loops:
        source, *parts = _each(b, loops, batch, (x, n * n), *((half, n * n) for half in halves))
        _finite(b, "all_finite", source, n * n)
        _native(b, "join_complex", source, t.pointer, n)
        b.call("blas_zgees", None, job, unsorted, work.pointer, size, t.pointer, size, count, values.pointer,
               z.pointer, size, work.pointer, amount, numbers.pointer, count, info)  # fmt: skip
        fail_unless(b, succeeded(b, info))
        _native(b, "split_complex", t.pointer, *parts[:2], n)
        _native(b, "split_complex", z.pointer, *parts[2:], n)
