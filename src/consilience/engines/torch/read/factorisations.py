"""PyTorch's factorisations and solves: operands of an ATen op in, tensors of ours out.

Results that only PyTorch's own derivatives need (factors kept beside a solution, counts of failures) are None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.axes import swapped
from consilience.engines.reader.lax import lax
from consilience.engines.reader.rules import Rule, listed
from consilience.engines.torch.read.ops import RULES
from consilience.errors import MissingRuleError
from consilience.rewrite.facts import assume


def _symmetric(x: Any) -> Any:
    """A matrix that PyTorch needs to be symmetric: its slopes are symmetric, too."""
    return assume(x, symmetric=True)


@RULES("linalg_cholesky_ex")
def _cholesky(x: Any, *, upper: bool = False, **_: Any) -> list[Any]:
    """The factor, and a count of failures, which is 0: a matrix that is not positive definite gives NaN."""
    return [lax("cholesky", _symmetric(x), lower=not upper), pt.constant(np.zeros(x.static_shape[:-2], "int32"))]


@RULES("linalg_solve_triangular")
def _solve_triangular(a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    return lax(
        "triangular_solve", a, b, left_side=left, lower=not upper, transpose_a=False, unit_diagonal=unitriangular
    )


@RULES("triangular_solve")
def _older_solve_triangular(
    b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> list[Any]:
    own, upper = (swapped(a), not upper) if transpose else (a, upper)
    return [_solve_triangular(own, b, upper=upper, unitriangular=unitriangular), a]


@RULES("cholesky_solve")
def _cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    lower = swapped(factor) if upper else factor
    return _solve_triangular(swapped(lower), _solve_triangular(lower, b, upper=False), upper=True)


def _beside(count: int) -> Callable[[Rule], Rule]:
    """A function here whose results PyTorch has with others beside them."""

    def form(function: Rule) -> Rule:
        return lambda x, **_: (found := listed(function(x))) + [None] * (count - len(found))

    return form


RULES.rows({"linalg_inv_ex": "linalg.inv"}, _beside(2))
RULES.rows({"_linalg_det": "linalg.det"}, _beside(3))
RULES.rows({"_linalg_slogdet": "linalg.slogdet"}, _beside(4))
RULES.rows({"linalg_matrix_exp": "linalg.expm", "matrix_exp": "linalg.expm"})


@RULES("_linalg_solve_ex")
def _solve(a: Any, b: Any, *, left: bool = True, **_: Any) -> list[Any]:
    """`b` is a vector, or a batch of them, where its shape is that of `a` less the last axis."""
    vectors = b.ndim == 1 or (b.ndim == a.ndim - 1 and tuple(b.static_shape) == tuple(a.static_shape[:-1]))
    if vectors:
        return [pt.linalg.solve(a, b[..., None])[..., 0], None, None, None]
    found = pt.linalg.solve(a, b) if left else swapped(pt.linalg.solve(swapped(a), swapped(b)))
    return [found, None, None, None]


@RULES("_linalg_eigh")
def _eigh(x: Any, uplo: str = "L", compute_v: bool = True) -> list[Any]:
    return list(pt.linalg.eigh(_symmetric(x), UPLO=uplo))


@RULES("_linalg_svd")
def _svd(x: Any, full_matrices: bool = False, compute_uv: bool = True, **_: Any) -> list[Any]:
    if not compute_uv:
        return [None, pt.linalg.svd(x, compute_uv=False), None]
    return list(pt.linalg.svd(x, full_matrices=full_matrices))


@RULES("linalg_qr")
def _qr(x: Any, mode: str = "reduced") -> list[Any]:
    if mode == "r":
        return [None, pt.linalg.qr(x, mode="economic")[1]]
    return list(pt.linalg.qr(x, mode="economic" if mode == "reduced" else "full"))


@RULES("linalg_pinv")
def _pinv(x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    if any(v is not None for v in (atol, rtol)):
        raise MissingRuleError("PyTorch's `linalg_pinv` with a tolerance has no translation.")
    return pt.linalg.pinv(x, hermitian=hermitian)


@RULES("cholesky_inverse")
def _cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    lower = swapped(factor) if upper else factor
    half = _solve_triangular(lower, pt.broadcast_to(pt.eye(lower.static_shape[-1]), lower.static_shape), upper=False)
    return pt.matmul(swapped(half), half)


@RULES("linalg_lu_factor_ex")
def _lu_factor(x: Any, **_: Any) -> list[Any]:
    """Its row exchanges are counted from 1."""
    factors, exchanged = pt.linalg.lu_factor(x)
    return [factors, exchanged + 1, pt.constant(np.zeros(x.static_shape[:-2], "int32"))]


@RULES("linalg_lu_solve")
def _lu_solve(factors: Any, exchanged: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    if not left:
        return swapped(_lu_solve(factors, exchanged, swapped(b), adjoint=not adjoint))
    return pt.linalg.lu_solve((factors, exchanged - 1), b, trans=adjoint)
