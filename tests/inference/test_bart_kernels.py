"""The step method of regression trees: as CPython runs it, and on small data whose posterior is known by simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import consilience as pm
from consilience.inference.tree_weights import cumulate
from consilience.inference.vectors import Vectors
from consilience.sample.step_methods import DivisibleDensity

SETTINGS: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False}


@pytest.mark.parametrize(
    "settings",
    [{}, {"leaf_sd": 0.3}, {"response": "mix"}, {"monotone": [1, 0]}, {"split_prior": "sparse"}, {"link": "probit"}],
    ids=lambda given: "-".join(given) or "usual",
)
def test_machine_code_and_cpython_make_the_same_trees(settings: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(25, 2))
    X[rng.uniform(size=(25, 2)) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) + 0.1 * rng.normal(size=25)
    found = []
    for compiled in (True, False):
        with pm.Model():
            given, binary = dict(settings), settings.get("link") == "probit"
            given.pop("link", None)
            mu = pm.BART("mu", X, y > 0.5 if binary else y, m=3, split_rules=["continuous", "continuous"], **given)
            if binary:
                pm.Bernoulli("y", pm.math.invprobit(mu), observed=y > 0.5)
            else:
                pm.Normal("y", mu, 0.1, observed=y)
            step = pm.BARTStep([mu], compiled=compiled)
            found.append(pm.sample(6, tune=6, chains=1, step=step, random_seed=1, **SETTINGS))
    np.testing.assert_array_equal(found[0].sample_stats["mu_trees"], found[1].sample_stats["mu_trees"])


def ranks(family: str, count: int, draws: int) -> np.ndarray:
    """Ranks of the true function at three rows, and of the log density of the data, among draws of the posterior."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.uniform(size=20), rng.integers(0, 3, 20)])
    ends = {"normal": [-1.0, 1.0], "bernoulli": [0.0, 1.0], "probit": [0.0, 1.0], "poisson": [-0.5, 0.5]}
    scale = {name: np.resize(pair, 20) for name, pair in ends.items()}
    with pm.Model():
        pm.BART("mu", X, scale[family], m=3, split_rules=["continuous", "subset"])
        truths = pm.sample_prior_predictive(count, random_seed=3).prior["mu"].to_numpy()[0]
    found = []
    with pm.Model():
        data = pm.Data("data", np.zeros(20, float if family == "normal" else int))
        mu = pm.BART("mu", X, scale[family], m=3, split_rules=["continuous", "subset"])
        if family == "normal":
            pm.Normal("y", mu, 0.5, observed=data)
        elif family == "bernoulli":
            pm.Bernoulli("y", logit_p=mu, observed=data)
        elif family == "probit":
            pm.Bernoulli("y", pm.math.invprobit(mu), observed=data)
        else:
            pm.Poisson("y", pm.math.exp(mu), observed=data)
        for number, truth in enumerate(truths):
            y = {
                "normal": lambda f: rng.normal(f, 0.5),
                "bernoulli": lambda f: (rng.uniform(size=20) < 1 / (1 + np.exp(-f))) * 1,
                "probit": lambda f: (rng.uniform(size=20) < special.ndtr(f)) * 1,
                "poisson": lambda f: rng.poisson(np.exp(f)),
            }[family](truth)
            pm.set_data({"data": y})
            result = pm.sample(draws * 10, tune=300, chains=1, random_seed=number, **SETTINGS)
            mus = result.posterior["mu"].to_numpy()[0, ::10]
            level = {
                "normal": lambda f, y=y: stats.norm.logpdf(y, f, 0.5),
                "bernoulli": lambda f, y=y: stats.bernoulli.logpmf(y, 1 / (1 + np.exp(-f))),
                "probit": lambda f, y=y: stats.bernoulli.logpmf(y, special.ndtr(f)),
                "poisson": lambda f, y=y: stats.poisson.logpmf(y, np.exp(f)),
            }[family]
            both = np.column_stack([mus[:, [0, 7, 15]], mus.mean(axis=1), level(mus).sum(axis=1)])
            own = np.array([*truth[[0, 7, 15]], truth.mean(), level(truth).sum()])
            ties = rng.uniform(size=both.shape[1])
            found.append(((both < own).sum(axis=0) + ties * ((both == own).sum(axis=0) + 1)) / (len(both) + 1))
    return np.array(found)


