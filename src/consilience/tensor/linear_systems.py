"""Linear systems: factors, solutions by kind of matrix, powers, and tensors that stand for matrices.

Matrices on the last two axes in, leading axes are a batch; expressions out.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir.dimension import product
from consilience.ir.side_tables import describe
from consilience.ops import linalg
from consilience.ops.elementwise import TensorLike, apply, as_tensor
from consilience.ops.shape import expand_dims, eye, reshape, squeeze
from consilience.tensor.matrix_equations import solve_by_diagonals

_ASSUMPTIONS = {
    "pos": "pos", "positive definite": "pos", "lower triangular": "lower", "upper triangular": "upper", "gen": "gen",
    "general": "gen", "sym": "gen", "symmetric": "gen", "her": "gen", "hermitian": "gen", "diagonal": "diagonal",
    "tridiagonal": "tridiagonal", "banded": "gen",
}  # fmt: skip


def cholesky(
    x: TensorLike,
    lower: bool = True,
    *,
    check_finite: bool = True,
    overwrite_a: bool = False,
    on_error: str = "raise",
) -> Node:
    """Cholesky factor of symmetric positive definite matrices, lower triangular unless `lower=False`.

    x : ...
    lower: Whether the lower triangle is meant.
    check_finite, overwrite_a : ...
    on_error: "raise": a matrix that is not positive definite makes the function raise LinearAlgebraError.
    Returns: Of the shape of `x`; what becomes of matrices that are not positive definite says `on_error`.
    See solve: `y` with a y = b.
    See solve_triangular: `y` with a y = b for triangular a (upper unless `lower`).
    >>> pt.cholesky([[4.0, 2.0], [2.0, 5.0]]).eval().tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    if on_error != "raise":
        raise ValueError(f"a failed factorisation raises an error, on_error={on_error!r} is not offered.")
    return linalg.cholesky(x, lower)


def solve(
    a: TensorLike,
    b: TensorLike,
    *,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
    transposed: bool = False,
    b_ndim: int | None = None,
) -> Node:
    """`y` with a y = b, or a' y = b where `transposed`.

    a, b : ...
    lower: Whether the lower triangle is meant.
    overwrite_a, overwrite_b, check_finite : ...
    assume_a: What a is. "pos", "lower triangular", "upper triangular", "diagonal" and "tridiagonal" matrices are solved
        as such; of the last four only these elements are read. Others ("gen", "sym", "her", and "banded", for which
        `solve_banded` is there) are read whole, whatever `lower` says.
    transposed: Whether the transposed system is solved.
    b_ndim: Rank of one right side: 1 a vector, 2 a matrix; None takes b's own rank, up to 2.
    Returns: Of the shape of `b`, with leading axes broadcast.
    See solve_triangular: `y` with a y = b for triangular a (upper unless `lower`).
    See cholesky: Cholesky factor of symmetric positive definite matrices.
    >>> pt.solve([[4.0, 2.0], [2.0, 5.0]], [1.0, 2.0]).eval().tolist()
    [0.0625, 0.375]
    """
    if assume_a not in _ASSUMPTIONS:
        raise ValueError(f"assume_a must be one of {', '.join(_ASSUMPTIONS)}, got {assume_a!r}.")
    kind = _ASSUMPTIONS[assume_a]
    if kind in ("lower", "upper"):
        return solve_triangular(a, b, trans=int(transposed), lower=kind == "lower", b_ndim=b_ndim)
    matrix = linalg.matrix_transpose(a) if transposed and kind == "gen" else a
    right, vectors = _columns(b, b_ndim)
    if kind in ("diagonal", "tridiagonal"):
        return _solve_by_diagonals(as_tensor(matrix), right, kind == "tridiagonal", transposed, vectors)
    result = linalg.solve(matrix, right, kind)
    return squeeze(result, -1) if vectors else result


def _solve_by_diagonals(a: Node, b: Node, tridiagonal: bool, transposed: bool, vectors: bool) -> Node:
    flat = b.ndim == 1
    turned = linalg.matrix_transpose(a) if transposed else a
    result = solve_by_diagonals(turned, expand_dims(b, 1) if flat else b, tridiagonal)
    return squeeze(result, -1) if vectors or flat else result


