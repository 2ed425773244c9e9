"""Posteriors of sums of trees against all trees enumerated: eight rows, one or two binary columns, one or two trees."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import consilience as pm

SIGMA = 0.7
Y = np.array([0.3, -0.5, 1.2, 0.9, 0.1, -0.8, 1.5, 2.1])
SPREAD = float(Y.std())
BITS = np.array([[i & 1, (i >> 1) & 1] for i in range(8)], float)


Leaves = tuple[tuple[tuple[int, ...], int], ...]
"""Rows of each leaf, and the column that the node above it splits by; -1 for a root."""


def all_trees(X: np.ndarray, alpha: float, beta: float) -> list[tuple[Leaves, float, tuple[int, ...]]]:
    """Every tree whose leaves all have rows: leaves, prior probability, and how often a column was chosen of several.

    The probability is that of all but these choices. Columns hold whole numbers from 0, with cuts between them; rows of
    which one is missing (NaN) go left or right.
    """
    missing = np.isnan(X).any(axis=0)

    def grown(
        rows: tuple[int, ...], ranges: tuple[tuple[int, int], ...], depth: int, above: int
    ) -> list[tuple[Leaves, float, tuple[int, ...]]]:
        able = [column for column, (low, high) in enumerate(ranges) if high > low]
        split = alpha * (1.0 + depth) ** -beta if able else 0.0
        found: list[tuple[Leaves, float, tuple[int, ...]]] = [(((rows, above),), 1.0 - split, (0,) * len(ranges))]
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
                    grown(side, (*ranges[:column], own, *ranges[column + 1 :]), depth + 1, column)
                    for side, own in zip(sides, ((low, cut), (cut + 1, high)), strict=True)
                ]
                chance = split / len(options)
                chosen = np.eye(len(ranges), dtype=int)[column] * (len(able) > 1)
                found += [
                    (a + b, chance * p * q, tuple(chosen + np.array(k) + np.array(j)))
                    for (a, p, k), (b, q, j) in product(*parts)
                ]
        return found

    ranges = tuple((0, int(np.nanmax(column))) for column in X.T)
    return grown(tuple(range(len(X))), ranges, 0, -1)


def place_of(leaves: Leaves) -> tuple[int, ...]:
    """The leaf of each row."""
    place = np.zeros(8, int)
    for number, (rows, _) in enumerate(leaves):
        place[list(rows)] = number
    return partition(tuple(place.tolist()))


def partition(place: tuple[int, ...]) -> tuple[int, ...]:
    """The same for trees that part the rows alike."""
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(leaf, len(seen)) for leaf in place)


def spreads_of(leaves: Leaves, response: str, X: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Probabilities and covariances, for a leaf's variance of 1, of the leaves being constants or lines."""
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    found = [(1.0, np.zeros((8, 8)))]
    for rows, above in leaves:
        inside = np.isin(np.arange(8), rows)
        constant = np.outer(inside, inside) * 1.0
        line = constant * (0.5 + 0.5 * np.outer(z[:, above], z[:, above]))
        if response == "constant" or above < 0:
            kinds = [(1.0, constant)]
        else:
            kinds = [(1.0, line)] if response == "linear" else [(0.5, constant), (0.5, line)]
        found = [(p * q, before + own) for p, before in found for q, own in kinds]
    return found


def level_of_choices(counts: np.ndarray) -> float:
    """Log of the prior probability that columns were chosen so often, where their weights are learnt."""
    if not counts.any():
        return 0.0
    share = (np.arange(100) + 0.5) / 100  # Beta(1/2, 1) on the grid of the step method
    own = share / (1 - share)
    prior = -0.5 * np.log(share) - np.log(np.sum(share**-0.5))
    total, columns = counts.sum(), len(counts)
    level = special.gammaln(own * columns) - special.gammaln(own * columns + total)
    level += sum(special.gammaln(own + count) - special.gammaln(own) for count in counts)
    return float(special.logsumexp(prior + level))


