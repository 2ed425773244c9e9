"""Sparse symmetric matrices known through their products with vectors: which products, and their Cholesky factors.

A pattern of entries in; an ordering with narrow band and few full columns, vectors whose products with the matrix tell
all entries, and factors of such matrices out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy import sparse

from consilience.estimators.inla.band_inverse import invert_band
from consilience.native.colouring import colours_of
from consilience.record import Record

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
MOST_FULL: Final = 64  # columns that may be left out of the band
CHUNK: Final = 256  # columns of an inverse at once


class Structure(Record, eq=False):
    """Where a symmetric n x n matrix has entries, and how they are found from its products with `seeds`.

    `seeds`: float64[products, n]; the columns that one of them adds up have no common rows.
    `probes`: minus the seeds, and minus a vector of normal numbers that tells whether entries are missing.
    `rows`, `columns`, `products`: of the entries that are read from the products: the matrix has products[p][r] at (r,
        c); int64, once or twice for every place of the pattern.
    `full`: columns outside of the band, int64.
    `order`: the other columns in the order of the band, int64.
    `width`: entries beside the diagonal in the band.
    `band`: of the entries in the band: their numbers, and their places in the array that LAPACK takes.
    `border`: of the entries in full columns and rows of the band, likewise.
    `corner`: of the entries in full columns and full rows, likewise.
    """

    seeds: Floats
    probes: Floats
    rows: Integers
    columns: Integers
    products: Integers
    full: Integers
    order: Integers
    width: int
    band: tuple[Integers, Integers, Integers]
    border: tuple[Integers, Integers, Integers]
    corner: tuple[Integers, Integers, Integers]

    @property
    def size(self) -> int:
        """Number of columns."""
        return int(self.seeds.shape[1])

    def entries(self, products: Floats) -> Floats:
        """The entries (rows, columns) of a matrix from its products with the seeds, float64[products, n]."""
        return np.asarray(products[self.products, self.rows])

    def times(self, entries: Floats, vector: Floats) -> Floats:
        """The product of the matrix with a vector."""
        result = np.bincount(self.rows, entries * vector[self.columns], self.size)
        mirrored = self._mirrored
        if len(mirrored):
            result += np.bincount(self.columns[mirrored], (entries * vector[self.rows])[mirrored], self.size)
        return np.asarray(result)

    @property
    def _mirrored(self) -> Integers:
        """Entries read below the diagonal only."""
        return self.border[0]

    def weights(self, selected: Floats) -> Floats:
        """Vectors m_c with sum_c m_c' A seeds_c = sum of all A_ij S_ij, for a symmetric S known at the entries."""
        result = np.zeros_like(self.seeds)
        counts = np.ones(len(selected))
        counts[self._mirrored] = 2.0
        result[self.products, self.rows] = counts * selected
        return result


