"""Products with sparse matrices in JAX: gathers and sums by row, which accelerators compute too.

Entries, columns and beginnings of rows in, matrices or entries out. Factors of sparse matrices are NumPy's.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from consilience.engines.jax.emit.meanings import JaxEvaluation, means
from consilience.errors import Status
from consilience.lower.views import static
from consilience.ops.sparse.products import SampledProduct, SparseProduct, TransposedSparseProduct


def _rows(run: JaxEvaluation, columns: Any, begins: Any, width: int) -> Any:
    """The row of each entry; columns and beginnings that are no matrix are noted."""
    count = columns.shape[0]
    run.failed((columns < 0) | (columns >= width), Status.OUT_OF_BOUNDS)
    ordered = jnp.all(jnp.diff(begins) >= 0) & (begins[0] == 0) & (begins[-1] == count)
    run.failed(~ordered, Status.OUT_OF_BOUNDS)
    return jnp.repeat(jnp.arange(len(begins) - 1), jnp.diff(begins), total_repeat_length=count)


@means(SparseProduct)
def _product(run: JaxEvaluation, node: Any, entries: Any, columns: Any, begins: Any, x: Any) -> Any:
    rows = _rows(run, columns, begins, x.shape[0])
    if not (x.size and entries.size):
        return jnp.zeros((len(begins) - 1, x.shape[1]), x.dtype)
    return jax.ops.segment_sum(entries[:, None] * x[columns], rows, len(begins) - 1, indices_are_sorted=True)


@means(TransposedSparseProduct)
def _transposed(run: JaxEvaluation, node: Any, entries: Any, columns: Any, begins: Any, x: Any) -> Any:
    (length,) = static((node.op.length,))
    rows = _rows(run, columns, begins, length)
    if not (x.size and entries.size):
        return jnp.zeros((length, x.shape[1]), x.dtype)
    return jax.ops.segment_sum(entries[:, None] * x[rows], columns, length)


@means(SampledProduct)
def _sampled(run: JaxEvaluation, node: Any, u: Any, v: Any, columns: Any, begins: Any) -> Any:
    rows = _rows(run, columns, begins, v.shape[0])
    if not (u.size and v.size and columns.size):
        return jnp.zeros(columns.shape, u.dtype)
    return (u[rows] * v[columns]).sum(-1)
