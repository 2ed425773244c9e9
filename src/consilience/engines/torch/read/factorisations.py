"""PyTorch's factorisations and solves: operands of an ATen op in, tensors of ours out.

Results that only PyTorch's own derivatives need (factors kept beside a solution, counts of failures) are None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.torch.read.ops import rule
from consilience.errors import MissingRuleError


def _turned(x: Any) -> Any:
    return pt.swapaxes(x, -1, -2)


@rule("_linalg_solve_ex")
def _solve(a: Any, b: Any, *, left: bool = True, **_: Any) -> list[Any]:
    """`b` is a vector, or a batch of them, where its shape is that of `a` less the last axis."""
    vectors = b.ndim == 1 or (b.ndim == a.ndim - 1 and tuple(b.static_shape) == tuple(a.static_shape[:-1]))
    if vectors:
        return [pt.linalg.solve(a, b[..., None])[..., 0], None, None, None]
    found = pt.linalg.solve(a, b) if left else _turned(pt.linalg.solve(_turned(a), _turned(b)))
    return [found, None, None, None]


@rule("linalg_inv_ex")
def _inverse(x: Any, **_: Any) -> list[Any]:
    return [pt.linalg.inv(x), None]


@rule("_linalg_det")
def _determinant(x: Any) -> list[Any]:
    return [pt.linalg.det(x), None, None]


@rule("_linalg_slogdet")
def _log_determinant(x: Any) -> list[Any]:
    return [*pt.linalg.slogdet(x), None, None]


@rule("_linalg_eigh")
def _eigh(x: Any, uplo: str = "L", compute_v: bool = True) -> list[Any]:
    return list(pt.linalg.eigh(x, UPLO=uplo))


@rule("_linalg_svd")
def _svd(x: Any, full_matrices: bool = False, compute_uv: bool = True, **_: Any) -> list[Any]:
    if not compute_uv:
        return [None, pt.linalg.svd(x, compute_uv=False), None]
    return list(pt.linalg.svd(x, full_matrices=full_matrices))


@rule("linalg_qr")
def _qr(x: Any, mode: str = "reduced") -> list[Any]:
    if mode == "r":
        return [None, pt.linalg.qr(x, mode="economic")[1]]
    return list(pt.linalg.qr(x, mode="economic" if mode == "reduced" else "full"))


@rule("linalg_pinv")
def _pinv(x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    if any(v is not None for v in (atol, rtol)):
        raise MissingRuleError("PyTorch's `linalg_pinv` with a tolerance has no translation.")
    return pt.linalg.pinv(x, hermitian=hermitian)


@rule("linalg_matrix_exp", "matrix_exp")
def _exponential(x: Any) -> Any:
    return pt.linalg.expm(x)


@rule("cholesky_inverse")
def _cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    low = _turned(factor) if upper else factor
    half = pt.linalg.solve_triangular(low, pt.broadcast_to(pt.eye(low.static_shape[-1]), low.static_shape), lower=True)
    return pt.matmul(_turned(half), half)


@rule("linalg_lu_factor_ex")
def _lu_factor(x: Any, **_: Any) -> list[Any]:
    """Its row exchanges are counted from 1."""
    factors, exchanged = pt.linalg.lu_factor(x)
    return [factors, exchanged + 1, pt.constant(np.zeros(x.static_shape[:-2], "int32"))]


@rule("linalg_lu_solve")
def _lu_solve(factors: Any, exchanged: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    if not left:
        return _turned(_lu_solve(factors, exchanged, _turned(b), adjoint=not adjoint))
    return pt.linalg.lu_solve((factors, exchanged - 1), b, trans=adjoint)
