"""Which ends of ascents lie in one region: two are linked where a path between them hardly falls below the lower peak.

The depth that separates two regions is the prominence of the lower one: its peak less the highest pass to the other.
Passes are looked for on straight lines between points, and on ascents from between two peaks (a bent ridge).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consilience.inference.modes.ascent import LinearMap
from consilience.inference.modes.evaluations import INTERIOR, Evaluations, Floats

SEPARATION: Final = 0.5  # nats of prominence from which a region counts as separate
CLOSEST: Final = 4  # pairs of points that two clusters are compared at
PROBE_POINTS: Final = 9
PROBE_EVALUATIONS: Final = 20
PROBE_TOLERANCE: Final = 1e-3
PROBE_ROUNDS: Final = 3
DEEP: Final = 10.0  # nats below the lower of two modes
MASSLESS: Final = 1e-4  # of the mass of the heaviest
MOST_PROBES: Final = 12  # pairs of peaks per round
MOST_CLUSTERS: Final = 40  # the lowest of more are left out
NEIGHBOURS: Final = 6  # clusters that one is compared with, where there are many: the nearest, and the nearest higher
PREFERENCE: Final = 1e-3  # nats by which a polished point may be lower than others of its region and be its peak
BESIDE: Final = 0.5  # deviations, and nats, within which a point belongs to a mode without a look at the line
ROUND: Final = 3.0  # deviations within which it does if it lies as deep below the mode as for a normal density
EXACTLY: Final = 0.1  # nats


class _BudgetError(Exception):
    """More comparisons are needed than the budget allows."""


class Linkage:
    """Points and the regions that they form.

    positions   float64[points, dimension]
    logps       float64[points]
    from_starts whether a point is the end of an ascent from a starting point, no probe, bool[points]
    labels      region of each point, numbered by falling peak, int64[points]; -1: left out
    complete    whether the budget allowed all comparisons of the last time
    """

    def __init__(self, evaluations: Evaluations) -> None:
        self.evaluations = evaluations
        self.positions: Floats = np.zeros((0, evaluations.dimension))
        self.logps: Floats = np.zeros(0)
        self.from_starts: NDArray[np.bool_] = np.zeros(0, bool)
        self.labels: NDArray[np.int64] = np.zeros(0, np.int64)
        self.complete = True
        self._lowest: dict[tuple[int, int], tuple[float, bool]] = {}  # of a line, and whether it is exact or a bound
        self._probed: set[tuple[int, int]] = set()
        self._modes: dict[int, Floats] = {}
        self._leader: dict[int, int] = {}  # whom a point follows
        self._leaders: set[int] = set()  # points that followed none the last time
        self._polished: set[int] = set()

    def add(self, positions: Floats, logps: Floats, from_starts: bool = False) -> NDArray[np.int64]:
        """More points; those whose log density is not finite are left out. Gives the numbers of those that stay."""
        kept = np.flatnonzero(np.isfinite(logps))
        first = len(self.logps)
        self.positions = np.concatenate([self.positions, positions[kept]])
        self.logps = np.concatenate([self.logps, logps[kept]])
        self.from_starts = np.concatenate([self.from_starts, np.full(len(kept), from_starts)])
        self.labels = np.concatenate([self.labels, np.full(len(kept), -1)])
        return np.arange(first, first + len(kept))

    def polished(self, before: int, after: int) -> None:
        """An ascent led from one point on to the other: what it began at is no peak of its own."""
        self._polished.add(after)
        before, after = self._follows(before), self._follows(after)
        if before != after:
            self._leader[before] = after

    def to_polish(self) -> list[int]:
        """The peaks that are no ends of polishing, by falling height."""
        return [int(peak) for peak in self.peaks() if int(peak) not in self._polished]

    def _by_height(self) -> NDArray[np.int64]:
        """All points, the highest first; of points about equally high the polished one."""
        preferred = np.zeros(len(self.logps))
        preferred[list(self._polished)] = PREFERENCE
        return np.argsort(-(self.logps + preferred), kind="stable")

    def mode_with(self, point: int, whitening: Floats) -> None:
        """The point is a mode; `whitening` @ a move from it is in deviations, float64[dimension, dimension].

        One number for each coordinate instead stands for a diagonal matrix.
        """
        self._modes[point] = whitening

    def peaks(self) -> NDArray[np.int64]:
        """The highest point of each region."""
        order = self._by_height()
        labels = self.labels[order]
        return np.array([order[np.argmax(labels == k)] for k in range(int(self.labels.max(initial=-1)) + 1)], np.int64)

    def link(self, coordinates: LinearMap, probing: bool = True) -> None:
        """Find the regions anew; `coordinates` are those in which distances are measured and probes ascend.

        Where the budget does not allow that, they stay as they were and points added since are left out; if there were
        none, all points form one region: what was not shown to be separate counts as linked.
        """
        before, self.complete = self.labels.copy(), True
        try:
            self._assign_and_merge(coordinates)
            for _ in range(PROBE_ROUNDS if probing else 0):
                if not (pairs := self._unprobed(coordinates)):
                    break
                self._probe(pairs, coordinates)
                self._assign_and_merge(coordinates)
        except _BudgetError:
            self.complete = False
            known = before.max(initial=-1) >= 0
            self.labels[:] = -1 if known else 0
            self.labels[: len(before)] = before if known else 0

    def _heights(self, pairs: list[tuple[int, int]], separation: Floats) -> Floats:
        """Least log density on each line, ends included; where it is below `separation`, a value below that."""
        keys = [(min(pair), max(pair)) for pair in pairs]
        wanted = [
            k
            for k, key in enumerate(keys)
            if key not in self._lowest or (not self._lowest[key][1] and self._lowest[key][0] >= separation[k])
        ]
        if self.evaluations.affordable(len(wanted), INTERIOR // 2) < len(wanted):  # most lines end early
            raise _BudgetError
        if wanted:
            begins = self.positions[[keys[k][0] for k in wanted]]
            ends = self.positions[[keys[k][1] for k in wanted]]
            found = self.evaluations.lowest(begins, ends, separation[wanted])
            for k, low in zip(wanted, found.tolist(), strict=True):
                self._lowest[keys[k]] = (low, low >= separation[k])
        inside = np.array([self._lowest[key][0] for key in keys])
        tips = self.logps[np.array(keys, np.int64).reshape(-1, 2)].min(1)
        return np.asarray(np.minimum(inside, tips))

    def _assign_and_merge(self, coordinates: LinearMap) -> None:
        clusters = self._clusters(coordinates)
        leaders = np.array([members[0] for members in clusters], np.int64)
        merged = list(range(len(clusters)))

        def root(cluster: int) -> int:
            while merged[cluster] != cluster:
                cluster = merged[cluster]
            return cluster

        heights, joined = self._passes(clusters, coordinates)
        for edge in np.argsort(-heights, kind="stable"):
            higher, lower = sorted(root(int(c)) for c in joined[edge])
            # clusters are numbered by falling peak, so the first of two is the higher one
            if higher != lower and self.logps[leaders[lower]] - heights[edge] < SEPARATION:
                merged[lower] = higher
        roots = sorted({root(k) for k in range(len(clusters))})
        self.labels[:] = -1
        for k, members in enumerate(clusters):
            self.labels[members] = roots.index(root(k))

    def _clusters(self, coordinates: LinearMap) -> list[list[int]]:
        """Points by a leader to which a straight line leads; every leader is the highest of its own, the highest first.

        Whom a point was found to follow it goes on following, wherever that one was led to. New points ask the leaders
        nearest to them, and then each other. Points beside a mode follow it without a look at the line.
        """
        leaders: list[int] = []
        left = [point for point in self._by_height().tolist() if self._follows(point) == point]
        while left:
            close = self._beside(left[0], left[1:])
            self._leader.update(dict.fromkeys(close, left[0]))
            leaders.append(left[0])
            left = [point for point in left[1:] if point not in close]
        old = [point for point in leaders if point in self._leaders]
        new = [point for point in leaders if point not in self._leaders]
        if old and new:
            places = _scaled(coordinates, self.positions)
            nearest = np.argsort(_distances(places[new], places[old]), axis=1, kind="stable")
            for turn in range(min(NEIGHBOURS, len(old))):
                asking = [k for k, point in enumerate(new) if self._follows(point) == point]
                self._ask([(new[k], self._follows(old[nearest[k, turn]])) for k in asking])
        left = [point for point in new if self._follows(point) == point and point not in map(self._follows, old)]
        while left:
            self._ask([(point, left[0]) for point in left[1:]])
            left = [point for point in left[1:] if self._follows(point) == point]
        order = self._by_height().tolist()
        clusters: dict[int, list[int]] = {point: [point] for point in order if self._follows(point) == point}
        for point in order:
            if (leader := self._follows(point)) != point:
                clusters[leader].append(point)
        self._leaders = set(clusters)
        return list(clusters.values())[:MOST_CLUSTERS]

    def _follows(self, point: int) -> int:
        """The leader that a point follows; itself if it follows none."""
        while (next_one := self._leader.get(point)) is not None:
            point = next_one
        return point

    def _ask(self, pairs: list[tuple[int, int]]) -> None:
        """Let the lower of two follow the other one where a straight line between them does not fall."""
        pairs = [pair for pair in pairs if pair[0] != pair[1]]
        if not pairs:
            return
        separation = np.array([self.logps[list(pair)].min() - SEPARATION for pair in pairs])
        rank = {point: k for k, point in enumerate(self._by_height().tolist())}
        for pair, yes in zip(pairs, self._heights(pairs, separation) > separation, strict=True):
            higher, lower = sorted((self._follows(pair[0]), self._follows(pair[1])), key=lambda point: rank[point])
            if yes and higher != lower:
                self._leader[lower] = higher

    def _beside(self, leader: int, others: list[int]) -> set[int]:
        """The points so close to a mode that no line need be looked at."""
        if leader not in self._modes or not others:
            return set()
        whitening, moves = self._modes[leader], self.positions[others] - self.positions[leader]
        distances = np.linalg.norm(moves * whitening if whitening.ndim == 1 else moves @ whitening.T, axis=1)
        depths = self.logps[leader] - self.logps[others]
        near = (distances < BESIDE) & (depths < BESIDE)
        near |= (distances < ROUND) & (np.abs(depths - 0.5 * distances**2) < EXACTLY)
        return {point for point, yes in zip(others, near, strict=True) if yes}

    def _passes(self, clusters: list[list[int]], coordinates: LinearMap) -> tuple[Floats, NDArray[np.int64]]:
        """Heights of the passes between clusters, and the two clusters of each."""
        pairs: list[tuple[int, int]] = []
        joined: list[tuple[int, int]] = []
        separation: list[float] = []
        places = _scaled(coordinates, self.positions) if len(clusters) > 1 else self.positions
        apart = {
            (a, b): _distances(places[clusters[a]], places[clusters[b]])
            for b in range(1, len(clusters))
            for a in range(b)
        }
        for a, b in _compared(len(clusters), {pair: float(some.min()) for pair, some in apart.items()}):
            for k in np.argsort(apart[a, b], axis=None, kind="stable")[:CLOSEST]:
                i, j = divmod(int(k), len(clusters[b]))
                pairs.append((clusters[a][i], clusters[b][j]))
                joined.append((a, b))
                separation.append(float(self.logps[clusters[b][0]]) - SEPARATION)
        if not pairs:
            return np.zeros(0), np.zeros((0, 2), np.int64)
        return self._heights(pairs, np.array(separation)), np.array(joined, np.int64)

    def _unprobed(self, coordinates: LinearMap) -> list[tuple[int, int]]:
        """Pairs of a peak with the nearest one and the nearest higher one that were not compared by probes before."""
        peaks = self.peaks()
        places = _scaled(coordinates, self.positions[peaks])
        apart = _distances(places, places)
        pairs: list[tuple[int, int]] = []
        for k in range(1, len(peaks)):
            nearest = [int(j) for j in np.argsort(apart[k], kind="stable") if j != k]
            higher = next(j for j in nearest if j < k)
            for j in dict.fromkeys([nearest[0], higher]):
                pair = (int(peaks[min(j, k)]), int(peaks[max(j, k)]))
                if pair not in self._probed and pair not in pairs and not self._far_apart(pair):
                    pairs.append(pair)
        return pairs[:MOST_PROBES]

    def _far_apart(self, pair: tuple[int, int]) -> bool:
        """Whether both are modes, one of which has no mass to speak of or between which there is a deep valley.

        Where a bent ridge joins them all the same, chains find it too.
        """
        if not (pair[0] in self._modes and pair[1] in self._modes):
            return False
        low, _ = self._lowest.get((min(pair), max(pair)), (np.inf, True))
        light = min(map(self._mass, pair)) < max(map(self._mass, self._modes)) + np.log(MASSLESS)
        return bool(light or low < self.logps[list(pair)].min() - DEEP)

    def _mass(self, mode: int) -> float:
        """Log mass of a mode by its curvature, but for a constant."""
        whitening = np.abs(self._modes[mode])
        return float(self.logps[mode] - np.log(whitening if whitening.ndim == 1 else np.diag(whitening)).sum())

    def _probe(self, pairs: list[tuple[int, int]], coordinates: LinearMap) -> None:
        """Ascend from between these peaks."""
        if self.evaluations.affordable(len(pairs), PROBE_POINTS * PROBE_EVALUATIONS) < len(pairs):
            raise _BudgetError
        self._probed.update(pairs)
        begins, ends = (self.positions[[pair[side] for pair in pairs]] for side in (0, 1))
        shares = np.arange(1, PROBE_POINTS + 1) / (PROBE_POINTS + 1)
        starts = begins[:, None] + shares[:, None] * (ends - begins)[:, None]
        places = _scaled(coordinates, np.concatenate([begins, ends])).reshape(2, len(pairs), -1)
        spacing = np.linalg.norm(places[1] - places[0], axis=1) / (PROBE_POINTS + 1)
        found = self.evaluations.ascend(
            starts.reshape(-1, starts.shape[2]),
            coordinates,
            np.repeat(spacing, PROBE_POINTS),
            self.positions[pairs[0][0]],
            PROBE_EVALUATIONS,
            PROBE_TOLERANCE,
        )
        self.add(found.points, found.logps)


def _compared(count: int, apart: Mapping[tuple[int, int], float]) -> list[tuple[int, int]]:
    """The pairs of clusters to compare, each with its neighbours; `apart`: how far those of all pairs are."""
    if count <= NEIGHBOURS + 1:
        return list(apart)
    kept: set[tuple[int, int]] = set()
    for own in range(count):
        pairs = sorted((pair for pair in apart if own in pair), key=lambda pair: apart[pair])
        kept.update(pairs[:NEIGHBOURS])
        kept.update([pair for pair in pairs if pair[1] == own][:1])
    return [pair for pair in apart if pair in kept]


def _scaled(coordinates: LinearMap, positions: Floats) -> Floats:
    """The positions in scaled coordinates, their mean at 0."""
    moves = positions - positions.mean(0) if len(positions) else positions
    if not coordinates.dense:
        return np.asarray(moves / np.asarray(coordinates.scale))
    factor = np.asarray(coordinates.factor).reshape(moves.shape[1], moves.shape[1])
    return np.asarray(np.linalg.solve(factor, moves.T).T)


def _distances(first: Floats, second: Floats) -> Floats:
    """Distances between all rows of the two."""
    squares = (first**2).sum(1)[:, None] + (second**2).sum(1) - 2.0 * first @ second.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))
