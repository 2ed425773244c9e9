"""Far out on the unconstrained line, where the value itself has rounded to an end of its interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm

# A variable, and the slopes of its log density at the lower and the upper end of its unconstrained line.
CASES: dict[str, tuple[Callable[[], Any], float, float]] = {
    "Beta": (lambda: pm.Beta("x", 0.7, 0.6), 0.7, -0.6),
    "Beta of a mode": (lambda: pm.Beta("x", 2.0, 3.0), 2.0, -3.0),
    "Kumaraswamy": (lambda: pm.Kumaraswamy("x", 0.7, 0.6), 0.7, -0.6),
    "Kumaraswamy of a mode": (lambda: pm.Kumaraswamy("x", 2.0, 3.0), 2.0, -3.0),
    "LogitNormal": (lambda: pm.LogitNormal("x", 0.0, 1.0), 800.0, -800.0),
    "Uniform": (lambda: pm.Uniform("x", 0.0, 1.0), 1.0, -1.0),
    "Uniform of an interval": (lambda: pm.Uniform("x", -3.0, 5.0), 1.0, -1.0),
    "TruncatedNormal": (lambda: pm.TruncatedNormal("x", 0.0, 1.0, lower=0.0, upper=1.0), 1.0, -1.0),
    "Triangular": (lambda: pm.Triangular("x", lower=0.0, upper=1.0, c=0.3), 2.0, -2.0),
    "Truncated Beta": (lambda: pm.Truncated("x", pm.Beta.dist(0.7, 0.6), lower=0.1, upper=0.9), 1.0, -1.0),
    "BetaPrime": (lambda: pm.BetaPrime("x", 0.7, 0.6), 0.7, -0.6),
    "Dirichlet of two": (lambda: pm.Dirichlet("x", [0.7, 0.6]), 1.4, -1.2),
}


@pytest.mark.parametrize("name", CASES)
def test_the_density_and_its_slope_are_finite_where_the_value_rounds_to_an_end(name: str) -> None:
    """At 800 either way a probability differs from 0 or 1 by exp(-800); the log density falls in a straight line."""
    make, lower, upper = CASES[name]
    with pm.Model() as model:
        make()
    (key,) = model.initial_point()
    logp, slope = model.compile_logp(), model.compile_dlogp()
    for end, wanted in ((-800.0, lower), (800.0, upper)):
        point = {key: np.full_like(model.initial_point()[key], end, dtype=float)}
        assert np.isfinite(logp(point))
        np.testing.assert_allclose(slope(point), wanted, rtol=1e-12)
