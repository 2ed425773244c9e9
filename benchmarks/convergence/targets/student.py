"""Heavy tails: independent Student-t variables."""

from __future__ import annotations

import consilience as pm
from benchmarks.convergence.targets.target import Paper, Target, moments

FREEDOM = 5
DIMENSION = 20


def independent() -> Target:
    """Twenty Student-t variables with 5 degrees of freedom."""
    with pm.Model() as model:
        pm.StudentT("x", nu=FREEDOM, mu=0, sigma=1, shape=DIMENSION)
    paper = Paper(52, 2.3, 11.8, 328, 1, 1, 1, 1, 0, 0.972, stan=75.4, nutpie=42.6)
    return Target("student5", model, paper, 30, moments(0, (FREEDOM / (FREEDOM - 2)) ** 0.5, DIMENSION))
