"""Twelve posteriors without a second region, though some are bent, heavy-tailed, or have a neck."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

import consilience as pm
import consilience.tensor as pt
from consilience.model.log_density import ModelDensity, model_density

EFFECTS = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
ERRORS = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]


def gaussian(seed: int) -> pm.Model:
    """Ten coordinates, condition number about 1e4."""
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.standard_normal((10, 10)))
    with pm.Model() as model:
        z = pm.Flat("z", shape=10)
        pm.Potential("p", -0.5 * pt.sum(((rotation @ z) / np.geomspace(0.1, 10, 10)) ** 2))
    return model


def banana(seed: int) -> pm.Model:
    """A normal variable around a parabola of another."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1)
        pm.Normal("y", x**2, 0.1)
    return model


def funnel(seed: int) -> pm.Model:
    """Neal's funnel."""
    with pm.Model() as model:
        v = pm.Normal("v", 0, 3)
        pm.Normal("x", 0, pt.exp(v / 2), shape=9)
    return model


def centred(seed: int) -> pm.Model:
    """Eight schools, centred."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("y", theta, ERRORS, observed=EFFECTS)
    return model


def non_centred(seed: int) -> pm.Model:
    """Eight schools, non-centred."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, shape=8)
        pm.Normal("y", mu + tau * z, ERRORS, observed=EFFECTS)
    return model


def groups(seed: int) -> pm.Model:
    """Thirty group means with informative data and unknown scales."""
    rng = np.random.default_rng(seed)
    y = rng.normal(rng.normal(0, 1, 30)[:, None], 1.0, (30, 5))
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfNormal("tau", 2)
        sigma = pm.HalfNormal("sigma", 2)
        theta = pm.Normal("theta", mu, tau, shape=30)
        pm.Normal("y", theta[:, None], sigma, observed=y)
    return model


def student(seed: int) -> pm.Model:
    """Independent Student-t with 3 degrees of freedom."""
    with pm.Model() as model:
        pm.StudentT("x", 3, 0, 1, shape=5)
    return model


def ring(seed: int) -> pm.Model:
    """A ridge along a circle of radius 5."""
    with pm.Model() as model:
        x = pm.Flat("x", shape=2)
        pm.Potential("p", -0.5 * ((pt.sqrt(pt.sum(x**2)) - 5.0) / 0.5) ** 2)
    return model


def logistic(seed: int) -> pm.Model:
    """Logistic regression, ten coefficients."""
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((100, 10))
    y = rng.random(100) < 1 / (1 + np.exp(-design @ rng.standard_normal(10)))
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, 2, shape=10)
        pm.Bernoulli("y", logit_p=design @ beta, observed=y.astype(int))
    return model


def horseshoe(seed: int) -> pm.Model:
    """Sparse linear regression with a horseshoe prior, non-centred."""
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((60, 10))
    y = design[:, :2] @ np.array([3.0, -2.0]) + rng.standard_normal(60)
    with pm.Model() as model:
        tau = pm.HalfCauchy("tau", 0.5)
        local = pm.HalfCauchy("local", 1, shape=10)
        z = pm.Normal("z", 0, 1, shape=10)
        sigma = pm.HalfNormal("sigma", 2)
        pm.Normal("y", design @ (tau * local * z), sigma, observed=y)
    return model


def autoregression(seed: int) -> pm.Model:
    """A stationary AR(1) of fifty steps, rho = 0.95."""
    with pm.Model() as model:
        x = pm.Flat("x", shape=50)
        pm.Potential("p", -0.5 * x[0] ** 2 - 0.5 * pt.sum((x[1:] - 0.95 * x[:-1]) ** 2) / (1 - 0.95**2))
    return model


def ridge(seed: int) -> pm.Model:
    """Only the sum of two coordinates is well known."""
    with pm.Model() as model:
        a = pm.Normal("a", 0, 10)
        b = pm.Normal("b", 0, 10)
        pm.Normal("y", a + b, 0.05, observed=1.0)
    return model


UNIMODAL: dict[str, Callable[[int], pm.Model]] = {
    function.__name__: function
    for function in (
        gaussian, banana, funnel, centred, non_centred, groups,
        student, ring, logistic, horseshoe, autoregression, ridge,
    )
}  # fmt: skip


@cache
def density_of(name: str, seed: int = 1) -> ModelDensity:
    """The compiled log density of one of them, with data of this seed."""
    return model_density(UNIMODAL[name](seed))
