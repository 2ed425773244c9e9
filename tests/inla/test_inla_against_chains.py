"""Nested Laplace approximations against long runs of NUTS, and calibrated on data from their own models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm

BIAS = 0.06  # standard deviations: what Laplace's approximation may be off where a datum tells more than its prior


def random_effects() -> tuple[pm.Model, list[str]]:
    """Counts with an effect each, a coefficient and a trend that walks at random."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=50)
    y = rng.poisson(np.exp(2.5 + 0.4 * x + np.cumsum(0.15 * rng.normal(size=50)) + 0.3 * rng.normal(size=50)))
    with pm.Model() as model:
        b = pm.Normal("b", 0.0, 2.0, shape=2)
        step = pm.Gamma("step", 4.0, 20.0)
        spread = pm.Gamma("spread", 4.0, 15.0)
        trend = pm.GaussianRandomWalk("trend", 0.0, step, init_dist=pm.Normal.dist(0.0, 0.1), shape=50)
        z = pm.Normal("z", 0.0, spread, shape=50)
        pm.Poisson("y", pm.math.exp(b[0] + b[1] * x + trend + z), observed=y)
    return model, ["b", "trend", "z"]


def binomial_mixed_model() -> tuple[pm.Model, list[str]]:
    """Successes in groups."""
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(25), 6)
    x = rng.normal(size=150)
    eta = 0.3 + 0.7 * x + 0.8 * rng.normal(size=25)[group]
    y = rng.binomial(8, 1.0 / (1.0 + np.exp(-eta)))
    with pm.Model() as model:
        b = pm.Normal("b", 0.0, 2.0, shape=2)
        s = pm.HalfNormal("s", 1.0)
        u = pm.Normal("u", 0.0, s, shape=25)
        pm.Binomial("y", 8, logit_p=b[0] + b[1] * x + u[group], observed=y)
    return model, ["b", "u"]


def disease_map() -> tuple[pm.Model, list[str]]:
    """Cases in 56 districts with as many expected as in Scotland's, and neighbours that are alike."""
    rng = np.random.default_rng(3)
    row, column = np.divmod(np.arange(56), 8)
    near = np.abs(row[:, None] - row) + np.abs(column[:, None] - column) == 1
    weights = near.astype(float)
    precision = 3.0 * (np.diag(weights.sum(1)) - 0.9 * weights)
    phi = np.linalg.cholesky(np.linalg.inv(precision)) @ rng.normal(size=56)
    x, expected = rng.normal(size=56), rng.gamma(2.0, 8.0, size=56)
    y = rng.poisson(expected * np.exp(0.1 + 0.4 * x + phi))
    with pm.Model() as model:
        b = pm.Normal("b", 0.0, 2.0, shape=2)
        alpha = pm.Beta("alpha", 4.0, 2.0)
        tau = pm.Gamma("tau", 2.0, 0.5)
        field = pm.CAR("field", 0.0, weights, alpha, tau)
        pm.Poisson("y", expected * pm.math.exp(b[0] + b[1] * x + field), observed=y)
    return model, ["b", "field"]


def three_variances() -> tuple[pm.Model, list[str]]:
    """Crossed effects of normal data: three hyperparameters, hence a composite design."""
    rng = np.random.default_rng(4)
    first, second = np.repeat(np.arange(15), 10), np.tile(np.arange(10), 15)
    y = 1.0 + 0.7 * rng.normal(size=15)[first] + 0.5 * rng.normal(size=10)[second] + 0.6 * rng.normal(size=150)
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        scales = pm.HalfNormal("scales", 1.0, shape=3)
        u = pm.Normal("u", mu, scales[0], shape=15)
        v = pm.Normal("v", 0.0, scales[1], shape=10)
        pm.Normal("y", u[first] + v[second], scales[2], observed=y)
    return model, ["mu", "u", "v"]


MODELS = [
    pytest.param(binomial_mixed_model, 4000, id="binomial"),
    pytest.param(disease_map, 4000, id="map"),
    pytest.param(three_variances, 4000, id="variances"),
    pytest.param(random_effects, 20_000, id="poisson", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("declare", "draws"), MODELS)
def test_marginals_are_those_of_long_chains(declare: Callable[[], tuple[pm.Model, list[str]]], draws: int) -> None:
    """Means, deviations and quantiles, within five Monte Carlo errors and what Laplace's approximation may be off."""
    model, latent = declare()
    with model:
        fit = pm.fit(method="inla", latent=latent, random_seed=1)
    # Chains walk badly along scales of many effects; in other coordinates they do not.
    with pm.noncenter(model, latent[1:]) if draws > 4000 else model:
        chains = pm.sample(draws, tune=1500, chains=4, target_accept=0.97, random_seed=2, progressbar=False)
    posterior: Any = chains["posterior"].to_dataset()
    drawn: Any = fit.sample(4000, random_seed=3)["posterior"].to_dataset()
    summary = fit.summary()
    ess: Any = pm.ess(chains)
    for variable in model.free_RVs:
        name = str(variable.name)
        long = posterior[name].values.reshape(-1, *posterior[name].shape[2:])
        sd: Any = long.std(0)
        error: Any = 5.0 / np.sqrt(ess[name].values)
        own: Any = summary[name].values
        assert np.all(np.abs(own[0] - long.mean(0)) < (BIAS + error) * sd), name
        np.testing.assert_allclose(own[1] / sd, 1.0, atol=BIAS + error.max())
        for row, p in enumerate((0.05, 0.5, 0.95), 2):
            assert np.all(np.abs(own[row] - np.quantile(long, p, axis=0)) < (BIAS + 3.0 * error) * sd), (name, p)
        few = drawn[name].values[0]
        assert np.all(np.abs(few.mean(0) - long.mean(0)) < (BIAS + error + 5.0 / np.sqrt(4000.0)) * sd), name
        np.testing.assert_allclose(few.std(0) / sd, 1.0, atol=BIAS + error.max() + 5.0 / np.sqrt(8000.0))


@pytest.mark.slow
def test_ranks_of_true_values_are_uniform() -> None:
    """Simulation-based calibration over 200 data sets of a model of counts with random effects."""
    rng = np.random.default_rng(8)
    group = np.repeat(np.arange(12), 4)
    with pm.Model() as model:
        data = pm.Data("data", np.zeros(48, int))
        b = pm.Normal("b", 1.5, 0.5)
        s = pm.Gamma("s", 5.0, 10.0)
        u = pm.Normal("u", 0.0, s, shape=12)
        pm.Poisson("y", pm.math.exp(b + u[group]), observed=data)
    ranks = []
    for k in range(200):
        truth: dict[str, Any] = {"b": rng.normal(1.5, 0.5), "s": rng.gamma(5.0, 0.1)}
        truth["u"] = truth["s"] * rng.normal(size=12)
        y = rng.poisson(np.exp(truth["b"] + truth["u"][group]))
        with model:
            pm.set_data({"data": y})
            draws: Any = pm.fit(method="inla", latent=["b", "u"], random_seed=k).sample(
                400, random_seed=k, return_inferencedata=False
            )
        ranks.append([(draws["b"] < truth["b"]).mean(), (draws["s"] < truth["s"]).mean()])
        ranks[-1].append((draws["u"][:, 0] < truth["u"][0]).mean())
    for column in np.array(ranks).T:
        counts, _ = np.histogram(column, 10, (0.0, 1.0))
        assert ((counts - 20.0) ** 2 / 20.0).sum() < 27.9  # 0.999 quantile of chi square with 9 degrees of freedom
