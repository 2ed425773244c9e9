"""PyTorch's functions as the shared rules call them (`emitter`): solutions, for one, with where there is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import torch
from torch import linalg


def _diagonal(x: Any) -> Any:
    return torch.diagonal(x, dim1=-2, dim2=-1)


def _cholesky(x: Any) -> tuple[Any, Any]:
    found, info = linalg.cholesky_ex(torch.tril(x))
    return found, (info != 0) | torch.isnan(_diagonal(found)).any(-1)


def _known(found: tuple[Any, Any]) -> tuple[Any, Any]:
    return found[0], found[1] != 0


XP: Final = SimpleNamespace(
    **{
        name: getattr(torch, name)
        for name in ["all", "broadcast_to", "cos", "diff", "floor", "log", "sin", "sqrt", "where"]
    },
    cholesky=_cholesky,
    cholesky_inverse=torch.cholesky_inverse,
    det=linalg.det,
    diagonal=_diagonal,
    double=lambda x: x.to(torch.float64),
    inv=lambda x: _known(linalg.inv_ex(x)),
    permute_dims=torch.permute,
    positions=lambda x: x.to(torch.int64),  # integers as PyTorch indexes by them
    repeated_places=lambda counts, _: torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts),
    slogdet=linalg.slogdet,
    solve=lambda a, b: _known(linalg.solve_ex(a, b)),
    solve_triangular=lambda a, b, lower, transposed: linalg.solve_triangular(
        a.mT if transposed else a, b, upper=lower == transposed
    ),
    summed_at=lambda rows, places, n: rows.new_zeros((n, *rows.shape[1:])).index_add_(0, places, rows),
    zeros=lambda shape, like: like.new_zeros(shape),
)
