"""Chains find a start where the support points of wide priors have no density to rounding."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
from consilience.errors import InitialPointError


def rates(**initial: float) -> pm.Model:
    with pm.Model() as model:
        rate = pm.TruncatedNormal("rate", mu=0, sigma=300, upper=-1e-5, **initial)
        pm.Normal("y", 0.0, pm.math.exp(rate * np.arange(1.0, 20.0)), observed=np.exp(-0.5 * np.arange(1.0, 20.0)))
    return model


def test_chains_begin_anywhere_near_zero_where_no_point_near_the_support_point_has_a_density() -> None:
    result = pm.sample(model=rates(), random_seed=1, progressbar=False)
    assert np.all(result.posterior["rate"].values > -1.0)


def test_a_value_of_the_users_own_is_not_left() -> None:
    with pytest.raises(InitialPointError, match="no starting point"):
        pm.sample(50, model=rates(initval=-900.0), random_seed=1, progressbar=False)
