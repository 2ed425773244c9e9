"""Curved densities, on which no single step size serves everywhere: a banana and Neal's funnel."""

from __future__ import annotations

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.convergence.targets.target import Paper, Target, moments

# Not published: the curvature. That of Haario, Saksman and Tamminen (1999).
SPREAD, CURVATURE = 10.0, 0.03


def banana() -> Target:
    """A normal variable around a parabola of another."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, SPREAD)
        pm.Normal("y", CURVATURE * (x**2 - SPREAD**2), 1)
    sd_y = np.sqrt(1 + 2 * CURVATURE**2 * SPREAD**4)
    paper = Paper(75, 3.6, 77.2, 1468, 0.96, 0.28, 0, 0, 1.0, 0.833)
    return Target("banana", model, paper, 25, moments(0, [SPREAD, sd_y], 2))


def funnel() -> Target:
    """Nine normal variables with a common log variance of standard deviation 3 (Neal 2003)."""
    with pm.Model() as model:
        v = pm.Normal("v", 0, 3)
        pm.Normal("x", 0, pt.exp(v / 2), shape=9)
    paper = Paper(193, 35.5, 339.8, 2000, 0, 0, 0, 0, 0.8, np.nan, stan=258, nutpie=105)
    return Target("funnel10", model, paper, 5, moments(0, [3.0] + [np.exp(9 / 4)] * 9, 10))