def exact(
    X: np.ndarray, m: int, scale: float, offset: float, settings: Any
) -> dict[tuple[tuple[int, ...], ...], float]:
    """Posterior probabilities of the trees' partitions, in order."""
    response, sparse = settings.get("response", "constant"), settings.get("split_prior") == "sparse"
    scales = [scale]
    if "leaf_sd" not in settings:  # learnt: quantiles of its prior
        scales = list(np.sqrt(stats.invgamma(3.0, scale=0.5 * scale**2).ppf((np.arange(200) + 0.5) / 200)))
    trees: dict[Any, dict[tuple[int, ...], float]] = {}
    for leaves, chance, counts in all_trees(X, 0.95, 2.0):
        own = trees.setdefault((place_of(leaves), tuple(sorted(leaves)) if response != "constant" else None), {})
        if not sparse:
            chance, counts = chance / len(counts) ** sum(counts), (0,) * len(counts)
        own[counts] = own.get(counts, 0.0) + chance
    levels: dict[Any, list[float]] = {}
    for chosen in product(trees, repeat=m):
        prior = np.logaddexp.reduce(
            [
                sum(np.log(chance) for _, chance in own) + level_of_choices(np.sum([k for k, _ in own], axis=0))
                for own in product(*(trees[key].items() for key in chosen))
            ]
        )
        parts = []
        for kinds in product(*(spreads_of(leaves or rows_of(place), response, X) for place, leaves in chosen)):
            values, vectors = np.linalg.eigh(np.sum([own for _, own in kinds], axis=0))
            variances = SIGMA**2 + np.square(scales)[:, None] * values
            squares = np.square(vectors.T @ (Y - offset))
            densities = -0.5 * np.sum(squares / variances + np.log(variances), axis=1)
            parts.append(sum(np.log(p) for p, _ in kinds) + np.logaddexp.reduce(densities))
        levels.setdefault(tuple(place for place, _ in chosen), []).append(prior + np.logaddexp.reduce(parts))
    whole = np.logaddexp.reduce([level for own in levels.values() for level in own])
    return {key: float(np.exp(np.logaddexp.reduce(own) - whole)) for key, own in levels.items()}


def rows_of(place: tuple[int, ...]) -> Leaves:
    """Leaves of a partition."""
    return tuple((tuple(np.flatnonzero(np.array(place) == leaf).tolist()), -1) for leaf in sorted(set(place)))


def leaves_of(words: np.ndarray, m: int, X: np.ndarray, width: int = 1) -> tuple[tuple[int, ...], ...]:
    """The partitions of the rows by written trees."""
    at, found = 1, []

    def walk(rows: np.ndarray, place: np.ndarray) -> None:
        nonlocal at, count
        word = int(words[at])
        at += 1
        if word & 4095 == 0:
            at += width - 1
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


def check(X: np.ndarray, m: int, conjugate: bool, **settings: Any) -> None:
    """Compare frequencies of partitions in four chains with their probabilities."""
    with pm.Model() as model:
        mu = pm.BART("mu", X, Y, m=m, **settings)
        if conjugate:
            pm.Normal("y", mu, SIGMA, observed=Y)
        else:  # the same density, not known as one that is quadratic
            pm.Potential("y", pm.math.sum(pm.math.log(pm.math.exp(pm.logp(pm.Normal.dist(mu, SIGMA), Y)))))
        result = pm.sample(4000, tune=200, chains=4, random_seed=1, progressbar=False, compute_convergence_checks=False)
    forest = model.free[0].node.op.settings[0]
    expected = exact(X, m, forest.scale, forest.offset, settings)
    compare(result, expected, m, X, 1 + ("response" in settings))


def compare(
    result: Any, expected: dict[tuple[tuple[int, ...], ...], float], m: int, X: np.ndarray, width: int = 1
) -> None:
    """Compare frequencies of partitions in four chains with their probabilities."""
    words = result.sample_stats["mu_trees"].to_numpy().view(np.int64)
    drawn = [leaves_of(draw, m, X, width) for chain in words for draw in chain]
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
    check(BITS[:, :columns], m, conjugate, leaf_sd=SPREAD / m**0.5)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("values", "m"), [(4, 1), (3, 2)])