@pytest.mark.parametrize("family", ["normal", "bernoulli", "probit", "poisson"])
@pytest.mark.parametrize("count", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_ranks_of_functions_drawn_from_the_prior_are_uniform(family: str, count: int) -> None:
    found = ranks(family, count, 60)
    for column in found.T:
        assert stats.kstest(column, "uniform").pvalue > 0.001, (family, column.mean())


RESPONSES = np.arange(12) % 3 == 0


@pytest.mark.parametrize(
    ("likelihood", "latent"),
    [
        (lambda f, p: pm.Bernoulli("y", p(f), observed=RESPONSES), True),
        (lambda f, p: pm.Bernoulli("y", p(f), observed=pm.Data("data", RESPONSES * 1)), True),
        (lambda f, p: pm.Bernoulli("y", 1 - p(2 * f + pm.Normal("a") * np.arange(12.0)), observed=RESPONSES), True),
        (lambda f, p: pm.Binomial("y", 1, p(f), observed=RESPONSES * 1), True),
        (lambda f, p: pm.Bernoulli("y", 0.5 * (1 + pm.math.erf(f / 2**0.5)), observed=RESPONSES), True),
        (lambda f, p: pm.Bernoulli("y", 0.5 * pm.math.erfc(-f / 2**0.5), observed=RESPONSES), True),
        (lambda f, p: pm.Bernoulli("y", 0.1 + 0.8 * p(f), observed=RESPONSES), False),
        (lambda f, p: pm.Binomial("y", 2, p(f), observed=RESPONSES * 1), False),
        (lambda f, p: pm.Bernoulli("y", p(f * f), observed=RESPONSES), False),
        (lambda f, p: pm.Bernoulli("y", p(pm.math.cumsum(f)), observed=RESPONSES), False),
        (lambda f, p: pm.Bernoulli("y", p(f[np.arange(12)[::-1]]), observed=RESPONSES), False),
        (lambda f, p: pm.Bernoulli("y", pm.math.invlogit(f), observed=RESPONSES), False),
        (lambda f, p: [pm.Bernoulli(name, p(f), observed=RESPONSES) for name in "yz"], False),
    ],
)
def test_latent_normals_are_drawn_where_the_data_are_their_signs(likelihood: Any, latent: bool) -> None:
    with pm.Model():
        mu = pm.BART("mu", np.arange(12.0)[:, None], RESPONSES, m=3)
        likelihood(mu, pm.math.invprobit)
        result = pm.sample(20, tune=20, chains=1, random_seed=1, **SETTINGS)
    accepted = result.sample_stats["mu_accepted" if "mu_accepted" in result.sample_stats else "accepted"]
    assert bool((accepted == 1.0).all()) == latent


def test_no_column_is_lost_beside_others_that_are_far_more_probable() -> None:
    """A node that can split by it alone does so as often as any other."""
    levels = np.array([-800.0, 0.0, -1000.0, -30.0, -0.1])
    with pm.Model() as model:
        pm.BART("mu", np.random.default_rng(0).uniform(size=(9, 5)), np.arange(9.0), m=1)
    block: Any = DivisibleDensity(model.log_density()).block(("mu",), "gradient")
    nothing: Any = None
    rows = pm.BARTStep(vars=("mu",)).scratch(block, nothing, nothing, nothing, Vectors(9)).rows
    cumulate.compiled(rows, levels, rows.cumulative)
    weights = np.diff(np.asarray(rows.cumulative), prepend=0.0)
    assert (weights > 0.0).all()
    np.testing.assert_allclose(weights, np.exp(levels), atol=2e-12)
