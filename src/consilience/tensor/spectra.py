"""Eigenvalues, Schur forms and those of pairs of matrices under the names of NumPy, SciPy and PyTensor.

They work on the last two axes; leading axes are a batch. They are computed in float64 and rounded to the precision of
float32 matrices. A matrix with NaN or infinity makes the function raise LinearAlgebraError, as does a search for
eigenvalues that does not end. Complex matrices are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import LinearAlgebraError, ShapeError
from consilience.ir import Node, TensorType
from consilience.ir.side_tables import describe
from consilience.ops import Item
from consilience.ops.elementwise import TensorLike, apply, cast
from consilience.ops.factorisations import ComplexSchur, Eig, Eigh, Eigvals, Eigvalsh, Schur, real_matrix
from consilience.ops.linalg import batch_shape, cholesky, matrix_transpose, solve_triangular
from consilience.ops.python_call import PythonCall, PythonFunction
from consilience.ops.shape import broadcast_to
from consilience.record import Record
from consilience.tensor.gathering import tril, triu

Array = npt.NDArray[Any]
_COMPLEX = {"float64": "complex128", "float32": "complex64"}
_SORTS = ("lhp", "rhp", "iuc", "ouc")


def _joined(re: Node, im: Node, dtype: str) -> Node:
    """Complex numbers of the precision of a dtype."""
    return cast(apply("complex", re, im), _COMPLEX[dtype])


def _reads_lower(UPLO: str | None, lower: bool) -> bool:
    if UPLO is None:
        return lower
    if UPLO.upper() not in ("L", "U"):
        raise ValueError(f"UPLO must be 'L' or 'U', got {UPLO!r}.")
    return UPLO.upper() == "L"


def eigh(
    a: TensorLike, b: TensorLike | None = None, lower: bool = True, UPLO: str | None = None, driver: str = "evr"
) -> tuple[Node, Node]:
    """Eigenvalues in ascending order, and eigenvectors as columns, of symmetric matrices.

    a : ...
    b: A symmetric positive definite matrix: eigenvalues w and vectors v of a v = w b v, with v' b v = 1.
    lower: Which triangle is read, the lower one for `lower=True` or "L"; the other one is taken to mirror it.
    UPLO: Which triangle is read, the lower one for `lower=True` or "L"; the other one is taken to mirror it.
    driver: Changes nothing.
    Returns: Eigenvalues, and matrices of eigenvectors.
    See eigvals: Complex eigenvalues of square matrices.
    See eigvalsh: Eigenvalues in ascending order of symmetric matrices.
    See eig: Complex eigenvalues.

    Notes
    -----
    In every vector the first element that is about as large as the largest is positive (without b). Derivatives of
    vectors are infinite or NaN where eigenvalues are equal; those of values are right for functions that treat equal
    eigenvalues alike.

    >>> values, vectors = pt.linalg.eigh([[2.0, 0.0], [0.0, 3.0]])
    >>> values.eval().tolist()
    [2.0, 3.0]
    """
    x, dtype = real_matrix(a, "eigh")
    low = _reads_lower(UPLO, lower)
    if b is None:
        made = Node(Eigh(low), x)
        return cast(Node(Item(0), made), dtype), cast(Node(Item(1), made), dtype)
    reduced, factor = _reduced(x, b, low)
    made = Node(Eigh(), reduced)
    vectors = solve_triangular(factor, Node(Item(1), made), True, 1)
    return cast(Node(Item(0), made), dtype), cast(vectors, dtype)


def eigvalsh(a: TensorLike, b: TensorLike | None = None, lower: bool = True, UPLO: str | None = None) -> Node:
    """Eigenvalues in ascending order of symmetric matrices, or w with a v = w b v; as `eigh`.

    a : ...
    b: Symmetric positive definite matrix of the generalised problem.
    lower: Whether the lower triangle of a is read, the other one taken to mirror it.
    UPLO: Which triangle is read: "L" or "U".
    Returns: A vector per matrix.
    See eig: Complex eigenvalues.
    See eigh: Eigenvalues in ascending order.
    See eigvals: Complex eigenvalues of square matrices.
    >>> pt.linalg.eigvalsh([[4.0, 2.0], [2.0, 5.0]]).eval().round(4).tolist()
    [2.4384, 6.5616]
    """
    x, dtype = real_matrix(a, "eigvalsh")
    low = _reads_lower(UPLO, lower)
    return cast(Node(Eigvalsh(low), x) if b is None else Node(Eigvalsh(), _reduced(x, b, low)[0]), dtype)


def _reduced(x: Node, b: TensorLike, lower: bool) -> tuple[Node, Node]:
    """L^-1 x L^-T for b = L L', and L."""
    other, _ = real_matrix(b, "eigh")
    low = x if lower else matrix_transpose(x)
    whole = apply("add", tril(low), triu(matrix_transpose(low), 1))
    factor = cholesky(other if lower else matrix_transpose(other))
    half = solve_triangular(factor, whole, True)
    return solve_triangular(factor, matrix_transpose(half), True), factor


