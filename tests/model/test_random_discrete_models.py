"""Discrete variables of random models: their sum, and draws of them, against all combinations of their values.

A variable may be a scalar or a vector, depend on others, and act on data by itself, by an index, a condition, a
product, a sum of its elements or a chain.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.ir import Node
from consilience.model.summation import summable
from consilience.sample.coordinates import ChainCoordinates, rewritten

QUICK = (1, 7, 11, 23)
SEEDS = range(60)
MOST = 500  # combinations
COUNT = 6000  # draws
ENDLESS = 25  # values of a variable without end that are looked at


def random_model(seed: int) -> tuple[pm.Model, dict[str, np.ndarray]]:
    """A model, and for each discrete variable all values that it has (values, *shape)."""
    rng = np.random.default_rng(seed)
    values: dict[str, np.ndarray] = {}
    combinations = 1
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 1.0, shape=3)
        before: list[tuple[str, Node, int]] = []
        for number in range(rng.integers(1, 4)):
            name, size = f"d{number}", int(rng.choice([0, 0, 2, 3]))
            shape = (size,) if size else ()
            parent = before[rng.integers(len(before))] if before and rng.random() < 0.5 else None
            shift = 0.0 if parent is None else 0.4 * (parent[1].sum() if parent[1].ndim else parent[1])
            kind = rng.choice(["bernoulli", "categorical", "uniform", "binomial", "poisson"])
            count = {"bernoulli": 2, "categorical": 3, "uniform": 4, "binomial": 3, "poisson": ENDLESS}[kind]
            if combinations * count ** max(size, 1) > MOST or (kind == "poisson" and size):
                kind, count = "bernoulli", 2
            if combinations * count ** max(size, 1) > MOST:
                continue
            match kind:
                case "bernoulli":
                    node = pm.Bernoulli(name, logit_p=x[0] + shift, shape=shape)
                case "categorical":
                    node = pm.Categorical(name, logit_p=pt.stack([x[1], 0.3 + shift, 0.0]), shape=shape)
                case "uniform":
                    node = pm.DiscreteUniform(name, 1, 4, shape=shape)
                case "binomial":
                    node = pm.Binomial(name, 2, pt.sigmoid(x[1] + shift), shape=shape)
                case _:
                    node = pm.Poisson(name, pt.exp(0.3 * x[2]) + 0.5 * shift, shape=shape)
            combinations *= count ** max(size, 1)
            least = 1 if kind == "uniform" else 0
            listed = np.array(list(itertools.product(range(least, least + count), repeat=max(size, 1))))
            values[name] = listed.reshape(-1, *shape)
            before.append((name, node, count))
            _act(rng, name, node, count, x)
        pm.Deterministic("all of them", sum(node.sum() if node.ndim else node for _, node, _ in before) + 0 * x[0])
    return model, values


def _act(rng: np.random.Generator, name: str, node: Node, count: int, x: Node) -> None:
    """Let a variable act on data in one of the ways that people write, or on nothing."""
    form = rng.choice(["itself", "index", "condition", "indicator", "sum", "chain", "potential", "nothing"])
    form = "itself" if form == "index" and count == ENDLESS else form
    length = 5 if node.ndim == 0 else int(node.static_shape[0])
    data = np.round(rng.normal(0.5, 1.0, length), 2)
    table = np.round(rng.normal(size=max(count, 5)), 2)
    match form:
        case "itself":
            pm.Normal(f"y_{name}", x[0] + 0.7 * node, 1.0, observed=data)
        case "index":
            pm.Normal(f"y_{name}", x[1] + pt.as_tensor(table)[node], 0.8, observed=data)
        case "condition":
            pm.Normal(f"y_{name}", pt.where(node > np.arange(length), x[0], x[1]), 1.0, observed=data)
        case "indicator":
            pm.Poisson(f"y_{name}", pt.exp(x[2]) + pt.eq(node, 1), observed=np.abs(data).astype(int))
        case "sum":
            pm.Normal(f"y_{name}", x[2] * (node.sum() if node.ndim else node), 1.0, observed=data[:1])
        case "chain" if node.ndim:
            pm.Potential(f"y_{name}", (x[0] * pt.eq(node[1:], node[:-1])).sum())
        case "potential":
            pm.Potential(f"y_{name}", 0.3 * x[1] * node)


@pytest.mark.parametrize("seed", [s if s in QUICK else pytest.param(s, marks=pytest.mark.slow) for s in SEEDS])
def test_sums_and_draws_agree_with_all_combinations(seed: int) -> None:
    model, values = random_model(seed)
    names = summable(model)
    assert set(names) == set(values)
    density = rewritten(model, ChainCoordinates(names)).log_density()
    whole = model.log_density()
    rng = np.random.default_rng(seed)
    sides = np.meshgrid(*(np.arange(len(values[name])) for name in names), indexing="ij")
    cases = {name: values[name][side.ravel()] for name, side in zip(names, sides, strict=True)}
    total = len(next(iter(cases.values())))

    def log_densities(at: Any) -> np.ndarray:
        given = {"x": np.repeat(density.expand(at[None], False)["x"], total, axis=0), **cases}
        return np.array([whole(position)[0] for position in whole.unconstrained(given)])

    points = rng.normal(size=(2, 3))
    logs = [log_densities(point) for point in points]
    sums = [np.logaddexp.reduce(one) for one in logs]
    found = [density(point)[0] for point in points]
    assert found[1] - found[0] == pytest.approx(sums[1] - sums[0], abs=1e-8)
    near = points[0] + 1e-9 * rng.normal(size=(COUNT, 3))
    draws = density.expand(near)
    for name in (names[0], "all of them"):
        assert np.array_equal(density.expand(near[:50], [name])[name], draws[name][:50])
    added = sum(draws[name].reshape(COUNT, -1).sum(axis=1) for name in names)
    np.testing.assert_allclose(draws["all of them"], added)
    expected = np.exp(logs[0] - sums[0])
    code = {tuple(np.concatenate([cases[n][i].ravel() for n in names])): i for i in range(total)}
    rows = np.concatenate([draws[name].reshape(COUNT, -1) for name in names], axis=1)
    counts = np.bincount([code[tuple(row)] for row in rows], minlength=total)
    common = COUNT * expected > 5
    chi2 = ((counts - COUNT * expected)[common] ** 2 / (COUNT * expected)[common]).sum()
    assert chi2 < common.sum() + 5.0 * np.sqrt(2.0 * common.sum()) + 5.0
    assert abs(counts[~common].sum() - COUNT * expected[~common].sum()) < 6.0 * np.sqrt(
        COUNT * expected[~common].sum() + 1.0
    )