def structure_of(pattern: sparse.csr_matrix) -> Structure:
    """The cheapest structure for a symmetric pattern with a full diagonal."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = pattern.shape[0]
    degrees = np.diff(pattern.indptr)
    by_degree = np.argsort(-degrees, kind="stable")
    best: tuple[float, Integers, Integers, int] = (n**3 / 3.0, np.arange(n), np.zeros(0, np.int64), 0)
    # Full columns are those of the highest degrees: only where the degree falls is it worth to look.
    falls = [0, *(np.flatnonzero(np.diff(degrees[by_degree])) + 1)]
    for count in [c for c in falls if c <= min(n - 1, MOST_FULL)][:8]:
        full, rest = np.sort(by_degree[:count]), np.sort(by_degree[count:])
        inner = pattern[rest][:, rest].tocsr()
        own = np.asarray(reverse_cuthill_mckee(inner, symmetric_mode=True), np.int64)
        place = np.argsort(own)
        coo = inner.tocoo()
        width = int(np.abs(place[coo.row] - place[coo.col]).max())
        cost = float(n) * (width + 1 + count) ** 2
        if cost < best[0]:
            best = (cost, full, rest[own], width)
    _, full, order, width = best
    return _arranged(pattern, full.astype(np.int64), order.astype(np.int64), width)


def _arranged(pattern: sparse.csr_matrix, full: Integers, order: Integers, width: int) -> Structure:
    n = pattern.shape[0]
    inner = pattern[order][:, order].tocsr()
    colours = colours_of(inner)
    count = int(colours.max()) + 1 if len(order) else 0
    product = np.empty(n, np.int64)  # in which a column is found
    product[order] = colours
    product[full] = count + np.arange(len(full))
    seeds = np.zeros((count + len(full), n))
    seeds[product, np.arange(n)] = 1.0
    is_full = np.zeros(n, bool)
    is_full[full] = True
    place = np.empty(n, np.int64)
    place[order], place[full] = np.arange(len(order)), np.arange(len(full))
    coo = pattern.tocoo()
    keep = ~(is_full[coo.row] & ~is_full[coo.col])
    rows, columns = coo.row[keep].astype(np.int64), coo.col[keep].astype(np.int64)
    i, j = place[rows], place[columns]
    in_band = np.flatnonzero(~is_full[rows] & ~is_full[columns])
    in_border = np.flatnonzero(~is_full[rows] & is_full[columns])
    in_corner = np.flatnonzero(is_full[rows] & is_full[columns])
    probe = np.random.Generator(np.random.Philox(key=[5, n])).standard_normal((1, n))
    return Structure(
        seeds,
        -np.concatenate([seeds, probe]),
        rows,
        columns,
        product[columns],
        full,
        order,
        width,
        (in_band, np.abs(i - j)[in_band], np.minimum(i, j)[in_band]),
        (in_border, i[in_border], j[in_border]),
        (in_corner, i[in_corner], j[in_corner]),
    )


class Factor:
    """The Cholesky factor of a positive definite matrix: a band with a border of full columns.

    `log_determinant`: of the matrix.
    """

    def __init__(self, structure: Structure, entries: Floats, shift: float = 0.0) -> None:
        """Raises `numpy.linalg.LinAlgError` where the matrix plus `shift` on its diagonal is not positive definite."""
        from scipy.linalg import lapack

        self.structure = structure
        inner, count = len(structure.order), len(structure.full)
        taken, i, j = structure.corner
        corner = np.zeros((count, count))
        corner[i, j] = entries[taken]
        corner[np.diag_indices(count)] += shift
        self._band: Floats = np.zeros((structure.width + 1, inner))
        self._across: Floats = np.zeros((inner, count))
        failed = 0
        if inner:
            taken, i, j = structure.band
            self._band[i, j] = entries[taken]
            self._band[0] += shift
            self._band, failed = lapack.dpbtrf(self._band, lower=1)
            if count and not failed:
                taken, i, j = structure.border
                self._across[i, j] = entries[taken]
                self._across = self._banded(self._across, "N")
                corner -= self._across.T @ self._across
        self._corner: Floats = corner
        if count and not failed:
            self._corner, failed = lapack.dpotrf(corner, lower=1)
        diagonals = np.concatenate([self._band[0], np.diag(self._corner)])
        if failed or not np.isfinite(diagonals).all():
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        self.log_determinant = 2.0 * float(np.log(diagonals).sum())

    def _banded(self, right: Floats, transposed: str) -> Floats:
        from scipy.linalg import lapack

        return np.asarray(lapack.dtbtrs(self._band, right, uplo="L", trans=transposed)[0])

    def _cornered(self, right: Floats, transposed: int) -> Floats:
        from scipy.linalg import lapack

        return np.asarray(lapack.dtrtrs(self._corner, right, lower=1, trans=transposed)[0])

    def coloured(self, normals: Floats) -> Floats:
        """Vectors with this precision from standard normal ones, float64[n, count]."""
        inner = len(self.structure.order)
        result = np.empty_like(normals)
        head, tail = normals[:inner], normals[inner:]
        if len(tail):
            tail = result[self.structure.full] = self._cornered(tail, 1)
            head = head - self._across @ tail
        if inner:
            result[self.structure.order] = self._banded(head, "T")
        return result

    def _white(self, right: Floats) -> Floats:
        inner = len(self.structure.order)
        result = np.empty_like(right)
        if inner:
            result[:inner] = self._banded(right[self.structure.order], "N")
        if len(self.structure.full):
            result[inner:] = self._cornered(right[self.structure.full] - self._across.T @ result[:inner], 0)
        return result

    def solve(self, right: Floats) -> Floats:
        """The inverse times columns, float64[n, count] or float64[n]."""
        columns = right if right.ndim == 2 else right[:, None]
        return self.coloured(self._white(columns)).reshape(right.shape)

    def selected(self) -> tuple[Floats, Floats]:
        """The inverse where the structure has entries, and its diagonal, float64[n]."""
        structure = self.structure
        inner, count, step = len(structure.order), len(structure.full), structure.width + 1
        near = np.zeros((inner, step))
        if inner:
            factor = np.ascontiguousarray(self._band.T)
            invert_band.compiled(factor.reshape(-1), near.reshape(-1), inner, structure.width)
        corner = self._cornered(self._cornered(np.eye(count), 0), 1) if count else np.zeros((0, 0))
        across = self._banded(self._across, "T") if inner and count else self._across
        turned = across @ corner
        entries, diagonal = np.empty(len(structure.rows)), np.empty(structure.size)
        taken, i, j = structure.band
        entries[taken] = near[j, i] + (turned[i + j] * across[j]).sum(1)
        taken, i, j = structure.border
        entries[taken] = -turned[i, j]
        taken, i, j = structure.corner
        entries[taken] = corner[i, j]
        diagonal[structure.order] = near[:, 0] + (turned * across).sum(1)
        diagonal[structure.full] = np.diag(corner)
        return entries, diagonal

    def inverse_columns(self) -> Any:
        """The inverse in parts: the first column's number and float64[n, columns]."""
        n = self.structure.size
        for first in range(0, n, CHUNK):
            count = min(CHUNK, n - first)
            units = np.zeros((n, count))
            units[first + np.arange(count), np.arange(count)] = 1.0
            yield first, self.solve(units)
