"""The curvature of a log density: minus its second derivatives, averaged over points, as a sparse Cholesky factor.

A compiled density, where its second derivatives may have entries, and points of chains enter; a `Whitener` leaves.
Entries come from differences of gradients along vectors that colour the pattern: a few tens of gradients, however many
coordinates there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from consilience.inference.density import LogDensity
from consilience.inference.modes.evaluations import Evaluations
from consilience.inference.whitening import Whitener
from consilience.native.colouring import colours_of
from consilience.record import Record

Floats = NDArray[np.float64]
STEP: Final = 1e-4  # of a difference, in standard deviations of the draws
MOST_SHARED: Final = 64  # coordinates with columns of their own
MOST_DENSE: Final = 300  # coordinates that may all be such, where nothing is sparse
MOST_FILL: Final = 40_000_000  # entries of the factor's envelope, beyond which none is made
ROWS: Final = 4_000_000  # numbers in one batch of positions
SHIFTS: Final = (0.0, 1e-6, 1e-4, 1e-2, 0.1, 1.0)  # times the diagonal, added until a factor exists
MOST_GRADIENTS: Final = 2_000  # for one factor, but for as many as FEWEST_POINTS take
FEWEST_POINTS: Final = 2
LEAST_SHARE: Final = 1e-6  # of a shared coordinate's curvature, that may be left of it given all others


class SparsityPattern(Protocol):
    """Where second derivatives may have entries: see `elimination.curvature_pattern`.

    `shared`: coordinates that act together with too many others, int64. `pairs`: of the rest, symmetric with a full
    diagonal. `sums`: vectors a in rows, of which there are multiples of a a' besides.
    """

    @property
    def shared(self) -> NDArray[np.int64]: ...
    @property
    def pairs(self) -> Any: ...
    @property
    def sums(self) -> Any: ...


class _Probes(Record, eq=False):
    """Which differences of gradients tell the entries.

    `field`, `shared`: coordinates of either kind, int64.
    `colours`: of the field's coordinates, in the order of `field`.
    `count`: of colours.
    `rows`, `columns`: of the pattern's entries among the field's coordinates, numbered within `field`.
    `sums`: of the pattern, for the field's coordinates, float64 (sum, coordinate).
    """

    field: NDArray[np.int64]
    shared: NDArray[np.int64]
    colours: NDArray[np.int64]
    count: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    sums: Floats


class SparseCurvature:
    """The curvature of one density.

    `density`: the target. `pattern`: gives where it has entries, None where that is nearly everywhere; asked once, when
    it is needed. `threads`: that evaluate it. `spent`: evaluations so far.
    """

    def __init__(self, density: LogDensity, pattern: Callable[[], SparsityPattern | None], threads: int = 1) -> None:
        self.density = density
        self._pattern = pattern
        self.threads = threads
        self.spent = 0

    @cached_property
    def _probes(self) -> _Probes | None:
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        found, dimension = self._pattern(), self.density.dimension
        if found is None:
            nothing = np.zeros(0, np.int64)
            every = _Probes(nothing, np.arange(dimension), nothing, 0, nothing, nothing, np.zeros((0, 0)))
            return every if dimension <= MOST_DENSE else None
        shared = np.sort(np.asarray(found.shared, np.int64))
        field = np.setdiff1d(np.arange(dimension), shared)
        inner = found.pairs[field][:, field].tocsr()
        order = np.argsort(reverse_cuthill_mckee(inner, symmetric_mode=True))
        entries = inner.tocoo()
        first = np.arange(len(field))
        np.minimum.at(first, order[entries.row], order[entries.col])
        if int((np.arange(len(field)) - first).sum()) > MOST_FILL:
            return None
        colours = colours_of(inner)
        return _Probes(
            field,
            shared if len(shared) <= MOST_SHARED else shared[:0],
            colours,
            int(colours.max(initial=-1)) + 1,
            entries.row.astype(np.int64),
            entries.col.astype(np.int64),
            found.sums[:, field].toarray(),
        )

    def whitener(self, points: Floats, widths: Floats) -> Whitener | None:
        """The factor of the mean curvature at points (point, coordinate); None where there is none.

        Minus second derivatives, averaged over the posterior, are the covariance of the gradient, so positive definite
        although they need not be so at a single point. A multiple of the diagonal makes up for too few points.

        `widths`: typical distances along each coordinate, positive.
        """
        from scipy import sparse

        probes = self._probes
        if probes is None:
            return None
        n, k = len(probes.field), len(probes.shared)
        points = points[: max(FEWEST_POINTS, MOST_GRADIENTS // max(1, 2 * (probes.count + k)))]
        seeds = np.zeros((probes.count + k, self.density.dimension))
        seeds[probes.colours, probes.field] = widths[probes.field]
        seeds[probes.count + np.arange(k), probes.shared] = widths[probes.shared]
        products = self._products(points, STEP * seeds)
        if products is None:
            return None
        products /= STEP
        inner, outer = products[: probes.count][:, probes.field], products[probes.count :]
        inner = _without_sums(inner, seeds[: probes.count][:, probes.field], probes)
        values = inner[probes.colours[probes.columns], probes.rows] / widths[probes.field[probes.columns]]
        matrix = sparse.csc_matrix((values, (probes.rows, probes.columns)), shape=(n, n))
        first = _factor(0.5 * (matrix + matrix.T), probes.field, len(widths))
        if first is None or not k:
            return first
        outer = outer / widths[probes.shared][:, None]
        return _with_border(first, outer, outer[:, probes.shared], probes.shared)

    def _products(self, points: Floats, steps: Floats) -> Floats | None:
        """Minus second derivatives times each step, averaged over the points where the density has a value."""
        total, count = np.zeros_like(steps), 0
        batch = max(1, ROWS // max(1, steps.size))
        with Evaluations(self.density, 2 * len(points) * len(steps), self.threads) as evaluations:
            for begin in range(0, len(points), batch):
                some = points[begin : begin + batch, None]
                around = np.concatenate([some + steps, some - steps], axis=1).reshape(-1, steps.shape[1])
                gradients = evaluations.gradients(around).reshape(len(some), 2, *steps.shape)
                change = 0.5 * (gradients[:, 1] - gradients[:, 0])
                good = np.isfinite(change).all(axis=(1, 2))
                total += change[good].sum(axis=0)
                count += int(good.sum())
            self.spent += evaluations.spent
        return total / count if count else None


def _without_sums(products: Floats, seeds: Floats, probes: _Probes) -> Floats:
    """Products of a matrix with seeds, less those of multiples of a a' for the pattern's sums a.

    A multiple shows where it is alone: in rows that have no entry in any column of the seed. What these sums do to the
    metric is left to its directions.
    """
    if not len(probes.sums):
        return products
    alone = np.ones(products.shape, bool)
    alone[probes.colours[probes.columns], probes.rows] = False
    for own in probes.sums:
        others = (probes.sums != 0.0).sum(axis=0) > 1
        expected = (seeds @ own)[:, None] * own
        here = alone & (expected != 0.0) & ~others
        if here.any():
            products = products - float(np.median(products[here] / expected[here])) * expected
    return products


def _factor(inner: Any, field: NDArray[np.int64], dimension: int) -> Whitener | None:
    """The factor of a sparse matrix over the coordinates `field`; the others have a unit diagonal, and come last."""
    others = np.setdiff1d(np.arange(dimension), field)
    whole = np.ones(dimension)
    if not len(field):
        nothing = np.zeros(0)
        return Whitener(others, np.zeros(dimension + 1, np.int64), nothing.astype(np.int32), nothing, whole)
    from scipy import sparse
    from scipy.sparse.linalg import splu

    diagonal = inner.diagonal()
    free = diagonal == 0.0  # what nothing depends on
    sizes = np.where(free, 1.0, np.abs(diagonal))
    for shift in SHIFTS:
        shifted = (inner + sparse.diags(shift * sizes + free)).tocsc()
        try:
            found = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # singular
            continue
        pivots = found.U.diagonal()
        if (pivots > 0.0).all() and (found.perm_r == found.perm_c).all():
            break
    else:
        return None
    order = field[np.argsort(found.perm_c)]
    lower = (found.L @ sparse.diags(np.sqrt(pivots))).tocsc()
    below = sparse.tril(lower, -1, format="csc")
    whole[order] = lower.diagonal()
    starts = np.concatenate([below.indptr.astype(np.int64), np.full(len(others), below.nnz, np.int64)])
    return Whitener(np.concatenate([order, others]), starts, order[below.indices].astype(np.int32), below.data, whole)


def _with_border(first: Whitener, across: Floats, corner: Floats, shared: NDArray[np.int64]) -> Whitener:
    """The factor with full rows and columns for `shared`, which have a unit diagonal in `first`.

    `across`: of these columns, float64 (shared, coordinate). `corner`: of these rows and columns; what is left of it
    given the rest counts by its size where it is negative (Betancourt 2013, arXiv:1212.4693).
    """
    from scipy import sparse

    own = across.copy()
    own[:, shared] = 0.0
    border = first.slopes(own)
    rest = corner - border @ border.T
    size = np.sqrt(np.maximum(np.abs(np.diag(corner)), 1e-300))
    weights, vectors = np.linalg.eigh(0.5 * (rest + rest.T) / np.outer(size, size))
    last = np.linalg.cholesky((vectors * np.maximum(np.abs(weights), LEAST_SHARE)) @ vectors.T * np.outer(size, size))
    count = len(first.columns)
    inner = first.columns[~np.isin(first.columns, shared)]
    listed = np.concatenate([inner, shared])
    place = np.empty(count, np.int64)
    place[listed] = np.arange(count)
    each = np.diff(first.starts)
    columns = np.repeat(place[first.columns], each)
    bordered = sparse.coo_matrix(border[:, inner])
    tail = sparse.coo_matrix(np.tril(last, -1))
    rows = np.concatenate([place[first.rows], len(inner) + bordered.row, len(inner) + tail.row])
    columns = np.concatenate([columns, bordered.col, len(inner) + tail.col])
    values = np.concatenate([first.entries, bordered.data, tail.data])
    joined = sparse.csc_matrix((values, (rows, columns)), shape=(count, count))
    whole = first.diagonal.copy()
    whole[shared] = np.diag(last)
    return Whitener(listed, joined.indptr.astype(np.int64), listed[joined.indices].astype(np.int32), joined.data, whole)
