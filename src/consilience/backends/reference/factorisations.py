"""Factorisations of matrices in NumPy and SciPy: rows of the table of meanings.

Where vectors may be turned, they are turned as the ops say, so that machine code finds the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.reference.meanings import failed, means
from consilience.backends.shapes import Lengths, static_shape
from consilience.ir import Node
from consilience.native.routines import NEARLY
from consilience.ops.factorisations import (
    LDL,
    LU,
    QR,
    SVD,
    ColumnOrder,
    ComplexSchur,
    Eig,
    Eigh,
    Eigvals,
    Eigvalsh,
    Householder,
    LeastSquares,
    PivotPermutation,
    PseudoInverse,
    Schur,
    SingularValues,
)

Array = npt.NDArray[Any]


def _turned(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def _checked(node: Node, x: Array) -> Array:
    if not np.isfinite(x).all():
        raise failed(node, "the matrix holds NaN or infinity")
    return x


def _symmetric(node: Node, x: Array, lower: bool = True) -> Array:
    low = np.tril(x) if lower else _turned(np.triu(x))
    return _checked(node, low + _turned(np.tril(low, -1)))


def _converged(node: Node, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    try:
        return function(*arguments, **keywords)
    except np.linalg.LinAlgError as error:
        raise failed(node, str(error)) from None


def _each(node: Node, lengths: Lengths, x: Array, function: Callable[[Array], Any]) -> list[Array]:
    """Results of a function for every matrix of a batch."""
    results = [np.zeros(static_shape(t.shape, lengths), t.dtype) for t in node.type.items]  # type: ignore[union-attr]  # of a tuple
    for place in np.ndindex(x.shape[:-2]):
        for result, value in zip(results, function(x[place]), strict=True):
            result[place] = value
    return results


def _signs(vectors: Array) -> Array:
    """What makes the leading elements of columns positive: the conjugates of their directions."""
    if not vectors.size:
        return np.ones((*vectors.shape[:-2], 1, vectors.shape[-1]))
    size = np.abs(vectors)
    first = np.argmax(size >= NEARLY * size.max(-2, keepdims=True), axis=-2, keepdims=True)
    leading = np.take_along_axis(vectors, first, -2)
    return np.where(leading == 0, 1.0, np.conj(leading) / np.where(leading == 0, 1.0, np.abs(leading)))


@means(Eigh)
def _eigh(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    values, vectors = _converged(node, np.linalg.eigh, _symmetric(node, x, node.op.lower))  # type: ignore[attr-defined]  # Eigh
    return [values, vectors * _signs(vectors)]


@means(Eigvalsh)
def _eigvalsh(node: Node, lengths: Lengths, x: Array) -> Array:
    return np.asarray(_converged(node, np.linalg.eigvalsh, _symmetric(node, x, node.op.lower)))  # type: ignore[attr-defined]  # Eigvalsh


@means(SVD)
def _svd(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    x, full = _checked(node, x), node.op.full  # type: ignore[attr-defined]  # SVD
    if x.shape[-2] > x.shape[-1]:
        u, s, v = _converged(node, np.linalg.svd, x, full_matrices=full)
    else:  # vectors without a singular value are any that fit: those of the transpose, as in machine code
        right, s, left = _converged(node, np.linalg.svd, _turned(x), full_matrices=full)
        u, v = _turned(left), _turned(right)
    k = s.shape[-1]
    u, v = u.copy(), v.copy()
    signs = _signs(u[..., :k])
    u[..., :k] *= signs
    v[..., :k, :] *= _turned(signs)
    return [u, s, v]


@means(SingularValues)
def _singular_values(node: Node, lengths: Lengths, x: Array) -> Array:
    return np.asarray(_converged(node, np.linalg.svd, _checked(node, x), compute_uv=False))


@means(QR)
def _qr(node: Node, lengths: Lengths, x: Array) -> Any:
    mode = node.op.mode  # type: ignore[attr-defined]  # QR
    if mode == "full":
        return list(np.linalg.qr(x, "complete"))
    return np.linalg.qr(x, "r") if mode == "r" else list(np.linalg.qr(x, "reduced"))


@means(ColumnOrder)
def _column_order(node: Node, lengths: Lengths, x: Array) -> Array:
    import scipy.linalg.lapack

    order = np.broadcast_to(np.arange(x.shape[-1]), (*x.shape[:-2], x.shape[-1])).copy()
    for place in np.ndindex(x.shape[:-2] if x.size else (0,)):
        order[place] = scipy.linalg.lapack.dgeqp3(x[place])[1] - 1
    return order


@means(Householder)
def _householder(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    packed, tau = np.linalg.qr(x, "raw")
    return [_turned(packed), tau]


@means(Eig)
def _eig(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    values, vectors = _converged(node, np.linalg.eig, _checked(node, x))
    vectors = vectors * _signs(vectors)
    return [np.real(values), np.imag(values), np.real(vectors), np.imag(vectors)]


@means(Eigvals)
def _eigvals(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    values = _converged(node, np.linalg.eigvals, _checked(node, x))
    return [np.real(values), np.imag(values)]


@means(LU)
def _lu(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    import scipy.linalg.lapack

    return _each(node, lengths, x, lambda a: scipy.linalg.lapack.dgetrf(a)[:2] if a.size else (a, []))


@means(PivotPermutation)
def _pivot_permutation(node: Node, lengths: Lengths, pivots: Array) -> Array:
    (length,) = static_shape((node.op.length,), lengths)  # type: ignore[attr-defined]  # PivotPermutation
    order = np.broadcast_to(np.arange(length), (*pivots.shape[:-1], length)).copy()
    for place in np.ndindex(pivots.shape[:-1]):
        exchanges = list(enumerate(pivots[place]))
        for i, j in exchanges[::-1] if node.op.inverse else exchanges:  # type: ignore[attr-defined]  # PivotPermutation
            if 0 <= j < length:
                order[place][[i, j]] = order[place][[j, i]]
    return order


@means(LDL)
def _ldl(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    import scipy.linalg

    return _each(node, lengths, _symmetric(node, x), scipy.linalg.ldl)


@means(Schur)
def _schur(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    import scipy.linalg

    return _each(node, lengths, _checked(node, x), lambda a: _converged(node, scipy.linalg.schur, a))


@means(ComplexSchur)
def _complex_schur(node: Node, lengths: Lengths, x: Array) -> list[Array]:
    import scipy.linalg

    def parts(a: Array) -> list[Array]:
        t, z = _converged(node, scipy.linalg.schur, a, output="complex")
        return [t.real, t.imag, z.real, z.imag]

    return _each(node, lengths, _checked(node, x), parts)


@means(PseudoInverse)
def _pseudo_inverse(node: Node, lengths: Lengths, x: Array, share: Array) -> Array:
    hermitian = node.op.hermitian  # type: ignore[attr-defined]  # PseudoInverse
    x = _symmetric(node, x) if hermitian else _checked(node, x)
    return np.asarray(_converged(node, np.linalg.pinv, x, share, hermitian=hermitian))


@means(LeastSquares)
def _least_squares(node: Node, lengths: Lengths, a: Array, b: Array, share: Array) -> Array:
    return np.asarray(_converged(node, np.linalg.pinv, _checked(node, a), share)) @ b
