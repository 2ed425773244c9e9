"""Linear algebra over two named dims; all other dims are a batch.

In: tensors with dims, and the dims of the matrices. Out: tensors with the batch first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consilience import tensor as pt
from consilience.errors import ShapeError
from consilience.first_use import load_on_use
from consilience.xtensor.named import Dims, Named, arranged, checked_dims, common_lengths, of_lengths, union
from consilience.xtensor.variable import XTensorVariable, as_xtensor


def cholesky(
    x: Any, lower: bool = True, *, check_finite: bool = True, on_error: str = "raise", dims: Sequence[str]
) -> XTensorVariable:
    """Cholesky factor of symmetric positive definite matrices, lower triangular unless `lower=False`.

    `x`: tensor, or what becomes one: an array, a number, nested lists.
    `lower`: whether the lower triangle is meant.
    `check_finite`: taken for SciPy's sake and without effect: the compiler decides about checks.
    `on_error`: as in `pt.linalg.cholesky`.
    `dims`: rows and columns of the matrices, and of their factors.
    """
    matrix = as_xtensor(x)
    rows, columns = _two(matrix, dims)
    moved = matrix.transpose(..., rows, columns)
    factor = pt.linalg.cholesky(moved.values, lower, check_finite=check_finite, on_error=on_error)
    return XTensorVariable(factor, moved.dims)


def solve(
    a: Any, b: Any, dims: Sequence[str], assume_a: str = "gen", lower: bool = False, check_finite: bool = True
) -> XTensorVariable:
    """`y` with a y = b, where the product runs over the dim of a that b has not, and y has that dim in place of it.

    `a`: tensor, or what becomes one: an array, a number, nested lists.
    `b`: second operand, broadcast against the first.
    `dims`: two names: both are dims of a, one of b, whose right sides are vectors; or three: two of a, two of b.
    `assume_a`: as in `pt.linalg.solve`.
    `lower`: whether the lower triangle is meant.
    `check_finite`: taken for SciPy's sake and without effect: the compiler decides about checks.
    Raises ShapeError unless exactly one of the names is a dim of both.
    """
    left, right = as_xtensor(a), as_xtensor(b)
    names = checked_dims(dims, "`solve`")
    matrix = [name for name in names if name in left.dims]
    shared = [name for name in matrix if name in right.dims]
    others = [name for name in names if name not in left.dims and name in right.dims]
    if len(names) not in (2, 3) or len(matrix) != 2 or len(shared) != 1 or len(others) != len(names) - 2:
        raise ShapeError(
            f"`solve` needs two dims of a, one of which is b's too, and for matrices b a third that only b has; got "
            f"{names!r} for a with {left.dims!r} and b with {right.dims!r}."
        )
    (unknown,) = (name for name in matrix if name not in shared)
    lengths = common_lengths([left, right])
    core: Dims = (shared[0], *others)
    batch = tuple(name for name in union([left.dims, right.dims]) if name not in names)
    solved = pt.linalg.solve(
        _batched(left, batch, (shared[0], unknown), lengths),
        _batched(right, batch, core, lengths),
        assume_a=assume_a,
        lower=lower,
        check_finite=check_finite,
        b_ndim=len(core),
    )
    return XTensorVariable(solved, (*batch, unknown, *others))


def _batched(x: Named, batch: Dims, core: Dims, lengths: Any) -> Any:
    node = of_lengths(x, lengths)
    missing = [name for name in batch if name not in x.dims]
    return pt.expand_dims(
        arranged(node, x.dims, tuple(n for n in (*batch, *core) if n in x.dims)),
        tuple(batch.index(name) for name in missing),
    )


def _two(x: Named, dims: Sequence[str]) -> Dims:
    if isinstance(dims, str) or len(tuple(dims)) != 2:
        raise ShapeError(f"matrices have two dims, got {dims!r}.")
    return x.chosen(dims)


load_on_use(__name__, {}, public=True)
