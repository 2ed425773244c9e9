"""Blocks that are normal given the rest, integrated by sparse factors: against the algebra of dense matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.model import model_density

Build = Callable[[np.random.Generator], Sequence[str]]


def random_walk(rng: np.random.Generator) -> list[str]:
    s = pm.HalfNormal("s")
    x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(0, 3), shape=60)
    pm.Normal("y", x, pm.HalfNormal("noise"), observed=rng.normal(size=60))
    return ["x"]


def rolling_regression(rng: np.random.Generator) -> list[str]:
    s, t = pm.HalfNormal("s"), pm.HalfNormal("t")
    a = pm.GaussianRandomWalk("a", sigma=s, init_dist=pm.Normal.dist(0, 3), shape=40)
    b = pm.GaussianRandomWalk("b", sigma=t, init_dist=pm.Normal.dist(0, 3), shape=40)
    pm.Normal("y", a + b * rng.normal(size=40), 0.3, observed=rng.normal(size=40))
    return ["a", "b"]


def autoregression(rng: np.random.Generator) -> list[str]:
    rho = pm.Uniform("rho", -1, 1)
    x = pm.AR("x", rho=[0.0, rho], sigma=pm.HalfNormal("s"), constant=True, init_dist=pm.Normal.dist(), steps=49)
    pm.Normal("y", x[::2], 0.3, observed=rng.normal(size=25))
    return ["x"]


def groups_with_their_mean(rng: np.random.Generator) -> list[str]:
    mean, s = pm.Normal("mean", 0, 5), pm.HalfNormal("s")
    x = pm.Normal("x", mean, s, shape=50)
    group = rng.integers(0, 50, 120)
    pm.Normal("y", x[group], pm.HalfNormal("noise"), observed=rng.normal(size=120))
    return ["x", "mean"]


def intercepts_and_slopes(rng: np.random.Generator) -> list[str]:
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0, shape=2), compute_corr=True)
    x = pm.MvNormal("x", np.zeros(2), chol=chol, shape=(30, 2))
    group, z = rng.integers(0, 30, 90), rng.normal(size=90)
    pm.Normal("y", x[group, 0] + x[group, 1] * z, 0.5, observed=rng.normal(size=90))
    return ["x"]


def crossed_effects(rng: np.random.Generator) -> list[str]:
    u = pm.Normal("u", 0, pm.HalfNormal("s"), shape=20)
    v = pm.Normal("v", 0, pm.HalfNormal("t"), shape=15)
    pm.Normal("y", u[rng.integers(0, 20, 40)] + v[rng.integers(0, 15, 40)], 0.4, observed=rng.normal(size=40))
    return ["u", "v"]


def neighbours(rng: np.random.Generator) -> list[str]:
    W = np.zeros((36, 36))
    for i in range(36):
        for j in (i + 1, i + 6):
            if j < 36 and (j != i + 1 or j % 6):
                W[i, j] = W[j, i] = 1.0
    x = pm.CAR("x", mu=np.zeros(36), W=W, alpha=pm.Uniform("alpha", 0, 0.9), tau=pm.Gamma("tau", 2, 2))
    pm.Normal("y", x, 0.7, observed=rng.normal(size=36))
    return ["x"]


def neighbours_that_sum_to_zero(rng: np.random.Generator) -> list[str]:
    """The sum of all elements is in the precision: a sparse matrix, full columns and a multiple of that of ones."""
    W = np.zeros((81, 81))
    for i in range(81):
        for j in (i + 1, i + 9):
            if j < 81 and (j != i + 1 or j % 9):
                W[i, j] = W[j, i] = 1.0
    x = pm.ICAR("x", W=W, sigma=pm.HalfNormal("s"), zero_sum_stdev=0.1)
    v = pm.Normal("v", 0, pm.HalfNormal("t"), shape=81)
    pm.Normal("y", pm.Normal("level") + x + v, 0.7, observed=rng.normal(size=81))
    return ["x", "v", "level"]


def two_tables(rng: np.random.Generator) -> list[str]:
    x = pm.Normal("x", 0, pm.HalfNormal("s"), shape=(8, 5))
    z = pm.Normal("z", pt.cumsum(x, axis=0)[:, ::2], 1.0, shape=(8, 3))
    pm.Normal("y", z, 0.5, observed=rng.normal(size=(8, 3)))
    return ["x", "z"]


def one_of_two_states(rng: np.random.Generator) -> list[str]:
    """Data that a mask chooses, a potential and data that reach over the whole vector."""
    x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=40)
    mask = rng.uniform(size=40) < 0.5
    pm.Normal("y", pt.where(mask, x, -2.0 * x), 0.5, observed=rng.normal(size=40))
    pm.Potential("pull", -0.5 * pt.sum((x[1:] - x[:-1]) ** 2))
    return ["x"]


CASES = [
    random_walk, rolling_regression, autoregression, groups_with_their_mean, intercepts_and_slopes, crossed_effects,
    neighbours, neighbours_that_sum_to_zero, two_tables, one_of_two_states,
]  # fmt: skip


def built(build: Build, seed: int = 0) -> tuple[pm.Model, pm.Model, Sequence[str]]:
    with pm.Model() as model:
        names = build(np.random.default_rng(seed))
    return model, pm.collapse(model, names), names


def algebra(model: pm.Model, names: Sequence[str], rest: Any) -> tuple[float, Any, Any]:
    """The logarithm of the integral, mean and precision of a block, by the compiled density of the whole model."""
    density = model_density(model)
    inside = np.concatenate([np.full(s.size, s.variable.name in names) for s in density.layout.stretches])
    position = np.zeros(density.dimension)
    position[~inside] = rest
    count = int(inside.sum())

    def slope(x: Any) -> Any:
        at = position.copy()
        at[inside] = x
        return density(at)[1][inside]

    start = slope(np.zeros(count))
    precision = -np.array([slope(unit) - start for unit in np.eye(count)])
    mean = np.linalg.solve(precision, start)
    at = position.copy()
    at[inside] = mean
    return density(at)[0] + count / 2 * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1] / 2, mean, precision


def check_density(build: Build, seed: int) -> None:
    model, collapsed, names = built(build, seed)
    density = model_density(collapsed)
    rng = np.random.default_rng(seed)
    for _ in range(2):
        rest = rng.normal(0, 0.5, density.dimension)
        value, slope = density(rest)
        np.testing.assert_allclose(value, algebra(model, names, rest)[0], rtol=1e-9, atol=1e-8)
        for place in range(density.dimension):
            step = np.eye(density.dimension)[place] * 1e-5
            wanted = (density(rest + step)[0] - density(rest - step)[0]) / 2e-5
            np.testing.assert_allclose(slope[place], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("build", CASES, ids=lambda f: f.__name__)
def test_the_integral_and_its_slopes_are_those_of_a_dense_factor(build: Build) -> None:
    check_density(build, 1)


def test_walks_fields_and_groups_have_sparse_factors() -> None:
    for build in (
        rolling_regression,
        groups_with_their_mean,
        intercepts_and_slopes,
        neighbours,
        neighbours_that_sum_to_zero,
    ):
        found = set(model_density(built(build)[1]).integrated.values())
        assert {kind.removesuffix(" and a sum") for kind in found} == {"normal, by a sparse factor"}, build.__name__


@pytest.mark.parametrize(
    "build", [rolling_regression, intercepts_and_slopes, neighbours_that_sum_to_zero], ids=lambda f: f.__name__
)
def test_draws_of_a_sparse_factor_have_mean_and_covariance_of_the_conditional(build: Build) -> None:
    model, collapsed, names = built(build)
    density = model_density(collapsed)
    rest = np.full(density.dimension, -0.2)
    count = 20_000
    given = {
        name: np.broadcast_to(value, (1, count, *value.shape[1:])) for name, value in density.expand(rest[None]).items()
    }
    found = pm.recover_marginals(given, model=collapsed, extend_inferencedata=False, random_seed=2)
    draws = np.concatenate([found[name].values.reshape(count, -1) for name in names], 1)
    _, mean, precision = algebra(model, names, rest)
    white = (draws - mean) @ np.linalg.cholesky(precision)
    assert np.abs(white.mean(0)).max() < 5 / np.sqrt(count)
    assert np.abs(np.cov(white.T) - np.eye(len(mean))).max() < 7 / np.sqrt(count)
