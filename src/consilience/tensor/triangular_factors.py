"""QR, LU and LDL factorisations under the names of NumPy, SciPy and PyTensor.

They work on the last two axes; leading axes are a batch. They are computed in float64 and rounded to the dtype of
float32 matrices. Complex matrices are refused. Words about memory and checks (`overwrite_a`, `check_finite`, `lwork`)
are taken and change nothing: NaN and infinity in a matrix spread to its factors, but in `ldl`, which fails.
"""

from __future__ import annotations

from typing import SupportsIndex

from consilience.errors import ArgumentError, ShapeError
from consilience.ir import Node
from consilience.ir.dimension import maximum, minimum
from consilience.ir.side_tables import describe
from consilience.ops import Iota, Item
from consilience.ops.arrangement import take_along_axis
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.factorisations import LDL, LU, QR, ColumnOrder, Householder, PivotPermutation, real_matrix
from consilience.ops.index import getitem
from consilience.ops.linalg import batch_shape, cholesky, solve_triangular
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, eye, full, length_of, squeeze
from consilience.tensor.arrangement import flip
from consilience.tensor.gathering import tril, triu

_QR_MODES = {"full": "full", "complete": "full", "economic": "reduced", "reduced": "reduced", "r": "r", "raw": "raw"}


def _members(node: Node, dtype: str, count: int) -> list[Node]:
    """The members of a tuple; floats in a dtype."""
    found = [Node(Item(i), node) for i in range(count)]
    return [cast(member, dtype) if member.dtype == "float64" else member for member in found]


def _as_rows(order: Node, rank: int) -> Node:
    """Positions of rows, with axes of length 1 in front and behind."""
    column = expand_dims(order, order.ndim)
    return expand_dims(column, range(rank - column.ndim)) if rank > column.ndim else column


def qr(
    A: TensorLike,
    mode: str = "full",
    overwrite_a: bool = False,
    pivoting: bool = False,
    lwork: int | None = None,
    check_finite: bool = True,
) -> Node | tuple[Node, ...]:
    """Q with orthonormal columns and upper triangular R with A = Q R, for A of m rows and n columns.

    A : ...
    mode: "full" (or "complete"): Q is m x m, R is m x n. "economic" (or "reduced"): m x k and k x n for k = min(m, n);
        their derivative needs the first k columns of A to be independent. "r": R of "full" alone. "raw": what LAPACK
        makes, R and below it the vectors of k reflections (m x n), their factors tau, and R of "economic".
    overwrite_a : ...
    pivoting: Whether columns are exchanged.
    lwork, check_finite : ...
    Returns: Q and R, or one of them, as `mode` says; with `pivoting` the order of columns, too.
    See qr_full: `qr` with mode "full".
    See schur: T and Z with A = Z T Z^H.

    Notes
    -----
    With `pivoting` these are factors of A[:, p], and an order p of columns (int64) is the last result: sizes of R's
    diagonal descend, those behind the rank of A are 0 but for rounding.

    >>> Q, R = pt.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> (Q @ R).eval().round(4).tolist()
    [[3.0, 1.0], [4.0, 2.0]]
    """
    if mode not in _QR_MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, _QR_MODES))}, got {mode!r}.")
    if pivoting:
        order = Node(ColumnOrder(), real_matrix(A, "qr")[0])
        found = qr(take_along_axis(A, expand_dims(order, order.ndim - 1), -1), mode)
        return (found, order) if isinstance(found, Node) else (*found, order)
    x, dtype = real_matrix(A, "qr")
    if mode == "r":
        upper = cast(Node(QR("r"), x), dtype)
        *_, rows, columns = x.static_shape
        below = full((*upper.static_shape[:-2], maximum(rows - columns, 0), columns), 0, upper.dtype)
        return upper if below.static_shape[-2] == 0 else concatenate([upper, below], -2)
    first, second = _members(Node(Householder() if mode == "raw" else QR(_QR_MODES[mode]), x), dtype, 2)
    if mode == "raw":
        return first, second, getitem(triu(first), (..., slice(length_of(second.static_shape[-1])), slice(None)))
    return first, second


