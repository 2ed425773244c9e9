"""Forests: the settings of sums of trees, their covariates in whole numbers, and draws of their prior.

Covariates and settings in; numbers of values, cuts between them, and functions at the rows out. Source: Chipman,
George, McCulloch (2010).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import ParameterError
from consilience.record import Record

Array = npt.NDArray[Any]

CONTINUOUS, ONE_HOT, SUBSET = range(3)
LEAVES: Final = ("constant", "linear", "mix")
MOST_CUTS: Final = 100
"""Of one covariate; of more values its quantiles are taken."""
MOST_CATEGORIES: Final = 40
TAG: Final = 4095
"""Lowest bits of the words that trees are written in; cuts leave them zero."""


class Forest(Record):
    """What is known of a sum of trees besides the covariates' values; see `BART`.

    `kinds`: of rules, one per column.
    `weights`: prior probabilities of the columns; where they are `sparse`, those at first.
    `categories`: the categories of each column, in the order of their numbers; None for numbers.
    `learnt`: whether the standard deviation of a leaf is, `scale` otherwise.
    `lines`: which of `LEAVES`.
    `orders`: 1 where the sum rises with a column, -1 where it falls, 0 elsewhere.
    `centres`, `spreads`: of the columns, for lines.
    """

    m: int
    alpha: float
    beta: float
    offset: float
    scale: float
    learnt: bool
    kinds: tuple[int, ...]
    weights: tuple[float, ...]
    sparse: bool
    columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]
    separate: bool
    lines: int
    orders: tuple[int, ...]
    centres: tuple[float, ...]
    spreads: tuple[float, ...]

    def standard(self, X: Array) -> Array:
        """Covariates (row, column) with the mean 0 and the spread 1, 0 where they are missing."""
        found: Array = np.nan_to_num((X - np.array(self.centres)) / np.array(self.spreads))
        return found

    def split_level(self, depth: int) -> float:
        """Prior probability that a node splits where it can."""
        return float(self.alpha * (1.0 + depth) ** -self.beta)


# ---- covariates in whole numbers


class Coded(Record, eq=False):
    """Covariates in whole numbers.

    `codes`: int64 (column, row): how many cuts lie below a value, or the number of its category; -1 where it is
        missing.
    `levels`: number of values per column.
    `cuts`: where cuts lie; empty for categories.
    """

    codes: Array
    levels: tuple[int, ...]
    cuts: tuple[Array, ...]


def coded(forest: Forest, X: Array) -> Coded:
    """Covariates in whole numbers, with cuts between their values."""
    codes = np.full(X.T.shape, -1, np.int64)
    levels, cuts = [], []
    for place, kind in enumerate(forest.kinds):
        values = np.asarray(X[:, place], float)
        present = ~np.isnan(values)
        if kind == CONTINUOUS:
            own = cut_points(values[present])
            codes[place, present] = np.searchsorted(own, values[present], side="left")
            levels.append(len(own) + 1)
            cuts.append(own)
        else:
            check_categories(forest, place, values[present])
            codes[place, present] = values[present].astype(np.int64)
            levels.append(int(codes[place].max()) + 1)
            cuts.append(np.zeros(0))
    return Coded(codes, tuple(levels), tuple(cuts))


def check_categories(forest: Forest, place: int, values: Array) -> None:
    """Raise ParameterError for numbers that are none of categories."""
    if ((values != np.floor(values)) | (values < 0) | (values >= MOST_CATEGORIES)).any():
        raise ParameterError(
            f"BART: column `{forest.columns[place]}` has a rule for categories, which are the whole numbers from 0 to "
            f"{MOST_CATEGORIES - 1}; got {values[:5].tolist()}."
        )


def cut_points(values: Array) -> Array:
    """Cuts between different values: between all of them, or at quantiles of many. Their lowest bits are zero."""
    different = np.unique(values)
    if len(different) > MOST_CUTS + 1:
        ordered = np.sort(values)
        places = np.linspace(0, len(ordered) - 1, MOST_CUTS + 2)[1:-1].astype(int)
        below = np.unique(ordered[places])
        above = different[np.minimum(np.searchsorted(different, below, side="right"), len(different) - 1)]
    else:
        below, above = different[:-1], different[1:]
    middle = np.where(below == above, below, below + 0.5 * (above - below))
    cuts = (middle.view(np.int64) & ~np.int64(TAG)).view(np.float64)
    apart = (cuts >= below) & (cuts < above)  # else they are closer than the bits that are kept
    found: Array = np.unique(cuts[apart])
    return found


# ---- draws of the prior


class Leaf(Record, eq=False):
    """A leaf of a tree of the prior.

    `rows`: their numbers.
    `column`: that the node above splits by; -1 for a root.
    `ranges`, `masks`: values of each column that lead here.
    `missing`: whether a row without a value of a column can come here.
    """

    rows: Array
    column: int
    ranges: tuple[tuple[int, int], ...]
    masks: tuple[int, ...]
    missing: tuple[bool, ...]


def prior_draws(forest: Forest, X: Array, count: int, rng: np.random.Generator) -> Array:
    """Functions drawn from the prior, at the rows, (count, rows): those of one draw, which share their weights."""
    known = coded(forest, X)
    standard = forest.standard(X) if forest.lines else None
    found = np.full((count, len(X)), forest.offset)
    scale = forest.scale
    if forest.learnt:
        scale *= 1.0 / np.sqrt(2.0 * rng.gamma(3.0))
    weights = np.asarray(forest.weights)
    if forest.sparse:
        columns = len(weights)
        share = rng.beta(0.5, 1.0)
        levels = _log_gamma(np.full(columns, share / max(1.0 - share, 1e-12)), rng)
        weights = np.exp(levels - levels.max())
        weights /= weights.sum()
    for _ in range(forest.m):
        own: list[Leaf] | None = None
        for k in range(0, count, 1 if forest.separate else count):
            width = 1 if forest.separate else count
            values = None
            while values is None:
                own = _prior_leaves(forest, known, weights, rng)
                values = _values(forest, known, own, width, scale, rng)
            for leaf, (level, slope) in zip(own or [], values, strict=True):
                found[k : k + width, leaf.rows] += level[:, None]
                if standard is not None and leaf.column >= 0:
                    found[k : k + width, leaf.rows] += slope[:, None] * standard[leaf.rows, leaf.column]
    return found


def _log_gamma(shapes: Array, rng: np.random.Generator) -> Array:
    """Logarithms of draws from gamma distributions of small shapes."""
    found: Array = np.log(rng.gamma(shapes + 1.0)) + np.log(rng.uniform(size=len(shapes))) / shapes
    return found


def _values(
    forest: Forest, known: Coded, leaves: list[Leaf], count: int, scale: float, rng: np.random.Generator
) -> list[tuple[Array, Array]] | None:
    """Values and slopes of leaves, for several functions; None where they are not in order."""
    found = []
    for leaf in leaves:
        flat = forest.lines == 0 or leaf.column < 0
        line = np.zeros(count, bool) if flat else rng.random(count) < (1.0 if forest.lines == 1 else 0.5)
        own = np.where(line, scale / np.sqrt(2.0), scale)
        found.append((rng.normal(0.0, own), np.where(line, rng.normal(0.0, own), 0.0)))
    for column, order in enumerate(forest.orders):
        for low, (first, _) in zip(leaves, found, strict=True):
            for high, (second, _) in zip(leaves, found, strict=True):
                falls = bool(order) and low.ranges[column][1] < high.ranges[column][0]
                if falls and (order * (second - first) < 0.0).any() and _comparable(forest, known, low, high, column):
                    return None
    return found


def _comparable(forest: Forest, known: Coded, low: Leaf, high: Leaf, column: int) -> bool:
    """Whether rows that are alike but for one column can lie in two leaves."""
    for other, kind in enumerate(forest.kinds):
        if other != column:
            (a, b), (c, d) = low.ranges[other], high.ranges[other]
            meet = max(a, c) <= min(b, d) if kind == CONTINUOUS else bool(low.masks[other] & high.masks[other])
            lost = low.missing[other] and high.missing[other] and bool((known.codes[other] < 0).any())
            if not meet and not lost:
                return False
    return True


def _prior_leaves(forest: Forest, known: Coded, weights: Array, rng: np.random.Generator) -> list[Leaf]:
    """The leaves of a tree of the prior, all of which have rows."""
    root = Leaf(
        np.arange(known.codes.shape[1]),
        -1,
        tuple((0, levels - 1) for levels in known.levels),
        tuple((1 << min(levels, 62)) - 1 for levels in known.levels),
        (True,) * len(known.levels),
    )
    while True:
        leaves: list[Leaf] = []
        if _grown(forest, known, weights, rng, root, 0, leaves):
            return leaves


def _grown(
    forest: Forest, known: Coded, weights: Array, rng: np.random.Generator, node: Leaf, depth: int, leaves: list[Leaf]
) -> bool:
    """Add the leaves below a node; False where one is empty."""
    if not len(node.rows):
        return False
    able = np.array(
        [
            high > low if kind == CONTINUOUS else mask.bit_count() > 1
            for kind, (low, high), mask in zip(forest.kinds, node.ranges, node.masks, strict=True)
        ]
    )
    chances = weights * able
    if not chances.sum() or rng.random() >= forest.split_level(depth):
        leaves.append(node)
        return True
    column = int(rng.choice(len(chances), p=chances / chances.sum()))
    codes = known.codes[column, node.rows]
    (low, high), mask, kind = node.ranges[column], node.masks[column], forest.kinds[column]
    if kind == CONTINUOUS:
        cut = int(rng.integers(low, high))
        goes = codes <= cut
        sides = ((low, cut), mask), ((cut + 1, high), mask)
    else:
        present = [c for c in range(mask.bit_length()) if mask >> c & 1]
        if kind == ONE_HOT:
            own = 1 << int(rng.choice(present))
        else:
            own = 0
            while own in (0, mask):
                own = sum(1 << c for c in present if rng.random() < 0.5)
        goes = np.array([c >= 0 and own >> int(c) & 1 for c in codes], bool)
        sides = ((low, high), mask & own), ((low, high), mask & ~own)
    aside = bool((known.codes[column] < 0).any() and rng.random() < 0.5)
    goes = np.where(codes < 0, not aside, goes)
    for right, (own_range, own_mask) in enumerate(sides):
        ranges, masks, missing = list(node.ranges), list(node.masks), list(node.missing)
        ranges[column], masks[column] = own_range, own_mask
        missing[column] = missing[column] and aside == bool(right)
        rows = node.rows[~goes if right else goes]
        child = Leaf(rows, column, tuple(ranges), tuple(masks), tuple(missing))
        if not _grown(forest, known, weights, rng, child, depth + 1, leaves):
            return False
    return True
