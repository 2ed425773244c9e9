"""Posteriors of mixtures, censored data and latent series through the whole of `pm.sample`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as stats
from numpy.testing import assert_allclose

import consilience as pm
import consilience.distributions as pd
import consilience.tensor as pt
from consilience.diagnostics import mcse_mean

QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False, "cores": 1, "chains": 4}


def assert_mean(draws: np.ndarray, expected: float, allowed: float = 0.0) -> None:
    """Within five Monte Carlo standard errors, and what the comparison itself is unsure of."""
    assert abs(draws.mean() - expected) < 5 * float(mcse_mean(draws)) + allowed


def grid_means(log_density: np.ndarray, *axes: np.ndarray) -> list[float]:
    """Posterior means by the trapezoidal rule, whose ends carry no weight."""
    weight = np.exp(log_density - log_density.max())
    return [float((weight * axis).sum() / weight.sum()) for axis in axes]


def test_posterior_of_an_ordered_mixture() -> None:
    """Two normal components with ordered means and unknown weights, against quadrature in three dimensions."""
    rng = np.random.default_rng(3)
    y = np.concatenate([rng.normal(-1, 1, 24), rng.normal(1.5, 1, 36)])
    with pm.Model():
        mu = pm.Normal("mu", 0, 2, shape=2, transform=pd.transforms.ordered, initval=[-1.0, 1.0])
        p = pm.Beta("p", 2, 2)
        pd.NormalMixture("y", pt.stack([p, 1 - p]), mu, 1.0, observed=y)
        posterior = pm.sample(1000, random_seed=1, **QUIET).posterior
    grid, p = np.linspace(-4, 4, 121), np.linspace(0.005, 0.995, 80)
    a, b = grid[:, None, None], grid[None, :, None]
    log_density = stats.norm(0, 2).logpdf(a) + stats.norm(0, 2).logpdf(b) + stats.beta(2, 2).logpdf(p)
    for value in y:
        log_density = log_density + np.log(
            p * np.exp(-0.5 * (value - a) ** 2) + (1 - p) * np.exp(-0.5 * (value - b) ** 2)
        )
    log_density = np.where(a < b, log_density, -np.inf)
    lower, upper, weight = grid_means(log_density, a, b, p)
    draws = posterior["mu"].values
    assert (draws[..., 0] < draws[..., 1]).all()
    assert_mean(draws[..., 0], lower)
    assert_mean(draws[..., 1], upper)
    assert_mean(posterior["p"].values, weight)


def test_posterior_of_censored_survival_times() -> None:
    """Times beyond the end of each study are known to be longer; against quadrature in two dimensions."""
    rng = np.random.default_rng(4)
    end = np.where(np.arange(40) < 20, 1.5, 3.0)
    time = np.minimum(np.exp(rng.normal(0.5, 0.8, 40)), end)
    with pm.Model():
        mu, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
        pd.Censored("t", pm.LogNormal.dist(mu, sigma), upper=end, observed=time)
        posterior = pm.sample(1000, random_seed=1, **QUIET).posterior
    m, s = np.linspace(-1, 2.5, 200)[:, None], np.linspace(0.01, 3, 300)
    log_density = stats.norm(0, 1).logpdf(m) - 0.5 * s**2
    for value, last in zip(time, end, strict=True):
        known = stats.norm(m, s)
        log_density = log_density + (known.logsf(np.log(last)) if value >= last else known.logpdf(np.log(value)))
    for name, expected in zip(("mu", "sigma"), grid_means(log_density, m, s), strict=True):
        assert_mean(posterior[name].values, expected)


def test_posterior_of_a_truncated_prior_and_truncated_data() -> None:
    """Values above 1 only were recorded; the prior of the mean is cut at 0. Against quadrature."""
    rng = np.random.default_rng(5)
    y = rng.normal(0.5, 1.0, 200)
    y = y[y > 1.0][:30]
    with pm.Model():
        mu = pd.Truncated("mu", pm.Normal.dist(0, 1), lower=0)
        pd.Truncated("y", pm.Normal.dist(mu, 1.0), lower=1.0, observed=y)
        posterior = pm.sample(1000, random_seed=1, **QUIET).posterior
    m = np.linspace(0, 4, 4001)
    log_density = stats.norm.logpdf(m) + (stats.norm.logpdf(y[:, None], m) - stats.norm.logsf(1.0, m)).sum(0)
    log_density[[0, -1]] -= np.log(2)
    assert_mean(posterior["mu"].values, grid_means(log_density, m)[0])


def test_stochastic_volatility_has_the_posterior_of_its_steps_as_variables() -> None:
    """A random walk of 100 log volatilities against the same model of independent standard normal steps."""
    rng = np.random.default_rng(3)
    length = 100
    returns = np.exp(np.cumsum(rng.normal(0, 0.15, length)) - 1) * rng.standard_t(8, length)
    volatility = {}
    for walk in (True, False):
        with pm.Model():
            step, nu = pm.Gamma("step", 4, 20), pm.Exponential("nu", 0.1)
            if walk:
                h = pd.GaussianRandomWalk("h", 0, step, init_dist=pm.Normal.dist(0, 2), steps=length - 1)
            else:
                z = pm.Normal("z", 0, 1, shape=length)
                h = pm.Deterministic("h", 2 * z[0] + pt.concatenate([pt.zeros(1), pt.cumsum(step * z[1:])]))
            pm.StudentT("r", nu=nu, mu=0, sigma=pt.exp(h), observed=returns)
            volatility[walk] = pm.sample(1000, tune=1000, random_seed=1, target_accept=0.9, **QUIET).posterior
    for name in ("step", "nu", "h"):
        by_walk, by_steps = (np.asarray(volatility[walk][name]).reshape(4, 1000, -1) for walk in (True, False))
        for i in range(by_walk.shape[-1]):
            assert_mean(by_walk[..., i], by_steps[..., i].mean(), 5 * float(mcse_mean(by_steps[..., i])))


def test_prior_and_posterior_predictive_draws_of_compositions() -> None:
    """Every composition can be drawn inside a model, and an autoregression is recovered."""
    rng = np.random.default_rng(6)
    x = [0.0]
    for e in rng.normal(0, 0.5, 300):
        x.append(1.0 + 0.6 * x[-1] + e)
    with pm.Model():
        rho = pm.Normal("rho", 0, 1, shape=2)
        sigma = pm.HalfNormal("sigma", 1)
        pd.AR("x", rho, sigma, constant=True, init_dist=pm.Normal.dist(0, 5), observed=x)
        prior = pm.sample_prior_predictive(draws=20, random_seed=1)
        tree = pm.sample(500, random_seed=1, **QUIET)
        predicted = pm.sample_posterior_predictive(tree, random_seed=1, progressbar=False)
    assert prior.prior_predictive["x"].shape == (1, 20, 301)
    design = np.stack([np.ones(300), x[:-1]], 1)
    precision = design.T @ design / 0.25
    expected = np.linalg.solve(precision, design.T @ x[1:] / 0.25)
    found = tree.posterior["rho"].values.reshape(-1, 2)
    assert_allclose(found.mean(0), expected, atol=0.5 * np.sqrt(np.diag(np.linalg.inv(precision))).max())
    series = predicted.posterior_predictive["x"].values.reshape(-1, 301)
    assert abs(series[:, 50:].mean() - 2.5) < 0.2


def test_report_on_a_starting_point_names_parameters_of_components() -> None:
    """A wrong parameter of a component is shown with its value."""
    with pm.Model():
        mu = pm.Normal("mu", 0, 1)
        pd.Censored("y", pm.Normal.dist(0, mu - 9), upper=1.0, observed=[0.5, 1.0])
        with pytest.raises(pm.InitialPointError, match=r"(?s)`y` has log density nan.*dist\.sigma = -9"):
            pm.sample(random_seed=1, **QUIET)
