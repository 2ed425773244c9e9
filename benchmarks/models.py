"""The models behind `benchmarks/problems.py`, and models of many separate terms."""

from __future__ import annotations

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks import problems
from examples import radon as radon_example


def eight_schools() -> pm.Model:
    """Eight schools, non-centred."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, shape=8)
        pm.Normal("y", mu + tau * z, problems.ERRORS, observed=problems.EFFECTS)
    return model


def radon() -> pm.Model:
    """The model of the example."""
    return radon_example.build_model()


def logistic(rows: int, columns: int) -> pm.Model:
    """Logistic regression."""
    x, y = problems.logistic_data(rows, columns)
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, 2.5, shape=columns)
        pm.Bernoulli("y", logit_p=pt.dot(x, beta), observed=y)
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
    "GP, 200 points": gaussian_process,
    "10 separate terms": lambda: separate_terms(10),
    "100 separate terms": lambda: separate_terms(100),
    "1000 separate terms": lambda: separate_terms(1000),
}
