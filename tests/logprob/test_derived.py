"""Distributions of graphs: `CustomDist(dist=)` and components."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import consilience as pm
import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError, ShapeError
from consilience.logprob import CustomDist, DensityDist
from consilience.logprob.derived import derived_variable
from tests.distributions.cases import value_of


def lognormal(mu, sigma, size):
    """Exponentials of normal variables."""
    return pt.exp(pd.Normal.dist(mu, sigma, size=size))


def test_density_draws_and_support_follow() -> None:
    """As for the distribution that the graph describes."""
    rv = CustomDist.dist([0.3, 1.0], 0.8, dist=lognormal)
    frozen = scipy.stats.lognorm(0.8, scale=np.exp([0.3, 1.0]))
    assert (rv.static_shape, rv.dtype) == ((2,), "float64")
    np.testing.assert_allclose(value_of(pd.logp(rv, 2.0)), frozen.logpdf(2.0))
    np.testing.assert_allclose(value_of(pd.logcdf(rv, 2.0)), frozen.logcdf(2.0))
    np.testing.assert_allclose(value_of(pd.logccdf(rv, 2.0)), frozen.logsf(2.0))
    np.testing.assert_allclose(value_of(pd.icdf(rv, 0.3)), frozen.ppf(0.3))
    assert list(value_of(pd.logp(rv, -2.0))) == [-np.inf, -np.inf]
    draws = pd.draw(rv, 4000, random_seed=3)
    assert scipy.stats.kstest(draws[:, 0], scipy.stats.lognorm(0.8, scale=np.exp(0.3)).cdf).pvalue > 1e-5
    assert pd.default_transform(rv) is None
    assert pd.transforms.sampled_transform(rv) == pd.default_transform(pd.Gamma.dist(1.0, 1.0))
    np.testing.assert_allclose(value_of(pd.support_point(rv)), np.exp([0.3, 1.0]))
    assert DensityDist is CustomDist


def test_shapes() -> None:
    """`size` reaches the function; `shape` has the axes of an event too."""
    assert CustomDist.dist(0.3, 0.8, dist=lognormal, shape=(2, 3)).static_shape == (2, 3)
    assert CustomDist.dist(0.3, 0.8, dist=lognormal, size=4).static_shape == (4,)

    def vectors(mu, size):
        return pt.exp(pd.MvNormal.dist(mu, np.eye(2), size=size))

    rv = CustomDist.dist(np.zeros(2), dist=vectors, shape=(3, 2))
    assert value_of(pd.logp(rv, np.ones((3, 2)))).shape == (3,)
    with pytest.raises(ShapeError, match="where the shape"):
        CustomDist.dist(0.0, dist=lambda mu, size: pd.Normal.dist(mu, shape=5), shape=3)


def test_masses_and_atoms() -> None:
    """Counts, truth values and censored variables."""

    def rounded(mu, size):
        return pt.floor(pd.Normal.dist(mu, 1.0, size=size))

    frozen = scipy.stats.norm(0.3)
    rv = CustomDist.dist(0.3, dist=rounded)
    np.testing.assert_allclose(value_of(pd.logp(rv, 1.0)), np.log(frozen.cdf(2) - frozen.cdf(1)))
    truth = CustomDist.dist(0.3, dist=lambda mu, size: pd.Normal.dist(mu, 1.0, size=size) > 0.0)
    np.testing.assert_allclose(value_of(pd.logp(truth, [0, 1])), [frozen.logcdf(0), frozen.logsf(0)])
    censored = CustomDist.dist(0.3, dist=lambda mu, size: pt.clip(pd.Normal.dist(mu, 1.0, size=size), -1.0, 1.0))
    assert pd.default_transform(censored) is None
    np.testing.assert_allclose(
        value_of(pd.logp(censored, [-1.0, 0.0, 2.0])), [frozen.logcdf(-1), frozen.logpdf(0), -np.inf]
    )


def test_components_may_be_expressions() -> None:
    """An expression of random variables stands for a variable of its distribution."""
    rv = derived_variable(2.0 * pd.Gamma.dist([2.0, 3.0], 1.0))
    np.testing.assert_allclose(value_of(pd.logp(rv, 1.5)), scipy.stats.gamma([2, 3], scale=2).logpdf(1.5))
    np.testing.assert_allclose(value_of(logprob.logp(pt.log(rv), 0.0)), scipy.stats.gamma([2, 3], scale=2).logpdf(1.0))


def test_a_model_is_sampled() -> None:
    """Observed and free, with the transform of the derived support; draws of the predictive distribution."""
    y = np.exp(np.random.default_rng(0).normal(0.5, 0.7, 200))
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 2.0)
        sigma = pm.HalfNormal("sigma", 1.0)
        CustomDist("y", mu, sigma, dist=lognormal, observed=y)
        CustomDist("z", mu, 1.0, dist=lognormal)
    assert [v.name for v in model.value_vars] == ["mu", "sigma_log__", "z"]
    with pm.Model() as same:
        mu = pm.Normal("mu", 0.0, 2.0)
        sigma = pm.HalfNormal("sigma", 1.0)
        pm.LogNormal("y", mu, sigma, observed=y)
        pm.LogNormal("z", mu, 1.0)
    densities = [one.log_density() for one in (model, same)]
    (value, slope), (wanted, slope_wanted) = (density(np.array([0.4, -0.2, 0.7])) for density in densities)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(slope, slope_wanted, rtol=1e-10)
    run = pm.sample(600, tune=300, chains=2, random_seed=1, progressbar=False, model=model)
    assert abs(float(run.posterior["mu"].mean()) - np.log(y).mean()) < 0.05
    with model:
        assert pm.sample_prior_predictive(20).prior_predictive["y"].shape == (1, 20, 200)


REFUSED = {
    "no rule for `sin`": lambda mu, size: pt.sin(pd.Normal.dist(mu, 1.0, size=size)),
    "integrated out": lambda mu, size: pd.Normal.dist(pd.Normal.dist(mu, 1.0), 1.0, size=size),
}


@pytest.mark.parametrize("message", REFUSED)
def test_graphs_without_a_density(message: str) -> None:
    """Refused where the variable is made, with the line of the node."""
    with pytest.raises(MissingRuleError, match=f"test_derived.py.*{message}"):
        CustomDist.dist(0.3, dist=REFUSED[message])


def test_wrong_functions() -> None:
    """`dist` makes random variables, and goes with no other draws."""
    with pytest.raises(TypeError, match="must return an expression of random variables"):
        CustomDist.dist(0.3, dist=lambda mu, size: mu)
    with pytest.raises(TypeError, match="leave out `random`"):
        CustomDist.dist(0.3, 1.0, dist=lognormal, random=lambda mu, sigma, rng, size: mu)
    with pytest.raises(TypeError, match="gives `logcdf`, too"):
        CustomDist.dist(0.3, 1.0, dist=lognormal, logcdf=lambda value, mu, sigma: value)
