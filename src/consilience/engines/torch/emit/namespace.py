"""PyTorch's functions as the shared rules call them (`emitter`)."""

from __future__ import annotations

from typing import Any

import torch
from torch import all as all
from torch import broadcast_to as broadcast_to
from torch import cholesky_inverse as cholesky_inverse
from torch import cos as cos
from torch import diff as diff
from torch import floor as floor
from torch import linalg
from torch import log as log
from torch import permute as permute_dims
from torch import sin as sin
from torch import sqrt as sqrt
from torch import where as where
from torch.linalg import det as det
from torch.linalg import slogdet as slogdet

__all__ = ["permute_dims"]


def double(x: Any) -> Any:
    """In float64."""
    return x.to(torch.float64)


def zeros(shape: tuple[int, ...], like: Any) -> Any:
    """Zeros of the dtype and device of a tensor."""
    return like.new_zeros(shape)


def positions(x: Any) -> Any:
    """Integers as PyTorch indexes by them."""
    return x.to(torch.int64)


def repeated_places(counts: Any, total: int) -> Any:
    """Each place as often as its count says."""
    return torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)


def summed_at(rows: Any, places: Any, length: int) -> Any:
    """Rows summed by their places."""
    return rows.new_zeros((length, *rows.shape[1:])).index_add_(0, places, rows)


def diagonal(x: Any) -> Any:
    """Of each matrix."""
    return torch.diagonal(x, dim1=-2, dim2=-1)


def cholesky(x: Any) -> tuple[Any, Any]:
    """The lower factor of a symmetric matrix given by its lower triangle, and where there is none."""
    found, info = linalg.cholesky_ex(torch.tril(x))
    return found, (info != 0) | torch.isnan(diagonal(found)).any(-1)


def solve_triangular(a: Any, b: Any, lower: bool, transposed: bool) -> Any:
    """x of a x = b, or of the transpose of a."""
    return linalg.solve_triangular(a.mT if transposed else a, b, upper=lower == transposed)


def solve(a: Any, b: Any) -> tuple[Any, Any]:
    """x of a x = b, and where there is none."""
    found, info = linalg.solve_ex(a, b)
    return found, info != 0


def inv(x: Any) -> tuple[Any, Any]:
    """The inverse, and where there is none."""
    found, info = linalg.inv_ex(x)
    return found, info != 0
