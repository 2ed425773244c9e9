"""Singular values and what follows from them: pseudo-inverses, least squares, ranks, norms and condition numbers.

In: matrices on the last two axes (of norms: on any two); leading axes are a batch. Computed in float64, rounded to the
dtype of float32 matrices. NaN and infinity make the functions of singular values raise LinearAlgebraError.
"""

from __future__ import annotations

import math

import numpy as np

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir.dimension import maximum
from consilience.ir.side_tables import describe
from consilience.ops import Item
from consilience.ops.axes import integers, one_axis
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.factorisations import (
    SVD,
    Eigvalsh,
    LeastSquares,
    PseudoInverse,
    SingularValues,
    greatest_size,
    real_matrix,
)
from consilience.ops.index import getitem
from consilience.ops.linalg import batch_shape, inv
from consilience.ops.reductions import Axis, max, min, root, sum
from consilience.ops.shape import as_length, broadcast_to, expand_dims, length_of, squeeze, transpose


def svd(
    a: TensorLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Node | tuple[Node, Node, Node]:
    """U, s and Vh with a = U diag(s) Vh: orthonormal columns of U and rows of Vh, singular values s that descend.

    a : ...
    full_matrices: Whether U (m x m) and Vh (n x n) are square, otherwise they are m x k and k x n for k = min(m, n);
        vectors without a singular value have no derivative.
    compute_uv: False gives s alone.
    hermitian: Changes nothing.
    Returns: U, s and Vh, or s alone unless `compute_uv`.
    See lstsq: The shortest y with the least |a y - b|.
    See pinv: Moore and Penrose's inverse.

    Notes
    -----
    In every column of U the first element that is about as large as the largest is positive. Derivatives of vectors are
    infinite or NaN where singular values are equal or 0.

    >>> U, s, Vh = pt.linalg.svd([[3.0, 0.0], [0.0, 4.0]])
    >>> s.eval().tolist()
    [4.0, 3.0]
    """
    x, dtype = real_matrix(a, "svd")
    if not compute_uv:
        return cast(Node(SingularValues(), x), dtype)
    made = Node(SVD(full_matrices), x)
    u, s, v = (cast(Node(Item(i), made), dtype) for i in range(3))
    return u, s, v


def svdvals(a: TensorLike, overwrite_a: bool = False, check_finite: bool = True) -> Node:
    """Singular values in descending order.

    a, overwrite_a, check_finite : ...
    Returns: A vector per matrix.
    See svd: Singular values and vectors.
    >>> pt.linalg.svdvals([[3.0, 0.0], [0.0, 4.0]]).eval().tolist()
    [4.0, 3.0]
    """
    x, dtype = real_matrix(a, "svdvals")
    return cast(Node(SingularValues(), x), dtype)


def _share(given: TensorLike | None, x: Node, dtype: str) -> Node:
    """The share of the greatest singular value up to which one is 0: machine precision times the larger length."""
    if given is not None:
        return cast(given, "float64")
    longer = cast(length_of(maximum(*x.static_shape[-2:])), "float64")
    return apply("mul", longer, float(np.finfo(dtype).eps))


def pinv(
    x: TensorLike, hermitian: bool = False, *, rcond: TensorLike | None = None, rtol: TensorLike | None = None
) -> Node:
    """Moore and Penrose's inverse; its derivative holds where the rank does not change.

    x : ...
    hermitian: The lower triangle of a symmetric matrix is read, and its eigenvalues serve.
    rcond, rtol: Singular values up to this share of the greatest count as 0, a number per matrix: machine precision of
        the dtype times the larger length for None (NumPy takes 1e-15).
    Returns: Of the transposed shape.
    See svd: Singular values and vectors.
    See lstsq: The shortest y with the least |a y - b|.
    >>> pt.linalg.pinv([[2.0, 0.0], [0.0, 4.0]]).eval().tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    matrix, dtype = real_matrix(x, "pinv")
    share = _share(rtol if rcond is None else rcond, matrix, dtype)
    share = broadcast_to(share, matrix.static_shape[:-2])
    return cast(Node(PseudoInverse(hermitian), matrix, share), dtype)


def lstsq(a: TensorLike, b: TensorLike, rcond: TensorLike | None = None) -> tuple[Node, Node, Node, Node]:
    """The shortest y with the least |a y - b|, the sums of squares of a y - b, the rank of a, and its singular values.

    a : ...
    b: A vector, or a matrix of columns with a solution each.
    rcond: As in `pinv`.
    Returns: The solution, the sums of squares, the rank and the singular values.
    See pinv: Moore and Penrose's inverse.
    See svd: Singular values and vectors.

    Notes
    -----
    Sums of squares are empty, as in NumPy, where the rank is below the number of columns or rows are no more than
    these; for batches of matrices they are there in any case. Derivatives of the solution hold where the rank does not
    change.

    >>> pt.linalg.lstsq([[1.0], [1.0]], [1.0, 3.0])[0].eval().round(4).tolist()
    [2.0]
    """
    (matrix, dtype), right = real_matrix(a, "lstsq"), as_tensor(b)
    vector = right.ndim == 1
    right, other = real_matrix(expand_dims(right, 1) if vector else right, "lstsq")
    dtype = dtype if dtype == other else "float64"
    batch, _ = batch_shape(matrix.static_shape[:-2], right.static_shape[:-2])
    matrix, right = (broadcast_to(part, (*batch, *part.static_shape[-2:])) for part in (matrix, right))
    share = _share(rcond, matrix, dtype)
    solution = Node(LeastSquares(), matrix, right, broadcast_to(share, batch))
    values = Node(SingularValues(), matrix)
    rank = _above(values, expand_dims(share, share.ndim))
    rest = sum(apply("square", apply("sub", right, matrix @ solution)), -2)
    if not batch:
        rows, columns = (length_of(n) for n in matrix.static_shape[-2:])
        known = apply("logical_and", apply("gt", rows, columns), apply("eq", rank, columns))
        count = apply("where", known, length_of(rest.static_shape[-1]), 0)
        rest = getitem(rest, slice(None, as_length(count)))
    found = squeeze(solution, -1) if vector else solution
    return cast(found, dtype), cast(rest, dtype), rank, cast(values, dtype)


def _above(values: Node, share: Node) -> Node:
    """How many values, which ascend or descend, are greater than a share of the greatest."""
    return sum(cast(apply("gt", apply("abs", values), apply("mul", greatest_size(values), share)), "int64"), -1)


def matrix_rank(
    A: TensorLike, tol: TensorLike | None = None, hermitian: bool = False, *, rtol: TensorLike | None = None
) -> Node:
    """How many singular values are greater than a bound (int64); 0 or 1 for a vector.

    A : ...
    tol: The bound, or its share of the greatest singular value, a number per matrix; otherwise the share of `pinv`.
    hermitian: The lower triangle of symmetric matrices is read, and sizes of eigenvalues serve.
    rtol: The bound, or its share of the greatest singular value, a number per matrix; otherwise the share of `pinv`.
    Returns: Integers (int64), a number per matrix.
    See cond: The condition number.
    See norm: Norms of vectors along one axis.
    >>> pt.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).eval().item()
    1
    """
    node = as_tensor(A)
    if node.ndim < 2:
        return cast(apply("logical_not", apply("eq", sum(cast(apply("neq", node, 0), "int64")), 0)), "int64")
    x, dtype = real_matrix(node, "matrix_rank")
    values = Node(Eigvalsh() if hermitian else SingularValues(), x)
    if tol is None:
        share = _share(rtol, x, dtype)
        return _above(values, expand_dims(share, share.ndim))
    bound = cast(tol, "float64")
    return sum(cast(apply("gt", apply("abs", values), expand_dims(bound, bound.ndim)), "int64"), -1)


def cond(x: TensorLike, p: float | str | None = None) -> Node:
    """The condition number: the greatest singular value by the least, or norm(x, p) norm(inv(x), p).

    x : ...
    p: None or 2, -2 (the least by the greatest), or an order of `norm`; for these a singular matrix makes the function
        raise LinearAlgebraError.
    Returns: A number per matrix.
    See norm: Norms of vectors along one axis.
    See matrix_rank: How many singular values are greater than a bound (int64).
    >>> pt.linalg.cond([[4.0, 2.0], [2.0, 5.0]]).eval().round(4).item()
    2.6909
    """
    matrix, dtype = real_matrix(x, "cond")
    if p in (None, 2, -2):
        values = Node(SingularValues(), matrix)
        first, last = getitem(values, (..., 0)), getitem(values, (..., -1))
        return cast(apply("true_div", last, first) if p == -2 else apply("true_div", first, last), dtype)
    return cast(apply("mul", norm(matrix, p, (-2, -1)), norm(inv(matrix), p, (-2, -1))), dtype)


def norm(
    x: TensorLike, ord: float | str | None = None, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Node:
    """Norms of vectors along one axis, or of matrices over two.

    x : ...
    ord: None is the square root of the sum of squares. Vectors: any number, with inf and -inf the extremes of the
        absolute values and 0 the count of those not zero. Matrices: "fro", 1, -1, inf and -inf; by their singular
        values 2 (the greatest), -2 (the least) and "nuc" (their sum).
    axis: None with `ord` None takes all elements, otherwise all axes of a vector or matrix.
    keepdims : ...
    Returns: Floats, without the axes of vectors or matrices.
    See matrix_rank: How many singular values are greater than a bound (int64).
    See cond: The condition number.
    >>> pt.linalg.norm([3.0, 4.0]).eval().item()
    5.0
    """
    node = as_tensor(x)
    node = node if node.dtype in ("float64", "float32", *_COMPLEXES) else cast(node, "float64")
    size = apply("abs", node)
    # Squares of real numbers have a second derivative at 0, which those of their sizes have lost.
    squares = apply("square", size if node.dtype in _COMPLEXES else node)
    if axis is None and ord is None:
        return root(sum(squares, None, None, keepdims), 2)
    given = range(node.ndim) if axis is None else integers(axis)
    axes = tuple(one_axis(i, node) for i in given)
    if len(axes) == 1:
        if ord in (None, 2):
            return root(sum(squares, axes, None, keepdims), 2)
        return _vector_norm(size, ord, axes[0], keepdims)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError(f"a norm goes over one axis or two, got {axes} for {describe(node)}.")
    if ord in (None, "fro", "f"):
        return root(sum(squares, axes, None, keepdims), 2)
    if ord in (2, -2, "nuc"):
        return _spectral_norm(node, ord, axes, keepdims)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"a matrix norm has ord None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}.")
    inner, outside = axes if ord in (1, -1) else axes[::-1]
    totals = sum(size, inner, None, keepdims=True)
    result = (max if ord in (1, math.inf) else min)(totals, outside, keepdims=True)
    return result if keepdims else squeeze(result, axes)


_COMPLEXES = ("complex128", "complex64")


def _spectral_norm(node: Node, ord: float | str | None, axes: tuple[int, ...], keepdims: bool) -> Node:
    rest = [i for i in range(node.ndim) if i not in axes]
    matrix, dtype = real_matrix(transpose(node, [*rest, *axes]), "norm")
    values = cast(Node(SingularValues(), matrix), dtype)
    result = sum(values, -1) if ord == "nuc" else (max if ord == 2 else min)(values, -1)
    return expand_dims(result, sorted(axes)) if keepdims else result


def _vector_norm(size: Node, ord: float | str | None, axis: Axis, keepdims: bool) -> Node:
    if isinstance(ord, str):
        raise ValueError(f"a vector norm has a number as ord, got {ord!r}.")
    assert ord is not None  # the caller's
    if math.isinf(ord):
        return (max if ord > 0 else min)(size, axis, keepdims)
    if ord == 0:
        return sum(apply("neq", size, 0), axis, size.dtype, keepdims)
    if ord == 1:
        return sum(size, axis, None, keepdims)
    return root(sum(apply("pow", size, float(ord)), axis, None, keepdims), ord)
