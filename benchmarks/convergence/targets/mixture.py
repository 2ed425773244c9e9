"""Two unit Gaussians in ten dimensions, apart along the first axis."""

from __future__ import annotations

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.convergence.targets.target import Paper, Target, Truth

DIMENSION = 10


def two_modes(separation: float, weight: float) -> tuple[pm.Model, Truth]:
    """Modes at -separation / 2, of the given weight, and at separation / 2 on the first axis."""
    centre = np.zeros(DIMENSION)
    centre[0] = separation / 2
    with pm.Model() as model:
        x = pm.Flat("x", shape=DIMENSION)
        left = np.log(weight) - 0.5 * pt.sum((x + centre) ** 2)
        right = np.log(1 - weight) - 0.5 * pt.sum((x - centre) ** 2)
        pm.Potential("density", pt.logaddexp(left, right))
    mean = (1 - 2 * weight) * centre
    sd = np.sqrt(1 + 4 * weight * (1 - weight) * centre**2)
    return model, Truth(mean, sd)


def near() -> Target:
    """5 standard deviations apart, weights 0.3 and 0.7: chains cross, seldom."""
    model, truth = two_modes(5, 0.3)
    paper = Paper(52, 1.8, 37.9, 1471, 1, 1, 0, 0, 0, 0.975, stan=76.3, nutpie=33.8)
    return Target("mix5", model, paper, 20, truth)


def far() -> Target:
    """10 standard deviations apart, equal weights: no trajectory crosses."""
    model, truth = two_modes(10, 0.5)
    paper = Paper(52, 2.1, 24.0, 814, 0.23, 0.23, 7, 7, 0, 0.871, stan=50.1, nutpie=28.5)
    return Target("mix10", model, paper, 30, truth)
