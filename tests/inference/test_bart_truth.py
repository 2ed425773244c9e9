"""Posteriors of sums of trees against all trees enumerated: eight rows, one or two binary columns, one or two trees."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

import consilience as pm

SIGMA = 0.7
Y = np.array([0.3, -0.5, 1.2, 0.9, 0.1, -0.8, 1.5, 2.1])
BITS = np.array([[i & 1, (i >> 1) & 1] for i in range(8)], float)


def all_trees(X: np.ndarray, alpha: float, beta: float) -> list[tuple[tuple[int, ...], float]]:
    """The leaf of each row, and the prior probability, of every tree whose leaves all have rows.

    Columns hold whole numbers from 0, with cuts between them; rows of which one is missing (NaN) go left or right.
    """
    missing = np.isnan(X).any(axis=0)

    def grown(
        rows: tuple[int, ...], ranges: tuple[tuple[int, int], ...], depth: int
    ) -> list[tuple[list[tuple[int, ...]], float]]:
        able = [column for column, (low, high) in enumerate(ranges) if high > low]
        split = alpha * (1.0 + depth) ** -beta if able else 0.0
        found: list[tuple[list[tuple[int, ...]], float]] = [([rows], 1.0 - split)]
        for column in able:
            low, high = ranges[column]
            options = [
                (cut, aside) for cut in range(low, high) for aside in ((True, False) if missing[column] else (True,))
            ]
            for cut, aside in options:
                goes = [aside if np.isnan(X[i, column]) else X[i, column] <= cut for i in rows]
                sides = [
                    tuple(i for i, go in zip(rows, goes, strict=True) if bool(go) == side) for side in (True, False)
                ]
                if not all(sides):
                    continue
                parts = [
                    grown(side, (*ranges[:column], own, *ranges[column + 1 :]), depth + 1)
                    for side, own in zip(sides, ((low, cut), (cut + 1, high)), strict=True)
                ]
                chance = split / len(able) / len(options)
                found += [(a + b, chance * p * q) for (a, p), (b, q) in product(*parts)]
        return found

    trees = []
    ranges = tuple((0, int(np.nanmax(column))) for column in X.T)
    for leaves, chance in grown(tuple(range(len(X))), ranges, 0):
        place = np.zeros(len(X), int)
        for number, rows in enumerate(leaves):
            place[list(rows)] = number
        trees.append((tuple(place.tolist()), chance))
    return trees


def partition(place: tuple[int, ...]) -> tuple[int, ...]:
    """The same for trees that part the rows alike."""
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(leaf, len(seen)) for leaf in place)


def exact(X: np.ndarray, m: int, scale: float, offset: float) -> dict[tuple[tuple[int, ...], ...], float]:
    """Posterior probabilities of the trees' partitions, in order."""
    chances: dict[tuple[int, ...], float] = {}
    for place, chance in all_trees(X, 0.95, 2.0):
        chances[partition(place)] = chances.get(partition(place), 0.0) + chance
    levels = {}
    for chosen in product(chances, repeat=m):
        cov = SIGMA**2 * np.eye(8)
        for place in chosen:
            cov = cov + scale**2 * np.equal.outer(place, place)
        level = np.log([chances[place] for place in chosen]).sum()
        levels[chosen] = level + stats.multivariate_normal(np.full(8, offset), cov).logpdf(Y)
    whole = np.logaddexp.reduce(list(levels.values()))
    return {key: float(np.exp(level - whole)) for key, level in levels.items()}


def leaves_of(words: np.ndarray, m: int, X: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """The partitions of the rows by written trees."""
    at, found = 1, []

    def walk(rows: np.ndarray, place: np.ndarray) -> None:
        nonlocal at, count
        word = int(words[at])
        at += 1
        if word & 4095 == 0:
            place[rows] = count
            count += 1
            return
        cut = np.array([word & ~4095]).view(np.float64)[0]
        own = X[rows, ((word & 4095) >> 1) - 1]
        goes = np.where(np.isnan(own), word & 1 == 0, own <= cut)
        walk(rows[goes], place)
        walk(rows[~goes], place)

    for _ in range(m):
        place, count = np.zeros(len(X), int), 0
        walk(np.arange(len(X)), place)
        found.append(partition(tuple(place.tolist())))
    return tuple(found)


def check(X: np.ndarray, m: int, conjugate: bool) -> None:
    """Compare frequencies of partitions in four chains with their probabilities."""
    with pm.Model() as model:
        mu = pm.BART("mu", X, Y, m=m)
        if conjugate:
            pm.Normal("y", mu, SIGMA, observed=Y)
        else:  # the same density, not known as one that is quadratic
            pm.Potential("y", pm.math.sum(pm.math.log(pm.math.exp(pm.logp(pm.Normal.dist(mu, SIGMA), Y)))))
        result = pm.sample(4000, tune=200, chains=4, random_seed=1, progressbar=False, compute_convergence_checks=False)
    forest = model.free[0].node.op.settings[0]
    expected = exact(X, m, forest.scale, forest.offset)
    words = result.sample_stats["mu_trees"].to_numpy().view(np.int64)
    drawn = [leaves_of(draw, m, X) for chain in words for draw in chain]
    assert set(drawn) <= set(expected)
    rare = [key for key, chance in expected.items() if chance < 40 / len(drawn)]  # too few visits to judge each alone
    groups = [rare, *([key] for key in expected if key not in set(rare))]
    number = {key: place for place, group in enumerate(groups) for key in group}
    hits = np.array([number[one] for one in drawn]).reshape(40, -1)
    for place, group in enumerate(groups):
        chance = sum(expected[key] for key in group)
        parts = (hits == place).mean(axis=1)
        error = max(parts.std(ddof=1) / np.sqrt(40), np.sqrt(chance / hits.size), 1e-4)
        assert abs(parts.mean() - chance) < 5.0 * error, (group[:1], parts.mean(), chance, error)


@pytest.mark.parametrize(("columns", "m"), [(1, 1), (2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("conjugate", [True, False])
def test_trees_are_visited_as_often_as_all_trees_enumerated_say(columns: int, m: int, conjugate: bool) -> None:
    check(BITS[:, :columns], m, conjugate)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("values", "m"), [(4, 1), (3, 2)])
def test_rules_of_inner_nodes_are_visited_as_often_as_all_trees_enumerated_say(
    values: int, m: int, missing: bool
) -> None:
    X = np.column_stack([np.arange(8.0) * values // 8, BITS[:, 0]])
    if missing:
        X[3, 0] = np.nan
    check(X, m, conjugate=True)