def eig(x: TensorLike) -> tuple[Node, Node]:
    """Complex eigenvalues, and complex eigenvectors as columns, of square matrices; LAPACK's order of them.

    Vectors have length 1; the first of their elements that is about as large as the largest is real and positive.
    They have no derivative where eigenvalues are equal (infinite or NaN, or LinearAlgebraError).

    x : ...
    Returns: Eigenvalues, and matrices of eigenvectors.
    See eigh: Eigenvalues in ascending order.
    See eigvals: Complex eigenvalues of square matrices.
    See eigvalsh: Eigenvalues in ascending order of symmetric matrices.
    >>> values, vectors = pt.linalg.eig([[2.0, 0.0], [0.0, 3.0]])
    >>> values.eval().real.tolist()
    [2.0, 3.0]
    """
    matrix, dtype = real_matrix(x, "eig")
    made = Node(Eig(), matrix)
    re, im, first, second = (Node(Item(i), made) for i in range(4))
    return _joined(re, im, dtype), _joined(first, second, dtype)


def eigvals(x: TensorLike) -> Node:
    """Complex eigenvalues of square matrices, in LAPACK's order; `.real` where they are known to be real.

    x : ...
    Returns: A vector per matrix.
    See eigvalsh: Eigenvalues in ascending order of symmetric matrices.
    See eig: Complex eigenvalues.
    See eigh: Eigenvalues in ascending order.
    >>> pt.linalg.eigvals([[2.0, 0.0], [0.0, 3.0]]).eval().real.tolist()
    [2.0, 3.0]
    """
    matrix, dtype = real_matrix(x, "eigvals")
    made = Node(Eigvals(), matrix)
    return _joined(Node(Item(0), made), Node(Item(1), made), dtype)


def schur(
    A: TensorLike,
    output: str = "real",
    sort: str | Callable[..., bool] | None = None,
    lwork: int | None = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Node, Node]:
    """T and Z with A = Z T Z^H: Z is orthogonal and T upper triangular but for blocks of length 2 on its diagonal.

    A : ...
    output: "complex": T is triangular and Z unitary, both complex.
    sort: Which eigenvalues come first: "lhp" and "rhp" with negative and nonnegative real parts, "iuc" and "ouc" inside
        and outside of the unit circle, or a function as of `scipy.linalg.schur`. Sorted forms are computed by SciPy,
        with the interpreter's lock.
    lwork, overwrite_a, check_finite : ...
    Returns: T and Z.
    See qr: Q with orthonormal columns and upper triangular R with A = Q R.
    See qr_full: `qr` with mode "full".

    Notes
    -----
    There is no derivative.

    >>> T, Z = pt.linalg.schur([[2.0, 1.0], [0.0, 3.0]])
    >>> T.eval().round(4).tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """
    _check_output(output)
    x, dtype = real_matrix(A, "schur")
    if sort is not None:
        found = _called(_Sorted("schur", output, _checked_sort(sort)), [x], dtype, output, (2, 2))
        return found[0], found[1]
    if output == "real":
        made = Node(Schur(), x)
        return cast(Node(Item(0), made), dtype), cast(Node(Item(1), made), dtype)
    parts = [Node(Item(i), Node(ComplexSchur(), x)) for i in range(4)]
    return _joined(parts[0], parts[1], dtype), _joined(parts[2], parts[3], dtype)


