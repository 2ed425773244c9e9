"""lax's products and factorisations: operands and parameters in, tensors out."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.axes import swapped
from consilience.engines.reader.lax.table import LAX
from consilience.errors import MissingRuleError


@LAX("dot_general")
def _dot_general(x: Any, y: Any, *, dimension_numbers: Any, **_: Any) -> Any:
    """Sums of products along pairs of axes, with other pairs running together."""
    (left, right), (left_batch, right_batch) = dimension_numbers
    names = iter(string.ascii_letters)
    of_x = [""] * x.ndim
    of_y = [""] * y.ndim
    for pairs in ((left_batch, right_batch), (left, right)):
        for a, b in zip(*pairs, strict=True):
            of_x[int(a)] = of_y[int(b)] = next(names)
    for own in (of_x, of_y):
        own[:] = [name or next(names) for name in own]
    batch = [of_x[int(a)] for a in left_batch]
    free_x = [n for i, n in enumerate(of_x) if i not in {*map(int, left), *map(int, left_batch)}]
    free_y = [n for i, n in enumerate(of_y) if i not in {*map(int, right), *map(int, right_batch)}]
    return pt.einsum(f"{''.join(of_x)},{''.join(of_y)}->{''.join([*batch, *free_x, *free_y])}", x, y)


@LAX("cholesky")
def _cholesky(x: Any, *, lower: bool = True, **_: Any) -> Any:
    """The lower factor, or the upper one of the upper triangle."""
    return pt.linalg.cholesky(x) if lower else swapped(pt.linalg.cholesky(swapped(x)))


@LAX("triangular_solve")
def _triangular_solve(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> Any:
    """a x = b, or x a = b, with a triangle of a, perhaps transposed."""
    if not left_side:
        found = _triangular_solve(
            a, swapped(b), left_side=True, lower=lower, transpose_a=not transpose_a, unit_diagonal=unit_diagonal
        )
        return swapped(found)
    if transpose_a:
        a, lower = swapped(a), not lower
    return pt.linalg.solve_triangular(a, b, lower=lower, unit_diagonal=unit_diagonal)


@LAX("lu")
def _lu(a: Any, **_: Any) -> Any:
    """Both triangles in one matrix, LAPACK's exchanges, and the permutation that they make."""
    packed, pivots = pt.linalg.lu_factor(a)
    return [packed, pivots, _permutation(pivots, a.static_shape[-2])]


@LAX("lu_pivots_to_permutation")
def _pivots_to_permutation(pivots: Any, *, permutation_size: int, **_: Any) -> Any:
    return _permutation(pivots, permutation_size)


def _permutation(pivots: Any, size: int) -> Any:
    """The order of rows after one exchange for each pivot."""
    pivots, rows = pivots.astype("int64"), np.arange(size)
    order: Any = pt.broadcast_to(pt.constant(rows), (*pivots.static_shape[:-1], size))
    for i in range(pivots.static_shape[-1]):
        place = pivots[..., i : i + 1]
        there = pt.take_along_axis(order, place, axis=-1)
        moved = pt.where(pt.eq(rows, place), order[..., i : i + 1], order)
        order = pt.where(rows == i, there, moved)
    return order


@LAX("eigh")
def _eigh(a: Any, *, lower: bool, **_: Any) -> Any:
    """Vectors, then values, ascending."""
    values, vectors = pt.linalg.eigh(a, UPLO="L" if lower else "U")
    return [vectors, values]


@LAX("eig")
def _eig(a: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any) -> Any:
    """Values, then vectors if they are asked for; all complex."""
    if compute_left_eigenvectors:
        raise MissingRuleError("left eigenvectors have no translation.")
    values, vectors = pt.linalg.eig(a)
    return [values, vectors] if compute_right_eigenvectors else [values]


@LAX("svd")
def _svd(a: Any, *, full_matrices: bool, compute_uv: bool, **_: Any) -> Any:
    if not compute_uv:
        return [pt.linalg.svd(a, compute_uv=False)]
    u, s, vt = pt.linalg.svd(a, full_matrices=full_matrices)
    return [s, u, vt]


@LAX("qr")
def _qr(a: Any, *, full_matrices: bool, pivoting: bool = False, **_: Any) -> Any:
    if pivoting:
        raise MissingRuleError("a QR factorisation with pivoting has no translation.")
    return list(pt.linalg.qr(a, mode="full" if full_matrices else "economic"))