def qr_full(a: TensorLike) -> Node | tuple[Node, ...]:
    """`qr` with mode "full".

    a : ...
    Returns: Q and R, or one of them, as `mode` says; with `pivoting` the order of columns, too.
    See schur: T and Z with A = Z T Z^H.
    See qr: Q with orthonormal columns and upper triangular R with A = Q R.
    >>> Q, R = pt.linalg.qr_full([[3.0], [4.0]])
    >>> (Q @ R).eval().round(4).tolist()
    [[3.0], [4.0]]
    """
    return qr(a, "full")


def lu(
    a: TensorLike,
    permute_l: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
    overwrite_a: bool = False,
) -> tuple[Node, ...]:
    """P, L, U with a = P L U: a permutation, a unit lower and an upper triangular matrix, by partial pivoting.

    a : ...
    permute_l: P L and U instead.
    check_finite : ...
    p_indices: A vector p (int64) in place of P: a = L[p] U.
    overwrite_a : ...
    Returns: P, L and U; with `permute_l` P L and U, with `p_indices` a permutation in place of P.
    See lu_factor: L below the diagonal and U in one matrix.
    See lu_solve: `y` with a y = b.
    See pivot_to_permutation: Pivots of `lu_factor` as a permutation (int64) q with a = (L U)[q].
    >>> P, L, U = pt.linalg.lu([[4.0, 2.0], [2.0, 5.0]])
    >>> U.eval().tolist()
    [[4.0, 2.0], [0.0, 4.0]]
    """
    if permute_l and p_indices:
        raise ValueError("`lu` takes one of `permute_l` and `p_indices`, got both.")
    x, dtype = real_matrix(a, "lu")
    packed, pivots = _members(Node(LU(), x), "float64", 2)
    rows, columns = x.static_shape[-2:]
    k = minimum(rows, columns)
    lower = apply("add", tril(getitem(packed, (..., slice(None, k))), -1), eye(rows, k, dtype="float64"))
    upper = cast(triu(getitem(packed, (..., slice(None, k), slice(None)))), dtype)
    order = Node(PivotPermutation(rows, inverse=True), pivots)
    if permute_l:
        return cast(take_along_axis(lower, _as_rows(order, lower.ndim), -2), dtype), upper
    if p_indices:
        return order, cast(lower, dtype), upper
    matrix = apply("eq", expand_dims(order, order.ndim), Node(Iota(rows)))
    return cast(matrix, dtype), cast(lower, dtype), upper


def lu_factor(a: TensorLike, *, check_finite: bool = True, overwrite_a: bool = False) -> tuple[Node, Node]:
    """L below the diagonal and U in one matrix, and pivots: row i was exchanged with row pivots[i] (int32).

    The unit diagonal of L is not stored. A singular matrix has factors too: there is a 0 on the diagonal of U.

    a, check_finite, overwrite_a : ...
    Returns: The factors in one matrix, and the pivots.
    See lu_solve: `y` with a y = b.
    See pivot_to_permutation: Pivots of `lu_factor` as a permutation (int64) q with a = (L U)[q].
    See lu: The factors as matrices.
    >>> LU, pivots = pt.linalg.lu_factor([[4.0, 2.0], [2.0, 5.0]])
    >>> LU.eval().tolist()
    [[4.0, 2.0], [0.5, 4.0]]
    """
    x, dtype = real_matrix(a, "lu_factor")
    packed, pivots = _members(Node(LU(), x), dtype, 2)
    return packed, pivots


def pivot_to_permutation(p: TensorLike, inverse: bool = False) -> Node:
    """Pivots of `lu_factor` as a permutation (int64) q with a = (L U)[q], or with a[q] = L U where `inverse`.

    p: Permutation, or pivots as LAPACK gives them.
    inverse: Whether the inverse permutation is returned.
    Returns: Integers (int64), of the length of `p`.
    See lu: The factors as matrices.
    See lu_factor: L below the diagonal and U in one matrix.
    See lu_solve: `y` with a y = b.
    >>> pt.linalg.pivot_to_permutation([1, 1]).eval().tolist()
    [1, 0]
    """
    node = as_tensor(p)
    if not node.ndim:
        raise ShapeError(f"a vector of pivots was needed, got {describe(node)}.")
    return Node(PivotPermutation(node.static_shape[-1], not inverse), cast(node, "int32"))


