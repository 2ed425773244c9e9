"""Coordinates in which a precision is the identity: u = L' x for a sparse Cholesky factor L of it.

A factor enters, as a message and as native code uses it; products with it and solutions leave. Where the precision
comes from is known elsewhere (`curvature`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from consilience.native.typed_python import Array, NativeFunction, f64, i32, i64, native, record
from consilience.record import Record


class Whitener(Record, eq=False):
    """A sparse Cholesky factor L of a precision, L L' = P, by columns in the order of elimination.

    Rows and columns keep the numbers of their coordinates.

    columns (ndarray): Coordinate of each column, in order, int64 (coordinate,).
    starts (ndarray): Of the columns in `rows` and `entries`, int64 (coordinate + 1,).
    rows (ndarray): Coordinates below the diagonal, each later in the order than its column, int32.
    entries (ndarray): Float64, like `rows`.
    diagonal (ndarray): Of each coordinate, positive, float64 (coordinate,).
    """

    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    entries: NDArray[np.float64]
    diagonal: NDArray[np.float64]

    def __post_init__(self) -> None:
        for array in (self.columns, self.starts, self.rows, self.entries, self.diagonal):
            array.setflags(write=False)  # chains and their snapshots share it

    def seen(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points (point, coordinate) in the new coordinates: L' x."""
        return self._each(_into_white, points)

    def slopes(self, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gradients (point, coordinate) along the new coordinates: L^-1 g."""
        return self._each(_whiten_slopes, gradients)

    def _each(self, function: NativeFunction[..., None], points: NDArray[np.float64]) -> NDArray[np.float64]:
        result = np.array(points, dtype=np.float64, order="C")
        whitening = whitening_of(self)
        function.compiled(whitening, result.reshape(-1), len(result))
        return result


@record
class Whitening:
    """The factor as native code uses it; `dimension` 0 where there is none.

    inverse (Array): Of the diagonal.
    """

    dimension: i64
    columns: Array[i64]
    starts: Array[i64]
    rows: Array[i32]
    entries: Array[f64]
    diagonal: Array[f64]
    inverse: Array[f64]


def whitening_of(factor: Whitener | None) -> Whitening:
    """The factor for native code; it shares the memory of the message."""
    if factor is None:
        nothing, number = np.zeros(1), np.zeros(1, np.int64)
        return Whitening(0, number, number, np.zeros(1, np.int32), nothing, nothing, nothing)
    rows, entries = (np.append(a, a.dtype.type(0)) if not len(a) else a for a in (factor.rows, factor.entries))
    return Whitening(
        len(factor.columns), factor.columns, factor.starts, rows, entries, factor.diagonal, 1.0 / factor.diagonal
    )


def whitener_in(whitening: Whitening) -> Whitener | None:
    """The factor of native code as a message."""
    if not whitening.dimension:
        return None
    count = int(whitening.starts[-1])
    return Whitener(
        np.asarray(whitening.columns),
        np.asarray(whitening.starts),
        np.asarray(whitening.rows)[:count],
        np.asarray(whitening.entries)[:count],
        np.asarray(whitening.diagonal),
    )


@native(contract=True)
def solve_lower(factor: Whitening, vector: Array[f64]) -> None:
    """vector = L^-1 vector, in place."""
    for j in range(factor.dimension):
        column = factor.columns[j]
        value = vector[column] * factor.inverse[column]
        vector[column] = value
        for k in range(factor.starts[j], factor.starts[j + 1]):
            row = i64(factor.rows[k])
            vector[row] = vector[row] - factor.entries[k] * value


@native(contract=True)
def solve_upper(factor: Whitening, vector: Array[f64]) -> None:
    """vector = L'^-1 vector, in place."""
    for back in range(factor.dimension):
        j = factor.dimension - 1 - back
        column = factor.columns[j]
        value = vector[column]
        for k in range(factor.starts[j], factor.starts[j + 1]):
            value -= factor.entries[k] * vector[i64(factor.rows[k])]
        vector[column] = value * factor.inverse[column]


@native(contract=True)
def times_lower(factor: Whitening, vector: Array[f64]) -> None:
    """vector = L vector, in place."""
    for back in range(factor.dimension):
        j = factor.dimension - 1 - back
        column = factor.columns[j]
        value = vector[column]
        vector[column] = value * factor.diagonal[column]
        for k in range(factor.starts[j], factor.starts[j + 1]):
            row = i64(factor.rows[k])
            vector[row] = vector[row] + factor.entries[k] * value


@native(rare=True, contract=True)
def _into_white(factor: Whitening, points: Array[f64], count: i64) -> None:
    """Each point p becomes L' p."""
    for point in range(count):
        vector = points[point * factor.dimension :]
        for j in range(factor.dimension):  # what is later in the order is not written yet
            column = factor.columns[j]
            value = vector[column] * factor.diagonal[column]
            for k in range(factor.starts[j], factor.starts[j + 1]):
                value += factor.entries[k] * vector[i64(factor.rows[k])]
            vector[column] = value


@native(rare=True)
def _whiten_slopes(factor: Whitening, points: Array[f64], count: i64) -> None:
    """Each gradient g becomes L^-1 g."""
    for point in range(count):
        solve_lower(factor, points[point * factor.dimension :])
