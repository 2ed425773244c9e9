"""Gaussians: independent, of very different scales, rotated with a condition number of 10^4, and with three factors."""

from __future__ import annotations

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.convergence.targets.target import Floats, Paper, Target, moments

# Not published; any rotation and any loadings serve.
ROTATION_SEED = 1
LOADINGS_SEED = 3

INDEPENDENT = {
    10: (Paper(52, 1.7, 5.6, 192, 1, 1, 0, 0, 0, 0.948, stan=50.1, nutpie=28.5), 40),
    100: (Paper(52, 2.5, 10.1, 274, 1, 1, 0, 0, 0, 0.925, stan=76.2, nutpie=42.6), 6),
    1000: (Paper(52, 4.2, 27.0, 380, 1, 1, 0, 0, 0, 0.930, stan=130, nutpie=86.4), 2),
}


def standard_normal(dimension: int) -> pm.Model:
    """Independent standard normal variables."""
    with pm.Model() as model:
        pm.Normal("x", 0, 1, shape=dimension)
    return model


def independent(dimension: int) -> Target:
    """Independent standard normal variables."""
    paper, runs = INDEPENDENT[dimension]
    return Target(f"iid{dimension}", standard_normal(dimension), paper, runs, moments(0, 1, dimension))


def scales() -> Target:
    """Independent normal variables, standard deviations from 0.01 to 100."""
    sd = np.logspace(-2, 2, 100)
    with pm.Model() as model:
        pm.Normal("x", 0, sd)
    paper = Paper(52, 2.5, 9.3, 244, 1, 1, 0, 0, 0, 0.960, stan=439, nutpie=42.0)
    return Target("scales100", model, paper, 5, moments(0, sd, 100))


def of_precision(precision: Floats) -> pm.Model:
    """A Gaussian by its quadratic form: the gradient is one product with the precision matrix."""
    with pm.Model() as model:
        x = pm.Flat("x", shape=len(precision))
        pm.Potential("density", -0.5 * pt.dot(x, pt.dot(precision, x)))
    return model


def rotated() -> Target:
    """Eigenvalues of the covariance from 0.01 to 100, in random directions."""
    rotation, _ = np.linalg.qr(np.random.default_rng(ROTATION_SEED).standard_normal((100, 100)))
    eigenvalues = np.logspace(-2, 2, 100)
    sd = np.sqrt(rotation**2 @ eigenvalues)
    model = of_precision((rotation / eigenvalues) @ rotation.T)
    paper = Paper(85, 14.7, 21.6, 244, 1, 1, 0, 0, 0, 0.905, stan=2390, nutpie=1430)
    return Target("illrot100", model, paper, 2, moments(0, sd, 100))


def factors() -> Target:
    """Three factors with loadings of standard deviation 4, and unit noise."""
    loadings = 4 * np.random.default_rng(LOADINGS_SEED).standard_normal((100, 3))
    covariance = np.eye(100) + loadings @ loadings.T
    model = of_precision(np.linalg.inv(covariance))
    paper = Paper(85, 5.0, 11.1, 219, 1, 1, 0, 0, 0, 0.988, stan=663, nutpie=95.6)
    return Target("factor100", model, paper, 4, moments(0, np.sqrt(np.diag(covariance)), 100))
