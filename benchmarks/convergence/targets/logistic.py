"""Logistic regressions of 400 rows whose columns are correlated."""

from __future__ import annotations

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.convergence.targets.target import Floats, Paper, Target

ROWS = 400
# Not published: the prior, how the columns correlate and the true coefficients. With these the fixed runs cost what the
# published ones do.
PRIOR = 2.5
SEED = 0
FACTORS = 3
DEGREE = 5


def regression(x: Floats, true_scale: float, rng: np.random.Generator) -> pm.Model:
    """Coefficients of the columns of `x`, outcomes drawn at normal true values of scale `true_scale`."""
    true = true_scale * rng.standard_normal(x.shape[1])
    y = (rng.random(len(x)) < 1 / (1 + np.exp(-x @ true))).astype(np.int64)
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, PRIOR, shape=x.shape[1])
        pm.Bernoulli("y", logit_p=pt.dot(x, beta), observed=y)
    return model


def shared_factors() -> Target:
    """Twenty-five columns that share three factors."""
    rng = np.random.default_rng(SEED)
    own = rng.standard_normal((ROWS, 25))
    shared = rng.standard_normal((ROWS, FACTORS)) @ rng.standard_normal((FACTORS, 25))
    paper = Paper(52, 3.1, 8.8, 202, 1, 1, 0, 0, 0, 0.940, stan=232, nutpie=115)
    return Target("logistic", regression(own + shared, 0.3, rng), paper, 6)


def polynomial() -> Target:
    """Six raw powers of one number between 0 and 1."""
    x = np.vander(np.linspace(0, 1, ROWS), DEGREE + 1, increasing=True)
    paper = Paper(52, 2.9, 5.3, 159, 1, 1, 0, 0, 0, 0.917, stan=1020, nutpie=243)
    return Target("logistic_corr", regression(x, 0.5, np.random.default_rng(SEED)), paper, 20)