def test_rules_of_inner_nodes_are_visited_as_often_as_all_trees_enumerated_say(
    values: int, m: int, missing: bool
) -> None:
    X = np.column_stack([np.arange(8.0) * values // 8, BITS[:, 0]])
    if missing:
        X[3, 0] = np.nan
    check(X, m, conjugate=True, leaf_sd=SPREAD / m**0.5)


@pytest.mark.parametrize("conjugate", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("m", "settings"),
    [
        (1, {}),
        pytest.param(2, {}, marks=pytest.mark.slow),
        pytest.param(1, {"response": "linear", "leaf_sd": SPREAD}, marks=pytest.mark.slow),
        pytest.param(1, {"response": "mix", "leaf_sd": SPREAD}, marks=pytest.mark.slow),
        (1, {"response": "mix"}),
        (2, {"split_prior": "sparse", "leaf_sd": SPREAD / 2**0.5}),
    ],
    ids=lambda given: "-".join(given) or "usual" if isinstance(given, dict) else str(given),
)
def test_lines_and_what_is_learnt_of_the_prior_agree_with_all_trees_enumerated(
    m: int, settings: dict[str, Any], conjugate: bool
) -> None:
    check(np.column_stack([np.arange(8.0) * 3 // 8, BITS[:, 0]]), m, conjugate, **settings)


@pytest.mark.parametrize("conjugate", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("missing", [False, True])
def test_monotone_trees_are_those_of_all_trees_that_are_in_order(missing: bool, conjugate: bool) -> None:
    X = np.column_stack([np.arange(8.0) * 3 // 8, BITS[:, 0]])
    if missing:
        X[3, 1] = np.nan
    found = []
    grid = np.array(list(product(range(3), [0.0, 1.0, *([np.nan] if missing else [])])))
    for orders in ([1, -1], [0, 0]):
        with pm.Model() as model:
            mu = pm.BART("mu", X, Y, m=1, leaf_sd=SPREAD, monotone=orders)
            if conjugate:
                pm.Normal("y", mu, SIGMA, observed=Y)
            else:
                pm.Potential("y", pm.math.sum(pm.math.log(pm.math.exp(pm.logp(pm.Normal.dist(mu, SIGMA), Y)))))
            result = pm.sample(
                4000, tune=200, chains=4, random_seed=1, progressbar=False, compute_convergence_checks=False
            )
        values = pm.bart.predict(result, grid, model=model)
        table = values.reshape(*values.shape[:2], 3, -1)
        rises = (np.diff(table, axis=2) >= 0.0).all(axis=(2, 3)) & (np.diff(table[..., :2], axis=3) <= 0.0).all(
            axis=(2, 3)
        )
        found.append((values, rises))
    (ordered, all_rise), (free, rises) = found
    assert all_rise.all()
    parts = [v[keep] for v, keep in zip(free.reshape(40, -1, len(grid)), rises.reshape(40, -1), strict=True)]
    for moment in (lambda v: v, np.square):
        mine = np.array([moment(v).mean(axis=0) for v in ordered.reshape(40, -1, len(grid))])
        theirs = np.array([moment(v).mean(axis=0) for v in parts])
        error = np.sqrt((mine.var(axis=0, ddof=1) + theirs.var(axis=0, ddof=1)) / 40)
        np.testing.assert_array_less(np.abs(mine.mean(axis=0) - theirs.mean(axis=0)), 5.0 * error)


@pytest.mark.parametrize("family", ["laplace", "asymmetric", "hinge", "probit", "probit of a line"])
def test_trees_under_other_densities_are_visited_as_often_as_all_trees_enumerated_say(family: str) -> None:
    """With kinks, where second derivatives say nothing, and of the signs of latent normals, which are drawn."""
    X = np.column_stack([np.arange(8.0) * 3 // 8, BITS[:, 0]])
    bits = Y > 0.5

    def level(of: Any, value: Any) -> Any:
        error = Y.reshape(-1, *(1,) * (value.ndim - 1)) - value
        return {
            "laplace": lambda: -abs(error),
            "asymmetric": lambda: -error * (0.7 - (error < 0.0)),
            "hinge": lambda: -of.maximum(error, 0.0) - 0.1 * error**2,
        }[family]()

    with pm.Model() as model:
        mu = pm.BART("mu", X, Y, m=1, leaf_sd=SPREAD)
        if family.startswith("probit"):
            pm.Bernoulli("y", pm.math.invprobit(mu if family == "probit" else 0.4 - 1.5 * mu), observed=bits)
        else:
            pm.Potential("y", pm.math.sum(level(pm.math, mu)))
        result = pm.sample(4000, tune=200, chains=4, random_seed=1, progressbar=False, compute_convergence_checks=False)
    forest = model.free[0].node.op.settings[0]
    grid = forest.offset + forest.scale * np.linspace(-6.0, 6.0, 4001)
    if family.startswith("probit"):
        mean = grid if family == "probit" else 0.4 - 1.5 * grid
        levels = np.where(bits[:, None], special.log_ndtr(mean), special.log_ndtr(-mean))
    else:
        levels = level(np, np.broadcast_to(grid, (8, len(grid))))
    prior = stats.norm(forest.offset, forest.scale).logpdf(grid)
    chances: dict[tuple[tuple[int, ...], ...], float] = {}
    for leaves, chance, counts in all_trees(X, 0.95, 2.0):
        own = sum(special.logsumexp(prior + levels[list(rows)].sum(axis=0)) for rows, _ in leaves)
        own += len(leaves) * np.log(grid[1] - grid[0])
        key = (place_of(leaves),)
        chances[key] = chances.get(key, 0.0) + chance / len(counts) ** sum(counts) * np.exp(own)
    whole = sum(chances.values())
    compare(result, {key: chance / whole for key, chance in chances.items()}, 1, X)
