"""Priors for many coefficients against the formulas of their papers, and what they do with data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as stats
from numpy.testing import assert_allclose

import consilience as pm
from consilience.model.shrinkage import R2D2, RegularizedHorseshoe


def prior(model: pm.Model) -> dict[str, np.ndarray]:
    """Draws of all variables, the axis of draws first."""
    drawn = pm.sample_prior_predictive(3000, model=model, random_seed=1).prior
    return {name: np.asarray(values)[0] for name, values in drawn.items()}


def test_coefficients_explain_the_share_of_variance_that_is_asked_for() -> None:
    """R^2 has its beta distribution, and given R^2 and the split coefficients are normal."""
    scale = np.array([1.0, 2.0, 0.5])
    with pm.Model(coords={"x": list("abc")}) as model:
        R2D2("beta", r2=0.3, precision=5.0, sigma=2.0, scale=scale, dims="x")
    draws = prior(model)
    assert stats.kstest(draws["beta_r2"], stats.beta(1.5, 3.5).cdf).pvalue > 1e-3
    assert_allclose(draws["beta_phi"].sum(-1), 1.0)
    explained = 4.0 * (draws["beta_r2"] / (1 - draws["beta_r2"]))[:, None] * draws["beta_phi"]
    assert_allclose(draws["beta"], draws["beta_z"] * np.sqrt(explained) / scale, rtol=1e-10)
    assert stats.kstest(draws["beta_z"].ravel(), "norm").pvalue > 1e-3


def test_horseshoe_is_wide_inside_the_slab() -> None:
    """The scales of the paper, also where local scales are very large or small."""
    with pm.Model() as model:
        RegularizedHorseshoe("beta", 0.1, slab_scale=3.0, shape=4)
    draws = prior(model)
    assert stats.kstest(draws["beta_tau"], stats.halfcauchy(0, 0.1).cdf).pvalue > 1e-3
    assert stats.kstest(draws["beta_lambda"].ravel(), stats.halfcauchy.cdf).pvalue > 1e-3
    assert stats.kstest(draws["beta_c2"], stats.invgamma(2, 0, 18).cdf).pvalue > 1e-3
    slab, wide = draws["beta_c2"][:, None], (draws["beta_tau"][:, None] * draws["beta_lambda"]) ** 2
    assert_allclose(draws["beta"], draws["beta_z"] * np.sqrt(slab * wide / (slab + wide)), rtol=1e-9)


# A horseshoe's posterior keeps a few divergences at any target_accept (Piironen & Vehtari 2017, section 3.4).
@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["R2D2", "horseshoe"])
def test_coefficients_that_do_not_matter_shrink(kind) -> None:
    """Of 12 coefficients two are not 0; they are found, and the others are closer to 0 than least squares."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 12))
    y = x[:, 0] * 2.0 - x[:, 1] * 1.5 + rng.normal(size=60)
    with pm.Model():
        sigma = pm.HalfNormal("sigma", 2)
        if kind == "R2D2":
            beta = R2D2("beta", sigma=sigma, shape=12)
        else:
            beta = RegularizedHorseshoe("beta", 2 / 10 * sigma / np.sqrt(60), shape=12)
        pm.Normal("y", (x * beta).sum(-1), sigma, observed=y)
        tree = pm.sample(2000, tune=1500, chains=4, cores=1, random_seed=2, target_accept=0.99, progressbar=False)
    found = tree.posterior["beta"].values.reshape(-1, 12).mean(0)
    assert_allclose(found[:2], [2.0, -1.5], atol=0.4)
    least_squares = np.linalg.lstsq(x, y, rcond=None)[0]
    assert np.abs(found[2:]).mean() < 0.7 * np.abs(least_squares[2:]).mean()
