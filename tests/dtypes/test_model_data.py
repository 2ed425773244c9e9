"""Data of every dtype in models: densities are those of the same numbers as int64 and float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError
from consilience.model import model_density
from tests.dtypes.numbers import INTEGERS, Array

COUNTS = np.array([0, 3, 1, 120, 7])
# Numbers that float16 holds exactly.
COVARIATE = np.array([0.5, -1.25, 2.0, 0.0, -0.75])


def density(counts: Any, covariate: Any, how: str) -> tuple[float, Array]:
    """A Poisson regression whose covariate is data, an array or part of a parameter."""
    with pm.Model() as model:
        b = pm.Normal("b", 0, 1)
        x = pm.Data("x", covariate) if how == "data" else pt.as_tensor(covariate) if how == "constant" else covariate
        pm.Poisson("y", pt.exp(b * x), observed=pm.Data("y_data", counts) if how == "data" else counts)
        pm.Normal("x_seen", b, 1, observed=covariate)
        pm.Binomial("k", counts, 0.3, observed=np.zeros(5, "uint8"))
    value, slope = model_density(model)([0.3])
    return value, slope


@pytest.mark.parametrize("how", ["data", "constant", "array"])
@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "bool"])
def test_densities_do_not_depend_on_the_dtype_of_data(dtype: str, how: str) -> None:
    """120 + 1 and 0 - 3 stay inside int64 whatever the data were."""
    if dtype in INTEGERS:
        counts, covariate = COUNTS.astype(dtype), np.abs(COVARIATE).astype(dtype)
    else:
        counts, covariate = COUNTS, COVARIATE.astype(dtype)
    value, slope = density(counts, covariate, how)
    wanted, wanted_slope = density(COUNTS, covariate.astype("float64"), how)
    rtol = 1e-5 if dtype in ("float16", "float32") else 1e-13  # float32 data are computed with as float32
    np.testing.assert_allclose(value, wanted, rtol)
    np.testing.assert_allclose(slope, wanted_slope, rtol)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_log_densities_of_short_values(dtype: str) -> None:
    """Values and parameters given to `logp` do not wrap around."""
    with np.errstate(all="ignore"):
        values = np.array([0, 1, 100, 127]).astype(dtype)
    for rv in (pm.Poisson.dist(mu=np.array(120, dtype)), pm.Binomial.dist(n=np.array(127, dtype), p=0.4)):
        found = pm.logp(rv, values).eval()
        wanted = pm.logp(rv, values.astype("int64")).eval()
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
        assert np.isfinite(found).all()


def test_numbers_beyond_int64_are_refused_as_data() -> None:
    """Not wrapped around."""
    with pm.Model(), pytest.raises(DtypeError, match="does not fit int64"):
        pm.Data("x", np.array([2**63], "uint64"))


def test_sampling_with_short_counts() -> None:
    """From data to draws."""
    with pm.Model():
        rate = pm.Gamma("rate", 2, 1)
        pm.Poisson("y", rate, observed=np.array([2, 0, 3, 1, 2], "uint8"))
        draws = pm.sample(draws=800, tune=400, chains=2, random_seed=1)
    # Gamma(2 + 8, 1 + 5): mean 10/6, standard deviation 0.53; 800 draws, of which a third count.
    assert abs(float(draws.posterior["rate"].mean()) - 10 / 6) < 5 * 0.53 / np.sqrt(800 / 3)
