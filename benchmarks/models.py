"""The models behind `benchmarks/problems.py`, and models of many separate terms."""

from __future__ import annotations

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks import problems


def eight_schools() -> pm.Model:
    """Eight schools, non-centred."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, shape=8)
        pm.Normal("y", mu + tau * z, problems.ERRORS, observed=problems.EFFECTS)
    return model


def radon() -> pm.Model:
    """The model of `examples/radon.py`, with its names and dims."""
    data = problems.radon_data()
    county = data["county_idx"] - 1
    uranium = data["log_uppm"][np.unique(county, return_index=True)[1]]
    with pm.Model(coords={"county": np.arange(data["J"]), "house": np.arange(data["N"])}) as model:
        intercept = pm.Normal("intercept", 0, 5)
        slope = pm.Normal("uranium_effect", 0, 5)
        effect = pm.Normal("floor_effect", 0, 5)
        sigma_intercept = pm.HalfNormal("sigma_intercept", 1)
        sigma_floor = pm.HalfNormal("sigma_floor", 1)
        z_intercept = pm.Normal("z_intercept", 0, 1, dims="county")
        z_floor = pm.Normal("z_floor", 0, 1, dims="county")
        a = intercept + slope * uranium + sigma_intercept * z_intercept
        a = pm.Deterministic("county_intercept", a, dims="county")
        b = pm.Deterministic("county_floor", effect + sigma_floor * z_floor, dims="county")
        sigma = pm.HalfNormal("sigma", 1)
        mu = a[county] + b[county] * data["floor_measure"]
        pm.Normal("log_radon", mu, sigma, observed=data["log_radon"], dims="house")
    return model


def logistic(rows: int, columns: int) -> pm.Model:
    """Logistic regression."""
    x, y = problems.logistic_data(rows, columns)
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, 2.5, shape=columns)
        pm.Bernoulli("y", logit_p=pt.dot(x, beta), observed=y)
    return model


def factorisation(ratings: int, people: int, films: int, factors: int) -> pm.Model:
    """Ratings as products of factors of people and of films."""
    person, film, y = problems.ratings_data(ratings, people, films)
    with pm.Model() as model:
        u = pm.Normal("u", 0, 1, shape=(people, factors))
        v = pm.Normal("v", 0, 1, shape=(films, factors))
        pm.Normal("y", (u[person] * v[film]).sum(-1), pm.HalfNormal("sigma", 1), observed=y)
    return model


def normal_mixture(rows: int, components: int = 3) -> pm.Model:
    """Mixture of normal distributions with unknown weights, means and scales."""
    with pm.Model() as model:
        w = pm.Dirichlet("w", np.ones(components))
        mu = pm.Normal("mu", 0, 3, shape=components)
        sigma = pm.HalfNormal("sigma", 2, shape=components)
        pm.NormalMixture("y", w, mu, sigma, observed=problems.mixture_data(rows))
    return model


def gaussian_process(points: int = 200) -> pm.Model:
    """Marginal Gaussian process with an RBF kernel."""
    x, y = problems.gaussian_process_data(points)
    squares = (x[:, None] - x[None, :]) ** 2
    with pm.Model() as model:
        rho = pm.Gamma("rho", alpha=25, beta=4)
        alpha = pm.HalfNormal("alpha", 2)
        sigma = pm.HalfNormal("sigma", 1)
        covariance = alpha**2 * pt.exp(-0.5 * squares / rho**2) + sigma**2 * pt.eye(points)
        pm.MvNormal("y", mu=np.zeros(points), cov=covariance, observed=y)
    return model


def separate_terms(count: int) -> pm.Model:
    """`count` priors and `count` likelihood terms, each with its own number of observations."""
    rng = np.random.default_rng(count)
    with pm.Model() as model:
        for i in range(count):
            mu = pm.Normal(f"mu_{i}", 0, 10)
            pm.Normal(f"y_{i}", mu, 1, observed=rng.standard_normal(5 + i))
    return model


MODELS = {
    "eight schools": eight_schools,
    "radon": radon,
    "logistic 1000x10": lambda: logistic(1000, 10),
    "logistic 100000x20": lambda: logistic(100_000, 20),
    "logistic 100000x100": lambda: logistic(100_000, 100),
    "factorisation 90000x10": lambda: factorisation(90_000, 943, 1682, 10),
    "mixture 3x1000": lambda: normal_mixture(1000),
    "GP, 200 points": gaussian_process,
    "10 separate terms": lambda: separate_terms(10),
    "100 separate terms": lambda: separate_terms(100),
    "1000 separate terms": lambda: separate_terms(1000),
}