def lu_solve(
    LU_and_pivots: tuple[TensorLike, TensorLike],
    b: TensorLike,
    trans: bool | int = False,
    b_ndim: int | None = None,
    check_finite: bool = True,
    overwrite_b: bool = False,
) -> Node:
    """`y` with a y = b, or a' y = b where `trans`, from what `lu_factor` gives of a.

    LU_and_pivots: The factors as `lu_factor` gives them.
    b : ...
    trans: Which system: 0 or "N" for a, 1 or "T" for its transpose, 2 or "C" for its conjugate transpose.
    b_ndim: Rank of one right side: 1 a vector, 2 a matrix; None takes b's own rank, up to 2.
    check_finite, overwrite_b : ...
    Returns: Of the shape of `b`.
    See pivot_to_permutation: Pivots of `lu_factor` as a permutation (int64) q with a = (L U)[q].
    See lu: The factors as matrices.
    See lu_factor: L below the diagonal and U in one matrix.
    >>> pt.linalg.lu_solve(pt.linalg.lu_factor([[4.0, 2.0], [2.0, 5.0]]), [6.0, 7.0]).eval().tolist()
    [1.0, 1.0]
    """
    if not isinstance(trans, SupportsIndex) or trans not in (0, 1, 2):
        raise ArgumentError(f"`lu_solve`: `trans` must be True, False, 0, 1 or 2, got {trans!r}.")
    packed, right = as_tensor(LU_and_pivots[0]), as_tensor(b)
    vectors = right.ndim == 1 or b_ndim == 1
    if vectors:
        right = expand_dims(right, right.ndim)
    batch, _ = batch_shape(packed.static_shape[:-2], right.static_shape[:-2])
    right = broadcast_to(right, (*batch, *right.static_shape[-2:]))
    order = _as_rows(pivot_to_permutation(LU_and_pivots[1], inverse=not trans), right.ndim)
    n = packed.static_shape[-1]
    lower, upper = apply("add", tril(packed, -1), eye(n, dtype=packed.dtype)), triu(packed)
    if trans:
        half = solve_triangular(upper, right, False, 1)
        found = take_along_axis(solve_triangular(lower, half, True, 1), order, -2)
    else:
        half = solve_triangular(lower, take_along_axis(right, order, -2), True)
        found = solve_triangular(upper, half)
    return squeeze(found, -1) if vectors else found


def ldl(
    A: TensorLike, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Node, Node, Node]:
    """L, D and a permutation p (int64) with A = L D L' for symmetric A; L[p] is unit triangular.

    A : ...
    lower: Whether the lower triangle of A is read and L[p] is lower triangular; otherwise both are upper.
    hermitian: Whether the matrix equals its conjugate transpose.
    overwrite_a, check_finite : ...
    Returns: L, D and p.
    See cho_factor: The Cholesky factor of a symmetric positive definite matrix.

    Notes
    -----
    D has blocks of lengths 1 and 2 on its diagonal (Bunch and Kaufman). `hermitian` means nothing for real matrices.

    >>> L, D, order = pt.linalg.ldl([[4.0, 2.0], [2.0, 5.0]])
    >>> D.eval().tolist()
    [[4.0, 0.0], [0.0, 4.0]]
    """
    x, dtype = real_matrix(A, "ldl")
    if lower:
        factor, blocks, order = _members(Node(LDL(), x), dtype, 3)
        return factor, blocks, order
    factor, blocks, order = _members(Node(LDL(), flip(x, (-2, -1))), dtype, 3)
    last = apply("sub", length_of(x.static_shape[-1]), 1)
    return flip(factor, (-2, -1)), flip(blocks, (-2, -1)), apply("sub", last, flip(order, -1))


def cho_factor(
    a: TensorLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Node, bool]:
    """The Cholesky factor of a symmetric positive definite matrix, zeros beside it, and `lower`: for `cho_solve`.

    a : ...
    lower: Whether the lower triangle is meant.
    overwrite_a, check_finite : ...
    Returns: The factor and `lower`.
    See cho_solve: Solves by the factor.
    >>> factor, lower = pt.linalg.cho_factor([[4.0, 2.0], [2.0, 5.0]], lower=True)
    >>> lower
    True
    """
    return cholesky(a, lower), lower
