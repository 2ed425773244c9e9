"""Stochastic volatility: 500 returns whose log variance is an autoregression."""

from __future__ import annotations

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.convergence.targets.target import Paper, Target
from consilience.ir import Node

DAYS = 500
# Not published: true values, by which fixed runs relate to the published ones as on the other targets, and the priors,
# those of Kim, Shephard and Chib (1998). More persistence and less spread make most runs diverge and tune again.
SEED = 0
LEVEL, PERSISTENCE, SPREAD = -1.0, 0.9, 0.5


def returns() -> np.ndarray:
    """Simulated returns."""
    rng = np.random.default_rng(SEED)
    deviation = np.empty(DAYS)
    deviation[0] = SPREAD / np.sqrt(1 - PERSISTENCE**2) * rng.standard_normal()
    for day in range(1, DAYS):
        deviation[day] = PERSISTENCE * deviation[day - 1] + SPREAD * rng.standard_normal()
    return np.exp((LEVEL + deviation) / 2) * rng.standard_normal(DAYS)


def autoregression(innovations: Node, persistence: Node) -> Node:
    """Sums over s <= t of persistence^(t - s) times innovation s.

    Each step doubles how far back the sums reach, so that nine elementwise steps serve for 500 days.
    """
    reach, factor, sums = 1, persistence, innovations
    while reach < DAYS:
        sums = pt.concatenate([sums[:reach], sums[reach:] + factor * sums[:-reach]])
        reach, factor = 2 * reach, factor * factor
    return sums


def non_centred() -> Target:
    """Level, persistence and spread, and one standard normal innovation per day."""
    with pm.Model() as model:
        level = pm.Normal("level", 0, 5)
        persistence = 2 * pm.Beta("persistence", 20, 1.5) - 1
        spread = pm.HalfNormal("spread", 1)
        z = pm.Normal("z", 0, 1, shape=DAYS)
        first = z[:1] / pt.sqrt(1 - persistence**2)
        deviation = autoregression(spread * pt.concatenate([first, z[1:]]), persistence)
        pm.Normal("returns", 0, pt.exp((level + deviation) / 2), observed=returns())
    paper = Paper(60, 6.0, 49.9, 549, 1, 0.75, 0, 0, 0.25, 0.944, stan=292, nutpie=471)
    return Target("sv500", model, paper, 4)
