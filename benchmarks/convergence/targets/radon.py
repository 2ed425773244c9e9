"""Intercepts and slopes that vary over 85 counties, 919 simulated houses; non-centred and centred."""

from __future__ import annotations

import numpy as np

import consilience as pm
from benchmarks.convergence.targets.target import Floats, Paper, Target

COUNTIES, HOUSES = 85, 919
# Not published: true values and priors. With these the fixed runs cost what the published ones do, as many draws are
# needed, non-centred and centred, and about a quarter of the centred runs meets divergences, as of the published ones.
# How well the centred model mixes hangs on the spread of the slopes: 0.3 takes half as many draws, 0.25 often fails.
SEED = 0
INTERCEPT, INTERCEPT_SPREAD = 1.5, 0.3
SLOPE, SLOPE_SPREAD = -0.7, 0.28
NOISE = 0.75
ABOVE_BASEMENT = 0.3


def houses() -> tuple[np.ndarray, Floats, Floats]:
    """County, floor and log radon of each house; every county has at least one."""
    rng = np.random.default_rng(SEED)
    county = np.concatenate([np.arange(COUNTIES), rng.integers(0, COUNTIES, HOUSES - COUNTIES)])
    floor = (rng.random(HOUSES) < ABOVE_BASEMENT).astype(float)
    intercepts = INTERCEPT + INTERCEPT_SPREAD * rng.standard_normal(COUNTIES)
    slopes = SLOPE + SLOPE_SPREAD * rng.standard_normal(COUNTIES)
    level = intercepts[county] + slopes[county] * floor
    return county, floor, level + NOISE * rng.standard_normal(HOUSES)


def model_of(is_centred: bool) -> pm.Model:
    """The regression with one parametrisation or the other; `a` and `b` are the counties' coefficients in both."""
    county, floor, y = houses()
    with pm.Model() as model:
        mu_a, mu_b = pm.Normal("mu_a", 0, 5), pm.Normal("mu_b", 0, 5)
        sigma_a, sigma_b = pm.HalfNormal("sigma_a", 1), pm.HalfNormal("sigma_b", 1)
        sigma = pm.HalfNormal("sigma", 1)
        if is_centred:
            a = pm.Normal("a", mu_a, sigma_a, shape=COUNTIES)
            b = pm.Normal("b", mu_b, sigma_b, shape=COUNTIES)
        else:
            a = pm.Deterministic("a", mu_a + sigma_a * pm.Normal("z_a", 0, 1, shape=COUNTIES))
            b = pm.Deterministic("b", mu_b + sigma_b * pm.Normal("z_b", 0, 1, shape=COUNTIES))
        pm.Normal("y", a[county] + b[county] * floor, sigma, observed=y)
    return model


def non_centred() -> Target:
    """Deviations of counties in units of their spread."""
    paper = Paper(52, 3.7, 34.6, 538, 1, 1, 1, 1, 0, 0.934, stan=191, nutpie=80.4)
    return Target("radon_nc", model_of(is_centred=False), paper, 5)


def centred() -> Target:
    """Counties' coefficients themselves; mixes slowly."""
    paper = Paper(92, 7.7, 129.1, 2006, 1, 0.75, 0, 0, 0, 0.963, stan=161, nutpie=85.1, most_draws=4000)
    return Target("radon_c", model_of(is_centred=True), paper, 4, source="radon_nc")
