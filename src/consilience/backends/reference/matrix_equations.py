"""Equations and functions of matrices in NumPy and SciPy: rows of the table of meanings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.reference.meanings import failed, means
from consilience.backends.shapes import Lengths
from consilience.ir import Node
from consilience.lower.matrix_equations import BandedLU, Solution, TriangularSylvester
from consilience.lower.matrix_functions import MOST_ROOTS, NEAR, RepeatedSquare, TriangularRoot
from consilience.ops.matrix_equations import (
    DiagonalSums,
    SolveBanded,
    SolveRiccati,
    SolveSylvester,
    ToeplitzInverse,
    ToeplitzInverseSums,
    ToeplitzSolve,
    TridiagonalLU,
    TridiagonalLUSolve,
)
from consilience.ops.matrix_functions import MatrixFunction, MatrixFunctionDerivative

Array = npt.NDArray[Any]


def _op(node: Node) -> Any:
    return node.op


def _each(function: Callable[..., Array], like: Array, *arrays: Array) -> Array:
    """A function of every matrix of a batch."""
    result = np.empty_like(like)
    for place in np.ndindex(like.shape[:-2] if like.size else 0):
        result[place] = function(*(a[place] for a in arrays))
    return result


@means(SolveSylvester)
def _sylvester(node: Node, lengths: Lengths, a: Array, b: Array, q: Array) -> Array:
    import scipy.linalg
    import scipy.linalg.lapack

    turn = _op(node).transposed
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise failed(node, "a matrix holds NaN or infinity")

    def solved(a: Array, b: Array, q: Array) -> Array:
        (r, u), (s, v) = scipy.linalg.schur(a), scipy.linalg.schur(b)
        kind = "T" if turn else "N"
        y, scale, info = scipy.linalg.lapack.dtrsyl(r, s, u.T @ q @ v, trana=kind, tranb=kind)
        if info or scale != 1:
            raise failed(node, "the equation A X + X B = Q has no unique solution: an eigenvalue of A is one of -B")
        return np.asarray(u @ y @ v.T)

    return _each(solved, q, a, b, q)


@means(TriangularSylvester)
def _triangular_sylvester(node: Node, lengths: Lengths, r: Array, s: Array, f: Array) -> Array:
    import scipy.linalg.lapack

    def solved(r: Array, s: Array, f: Array) -> Array:
        kinds = ("T" if _op(node).left else "N", "T" if _op(node).right else "N")
        y, scale, info = scipy.linalg.lapack.dtrsyl(r.T, s.T, f, trana=kinds[0], tranb=kinds[1])
        if info or scale != 1:
            raise failed(node, "the equation A X + X B = Q has no unique solution")
        return np.asarray(y)

    return _each(solved, f, r, s, f)


@means(SolveRiccati)
def _riccati(node: Node, lengths: Lengths, a: Array, g: Array, h: Array) -> Array:
    """By the stable invariant subspace of a pair of matrices."""
    import scipy.linalg

    def solved(a: Array, g: Array, h: Array) -> Array:
        n = len(a)
        one, zero = np.eye(n), np.zeros((n, n))
        if not all(np.isfinite(x).all() for x in (a, g, h)):
            raise failed(node, "a matrix holds NaN or infinity")
        pair = np.block([[a, zero], [-h, one]]), np.block([[one, g], [zero, a.T]])
        try:
            _, _, alpha, beta, _, z = scipy.linalg.ordqz(*pair, sort="iuc", output="real")
            x = np.linalg.solve(z[:n, :n].T, z[n:, :n].T)
        except (np.linalg.LinAlgError, ValueError):
            raise failed(node, "the Riccati equation has no stabilising solution") from None
        if (np.abs(alpha) < np.abs(beta)).sum() != n:
            raise failed(node, "the Riccati equation has no stabilising solution")
        return np.asarray((x + x.T) / 2)

    return _each(solved, a, a, g, h)


@means(Solution)
def _solution(node: Node, lengths: Lengths, x: Array, good: Array) -> Array:
    if not good.all():
        raise failed(node, "the Riccati equation has no stabilising solution")
    return x


@means(SolveBanded)
def _banded(node: Node, lengths: Lengths, bands: Array, b: Array) -> Array:
    import scipy.linalg

    def solved(bands: Array, b: Array) -> Array:
        try:
            return np.asarray(
                scipy.linalg.solve_banded((_op(node).below, _op(node).above), bands, b, check_finite=False)
            )
        except np.linalg.LinAlgError:
            raise failed(node, "the banded matrix is singular") from None

    return _each(solved, b, bands, b)


@means(TridiagonalLU)
def _tridiagonal_lu(node: Node, lengths: Lengths, bands: Array) -> list[Array]:
    import scipy.linalg.lapack

    n = bands.shape[-1]
    packed, exchanged = np.zeros((*bands.shape[:-2], 4, n)), np.ones((*bands.shape[:-2], n), "int32")
    for place in np.ndindex(bands.shape[:-2] if n else 0):
        above, main, below = bands[place]
        # SciPy wants three rows: two more that stand alone change nothing.
        more = np.concatenate([below[:-1], [0.0, 0.0]]), np.append(main, [1.0, 1.0]), np.append(above[1:], [0.0, 0.0])
        *rows, pivots, _ = scipy.linalg.lapack.dgttrf(*more)
        exchanged[place] = pivots[:n]
        for row, (values, missing) in enumerate(zip(rows, (1, 0, 1, 2), strict=True)):
            packed[place][row, : max(n - missing, 0)] = values[: max(n - missing, 0)]
    return [packed, exchanged]


@means(TridiagonalLUSolve)
def _tridiagonal_lu_solve(node: Node, lengths: Lengths, packed: Array, exchanged: Array, b: Array) -> Array:
    import scipy.linalg.lapack

    if (packed[..., 1, :] == 0).any():
        raise failed(node, "the tridiagonal matrix is singular")

    def solved(packed: Array, exchanged: Array, b: Array) -> Array:
        n, trans = len(b), "T" if _op(node).transposed else "N"
        low, main, high, highest = np.concatenate([packed, [[0.0] * 2, [1.0] * 2, [0.0] * 2, [0.0] * 2]], -1)
        rows, right = (
            np.append(exchanged, [n + 1, n + 2]).astype("int32"),
            np.concatenate([b, np.zeros((2, b.shape[1]))]),
        )
        x, _ = scipy.linalg.lapack.dgttrs(low[:-1], main, high[:-1], highest[:-2], rows, right, trans=trans)
        return np.asarray(x[:n])

    return _each(solved, b, packed, exchanged, b)


@means(BandedLU)
def _banded_lu(node: Node, lengths: Lengths, stored: Array, b: Array) -> Array:
    import scipy.linalg.lapack

    def solved(stored: Array, b: Array) -> Array:
        *_, x, info = scipy.linalg.lapack.dgbsv(_op(node).below, _op(node).above, stored.T, b.T)
        if info:
            raise failed(node, "the banded matrix is singular")
        return np.asarray(x.T)

    return _each(solved, b, stored, b)


@means(MatrixFunction)
def _matrix_function(node: Node, lengths: Lengths, x: Array) -> Array:
    import scipy.linalg

    kind = _op(node).kind
    if kind == "expm":
        return _each(scipy.linalg.expm, x, x)
    if not np.isfinite(x).all():
        raise failed(node, "the matrix holds NaN or infinity")

    def real(a: Array) -> Array:
        values = scipy.linalg.schur(a, output="complex")[0].diagonal()
        least = values.real[np.abs(values.imag) == 0.0].min(initial=1.0)
        if least < 0.0 or (kind == "logm" and np.abs(values).min() == 0.0):
            name = "logarithm" if kind == "logm" else "square root"
            raise failed(node, f"the matrix has no real principal {name}: an eigenvalue is {least:g}")
        if (np.abs(values) == 0.0).sum() > 1:
            raise failed(node, "the square root is not found where 0 is an eigenvalue more than once")
        return np.asarray(np.real(getattr(scipy.linalg, kind)(a)))

    return _each(real, x, x)


@means(MatrixFunctionDerivative)
def _derivative(node: Node, lengths: Lengths, a: Array, e: Array) -> Array:
    block = np.concatenate([np.concatenate([a, e], -1), np.concatenate([np.zeros_like(a), a], -1)], -2)
    n = a.shape[-1]
    return np.asarray(_matrix_function(node, lengths, block)[..., :n, n:])


@means(RepeatedSquare)
def _repeated_square(node: Node, lengths: Lengths, x: Array, counts: Array) -> Array:
    return _each(lambda a, count: np.linalg.matrix_power(a, 2 ** int(count)), x, x, counts)


@means(TriangularRoot)
def _triangular_root(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    import scipy.linalg

    root, counts = np.empty_like(x), np.ones(x.shape[:-2])
    for place in np.ndindex(x.shape[:-2] if x.size else 0):
        values = np.diag(x[place])
        if values.min(initial=1.0) < 0.0 and not np.any(np.diag(x[place], 1)):
            raise failed(node, "the matrix has no real principal root")
        found, count = (x[place], 0) if _op(node).repeated else (np.real(scipy.linalg.sqrtm(x[place])), 1)
        while _op(node).repeated and np.abs(found - np.eye(len(found))).sum(-1).max() > NEAR:
            found, count = np.real(scipy.linalg.sqrtm(found)), count + 1
            if count > MOST_ROOTS:
                raise failed(node, "the matrix has no real principal logarithm")
        root[place], counts[place] = found, count
    return [root, counts]


@means(ToeplitzInverse)
def _toeplitz_inverse(node: Node, lengths: Lengths, c: Array) -> Array:
    import scipy.linalg

    try:
        factor = np.linalg.cholesky(scipy.linalg.toeplitz(c))
    except np.linalg.LinAlgError:
        raise failed(node, "a Toeplitz matrix is not positive definite") from None
    first = scipy.linalg.cho_solve((factor, True), np.eye(1, len(c))[0])
    return np.stack([first, np.square(np.diagonal(factor))])


def _inverse(x: Array) -> Array:
    """The inverse of a Toeplitz matrix of the first column x: Gohberg and Semencul's formula."""
    import scipy.linalg

    rows = np.zeros(len(x))
    left, right = (scipy.linalg.toeplitz(column, rows) for column in (x, np.concatenate([[0.0], x[:0:-1]])))
    return np.asarray((left @ left.T - right @ right.T) / x[0])


@means(ToeplitzSolve)
def _toeplitz_solve(node: Node, lengths: Lengths, x: Array, b: Array) -> Array:
    return np.asarray(_inverse(x) @ b)


@means(ToeplitzInverseSums)
def _toeplitz_inverse_sums(node: Node, lengths: Lengths, x: Array) -> Array:
    return _sums(_inverse(x))


@means(DiagonalSums)
def _diagonal_sums(node: Node, lengths: Lengths, u: Array, v: Array) -> Array:
    return _sums(u @ v.T)


def _sums(matrix: Array) -> Array:
    both = matrix + matrix.T
    return np.array([np.trace(matrix), *(np.trace(both, k) for k in range(1, len(matrix)))])
