"""A density that is finite only where chains begin is named, with its term and the numbers that exclude it."""

from __future__ import annotations

import warnings

import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ConvergenceWarning


def test_probabilities_that_sum_to_1_at_the_start_alone_are_named() -> None:
    with pm.Model() as model:
        a, b = pm.Uniform("a", 0, 1, initval=0.5), pm.Uniform("b", 0, 1, initval=0.5)
        pm.Multinomial("y", n=10, p=pt.stack([a, b]), observed=[4, 6])
    with pytest.warns(ConvergenceWarning) as told:
        pm.sample(model=model, random_seed=1, progressbar=False, stop=pm.Stop(max_draws=400))
    message = " ".join(str(one.message) for one in told)
    assert "steps end where the model has no density, just beside the draws: `y` has log density" in message
    assert "p = [" in message


def test_divergences_with_a_density_are_told_as_before() -> None:
    """A funnel: steps end where the density is low, and has a value."""
    with pm.Model() as model:
        v = pm.Normal("v", 0.0, 3.0)
        pm.Normal("x", 0.0, pt.exp(v / 2.0), shape=9)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pm.sample(200, tune=200, model=model, random_seed=1, progressbar=False)
    assert any("diverge" in str(one.message) for one in told)
    assert not any("no density" in str(one.message) for one in told)
