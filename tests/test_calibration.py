"""Simulation-based calibration of every step method, and of several together (Talts et al. 2018, arXiv:1804.06788).

Parameters from the prior, data from the parameters, draws from the posterior: the rank of the parameter among the draws
is uniform. Ranks of whole numbers are told apart at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import consilience as pm

BINS = 10
KEPT = 99  # draws of each posterior that a rank is counted in: as many bins of ranks as draws and one more


def location_and_scale() -> pm.Model:
    """A normal of unknown mean and deviation."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 1.0)
        sigma = pm.LogNormal("sigma", 0.0, 0.5)
        pm.Normal("y", mu, sigma, observed=pm.Data("data", np.zeros(6)))
    return model


def location() -> pm.Model:
    """A mean with a normal prior, the only thing unknown."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 1.0, shape=2)
        pm.Normal("y", mu, 0.7, observed=pm.Data("data", np.zeros(2)))
    return model


def switches() -> pm.Model:
    """Three switches that act together."""
    with pm.Model() as model:
        b = pm.Bernoulli("b", 0.4, shape=3)
        pm.Normal("y", b.sum() + 0.5 * b[0], 0.8, observed=pm.Data("data", np.zeros(2)))
    return model


def categories() -> pm.Model:
    """A category with data of its own."""
    with pm.Model() as model:
        c = pm.Categorical("c", [0.2, 0.5, 0.3], shape=2)
        pm.Normal("y", c, 0.9, observed=pm.Data("data", np.zeros(2)))
    return model


def counts() -> pm.Model:
    """A number of events that were seen with errors."""
    with pm.Model() as model:
        n = pm.Poisson("n", 4.0)
        pm.Normal("y", n, 1.5, observed=pm.Data("data", np.zeros(2)))
    return model


def two_groups() -> pm.Model:
    """A mixture of two normals, with the assignments as variables."""
    with pm.Model() as model:
        p = pm.Beta("p", 2.0, 2.0)
        mu = pm.Normal("mu", 2.0, 1.0)
        z = pm.Bernoulli("z", p, shape=8)
        pm.Normal("y", mu * z, 1.0, observed=pm.Data("data", np.zeros(8)))
    return model


def three_groups() -> pm.Model:
    """A mixture of three normals of unknown spread, with categories as variables."""
    with pm.Model() as model:
        sigma = pm.LogNormal("sigma", -0.5, 0.3)
        z = pm.Categorical("z", [0.3, 0.3, 0.4], shape=8)
        pm.Normal("y", 2.0 * z, sigma, observed=pm.Data("data", np.zeros(8)))
    return model


def change_point() -> pm.Model:
    """Counts whose rate changes at an unknown time."""
    with pm.Model() as model:
        early = pm.Gamma("early", 4.0, 1.0)
        late = pm.Gamma("late", 4.0, 1.0)
        when = pm.DiscreteUniform("when", 0, 9)
        rate = pm.math.where(np.arange(10) < when, early, late)
        pm.Poisson("y", rate, observed=pm.Data("data", np.zeros(10, int)))
    return model


@dataclass
class Case:
    """A model, the step methods that move it, and how many transitions lie between two draws that count."""

    model: Callable[[], pm.Model]
    step: Callable[[], Any]
    every: int = 5
    tune: int = 400
    chains: int = 2


CASES = {
    "NUTS": Case(location_and_scale, pm.NUTS, 2),
    "HMC": Case(location_and_scale, pm.HamiltonianMC, 2),
    "MALA": Case(location_and_scale, pm.MALA, 10),
    "Metropolis": Case(location_and_scale, pm.Metropolis, 20, 1000),
    "AdaptiveMetropolis": Case(location_and_scale, pm.AdaptiveMetropolis, 20, 1000),
    "Slice": Case(location_and_scale, pm.Slice, 4),
    "EllipticalSlice": Case(location, lambda: pm.EllipticalSlice(prior_cov=np.eye(2)), 5),
    "DEMetropolisZ": Case(location_and_scale, pm.DEMetropolisZ, 40, 1000),
    "DEMetropolis": Case(location_and_scale, pm.DEMetropolis, 40, 1000, 4),
    "StretchEnsemble": Case(location_and_scale, pm.StretchEnsemble, 60, 200),
    "ParallelTempering": Case(location_and_scale, pm.ParallelTempering, 20, 1000),
    "BinaryGibbsMetropolis": Case(switches, pm.BinaryGibbsMetropolis, 3, 0),
    "BinaryMetropolis": Case(switches, pm.BinaryMetropolis, 10, 0),
    "CategoricalGibbsMetropolis": Case(categories, pm.CategoricalGibbsMetropolis, 1, 0),
    "Metropolis of counts": Case(counts, pm.Metropolis, 20, 400),
    "NUTS and binary Gibbs": Case(two_groups, lambda: None, 10),
    "NUTS and categorical Gibbs": Case(three_groups, lambda: None, 10),
    "Metropolis and NUTS": Case(change_point, lambda: pm.Metropolis(["when"]), 30),
}
QUICK = ("Metropolis of counts", "NUTS and binary Gibbs")


def ranks(case: Case, replications: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """Ranks of the prior's draws among the posterior's, by element."""
    model = case.model()
    rng = np.random.default_rng(seed)
    prior = pm.sample_prior_predictive(replications, model=model, random_seed=seed)
    found: dict[str, list[int]] = {}
    length = -(-KEPT * case.every // case.chains)
    for k in range(replications):
        with model:
            pm.set_data({"data": prior.prior_predictive["y"].values[0, k]})
            tree = pm.sample(
                length, tune=case.tune, chains=case.chains, cores=1, step=case.step(), random_seed=seed + k,
                progressbar=False, compute_convergence_checks=False,
            )  # fmt: skip
        for name, values in tree.posterior.data_vars.items():
            flat = values.values.reshape(case.chains * length, -1)[:: case.every][:KEPT]
            truth = prior.prior[name].values[0, k].reshape(-1)
            for i, one in enumerate(truth):
                below, equal = int((flat[:, i] < one).sum()), int((flat[:, i] == one).sum())
                found.setdefault(f"{name}[{i}]", []).append(below + int(rng.integers(0, equal + 1)))
    return {name: np.array(values) for name, values in found.items()}


def check(case: Case, replications: int) -> None:
    """No element's ranks are less uniform than one in 10^4 would be by chance, for each of at most ten elements."""
    for name, own in ranks(case, replications, 1000).items():
        observed = np.histogram(own, BINS, (0, KEPT + 1))[0]
        assert stats.chisquare(observed).pvalue > 1e-5, (name, observed)


@pytest.mark.parametrize("name", QUICK)
def test_ranks_are_uniform(name: str) -> None:
    check(CASES[name], 60)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_ranks_of_every_step_method_are_uniform(case: Case) -> None:
    check(case, 200)


def test_every_step_method_is_calibrated() -> None:
    """Each class of the public names has a row; that of trees has ranks of its own, `inference/test_bart_kernels`."""
    from consilience import inference

    classes = {
        name
        for name in inference.__all__
        if isinstance(getattr(inference, name), type) and issubclass(getattr(inference, name), pm.Kernel)
    }
    short = {"HamiltonianMC": "HMC"}
    assert {short.get(name, name) for name in classes - {"Kernel", "CompoundStep", "BARTStep"}} <= set(CASES)
