"""Products and factorisations of matrices in PyTorch.

Tensors in, tensors out. As in the other backends, symmetric factorisations read the lower triangle alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import linalg

from consilience.engines.torch.emit.meanings import TorchEvaluation, dtype_of, means, opaque
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
    return torch.diagonal(x, dim1=-2, dim2=-1)


def _factor(run: TorchEvaluation, x: Any) -> Any:
    """The lower Cholesky factor of a symmetric matrix, given by its lower triangle."""
    if not x.numel():
        return x
    found, info = linalg.cholesky_ex(torch.tril(x))
    run.failed((info != 0) | torch.isnan(_diagonal(found)).any(-1))
    return found


def _triangular(a: Any, b: Any, lower: bool, transposed: bool = False) -> Any:
    return linalg.solve_triangular(a.mT if transposed else a, b, upper=lower == transposed)


@means(MatMul)
def _matmul(run: TorchEvaluation, node: Any, a: Any, b: Any) -> Any:
    dtype = dtype_of(node)
    return opaque(run, node, a, b) if dtype == torch.bool else torch.matmul(a.to(dtype), b.to(dtype))


@means(Cholesky)
def _cholesky(run: TorchEvaluation, node: Any, x: Any) -> Any:
    return _factor(run, x)


@means(SolveTriangular)
def _solve_triangular(run: TorchEvaluation, node: Any, a: Any, b: Any) -> Any:
    if not b.numel():
        return b
    run.failed(_diagonal(a) == 0)
    return _triangular(a, b, node.op.lower, node.op.transposed)


@means(Solve)
def _solve(run: TorchEvaluation, node: Any, a: Any, b: Any) -> Any:
    if not b.numel():
        return b
    if node.op.assume == POSITIVE:
        factor = _factor(run, a)
        return _triangular(factor, _triangular(factor, b, True), True, True)
    found, info = linalg.solve_ex(a, b)
    run.failed(info != 0)
    return found


@means(InverseQuadratic)
def _inverse_quadratic(run: TorchEvaluation, node: Any, a: Any, b: Any) -> Any:
    if not b.numel():
        return b.new_zeros((*b.shape[:-2], b.shape[-1]))
    return torch.square(_triangular(_factor(run, a), b, True)).sum(-2)


@means(Inverse)
def _inverse(run: TorchEvaluation, node: Any, x: Any) -> Any:
    if not x.numel():
        return x
    if node.op.assume == POSITIVE:
        return torch.cholesky_inverse(_factor(run, x))
    found, info = linalg.inv_ex(x)
    run.failed(info != 0)
    return found


@means(LogAbsDet)
def _log_abs_det(run: TorchEvaluation, node: Any, x: Any) -> Any:
    if node.op.assume == POSITIVE:
        return 2 * torch.log(_diagonal(_factor(run, x))).sum(-1)
    return linalg.slogdet(x)[1]


@means(DetSign)
def _det_sign(run: TorchEvaluation, node: Any, x: Any) -> Any:
    return linalg.slogdet(x)[0]


@means(Det)
def _det(run: TorchEvaluation, node: Any, x: Any) -> Any:
    return linalg.det(x)
