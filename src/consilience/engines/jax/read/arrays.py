"""JAX's products, factorisations and orders: operands and parameters of an equation in, tensors of ours out."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.jax.read.primitives import rule
from consilience.errors import MissingRuleError


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


@rule("eig")
def _eig(a: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any) -> Any:
    """Values, then vectors if they are asked for; all complex."""
    if compute_left_eigenvectors:
        raise MissingRuleError("JAX's `eig` with left eigenvectors has no translation.")
    values, vectors = pt.linalg.eig(a)
    return [values, vectors] if compute_right_eigenvectors else [values]


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
    """The first operands in ascending order, and the others in the same."""
    return in_order(operands, dimension, [(i, True) for i in range(num_keys)])


def in_order(operands: Sequence[Any], axis: int, keys: Sequence[tuple[int, bool]]) -> list[Any]:
    """Arrays in the order of one or several of them; equal ones keep their order.

    keys   which of the operands, the first one first, and whether they ascend
    """
    if list(keys) == [(0, True)] and len(operands) == 1:
        return [pt.sort(operands[0], axis=axis)]
    order: Any = None
    for place, ascending in reversed(keys):
        key = operands[place] if order is None else pt.take_along_axis(operands[place], order, axis=axis)
        found = pt.argsort(key, axis=axis, stable=True) if ascending else _descending(key, axis)
        order = found if order is None else pt.take_along_axis(order, found, axis=axis)
    return [pt.take_along_axis(x, order, axis=axis) for x in operands]


def _descending(key: Any, axis: int) -> Any:
    back = tuple(slice(None, None, -1) if a == axis else slice(None) for a in range(key.ndim))
    return (key.static_shape[axis] - 1 - pt.argsort(key[back], axis=axis, stable=True))[back]


@rule("top_k")
def _top_k(x: Any, *, k: int, axis: int = -1, **_: Any) -> Any:
    """The greatest along an axis, greatest first, and where they were."""
    axis %= x.ndim
    order = pt.argsort(-x, axis=axis, stable=True)[(*(slice(None),) * axis, slice(k))]
    return [pt.take_along_axis(x, order, axis=axis), order]


@rule("approx_top_k")
def _approximate_top_k(x: Any, *, k: int, reduction_dimension: int, is_max_k: bool, **_: Any) -> Any:
    """The same; all of them are found."""
    found, order = _top_k(x if is_max_k else -x, k=k, axis=reduction_dimension)
    return [found if is_max_k else -found, order]
