"""Eight schools (Rubin 1981): the effect of coaching, non-centred and centred."""

from __future__ import annotations

import consilience as pm
from benchmarks import problems
from benchmarks.convergence.targets.target import Paper, Target

# Published priors of the posterior collections: mu ~ N(0, 5), tau ~ half-Cauchy(5).


def non_centred() -> Target:
    """School effects as standard normal variables, scaled; the effects themselves are kept for the centred form."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, shape=8)
        theta = pm.Deterministic("theta", mu + tau * z)
        pm.Normal("y", theta, problems.ERRORS, observed=problems.EFFECTS)
    paper = Paper(53, 2.4, 15.0, 289, 1, 0.9, 0, 0, 0.47, 0.955, stan=74.9, nutpie=39.4)
    return Target("8schools_nc", model, paper, 40)


def centred() -> Target:
    """School effects around their mean: a neck at small tau that no fixed step size samples well."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("y", theta, problems.ERRORS, observed=problems.EFFECTS)
    paper = Paper(138, 13.8, 197.8, 2000, 0.08, 0, 1, 0, 0.72, 0.850)
    return Target("8schools_c", model, paper, 25, source="8schools_nc")
