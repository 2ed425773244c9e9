"""Evidences by bridge sampling agree with closed forms as often as their standard errors say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats

import consilience as pm

RUNS = 200
Case = tuple[pm.Model, float]  # a model, and the log of its marginal likelihood


def mean_of_a_normal() -> Case:
    data = np.random.default_rng(0).normal(1.0, 1.0, 20)
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 2), 1, observed=data)
    return model, float(stats.multivariate_normal(np.zeros(20), np.eye(20) + 4 * np.ones((20, 20))).logpdf(data))


def regression() -> Case:
    generator = np.random.default_rng(1)
    x = generator.normal(size=(30, 4))
    y = x @ [1.0, -0.5, 0.0, 2.0] + generator.normal(size=30)
    with pm.Model() as model:
        pm.Normal("y", x @ pm.Normal("b", 0, 1, shape=4), 1.0, observed=y)
    return model, float(stats.multivariate_normal(np.zeros(30), np.eye(30) + x @ x.T).logpdf(y))


def share() -> Case:
    y = np.array([3, 5, 2, 4, 6])
    with pm.Model() as model:
        pm.Binomial("y", 10, pm.Beta("p", 2, 3), observed=y)
    ways = np.log(special.comb(10, y)).sum()
    return model, float(ways + special.betaln(2 + y.sum(), 3 + (10 - y).sum()) - special.betaln(2, 3))


def rate() -> Case:
    y = np.array([0, 2, 1, 4, 0, 3])
    with pm.Model() as model:
        pm.Poisson("y", pm.Gamma("rate", 2, 1), observed=y)
    a, b = 2 + y.sum(), 1 + len(y)
    return model, float(special.gammaln(a) - a * np.log(b) - special.gammaln(y + 1.0).sum())


CASES: tuple[Callable[[], Case], ...] = (mean_of_a_normal, regression, share, rate)


@pytest.mark.slow
@pytest.mark.parametrize("make", CASES)
def test_bridge_sampling_is_within_three_standard_errors(make: Callable[[], Case]) -> None:
    """In at least 95 % of the runs, each from a posterior of its own; errors are of the right size."""
    model, exact = make()
    found = []
    for seed in range(RUNS):
        result = pm.sample(model=model, random_seed=seed, progressbar=False)
        one = pm.log_marginal_likelihood(result, model=model, random_seed=seed)
        found.append((one.value - exact) / one.error)
    standardised = np.abs(found)
    assert (standardised < 3).mean() >= 0.95, np.sort(standardised)[-12:]
    assert 0.5 < np.sqrt(np.mean(np.square(found))) < 1.4
