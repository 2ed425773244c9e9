"""Products with sparse matrices: gathers and sums by row, which accelerators compute too.

Entries, columns and beginnings of rows in, matrices or entries out. Factors of sparse matrices are NumPy's.
"""

from __future__ import annotations

import math
from typing import Any

from consilience.engines.emitter.table import SHARED
from consilience.errors import Status
from consilience.lower.views import static
from consilience.ops.sparse.products import SampledProduct, SparseProduct, TransposedSparseProduct


def _places(run: Any, columns: Any, begins: Any, width: int) -> tuple[Any, Any]:
    """Row and column of each entry; columns and beginnings that are no matrix have no value."""
    xp, count = run.xp, columns.shape[0]
    run.failed((columns < 0) | (columns >= width), Status.OUT_OF_BOUNDS)
    lengths = xp.diff(begins)
    ordered = xp.all(lengths >= 0) & (begins[0] == 0) & (begins[-1] == count)
    run.failed(~ordered, Status.OUT_OF_BOUNDS)
    return xp.repeated_places(lengths, count), xp.positions(columns)


@SHARED(SparseProduct)
def _product(run: Any, node: Any, entries: Any, columns: Any, begins: Any, x: Any) -> Any:
    rows, places = _places(run, columns, begins, x.shape[0])
    return _summed(run, entries, x, places, rows, len(begins) - 1)


@SHARED(TransposedSparseProduct)
def _transposed(run: Any, node: Any, entries: Any, columns: Any, begins: Any, x: Any) -> Any:
    (length,) = static((node.op.length,))
    rows, places = _places(run, columns, begins, length)
    return _summed(run, entries, x, rows, places, length)


def _summed(run: Any, entries: Any, x: Any, taken: Any, at: Any, length: int) -> Any:
    """Rows of x times entries, summed at places."""
    if not math.prod(x.shape) * entries.shape[0]:
        return run.xp.zeros((length, x.shape[1]), x)
    return run.xp.summed_at(entries[:, None] * x[taken], at, length)


@SHARED(SampledProduct)
def _sampled(run: Any, node: Any, u: Any, v: Any, columns: Any, begins: Any) -> Any:
    rows, places = _places(run, columns, begins, v.shape[0])
    if not math.prod(u.shape) * math.prod(v.shape) * columns.shape[0]:
        return run.xp.zeros(columns.shape, u)
    return (u[rows] * v[places]).sum(-1)