def solve_triangular(
    a: TensorLike,
    b: TensorLike,
    *,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    check_finite: bool = True,
    overwrite_b: bool = False,
    b_ndim: int | None = None,
) -> Node:
    """`y` with a y = b for triangular a (upper unless `lower`); `trans` 1 or "T" solves a' y = b.

    a, b : ...
    trans: Which system: 0 or "N" for a, 1 or "T" for its transpose, 2 or "C" for its conjugate transpose.
    lower: Whether the lower triangle is meant.
    unit_diagonal: Take the diagonal of a as ones, whatever stands there.
    check_finite, overwrite_b : ...
    b_ndim: As in `solve`.
    Returns: Of the shape of `b`, with leading axes broadcast.
    See cholesky: Cholesky factor of symmetric positive definite matrices.
    See solve: `y` with a y = b.
    >>> pt.solve_triangular([[2.0, 0.0], [1.0, 4.0]], [2.0, 5.0], lower=True).eval().tolist()
    [1.0, 1.0]
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}.")
    matrix = as_tensor(a)
    if unit_diagonal:
        matrix = apply("where", eye(matrix.static_shape[-1], dtype="bool"), as_tensor(1, matrix.dtype), matrix)
    right, vectors = _columns(b, b_ndim)
    result = linalg.solve_triangular(matrix, right, lower, trans not in (0, "N"))
    return squeeze(result, -1) if vectors else result


def _columns(b: TensorLike, b_ndim: int | None) -> tuple[Node, bool]:
    """Right sides as columns, and whether they were vectors that became columns here."""
    node = as_tensor(b)
    if b_ndim not in (None, 1, 2) or (b_ndim is not None and node.ndim < b_ndim):
        raise ShapeError(f"b_ndim must be 1 or 2 and no more than the rank, got {b_ndim} for {describe(node)}.")
    vectors = b_ndim == 1 and node.ndim > 1
    return (expand_dims(node, -1) if vectors else node), vectors


def cho_solve(
    c_and_lower: tuple[TensorLike, bool], b: TensorLike, *, check_finite: bool = True, b_ndim: int | None = None
) -> Node:
    """`y` with a y = b from the Cholesky factor of a and whether that is the lower one.

    c_and_lower: The factor and whether it is lower triangular, as `cho_factor` gives them.
    b, check_finite : ...
    b_ndim: Rank of one right side: 1 a vector, 2 a matrix.
    Returns: Of the shape of `b`.
    See cho_factor: The Cholesky factor of a symmetric positive definite matrix.
    >>> pt.linalg.cho_solve((pt.cholesky([[4.0, 2.0], [2.0, 5.0]]), True), [1.0, 2.0]).eval().tolist()
    [0.0625, 0.375]
    """
    factor, lower = c_and_lower
    half = solve_triangular(factor, b, trans=int(not lower), lower=lower, b_ndim=b_ndim)
    return solve_triangular(factor, half, trans=int(lower), lower=lower, b_ndim=b_ndim)


def logdet(x: TensorLike) -> Node:
    """Logarithm of the absolute value of the determinant.

    x : ...
    Returns: A number per matrix.
    See cond: The condition number.
    >>> pt.linalg.logdet([[4.0, 2.0], [2.0, 5.0]]).eval().round(4).item()
    2.7726
    """
    return linalg.slogdet(x)[1]


def matrix_power(M: TensorLike, n: int) -> Node:
    """A square matrix times itself n times; for negative n the inverse times itself.

    M: Square matrix, or a batch of them.
    n: Exponent, a whole number; a negative one is that of the inverse.
    Returns: Square matrices of the same shape.
    See expm: The exponential of square matrices.
    See logm: The principal logarithm of square matrices.
    See sqrtm: The principal square root of square matrices.
    >>> pt.linalg.matrix_power([[1.0, 1.0], [0.0, 1.0]], 3).eval().tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    base = as_tensor(M) if n >= 0 else linalg.inv(M)
    if base.ndim < 2:
        raise ShapeError(f"`matrix_power` needs a matrix, got {describe(base)}.")
    result: Node | None = None
    for bit in reversed(bin(abs(n))[2:]):
        if bit == "1":
            result = base if result is None else linalg.matmul(result, base)
        base = linalg.matmul(base, base)
    if result is not None:
        return result
    unit = eye(base.static_shape[-1], dtype=base.dtype)
    return apply("add", unit, apply("mul", base, 0)) if base.ndim > 2 else unit


def tensorinv(a: TensorLike, ind: int = 2) -> Node:
    """The inverse of a tensor for `tensordot(…, ind)`: its first `ind` axes against the others.

    a : ...
    ind: Number of first axes that are the rows.
    Returns: The other axes first, then the `ind` first ones.
    See tensorsolve: Solves for one right side.
    >>> pt.linalg.tensorinv([[2.0, 0.0], [0.0, 4.0]], ind=1).eval().tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    node = as_tensor(a)
    first, last = node.static_shape[:ind], node.static_shape[ind:]
    return reshape(linalg.inv(reshape(node, (product(first), product(last)))), (*last, *first))


def tensorsolve(a: TensorLike, b: TensorLike, axes: Sequence[int] | None = None) -> Node:
    """`y` with tensordot(a, y, y.ndim) = b; `axes` of a are moved to its end before.

    a : ...
    b: Right side, whose axes are the first ones of a.
    axes: Axes of a that are moved to its end before.
    Returns: Of the shape of the last axes of `a`.
    See tensorinv: The inverse for all right sides.
    >>> pt.linalg.tensorsolve([[2.0, 0.0], [0.0, 4.0]], [2.0, 8.0]).eval().tolist()
    [1.0, 2.0]
    """
    node, right = as_tensor(a), as_tensor(b)
    if axes is not None:
        moved = [axis % node.ndim for axis in axes]
        node = node.transpose(*[i for i in range(node.ndim) if i not in moved], *moved)
    shape = node.static_shape[right.ndim :]
    flat = reshape(node, (product(node.static_shape[: right.ndim]), product(shape)))
    return reshape(linalg.solve(flat, right.ravel()), shape)
