"""Products with sparse matrices in PyTorch: gathers and sums by row, which accelerators compute too.

Entries, columns and beginnings of rows in, matrices or entries out. Factors of sparse matrices are NumPy's.
"""

from __future__ import annotations

from typing import Any

import torch

from consilience.engines.torch.emit.meanings import TorchEvaluation, means
from consilience.lower.views import static
from consilience.ops.sparse.products import SampledProduct, SparseProduct, TransposedSparseProduct


def _rows(run: TorchEvaluation, columns: Any, begins: Any, width: int) -> Any:
    """The row of each entry. Raises NoValueError where columns and beginnings are no matrix."""
    run.failed((columns < 0) | (columns >= width))
    lengths = torch.diff(begins)
    run.failed((lengths < 0).any() | (begins[0] != 0) | (begins[-1] != len(columns)))
    return torch.repeat_interleave(torch.arange(len(lengths), device=run.device), lengths)


@means(SparseProduct)
def _product(run: TorchEvaluation, node: Any, entries: Any, columns: Any, begins: Any, x: Any) -> Any:
    rows = _rows(run, columns, begins, x.shape[0])
    found = x.new_zeros((len(begins) - 1, x.shape[1]))
    return found.index_add_(0, rows, entries[:, None] * x[columns.to(torch.int64)])


@means(TransposedSparseProduct)
def _transposed(run: TorchEvaluation, node: Any, entries: Any, columns: Any, begins: Any, x: Any) -> Any:
    (length,) = static((node.op.length,))
    rows = _rows(run, columns, begins, length)
    return x.new_zeros((length, x.shape[1])).index_add_(0, columns.to(torch.int64), entries[:, None] * x[rows])


@means(SampledProduct)
def _sampled(run: TorchEvaluation, node: Any, u: Any, v: Any, columns: Any, begins: Any) -> Any:
    rows = _rows(run, columns, begins, v.shape[0])
    return (u[rows] * v[columns.to(torch.int64)]).sum(-1)
