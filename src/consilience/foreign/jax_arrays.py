"""JAX's products, factorisations and orders: operands and parameters of an equation in, tensors of ours out."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.errors import MissingRuleError
from consilience.foreign.jax_primitives import rule


@rule("dot_general")
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


@rule("cholesky")
def _cholesky(x: Any, **_: Any) -> Any:
    """The lower factor."""
    return pt.linalg.cholesky(x)


@rule("triangular_solve")
def _triangular_solve(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> Any:
    """a x = b, or x a = b, with a triangle of a, perhaps transposed."""
    if not left_side:
        found = _triangular_solve(
            a, _swapped(b), left_side=True, lower=lower, transpose_a=not transpose_a, unit_diagonal=unit_diagonal
        )
        return _swapped(found)
    if transpose_a:
        a, lower = _swapped(a), not lower
    return pt.linalg.solve_triangular(a, b, lower=lower, unit_diagonal=unit_diagonal)


def _swapped(x: Any) -> Any:
    return pt.swapaxes(x, -1, -2)


@rule("lu")
def _lu(a: Any, **_: Any) -> Any:
    """Both triangles in one matrix, LAPACK's exchanges, and the permutation that they make."""
    packed, pivots = pt.linalg.lu_factor(a)
    return [packed, pivots, _permutation(pivots, a.static_shape[-2])]


@rule("lu_pivots_to_permutation")
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


@rule("eigh")
def _eigh(a: Any, *, lower: bool, **_: Any) -> Any:
    """Vectors, then values, ascending."""
    values, vectors = pt.linalg.eigh(a, UPLO="L" if lower else "U")
    return [vectors, values]


@rule("svd")
def _svd(a: Any, *, full_matrices: bool, compute_uv: bool, **_: Any) -> Any:
    if not compute_uv:
        return [pt.linalg.svd(a, compute_uv=False)]
    u, s, vt = pt.linalg.svd(a, full_matrices=full_matrices)
    return [s, u, vt]


@rule("qr")
def _qr(a: Any, *, full_matrices: bool, pivoting: bool = False, **_: Any) -> Any:
    if pivoting:
        raise MissingRuleError("JAX's `qr` with pivoting has no translation.")
    return list(pt.linalg.qr(a, mode="full" if full_matrices else "economic"))


@rule("sort")
def _sort(*operands: Any, dimension: int, num_keys: int, **_: Any) -> Any:
    """The first operand in ascending order, and the others in the same."""
    if num_keys > 1:
        raise MissingRuleError("sorting by several keys (`jnp.lexsort`) has no translation.")
    if len(operands) == 1:
        return [pt.sort(operands[0], axis=dimension)]
    order = pt.argsort(operands[0], axis=dimension, stable=True)
    return [pt.take_along_axis(x, order, axis=dimension) for x in operands]


@rule("top_k")
def _top_k(x: Any, *, k: int, **_: Any) -> Any:
    """The greatest along the last axis, greatest first, and where they were."""
    order = pt.argsort(-x, axis=-1, stable=True)[..., :k]
    return [pt.take_along_axis(x, order, axis=-1), order]
