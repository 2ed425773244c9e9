"""Triangular factors of known columns: what a sum over rows of squares of linear forms needs to know of the rows.

Columns over rows in, R out with |A x| = |R x| for every x. Nothing is squared, so nothing cancels: A'A is never formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.native.blas import single_threaded

Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]

# Elements of a block of rows, which stays in a core's own memory.
BLOCK: Final = 1 << 15
# Columns up to which all cells are worked on together.
FEW: Final = 8


class RowColumns:
    """Known columns (row, column), made block by block of what they are written as.

    `rows`: number of rows. `parts`: vectors and matrices over the rows, of any kind of number. `scale`: multiplies all
    columns of a row.
    """

    def __init__(self, rows: int, parts: Sequence[npt.NDArray[Any]], scale: Floats | None) -> None:
        self.rows = rows
        self._parts = parts
        self._scale = scale
        self.count = sum(1 if part.ndim == 1 else part.shape[1] for part in parts)

    def block(self, rows: slice | Places) -> Floats:
        """Some of the rows."""
        parts = [part[rows].reshape(-1, 1) if part.ndim == 1 else part[rows] for part in self._parts]
        joined: Floats = np.concatenate([part.astype(float, copy=False) for part in parts], axis=1)
        return joined if self._scale is None else joined * self._scale[rows, None]

    def slices(self) -> list[slice]:
        """Blocks of all rows."""
        return [slice(start, start + self.step) for start in range(0, self.rows, self.step)]

    @property
    def step(self) -> int:
        """Rows of a block."""
        return max(BLOCK // max(1, self.count), 4 * self.count)


def triangular(columns: RowColumns, order: Places | None = None) -> Floats:
    """R (column, column) of a QR decomposition, of some rows where an order of these is given; its signs are any."""
    count = columns.count
    if order is None:
        blocks: list[slice | Places] = list(columns.slices())
    else:
        blocks = [order[start : start + columns.step] for start in range(0, len(order), columns.step)]
    found = np.zeros((0, count))
    # Threads of BLAS take longer to meet at such blocks than to work on them.
    with single_threaded() if len(blocks) > 1 else nullcontext():
        for rows in blocks:
            found = np.asarray(np.linalg.qr(np.concatenate([found, columns.block(rows)]), mode="r"))
    return np.concatenate([found, np.zeros((count - len(found), count))]) if len(found) < count else found


def triangular_of_cells(columns: RowColumns, cell: Places, cells: int) -> Floats:
    """R (cell, column, column) of the rows of each cell."""
    if columns.count <= FEW:
        return _orthogonal(columns, cell, cells)[1]
    order = np.argsort(cell, kind="stable")
    ends = np.cumsum(np.bincount(cell, minlength=cells))
    starts = [0, *ends[:-1]]
    return np.stack([triangular(columns, order[a:b]) for a, b in zip(starts, ends, strict=True)])


def eliminated(own: RowColumns, rest: RowColumns, cell: Places, cells: int) -> tuple[Floats, Floats, Floats]:
    """The columns with coefficients of their own in each cell, eliminated from those that all rows share.

    `own`: a few; `rest`: others over the same rows. `cell`: of each row, int64, from 0 to `cells` - 1. Returns: R
    (cell, own, own) and S (cell, own, rest) and T (rest, rest): |own x + rest y|² is the sum over the cells of |R x + S
    y|², plus |T y|², with x the coefficients in the cell.
    """
    q, r = _orthogonal(own, cell, cells)
    s = np.zeros((cells, own.count, rest.count))
    for rows in rest.slices():
        block = rest.block(rows)
        for i, direction in enumerate(q):
            for column in range(rest.count):
                s[:, i, column] += np.bincount(cell[rows], direction[rows] * block[:, column], cells)
    return r, s, triangular(_Remainder(rest, q, s, cell))


def _orthogonal(columns: RowColumns, cell: Places, cells: int) -> tuple[Floats, Floats]:
    """Columns made orthonormal in each cell (column, row), and R (cell, column, column)."""
    q = columns.block(slice(None)).T.copy()
    r = np.zeros((cells, len(q), len(q)))
    for j in range(len(q)):
        # Gram-Schmidt, twice: columns that nearly depend on each other stay orthogonal. What the second time takes away
        # again is rounding: the column depends on those before it.
        norms = []
        for _ in range(2):
            for i in range(j):
                along = np.bincount(cell, q[i] * q[j], cells)
                r[:, i, j] += along
                q[j] -= q[i] * along[cell]
            norms.append(np.sqrt(np.bincount(cell, q[j] * q[j], cells)))
        own = (norms[-1] > 0.5 * norms[0]) & (norms[-1] > 0)
        r[own, j, j] = norms[-1][own]
        q[j] *= np.where(own, 1.0 / np.where(own, norms[-1], 1.0), 0.0)[cell]
    return q, r


class _Remainder(RowColumns):
    """Columns without their projection on others that are orthogonal in each cell."""

    def __init__(self, columns: RowColumns, orthogonal: Floats, along: Floats, cell: Places) -> None:
        super().__init__(columns.rows, (), None)
        self._columns, self._orthogonal, self._along, self._cell = columns, orthogonal, along, cell
        self.count = columns.count

    def block(self, rows: slice | Places) -> Floats:
        found = self._columns.block(rows)
        for i, q in enumerate(self._orthogonal):
            found -= q[rows, None] * self._along[self._cell[rows], i]
        return found


__all__ = ["RowColumns", "eliminated", "triangular", "triangular_of_cells"]
