"""Hyper-parameters of a Gaussian process with noise."""

from __future__ import annotations

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.convergence.targets.target import Paper, Target

# Not published: 40 noisy points of a sine, with the usual priors of such models.
POINTS = 40
SEED = 0


def hyperparameters() -> Target:
    """Length scale, amplitude and noise of an RBF kernel."""
    x = np.linspace(0, 10, POINTS)
    y = np.sin(x) + 0.3 * np.random.default_rng(SEED).standard_normal(POINTS)
    squares = (x[:, None] - x[None, :]) ** 2
    with pm.Model() as model:
        rho = pm.InverseGamma("rho", 5, 5)
        alpha = pm.HalfNormal("alpha", 1)
        sigma = pm.HalfNormal("sigma", 1)
        covariance = alpha**2 * pt.exp(-0.5 * squares / rho**2) + sigma**2 * pt.eye(POINTS)
        pm.MvNormal("y", mu=np.zeros(POINTS), cov=covariance, observed=y)
    paper = Paper(52, 1.5, 5.1, 221, 1, 1, 0, 0, 0, 0.933, stan=43.9, nutpie=24.9)
    return Target("gp", model, paper, 30)
