"""Factorisations of matrices, the same in all engines of arrays.

As in the other backends, symmetric ones read the lower triangle alone.
"""

from __future__ import annotations

import math
from typing import Any

from consilience.engines.emitter.table import SHARED
from consilience.errors import Status
from consilience.ops import Cholesky, Det, DetSign, Inverse, InverseQuadratic, LogAbsDet, Solve, SolveTriangular

POSITIVE = "positive definite"


def _checked(run: Any, found: tuple[Any, Any]) -> Any:
    value, missing = found
    run.failed(missing, Status.FACTORISATION_FAILED)
    return value


def _factor(run: Any, x: Any) -> Any:
    """The lower Cholesky factor of a symmetric matrix, given by its lower triangle."""
    return _checked(run, run.xp.cholesky(x)) if math.prod(x.shape) else x


@SHARED(Cholesky)
def _cholesky(run: Any, node: Any, x: Any) -> Any:
    return _factor(run, x)


@SHARED(SolveTriangular)
def _solve_triangular(run: Any, node: Any, a: Any, b: Any) -> Any:
    if not math.prod(b.shape):
        return b
    run.failed(run.xp.diagonal(a) == 0, Status.FACTORISATION_FAILED)
    return run.xp.solve_triangular(a, b, node.op.lower, node.op.transposed)


@SHARED(Solve)
def _solve(run: Any, node: Any, a: Any, b: Any) -> Any:
    if not math.prod(b.shape):
        return b
    if node.op.assume != POSITIVE:
        return _checked(run, run.xp.solve(a, b))
    factor = _factor(run, a)
    return run.xp.solve_triangular(factor, run.xp.solve_triangular(factor, b, True, False), True, True)


@SHARED(InverseQuadratic)
def _inverse_quadratic(run: Any, node: Any, a: Any, b: Any) -> Any:
    half = run.xp.solve_triangular(_factor(run, a), b, True, False) if math.prod(b.shape) else b
    return (half * half).sum(-2)


@SHARED(Inverse)
def _inverse(run: Any, node: Any, x: Any) -> Any:
    if not math.prod(x.shape):
        return x
    return run.xp.cholesky_inverse(_factor(run, x)) if node.op.assume == POSITIVE else _checked(run, run.xp.inv(x))


@SHARED(LogAbsDet)
def _log_abs_det(run: Any, node: Any, x: Any) -> Any:
    if node.op.assume == POSITIVE:
        return 2 * run.xp.log(run.xp.diagonal(_factor(run, x))).sum(-1)
    return run.xp.slogdet(x)[1]


@SHARED(DetSign)
def _det_sign(run: Any, node: Any, x: Any) -> Any:
    return run.xp.slogdet(x)[0]


@SHARED(Det)
def _det(run: Any, node: Any, x: Any) -> Any:
    return run.xp.det(x)
