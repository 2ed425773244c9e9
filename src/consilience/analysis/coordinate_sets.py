"""Sets of coordinates that the elements of arrays depend on, and pairs of coordinates that act together.

Sets of operands in; sets of results, and the pairs of what meets in an operation that is not linear, out. Coordinates
with too many partners are set aside and leave all sets, so that everything stays as small as what remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.record import Record

if TYPE_CHECKING:
    from scipy import sparse

Integers: TypeAlias = npt.NDArray[np.int64]
Array: TypeAlias = npt.NDArray[Any]
MOST_ENTRIES: Final = 4_000_000  # of all sets of one node together
LEVEL: Final = 0.25  # coordinates are set aside together if they have at least so many of the most partners


class Table:
    """Sets of coordinates, as rows of a matrix; the rows lose shared coordinates as these become known."""

    __slots__ = ("acted", "matrix", "version")

    def __init__(self, matrix: sparse.csr_matrix, version: int) -> None:
        self.matrix = matrix
        self.version = version
        self.acted = False  # whether the pairs of every row are already known


class Sets(Record, eq=False):
    """For each element of a value the coordinates on which it depends.

    `ids`: int64, the value's shape: rows of the table; -1: none. `linear`: whether the value is a linear function of
    the coordinates, with known coefficients.
    """

    ids: Integers
    table: Table
    linear: bool = False


class Pairs:
    """Pairs found so far, coordinates set aside so far, and what sets can be made into.

    `dimension`: number of coordinates. `most`: partners that a coordinate may have before it is set aside. `shared`:
    which coordinates are set aside, bool (dimension,). `sums`: coefficients of sums that enter a function, by their
    bits; float64 (dimension,) each.
    """

    def __init__(self, dimension: int, most: int) -> None:
        from scipy import sparse

        self.sparse = sparse
        self.dimension, self.most = dimension, most
        self.shared = np.zeros(dimension, bool)
        self.version = 0
        self.sums: dict[bytes, Array] = {}
        self._keys = np.zeros(0, np.int64)  # of pairs (i, j): i dimension + j
        self._new: list[Integers] = []
        self._waiting = 0

    def matrices(self) -> tuple[Integers, sparse.csr_matrix, sparse.csr_matrix]:
        """What was set aside; pairs of the rest, with a full diagonal; coefficients of sums."""
        n = self.dimension
        self._new.append(np.arange(n) * (n + 1))
        self._merge()
        pairs = self.sparse.csr_matrix((np.ones(len(self._keys), bool), divmod(self._keys, max(n, 1))), (n, n))
        rows = np.array(list(self.sums.values())).reshape(-1, n)
        rows[:, self.shared] = 0.0
        sums = self.sparse.csr_matrix(rows[(rows != 0.0).any(1)])
        return np.flatnonzero(self.shared).astype(np.int64), pairs, sums

    # Tables.

    def table_of(self, indices: Integers, starts: Integers) -> Table:
        """A table of sets given one behind the other."""
        shape = (len(starts) - 1, self.dimension)
        return Table(self.sparse.csr_matrix((np.ones(len(indices), bool), indices, starts), shape), self.version)

    def live(self, table: Table) -> sparse.csr_matrix:
        """The rows of a table, without what is shared."""
        if table.version != self.version:
            table.matrix = self._without_shared(table.matrix)
            table.version = self.version
        return table.matrix

    def _without_shared(self, matrix: sparse.csr_matrix) -> sparse.csr_matrix:
        keep = ~self.shared[matrix.indices]
        if keep.all():
            return matrix
        starts = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
        indices = matrix.indices[keep]
        return self.sparse.csr_matrix((np.ones(len(indices), bool), indices, starts), matrix.shape)

    def _share(self, chosen: npt.NDArray[Any]) -> None:
        self.shared[chosen] = True
        self.version += 1

    # Sets of values.

    def used(self, sets: Sets) -> Integers:
        """The rows of the table that a value's elements have."""
        seen = np.zeros(sets.table.matrix.shape[0] + 1, bool)
        seen[sets.ids] = True  # -1 is the last
        return np.flatnonzero(seen[:-1])

    def sizes(self, sets: Sets) -> Integers:
        """How many coordinates each element depends on."""
        lengths = np.diff(self.live(sets.table).indptr, append=0)
        lengths[-1] = 0  # of -1
        return np.asarray(lengths[sets.ids])

    def compact(self, sets: Sets) -> Sets:
        """The same sets in a table that holds no other ones, if the table is far too large."""
        rows = sets.table.matrix.shape[0]
        if sets.ids.size * 4 >= rows:
            return sets
        used = np.unique(sets.ids)
        used = used[used >= 0]
        places = np.where(sets.ids < 0, -1, np.searchsorted(used, sets.ids))
        return Sets(places, Table(self.live(sets.table)[used], self.version), sets.linear)

    def joined(self, parts: Sequence[Sets]) -> tuple[list[Integers], Table]:
        """The ids of several values in one table."""
        tables: dict[int, tuple[Table, int]] = {}
        total = 0
        for part in parts:
            if id(part.table) not in tables:
                tables[id(part.table)] = part.table, total
                total += part.table.matrix.shape[0]
        ids = [np.where(p.ids < 0, -1, p.ids + tables[id(p.table)][1]) for p in parts]
        if len(tables) == 1:
            return ids, parts[0].table
        matrix = self.sparse.vstack([self.live(table) for table, _ in tables.values()], format="csr")
        return ids, Table(matrix, self.version)

    def union(self, parts: Sequence[Sets], linear: bool) -> Sets:
        """Element by element the union of sets of values that broadcast together."""
        result = parts[0]
        for other in parts[1:]:
            result = self._union(result, other)
        shape = np.broadcast_shapes(*(p.ids.shape for p in parts))
        return Sets(np.broadcast_to(result.ids, shape), result.table, linear)

    def _union(self, a: Sets, b: Sets) -> Sets:
        if a.table is b.table and a.ids.shape == b.ids.shape and (a.ids is b.ids or np.array_equal(a.ids, b.ids)):
            return a
        if a.ids.size == b.ids.size == 1:
            return self.whole([a, b], np.broadcast_shapes(a.ids.shape, b.ids.shape))
        wide = b.table.matrix.shape[0] + 1
        left, right = np.broadcast_arrays(a.ids + 1, b.ids + 1)
        keys, ids = _distinct(left * wide + right, (a.table.matrix.shape[0] + 1) * wide)
        rows = len(keys)
        parts = []
        for table, wanted in ((a.table, keys // wide - 1), (b.table, keys % wide - 1)):
            there = np.flatnonzero(wanted >= 0)
            parts.append((there, wanted[there], table))
        return Sets(ids.reshape(left.shape), self._collected(rows, parts))

    def combined(self, sets: Sets, element: Integers, places: Integers, shape: tuple[int, ...]) -> Sets:
        """Sets of a value of a shape, whose element `places[i]` takes in that of the given value's `element[i]`."""
        ids = sets.ids.reshape(-1)[element]
        there = ids >= 0
        size = int(np.prod(shape))
        return self._distinct_rows(shape, self._collected(size, [(places[there], ids[there], sets.table)]))

    def _collected(self, rows: int, parts: Sequence[tuple[Integers, Integers, Table]]) -> Table:
        """A table whose row r unites, for each (r, id, table), the table's row."""
        while True:
            matrices = [self.live(table) for _, _, table in parts]
            takes = [
                self.sparse.csr_matrix((np.ones(len(r), bool), (r, i)), (rows, m.shape[0]))
                for (r, i, _), m in zip(parts, matrices, strict=True)
            ]
            wanted = [np.bincount(t.indices, minlength=t.shape[1]) for t in takes]
            size = sum(int(w @ np.diff(m.indptr)) for w, m in zip(wanted, matrices, strict=True))
            if size <= MOST_ENTRIES or not rows:
                break
            counts = np.sum([self._counted(m, w) for w, m in zip(wanted, matrices, strict=True)], axis=0)
            self._share(np.flatnonzero(counts >= max(LEVEL * counts.max(), 1.0)))
        result = takes[0] @ matrices[0]
        for take, matrix in zip(takes[1:], matrices[1:], strict=True):
            result = result + take @ matrix
        return Table(result.tocsr(), self.version)

    def _distinct_rows(self, shape: tuple[int, ...], table: Table) -> Sets:
        matrix = table.matrix
        rows = matrix.shape[0]
        if rows < 2:
            return Sets(np.zeros(shape, np.int64), table)
        words = np.random.Generator(np.random.Philox(key=[7, 9])).integers(0, 2**63, self.dimension, np.int64)
        sums = np.concatenate([[0], np.cumsum(words[matrix.indices])])  # wraps around
        _, first, ids = np.unique(np.diff(sums[matrix.indptr]), return_index=True, return_inverse=True)
        if len(first) < rows:
            table = Table(matrix[first], self.version)
        else:
            ids = np.arange(rows)
        return Sets(ids.reshape(shape), table)

    def whole(self, parts: Sequence[Sets], shape: tuple[int, ...]) -> Sets:
        """Every element depends on all that any element of the parts does."""
        seen = np.zeros(self.dimension, bool)
        for part in parts:
            seen[self.live(part.table)[self.used(part)].indices] = True
        found = np.flatnonzero(seen)
        return Sets(np.broadcast_to(np.int64(0), shape), self.table_of(found, np.array([0, len(found)])))

    def over(self, sets: Sets, axes: Sequence[int]) -> Sets:
        """Unions over axes, which vanish."""
        shape = sets.ids.shape
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        after = tuple(shape[axis] for axis in kept)
        if not kept:
            return self.whole([sets], ())
        if 0 in shape:
            return Sets(np.full(after, -1), sets.table)
        moved = np.transpose(sets.ids, [*kept, *axes])
        first = moved[(slice(None),) * len(kept) + (slice(0, 1),) * len(axes)]
        if (moved == first).all():
            return Sets(first.reshape(after), sets.table)
        flat = np.ascontiguousarray(moved).reshape(int(np.prod(after)), -1)
        places = np.repeat(np.arange(len(flat)), flat.shape[1])
        return self.combined(Sets(flat.ravel(), sets.table), np.arange(flat.size), places, after)

    # Pairs.

    def curved(self, sets: Sets) -> None:
        """Each element of a value enters a function that is not linear."""
        if sets.table.acted:
            return
        used = self.used(sets)
        rows = self.live(sets.table)[used]
        if len(used) == sets.table.matrix.shape[0]:
            sets.table.acted = True
        rows = rows[np.diff(rows.indptr) > 1]
        if rows.shape[0]:
            self._act(rows, rows)

    def product(self, a: Sets, b: Sets) -> None:
        """Elements of two values that broadcast together are multiplied."""
        wide = b.table.matrix.shape[0] + 1
        left, right = np.broadcast_arrays(a.ids + 1, b.ids + 1)
        keys, _ = _distinct(left * wide + right, (a.table.matrix.shape[0] + 1) * wide)
        first, second = keys // wide - 1, keys % wide - 1
        both = (first >= 0) & (second >= 0)
        if both.any():
            self._act(self.live(a.table)[first[both]], self.live(b.table)[second[both]])

    def _act(self, a: sparse.csr_matrix, b: sparse.csr_matrix) -> None:
        """Every coordinate in a row of a acts together with all in the same row of b."""
        same = a is b
        settled = np.zeros(self.dimension, bool)
        while True:
            lengths_a, lengths_b = np.diff(a.indptr), np.diff(b.indptr)
            limit = self.most + same
            partners, far = self._counted(a, lengths_b), self._counted(a, lengths_b > limit)
            if not same:
                partners = partners + self._counted(b, lengths_a)
                far = far + self._counted(b, lengths_a > limit)
            if far.any():  # surely with too many: those with the most partners first, that others may have fewer then
                top = (far > 0) & (partners >= LEVEL * partners[far > 0].max())
                self._share(np.flatnonzero(top))
            else:
                candidates = (partners > limit) & ~settled
                if not candidates.any():
                    break
                chosen = np.flatnonzero(candidates & (partners >= LEVEL * partners[candidates].max()))
                many = self._have_many(chosen, a, b, 4 * self.most)
                many[~many] = self._have_many(chosen[~many], a, b, None)
                settled[chosen] = True
                if not many.any():
                    continue
                self._share(chosen[many])
            a = self._without_shared(a)
            b = a if same else self._without_shared(b)
        if a.shape[0] == 1:
            rows, columns = np.repeat(a.indices, len(b.indices)), np.tile(b.indices, len(a.indices))
        else:
            found = (a.T.tocsr() @ b).tocoo()
            rows, columns = found.row, found.col
        self._new.append(rows.astype(np.int64) * self.dimension + columns)
        if not same:
            self._new.append(columns.astype(np.int64) * self.dimension + rows)
        self._waiting += len(rows)
        if self._waiting > 1_000_000 + 2 * len(self._keys):
            self._merge()

    def _counted(self, matrix: sparse.csr_matrix, weights: Array) -> npt.NDArray[np.float64]:
        """For each coordinate the sum of the weights of the rows that it is in."""
        each = np.repeat(weights.astype(float), np.diff(matrix.indptr))
        return np.bincount(matrix.indices, each, self.dimension).astype(float)

    def _have_many(self, chosen: Integers, a: sparse.csr_matrix, b: sparse.csr_matrix, rows: int | None) -> Any:
        """Whether coordinates have too many partners, within so many of their rows if that is given."""
        if not len(chosen):
            return np.zeros(0, bool)
        found = self._some(a, chosen, rows) @ b
        if a is not b:
            found = found + self._some(b, chosen, rows) @ a
        return np.diff(found.tocsr().indptr) - (a is b) > self.most

    def _some(self, matrix: sparse.csr_matrix, chosen: Integers, rows: int | None) -> sparse.csr_matrix:
        lines = matrix.T.tocsr()[chosen]
        if rows is None or (np.diff(lines.indptr) <= rows).all():
            return lines
        places = np.arange(lines.nnz) - np.repeat(lines.indptr[:-1], np.diff(lines.indptr))
        keep = places < rows
        starts = np.concatenate([[0], np.cumsum(keep)])[lines.indptr]
        return self.sparse.csr_matrix((lines.data[keep], lines.indices[keep], starts), lines.shape)

    def _merge(self) -> None:
        keys = np.concatenate([self._keys, *self._new])
        keys.sort(kind="stable")  # quick for what is nearly in order
        keys = keys[np.diff(keys, prepend=-1) > 0]
        self._new, self._waiting = [], 0
        while True:
            rows, columns = divmod(keys, max(self.dimension, 1))
            keep = ~(self.shared[rows] | self.shared[columns]) | (rows == columns)
            keys, others = keys[keep], rows[keep & (rows != columns)]
            counts = np.bincount(others, minlength=self.dimension)
            if counts.max(initial=0) <= self.most:
                break
            self._share(np.flatnonzero(counts > max(self.most, LEVEL * counts.max())))
        self._keys = keys


def _distinct(keys: Integers, bound: int) -> tuple[Integers, Integers]:
    """The different keys in order, and for each key which of them it is."""
    flat = keys.reshape(-1)
    if bound <= 4 * flat.size:
        seen = np.zeros(bound, bool)
        seen[flat] = True
        found = np.flatnonzero(seen)
        place = np.cumsum(seen) - 1
        return found, place[flat]
    found, ids = np.unique(flat, return_inverse=True)
    return found, ids.reshape(-1)
