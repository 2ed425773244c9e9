"""Columns of a sparse matrix that one product with a vector tells apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from consilience.native.typed_python import Array, i32, i64, native

if TYPE_CHECKING:
    from scipy import sparse


def colours_of(pattern: sparse.csr_matrix) -> NDArray[np.int64]:
    """A colour for each column of a symmetric pattern, such that no row has entries in two columns of one colour.

    Greedy, in the order of the columns: Curtis, Powell and Reid (1974), On the estimation of sparse Jacobian matrices.
    """
    count = pattern.shape[0]
    colours = np.full(max(1, count), -1, np.int64)
    taken = np.full(count + 1, -1, np.int64)
    indices = np.append(pattern.indices, 0).astype(np.int32)
    _colour.compiled(pattern.indptr.astype(np.int64), indices, count, colours, taken)
    return colours[:count]


@native
def _colour(starts: Array[i64], indices: Array[i32], count: i64, colours: Array[i64], taken: Array[i64]) -> None:
    """`taken` tells of each colour the last column that could not have it."""
    for j in range(count):
        for k in range(starts[j], starts[j + 1]):
            row = i64(indices[k])
            for m in range(starts[row], starts[row + 1]):
                colour = colours[i64(indices[m])]
                if colour >= 0:
                    taken[colour] = j
        colour = 0
        while taken[colour] == j:
            colour += 1
        colours[j] = colour
