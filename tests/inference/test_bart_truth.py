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


def all_trees(columns: int, alpha: float, beta: float) -> list[tuple[tuple[int, ...], float]]:
    """The leaf of each row, and the prior probability, of every tree."""

    def grown(rows: tuple[int, ...], left: frozenset[int], depth: int) -> list[tuple[list[tuple[int, ...]], float]]:
        split = alpha * (1.0 + depth) ** -beta if left else 0.0
        found: list[tuple[list[tuple[int, ...]], float]] = [([rows], 1.0 - split)]
        for column in sorted(left):
            sides = [tuple(i for i in rows if BITS[i, column] == side) for side in (0, 1)]
            parts = [grown(side, left - {column}, depth + 1) for side in sides]
            found += [(a + b, split / len(left) * p * q) for (a, p), (b, q) in product(*parts)]
        return found

    trees = []
    for leaves, chance in grown(tuple(range(8)), frozenset(range(columns)), 0):
        place = np.zeros(8, int)
        for number, rows in enumerate(leaves):
            place[list(rows)] = number
        trees.append((tuple(place.tolist()), chance))
    return trees


def partition(place: tuple[int, ...]) -> tuple[int, ...]:
    """The same for trees that part the rows alike."""
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(leaf, len(seen)) for leaf in place)


def exact(columns: int, m: int, scale: float, offset: float) -> dict[tuple[tuple[int, ...], ...], float]:
    """Posterior probabilities of the trees' partitions, in order."""
    levels: dict[tuple[tuple[int, ...], ...], list[float]] = {}
    for chosen in product(all_trees(columns, 0.95, 2.0), repeat=m):
        cov = SIGMA**2 * np.eye(8)
        for place, _ in chosen:
            same = np.equal.outer(place, place)
            cov = cov + scale**2 * same
        level = np.log([chance for _, chance in chosen]).sum()
        level += stats.multivariate_normal(np.full(8, offset), cov).logpdf(Y)
        levels.setdefault(tuple(partition(place) for place, _ in chosen), []).append(level)
    sums = {key: np.logaddexp.reduce(found) for key, found in levels.items()}
    whole = np.logaddexp.reduce(list(sums.values()))
    return {key: float(np.exp(level - whole)) for key, level in sums.items()}


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
        goes = X[rows, ((word & 4095) >> 1) - 1] <= cut
        walk(rows[goes], place)
        walk(rows[~goes], place)

    for _ in range(m):
        place, count = np.zeros(len(X), int), 0
        walk(np.arange(len(X)), place)
        found.append(partition(tuple(place.tolist())))
    return tuple(found)


@pytest.mark.parametrize(("columns", "m"), [(1, 1), (2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("conjugate", [True, False])
def test_trees_are_visited_as_often_as_all_trees_enumerated_say(columns: int, m: int, conjugate: bool) -> None:
    X = BITS[:, :columns]
    with pm.Model() as model:
        mu = pm.BART("mu", X, Y, m=m)
        if conjugate:
            pm.Normal("y", mu, SIGMA, observed=Y)
        else:  # the same density, not known as one that is quadratic
            pm.Potential("y", pm.math.sum(pm.math.log(pm.math.exp(pm.logp(pm.Normal.dist(mu, SIGMA), Y)))))
        result = pm.sample(4000, tune=200, chains=4, random_seed=1, progressbar=False, compute_convergence_checks=False)
    forest = model.free[0].node.op.settings[0]
    expected = exact(columns, m, forest.scale, forest.offset)
    words = result.sample_stats["mu_trees"].to_numpy().view(np.int64)
    counts: dict[tuple[tuple[int, ...], ...], list[float]] = {key: [] for key in expected}
    drawn = [[leaves_of(draw, m, X) for draw in chain] for chain in words]
    for key in counts:
        hits = np.array([[one == key for one in chain] for chain in drawn], float)
        parts = hits.reshape(40, -1).mean(axis=1)
        error = max(parts.std(ddof=1) / np.sqrt(40), np.sqrt(expected[key] / hits.size), 1e-4)
        assert abs(hits.mean() - expected[key]) < 5.0 * error, (key, hits.mean(), expected[key], error)
