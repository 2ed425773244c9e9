"""Data beyond the ends of a support that are random have density 0, whatever the distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm

# A likelihood whose support ends at the free variable `top` = exp(top_log__), data below 3, and the greatest of them.
LIKELIHOODS: dict[str, Callable[[Any], Any]] = {
    "Uniform": lambda top: pm.Uniform("y", 0, top, observed=[0.5, 2.5]),
    "Uniform from below": lambda top: pm.Uniform("y", -top, 0, observed=[-0.5, -2.5]),
    "TruncatedNormal": lambda top: pm.TruncatedNormal("y", 0, 1, upper=top, observed=[0.5, 2.5]),
    "Triangular": lambda top: pm.Triangular("y", 0, top, c=0.2 * top, observed=[0.5, 2.5]),
    "Truncated": lambda top: pm.Truncated("y", pm.Exponential.dist(1.0), upper=top, observed=[0.5, 2.5]),
    "one number": lambda top: pm.Uniform("y", 0, top, observed=2.5),
    "a matrix": lambda top: pm.Uniform("y", 0, top, observed=np.full((2, 3), 2.5)),
    "Data": lambda top: pm.Uniform("y", 0, top, observed=pm.Data("data", [0.5, 2.5])),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_density_is_zero_beyond_an_end(name: str) -> None:
    with pm.Model() as model:
        LIKELIHOODS[name](pm.HalfNormal("top", 5.0))
    logp = model.compile_logp()
    assert np.isfinite(logp({"top_log__": np.log(3.0)}))
    assert logp({"top_log__": np.log(2.0)}) == -np.inf


def test_counts_beyond_a_random_number_of_trials() -> None:
    with pm.Model() as model:
        n = pm.DiscreteUniform("n", 1, 50)
        pm.Binomial("y", n, 0.5, observed=[3, 12])
        pm.DiscreteUniform("z", 0, n, observed=9)
    logp = model.compile_logp()
    assert np.isfinite(logp({"n": 12}))
    assert logp({"n": 11}) == -np.inf


def test_chains_stay_above_the_greatest_observation() -> None:
    """The posterior of the end of a uniform distribution (n = 5, flat in its logarithm) is a Pareto distribution."""
    with pm.Model():
        pm.Uniform("y", 0, pm.Pareto("top", 1e-3, 0.5), observed=[0.3, 1.0, 2.0, 2.5, 1.2])
        result = pm.sample(
            draws=2000, tune=500, random_seed=1, progressbar=False, step=pm.Slice(), initvals={"top": 5.0}
        )
    top = result.posterior["top"].values
    assert top.min() > 2.5
    np.testing.assert_allclose(np.median(top), 2.5 * 2 ** (1 / 5.001), rtol=0.02)
