"""Equations of matrices under SciPy's and PyTensor's names: Sylvester's, Lyapunov's and Riccati's, and with bands.

They work on the last two axes; leading axes broadcast. They are computed in float64 and rounded to the dtype of float32
operands. Complex matrices are refused. Where there is no unique solution the function raises LinearAlgebraError.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ops import Item
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.factorisations import real_matrix
from consilience.ops.index import index_set
from consilience.ops.linalg import batch_shape, diagonal, inv, matrix_transpose, solve
from consilience.ops.matrix_equations import (
    SolveBanded,
    SolveRiccati,
    SolveSylvester,
    TridiagonalLU,
    TridiagonalLUSolve,
    solve_discrete,
)
from consilience.ops.reduce import reduce
from consilience.ops.shape import (
    arange,
    broadcast_to,
    concatenate,
    expand_dims,
    eye,
    full,
    length_of,
    reshape,
    squeeze,
    stack,
)
from consilience.tensor.formulas import stop_gradient
from consilience.tensor.products import kron
from consilience.tensor.special_matrices import toeplitz


def _operands(what: str, *values: TensorLike) -> tuple[list[Node], str]:
    """Matrices in float64 with one batch shape, and the dtype of the result."""
    nodes, dtypes = zip(*(real_matrix(value, what) for value in values), strict=True)
    lead = functools.reduce(lambda a, b: batch_shape(a, b)[0], (n.static_shape[:-2] for n in nodes))
    same = "float32" if set(dtypes) == {"float32"} else "float64"
    return [broadcast_to(n, (*lead, *n.static_shape[-2:])) for n in nodes], same


def solve_sylvester(A: TensorLike, B: TensorLike, Q: TensorLike) -> Node:
    """X with A X + X B = Q: A of shape (m, m), B (n, n), Q and X (m, n).

    Fails where an eigenvalue of A is the negative of one of B.

    A, B, Q : ...
    Returns: Of the shape of Q.
    See solve_continuous_lyapunov: X with A X + X A' = Q.
    See solve_discrete_lyapunov: X with X = A X A' + Q.
    >>> pt.linalg.solve_sylvester([[1.0]], [[3.0]], [[8.0]]).eval().tolist()
    [[2.0]]
    """
    (left, right, sides), dtype = _operands("solve_sylvester", A, B, Q)
    return cast(Node(SolveSylvester(), left, right, sides), dtype)


def solve_continuous_lyapunov(A: TensorLike, Q: TensorLike) -> Node:
    """X with A X + X A' = Q, for square matrices of one shape.

    A, Q : ...
    Returns: Of the shape of Q.
    See solve_discrete_lyapunov: X with X = A X A' + Q.
    See solve_sylvester: X with A X + X B = Q.
    >>> pt.linalg.solve_continuous_lyapunov([[1.0]], [[4.0]]).eval().tolist()
    [[2.0]]
    """
    (left, sides), dtype = _operands("solve_continuous_lyapunov", A, Q)
    return cast(Node(SolveSylvester(), left, matrix_transpose(left), sides), dtype)


solve_lyapunov = solve_continuous_lyapunov


def solve_discrete_lyapunov(A: TensorLike, Q: TensorLike, method: str = "bilinear") -> Node:
    """X with X = A X A' + Q, for square matrices of one shape.

    A, Q : ...
    method: "bilinear" makes a continuous equation of it, which no eigenvalue of A at -1 allows; "direct" solves one
        system of n * n unknowns, for few n, and takes no batch.
    Returns: Of the shape of Q.
    See solve_sylvester: X with A X + X B = Q.
    See solve_continuous_lyapunov: X with A X + X A' = Q.
    >>> pt.linalg.solve_discrete_lyapunov([[0.5]], [[3.0]]).eval().tolist()
    [[4.0]]
    """
    if method not in ("bilinear", "direct"):
        raise ValueError(f"method must be 'bilinear' or 'direct', got {method!r}.")
    (left, sides), dtype = _operands("solve_discrete_lyapunov", A, Q)
    if method == "direct":
        if left.ndim > 2:
            raise ShapeError(f"method='direct' takes no batch, got {describe(left)}; use method='bilinear'.")
        whole = kron(left, left)
        found = solve(apply("sub", eye(whole.static_shape[-1], dtype="float64"), whole), reshape(sides, (-1,)))
        return cast(reshape(found, sides.static_shape), dtype)
    return cast(solve_discrete(left, sides), dtype)


def solve_discrete_are(
    A: TensorLike, B: TensorLike, Q: TensorLike, R: TensorLike, enforce_Q_symmetric: bool = False
) -> Node:
    """The stabilising X = A' X A - A' X B (R + B' X B)^-1 B' X A + Q of a discrete Riccati equation.

    A: Shape (n, n); B has shape (n, m), R (m, m). The symmetric parts of Q and R are taken, R must be regular.
    B : ...
    Q: Shape (n, n); B has shape (n, m), R (m, m). The symmetric parts of Q and R are taken, R must be regular.
    R: Matrix, or a batch of them.
    enforce_Q_symmetric: Whether the symmetric part of Q is taken.
    Returns: A symmetric matrix of the shape of A.
    See solve_continuous_are: Of a continuous system.
    Notes: Fails where no such X is found.
    >>> pt.linalg.solve_discrete_are([[1.0]], [[1.0]], [[1.0]], [[1.0]]).eval().round(4).tolist()
    [[1.618]]
    """
    (a, b, q, r), dtype = _operands("solve_discrete_are", A, B, Q, R)
    weight = b @ solve(_symmetric(r), matrix_transpose(b))
    return cast(Node(SolveRiccati(), a, _symmetric(weight), _symmetric(q)), dtype)


def solve_continuous_are(A: TensorLike, B: TensorLike, Q: TensorLike, R: TensorLike) -> Node:
    """The stabilising X of the continuous Riccati equation A' X + X A - X B R^-1 B' X + Q = 0.

    A: Shape (n, n); B has shape (n, m), R (m, m). The symmetric parts of Q and R are taken, R must be regular.
    B : ...
    Q: Shape (n, n); B has shape (n, m), R (m, m). The symmetric parts of Q and R are taken, R must be regular.
    R: Matrix, or a batch of them.
    Returns: A symmetric matrix of the shape of A.
    See solve_discrete_are: Of a discrete system.
    Notes: Fails where no such X is found. Cayley's transform makes a discrete equation of it.
    >>> pt.linalg.solve_continuous_are([[1.0]], [[1.0]], [[1.0]], [[1.0]]).eval().round(4).tolist()
    [[2.4142]]
    """
    (a, b, q, r), dtype = _operands("solve_continuous_are", A, B, Q, R)
    q, g = _symmetric(q), _symmetric(b @ solve(_symmetric(r), matrix_transpose(b)))
    # Beyond all eigenvalues of the pair, so that what is inverted is regular; X does not depend on it.
    squares = apply("add", *(reduce("sum", apply("square", x), (-2, -1)) for x in (a, a, g, q)))
    scale = stop_gradient(1.1 * apply("sqrt", squares))
    scale = expand_dims(scale, (scale.ndim, scale.ndim + 1))
    identity = eye(a.static_shape[-1], dtype="float64")
    inverse = inv(a - scale * identity)
    across = inv(a + g @ matrix_transpose(inverse) @ q - scale * identity)
    first = identity + 2.0 * scale * across
    weight = 2.0 * scale * (inverse @ g @ matrix_transpose(across))
    source = 2.0 * scale * (matrix_transpose(across) @ q @ inverse)
    return cast(Node(SolveRiccati(), first, _symmetric(weight), _symmetric(source)), dtype)


def _symmetric(x: Node) -> Node:
    return 0.5 * (x + matrix_transpose(x))


def solve_banded(l_and_u: Sequence[int], ab: TensorLike, b: TensorLike, *, b_ndim: int | None = None) -> Node:
    """`y` with A y = b for A with l diagonals below the main one and u above it, at a cost that grows with its length.

    l_and_u: The numbers l and u.
    ab: Shape (l + u + 1, n): diagonals as rows, the highest first; element (i, j) of A stands at (u + i - j, j).
    b : ...
    b_ndim: As in `solve`.
    Returns: Of the shape of `b`.
    See solve_toeplitz: `y` with T y = b for the Toeplitz matrix T of a first column.
    >>> pt.linalg.solve_banded((1, 0), [[2.0, 4.0], [1.0, 0.0]], [2.0, 5.0]).eval().tolist()
    [1.0, 1.0]
    """
    below, above = (int(n) for n in l_and_u)
    if below < 0 or above < 0:
        raise ShapeError(f"numbers of diagonals must not be negative, got {below} below and {above} above.")
    right = as_tensor(b)
    vector = right.ndim == 1 or b_ndim == 1
    columns = expand_dims(right, right.ndim) if vector else right
    (bands, sides), dtype = _operands("solve_banded", ab, columns)
    found = cast(Node(SolveBanded(below, above), bands, sides), dtype)
    return squeeze(found, -1) if vector else found


def solve_by_diagonals(a: Node, b: Node, tridiagonal: bool) -> Node:
    """y with a y = b for matrices b, of what stands on the main diagonal of a and, if asked for, beside it."""
    (matrix, sides), dtype = _operands("solve", a, b)
    bands = _three_diagonals(matrix) if tridiagonal else expand_dims(diagonal(matrix), matrix.ndim - 2)
    return cast(Node(SolveBanded(int(tridiagonal), int(tridiagonal)), bands, sides), dtype)


def _three_diagonals(matrix: Node) -> Node:
    """The main diagonal of square matrices and those beside it, as `SolveBanded` takes them."""
    place = arange(length_of(matrix.static_shape[-1]))  # outside of the matrix nothing is read by the op
    above = apply("maximum", apply("sub", place, 1), 0)
    below = apply("minimum", apply("add", place, 1), apply("sub", length_of(matrix.static_shape[-1]), 1))
    return stack([matrix[..., above, place], diagonal(matrix), matrix[..., below, place]], -2)


def tridiagonal_lu_factor(a: TensorLike) -> tuple[Node, Node, Node, Node, Node]:
    """The factors dl, d, du, du2 and the exchanges of rows (int32, from 1) of tridiagonal matrices, by LAPACK's gttrf.

    Only the main diagonal of a and those beside it are read. dl and du have length n - 1, du2 has n - 2. There is no
    derivative; `solve` with assume_a="tridiagonal" has one.

    a : ...
    Returns: The factors dl, d, du, du2 and the exchanges of rows.
    See tridiagonal_lu_solve: Solves by it.
    >>> a = [[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]
    >>> dl, d, du, du2, rows = pt.linalg.tridiagonal_lu_factor(a)
    >>> d.eval().round(4).tolist()
    [2.0, 1.5, 1.3333]
    """
    (matrix,), dtype = _operands("tridiagonal_lu_factor", a)
    found = Node(TridiagonalLU(), _three_diagonals(matrix))
    packed, exchanged = cast(Node(Item(0), found), dtype), Node(Item(1), found)
    low, main, high, highest = (packed[..., i, :] for i in range(4))
    return low[..., :-1], main, high[..., :-1], highest[..., :-2], exchanged


def tridiagonal_lu_solve(
    a_diagonals: Sequence[TensorLike], b: TensorLike, *, b_ndim: int | None = None, transposed: bool = False
) -> Node:
    """`y` with a y = b, or a' y = b where `transposed`, from the results of `tridiagonal_lu_factor`.

    a_diagonals: The three diagonals as `tridiagonal_lu_factor` gives them.
    b : ...
    b_ndim: As in `solve`.
    transposed: Whether the transposed system is solved.
    Returns: Of the shape of `b`.
    See tridiagonal_lu_factor: The factors.
    Notes: The derivative is that in b.
    >>> a = [[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]
    >>> factors = pt.linalg.tridiagonal_lu_factor(a)
    >>> pt.linalg.tridiagonal_lu_solve(factors, [3.0, 4.0, 3.0]).eval().round(4).tolist()
    [1.0, 1.0, 1.0]
    """
    low, main, high, highest, exchanged = map(as_tensor, a_diagonals)
    right = as_tensor(b)
    vector = right.ndim == 1 or b_ndim == 1
    right = expand_dims(right, right.ndim) if vector else right
    rows = [expand_dims(_filled(x, main), main.ndim - 1) for x in (low, main, high, highest)]
    (packed, sides), dtype = _operands("tridiagonal_lu_solve", concatenate(rows, -2), right)
    pivots = broadcast_to(cast(exchanged, "int32"), (*packed.static_shape[:-2], exchanged.static_shape[-1]))
    found = cast(Node(TridiagonalLUSolve(transposed), packed, pivots, sides), dtype)
    return squeeze(found, -1) if vector else found


def _filled(x: Node, like: Node) -> Node:
    """The vectors x with zeros behind them, as long as others."""
    if x is like:
        return x
    zeros = full(like.static_shape, 0.0, like.dtype)
    return index_set(zeros[..., : length_of(x.static_shape[-1])], x)


def solve_toeplitz(
    c_or_cr: TensorLike | tuple[TensorLike, TensorLike], b: TensorLike, check_finite: bool = True
) -> Node:
    """`y` with T y = b for the Toeplitz matrix T of a first column, or of a tuple of first column and first row.

    c_or_cr: First column, or a pair of first column and first row.
    b: A vector, or a matrix of right sides.
    check_finite : ...
    Returns: Of the shape of `b`.
    See solve_banded: `y` with A y = b for A with l diagonals below the main one and u above it.
    Notes: The whole matrix is factorised, as a general one.
    >>> pt.linalg.solve_toeplitz([2.0, 1.0], [3.0, 3.0]).eval().tolist()
    [1.0, 1.0]
    """
    column, row = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return solve(toeplitz(column, row), b)
