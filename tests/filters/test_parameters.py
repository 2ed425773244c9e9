"""Parameters of state-space models are inferred exactly, though their likelihoods are estimates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from consilience.errors import SamplingError

LENGTH = 8
Y = np.array([1.2, 0.7, np.nan, 1.9, 1.4, 2.2, 0.3, 1.0])
TIMES = np.arange(LENGTH)
GRID = np.linspace(0, 1, 2001)[1:-1]


def exact_log_likelihood(rho: float) -> float:
    """Of states x_t ~ N(rho x_(t-1), 1) from x_0 ~ N(0, 1), seen with noise of deviation 1."""
    variances = np.cumsum(rho ** (2.0 * TIMES))
    covariance = [[rho ** abs(s - t) * variances[min(s, t)] for t in TIMES] for s in TIMES] + np.eye(LENGTH)
    here = ~np.isnan(Y)
    return float(stats.multivariate_normal(np.zeros(here.sum()), covariance[here][:, here]).logpdf(Y[here]))


def model_of(particles: int) -> pm.Model:
    with pm.Model() as model:
        logit = pm.Logistic("logit", 0, 1)
        rho = pm.Deterministic("rho", pt.sigmoid(logit))
        series = pm.StateSpaceModel(
            lambda: pm.Normal.dist(0, 1), lambda x: pm.Normal.dist(rho * x, 1), lambda x: pm.Normal.dist(x, 1)
        )
        series.likelihood("y", Y, particles=particles)
    return model


@pytest.mark.parametrize("kernel", [pm.smc.MH, pm.smc.IMH])
def test_draws_and_evidence_are_those_of_the_exact_likelihood(kernel: type) -> None:
    """With few particles, whose estimates are noisy."""
    logs = np.array([exact_log_likelihood(rho) for rho in GRID])
    weights = np.exp(logs - logs.max())
    evidence = np.log(weights.mean()) + logs.max()
    mean = (weights * GRID).sum() / weights.sum()
    deviation = np.sqrt((weights * (GRID - mean) ** 2).sum() / weights.sum())
    with model_of(particles=15):
        found = pm.sample_smc(500, kernel, chains=6, random_seed=1, progressbar=False)
    about = found["posterior"].attrs
    assert abs(about["log_marginal_likelihood"] - evidence) < 3.5 * about["log_marginal_likelihood_error"]
    draws = np.asarray(found["posterior"]["rho"])
    means = draws.mean(1)
    assert abs(means.mean() - mean) < 4 * means.std(ddof=1) / 6**0.5
    assert draws.std() == pytest.approx(deviation, rel=0.1)


def test_data_are_drawn_from_the_prior_and_other_samplers_refuse() -> None:
    with model_of(particles=5) as model:
        prior = pm.sample_prior_predictive(3000, random_seed=1)
        with pytest.raises(SamplingError, match="a particle filter"):
            pm.sample(model=model, progressbar=False)
    y = np.asarray(prior["prior_predictive"]["y"])[0]
    assert y.shape == (3000, LENGTH)
    assert y[:, 0].var() == pytest.approx(2, rel=0.12)
    expected = np.mean(GRID**2) + 2  # of the second, over the uniform prior of rho
    assert y[:, 1].var() == pytest.approx(expected, rel=0.12)
