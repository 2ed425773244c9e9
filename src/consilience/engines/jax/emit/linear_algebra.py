"""Products and factorisations of matrices in JAX.

Arrays in, arrays out: NaN, and the status that says so, where a matrix is singular or not positive definite. As in the
other backends, symmetric factorisations read the lower triangle alone.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from consilience.engines.jax.emit.meanings import JaxEvaluation, means
from consilience.ops import (
    Cholesky,
    Det,
    DetSign,
    Inverse,
    InverseQuadratic,
    LogAbsDet,
    MatMul,
    Solve,
    SolveTriangular,
)

POSITIVE = "positive definite"


def _diagonal(x: Any) -> Any:
    return jnp.diagonal(x, axis1=-2, axis2=-1)


def _factor(run: JaxEvaluation, x: Any) -> Any:
    """The lower Cholesky factor of a symmetric matrix, given by its lower triangle."""
    if not x.size:
        return x
    low = jnp.tril(x)
    found = lax.linalg.cholesky(low + jnp.swapaxes(jnp.tril(x, -1), -1, -2), symmetrize_input=False)
    run.failed(jnp.isnan(_diagonal(found)))
    return jnp.tril(found)


def _triangular(a: Any, b: Any, lower: bool, transposed: bool = False) -> Any:
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=transposed)


def _nonsingular(run: JaxEvaluation, x: Any) -> None:
    run.failed(jnp.linalg.slogdet(x)[0] == 0)


@means(MatMul)
def _matmul(run: JaxEvaluation, node: Any, a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


@means(Cholesky)
def _cholesky(run: JaxEvaluation, node: Any, x: Any) -> Any:
    return _factor(run, x)


@means(SolveTriangular)
def _solve_triangular(run: JaxEvaluation, node: Any, a: Any, b: Any) -> Any:
    if not b.size:
        return b
    run.failed(_diagonal(a) == 0)
    return _triangular(a, b, node.op.lower, node.op.transposed)


@means(Solve)
def _solve(run: JaxEvaluation, node: Any, a: Any, b: Any) -> Any:
    if not b.size:
        return b
    if node.op.assume == POSITIVE:
        factor = _factor(run, a)
        return _triangular(factor, _triangular(factor, b, True), True, True)
    _nonsingular(run, a)
    return jnp.linalg.solve(a, b)


@means(InverseQuadratic)
def _inverse_quadratic(run: JaxEvaluation, node: Any, a: Any, b: Any) -> Any:
    if not b.size:
        return jnp.zeros((*b.shape[:-2], b.shape[-1]), b.dtype)
    return jnp.square(_triangular(_factor(run, a), b, True)).sum(-2)


@means(Inverse)
def _inverse(run: JaxEvaluation, node: Any, x: Any) -> Any:
    if not x.size:
        return x
    if node.op.assume == POSITIVE:
        factor = _factor(run, x)
        half = _triangular(factor, jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape), True)
        return jnp.matmul(jnp.swapaxes(half, -1, -2), half)
    _nonsingular(run, x)
    return jnp.linalg.inv(x)


@means(LogAbsDet)
def _log_abs_det(run: JaxEvaluation, node: Any, x: Any) -> Any:
    if node.op.assume == POSITIVE:
        return 2 * jnp.log(_diagonal(_factor(run, x))).sum(-1)
    return jnp.linalg.slogdet(x)[1]


@means(DetSign)
def _det_sign(run: JaxEvaluation, node: Any, x: Any) -> Any:
    return jnp.linalg.slogdet(x)[0]


@means(Det)
def _det(run: JaxEvaluation, node: Any, x: Any) -> Any:
    return jnp.linalg.det(x)