def qz(
    A: TensorLike,
    B: TensorLike,
    output: str = "real",
    sort: str | Callable[..., Any] | None = None,
    return_eigenvalues: bool = False,
    lwork: int | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> tuple[Node, ...]:
    """AA, BB, Q and Z with A = Q AA Z^H and B = Q BB Z^H: the generalised Schur form of a pair of square matrices.

    A, B : ...
    output: "real": AA has blocks of length 2 on its diagonal; "complex": both are upper triangular.
    sort: Which eigenvalues come first, as in `schur`.
    return_eigenvalues: AA, BB, alpha, beta, Q, Z, with eigenvalues alpha / beta.
    lwork, overwrite_a, overwrite_b, check_finite : ...
    Returns: AA, BB, Q and Z, with the eigenvalues alpha and beta in front of Q where they are asked for.
    See ordqz: With chosen eigenvalues first.

    Notes
    -----
    SciPy computes it, with the interpreter's lock. There is no derivative.

    >>> A, B = np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2)
    >>> AA, BB, Q, Z = (m.eval() for m in pt.linalg.qz(A, B))
    >>> np.allclose(Q @ AA @ Z.T, A)
    True
    """
    _check_output(output)
    (x, dtype), (y, other) = real_matrix(A, "qz"), real_matrix(B, "qz")
    dtype = dtype if dtype == other else "float64"
    batch, _ = batch_shape(x.static_shape[:-2], y.static_shape[:-2])
    pair = [broadcast_to(m, (*batch, *m.static_shape[-2:])) for m in (x, y)]
    of = _Sorted("qz", output, None if sort is None else _checked_sort(sort))
    aa, bb, alpha, beta, q, z = _called(of, pair, dtype, output, (2, 2, 1, 1, 2, 2))
    return (aa, bb, alpha, beta, q, z) if return_eigenvalues else (aa, bb, q, z)


def ordqz(
    A: TensorLike,
    B: TensorLike,
    sort: str | Callable[..., Any] | None = None,
    output: str = "real",
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> tuple[Node, ...]:
    """AA, BB, alpha, beta, Q and Z: `qz` with the eigenvalues for which `sort` holds first; None keeps the order.

    A, B : ...
    sort: Which eigenvalues come first.
    output: Which result is wanted.
    overwrite_a, overwrite_b, check_finite : ...
    Returns: AA, BB, alpha, beta, Q and Z.
    See qz: In any order.
    >>> A, B = np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2)
    >>> AA, BB, alpha, beta, Q, Z = (m.eval() for m in pt.linalg.ordqz(A, B, sort="lhp"))
    >>> np.real(alpha / beta).round(4).tolist()
    [-0.3723, 5.3723]
    """
    return qz(A, B, output, sort, return_eigenvalues=True)


def _check_output(output: str) -> None:
    if output not in ("real", "complex"):
        raise ValueError(f"output must be 'real' or 'complex', got {output!r}.")


def _checked_sort(sort: str | Callable[..., Any]) -> str | Callable[..., Any]:
    if not callable(sort) and sort not in _SORTS:
        raise ValueError(f"sort must be one of {', '.join(map(repr, _SORTS))} or a function, got {sort!r}.")
    return sort


class _Sorted(Record):
    """A Schur form by SciPy of every matrix, or pair of matrices, of a batch; real and imaginary parts in turn."""

    name: str
    output: str
    sort: str | Callable[..., Any] | None

    def __call__(self, *matrices: Array) -> list[Array]:
        if not all(np.isfinite(m).all() for m in matrices):
            raise LinearAlgebraError(f"a matrix of `{self.name}` holds NaN or infinity.")
        rows = [self._one(*(m[place] for m in matrices)) for place in np.ndindex(matrices[0].shape[:-2])]
        batch = matrices[0].shape[:-2]
        found = []
        for k, rank in enumerate((2, 2) if self.name == "schur" else (2, 2, 1, 1, 2, 2)):
            one = matrices[0].shape[-rank:]
            values = np.array([row[k] for row in rows]).reshape(*batch, *one)
            found += [values.real.astype("float64"), values.imag.astype("float64")]
        return found

    def _one(self, *matrices: Array) -> tuple[Array, ...]:
        import scipy.linalg

        schur: Any = scipy.linalg.schur
        ordqz: Any = scipy.linalg.ordqz
        n = len(matrices[0])
        if not n:
            empty = np.zeros((0, 0)), np.zeros((0, 0))
            return empty if self.name == "schur" else (*empty, np.zeros(0), np.zeros(0), *empty)
        try:
            if self.name == "schur":
                return tuple(schur(*matrices, output=self.output, sort=self.sort)[:2])
            return tuple(ordqz(*matrices, sort=self.sort or _every, output=self.output))
        except (np.linalg.LinAlgError, ValueError) as error:
            raise LinearAlgebraError(f"`{self.name}`: {error}") from None


def _every(alpha: Array, beta: Array) -> Array:
    """Selects all eigenvalues, which keeps their order."""
    return np.ones(alpha.shape, bool)


def _called(of: _Sorted, matrices: list[Node], dtype: str, output: str, ranks: tuple[int, ...]) -> list[Node]:
    """The results of a call of SciPy, of so many axes each behind those of the batch."""
    *batch, rows, columns = matrices[0].static_shape
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        raise ShapeError(f"`{of.name}` needs square matrices, got {rows} x {columns}: {describe(matrices[0])}.")
    shapes = [(*batch, *(rows,) * rank) for rank in ranks]
    types = tuple(TensorType("float64", shape) for shape in shapes for _ in range(2))
    call = Node(PythonCall(PythonFunction(of, of.name), types), *matrices)
    found = []
    for k in range(len(ranks)):
        re, im = (Node(Item(2 * k + i), call) for i in range(2))
        # Numerators of eigenvalues, the third result of a pair, are complex in real forms too.
        whole = output == "complex" or (len(ranks) == 6 and k == 2)
        found.append(_joined(re, im, dtype) if whole else cast(re, dtype))
    return found
