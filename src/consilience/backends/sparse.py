"""Products with sparse matrices in SciPy: rows of the table of meanings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.meanings import means
from consilience.backends.shapes import Lengths, static_shape
from consilience.errors import OutOfBoundsError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ops.sparse.products import SampledProduct, SparseProduct, TransposedSparseProduct, fits

Array = npt.NDArray[Any]


def _matrix(node: Node, entries: Array, columns: Array, begins: Array, width: int) -> Any:
    """SciPy's matrix, whose columns and beginnings of rows are checked."""
    import scipy.sparse

    if not fits(columns, begins, width):
        raise OutOfBoundsError(
            f"columns of entries must be from 0 to {width - 1} and rows must begin in order, from 0 to the number of "
            f"entries, {len(columns)}: {describe(node)}."
        )
    return scipy.sparse.csr_matrix((entries, columns, begins), shape=(len(begins) - 1, width))


@means(SparseProduct)
def _product(node: Node, lengths: Lengths, entries: Array, columns: Array, begins: Array, x: Array) -> Array:
    return np.asarray(_matrix(node, entries, columns, begins, len(x)) @ x)


@means(TransposedSparseProduct)
def _transposed(node: Node, lengths: Lengths, entries: Array, columns: Array, begins: Array, x: Array) -> Array:
    (length,) = static_shape((node.static_shape[0],), lengths)
    return np.asarray(_matrix(node, entries, columns, begins, length).T @ x)


@means(SampledProduct)
def _sampled(node: Node, lengths: Lengths, u: Array, v: Array, columns: Array, begins: Array) -> Array:
    _matrix(node, columns, columns, begins, len(v))
    rows = np.repeat(np.arange(len(u)), np.diff(begins))
    return np.asarray((u[rows] * v[columns]).sum(-1))
