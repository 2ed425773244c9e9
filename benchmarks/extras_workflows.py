"""Workflows of pymc-extras, kulprit, simuk and preliz.

As in `client_workflows`: arguments of `pm.sample` in, the result out, on small made-up data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.client_workflows import rng, table, workflow


@workflow
def extras_generalized_extreme_values(k: Mapping[str, Any]) -> Any:
    """Yearly maxima."""
    import pymc
    import pymc_extras

    with pymc.Model():
        mu, sigma = pymc.Normal("mu", 3.8, 0.2), pymc.HalfNormal("sigma", 0.3)
        xi = pymc.TruncatedNormal("xi", 0, 0.2, lower=-0.6, upper=0.6)
        seen = 3.8 + 0.2 * rng().gumbel(size=60)
        pymc_extras.GenExtreme("y", mu, sigma, xi, observed=seen)
        return pymc.sample(**k)


@workflow
def extras_horseshoe(k: Mapping[str, Any]) -> Any:
    """Shares of explained variance (R2D2M2)."""
    import pymc
    import pymc_extras

    r = rng()
    x = r.normal(size=(60, 3))
    with pymc.Model(coords={"b": range(3)}):
        _, beta = pymc_extras.R2D2M2CP("beta", 1.0, x.std(0), dims="b", r2=0.5, r2_std=0.2)
        sigma = pymc.HalfNormal("sigma", 1.0)
        pymc.Normal("y", x @ beta, sigma, observed=x @ [1.0, 0.0, -1.0] + r.normal(size=60))
        return pymc.sample(**k)


@workflow
def extras_prior_by_name(k: Mapping[str, Any]) -> Any:
    """Priors as data."""
    import pymc
    from pymc_extras.prior import Prior

    with pymc.Model(coords={"group": range(4)}):
        effect = Prior("Normal", mu=Prior("Normal"), sigma=Prior("HalfNormal"), dims="group", centered=False)
        level = effect.create_variable("level")
        pymc.Normal("y", level[np.arange(40) % 4], 1.0, observed=rng().normal(size=40))
        return pymc.sample(**k)


@workflow
def extras_marginalised_mixture(k: Mapping[str, Any]) -> Any:
    """A mixture whose labels are summed out."""
    import pymc
    import pymc_extras

    r = rng()
    with pymc.Model() as model:
        p = pymc.Beta("p", 2, 2)
        z = pymc.Bernoulli("z", p, shape=30)
        mu = pymc.Normal("mu", [-2.0, 2.0], 1.0, shape=2)
        pymc.Normal("y", mu[z], 1.0, observed=np.where(r.random(30) < 0.4, 2, -2) + r.normal(size=30))
    with pymc_extras.marginalize(model, ["z"]):
        return pymc.sample(**k)


@workflow
def extras_local_level(k: Mapping[str, Any]) -> Any:
    """A local level, by the Kalman filter."""
    import pandas as pd
    import pymc
    import pytensor.tensor as pt
    from pymc_extras.statespace import structural

    r = rng()
    y = pd.DataFrame(
        {"y": np.cumsum(r.normal(0, 0.3, 40)) + r.normal(0, 0.5, 40)},
        index=pd.date_range("2024-01-01", periods=40, freq="D"),
    )
    parts = structural.LevelTrend(order=1, innovations_order=1) + structural.MeasurementError()
    built = parts.build(verbose=False)
    with pymc.Model(coords=built.coords):
        pymc.Deterministic("P0", pt.eye(built.k_states), dims=built.param_dims["P0"])
        pymc.Normal("initial_level_trend", dims=built.param_dims["initial_level_trend"])
        pymc.HalfNormal("sigma_level_trend", dims=built.param_dims["sigma_level_trend"])
        pymc.HalfNormal("sigma_MeasurementError")
        built.build_statespace_graph(y)
        return pymc.sample(**k)


@workflow
def extras_markov_chain(k: Mapping[str, Any]) -> Any:
    """The transition probabilities of a chain that was seen."""
    import pymc
    import pymc_extras

    r = rng()
    states = [0]
    for _ in range(60):
        states.append(int(r.choice(2, p=[[0.8, 0.2], [0.4, 0.6]][states[-1]])))
    with pymc.Model():
        rows = pymc.Dirichlet("rows", np.ones((2, 2)))
        first = pymc.Categorical.dist(p=[0.5, 0.5])
        pymc_extras.DiscreteMarkovChain("seen", P=rows, init_dist=first, observed=np.array(states))
        return pymc.sample(**k)


@workflow
def extras_generalized_poisson(k: Mapping[str, Any]) -> Any:
    """Counts that vary more than Poisson's."""
    import pymc
    import pymc_extras

    counts = rng().negative_binomial(3, 0.4, 60)
    with pymc.Model():
        mu, lam = pymc.Gamma("mu", 2, 0.5), pymc.Uniform("lam", 0, 0.9)
        pymc_extras.GeneralizedPoisson("y", mu, lam, observed=counts)
        return pymc.sample(**k)


# kulprit: a search over submodels, beside the reference model


def projected(formula: str, keywords: Mapping[str, Any], family: str = "gaussian", **arguments: Any) -> Any:
    """A reference model, and the projections onto its submodels."""
    import bambi
    import kulprit

    given = dict(keywords)
    method = given.pop("nuts_sampler", "pymc")
    model = bambi.Model(formula, table(), family=family)
    result = model.fit(inference_method=method, idata_kwargs={"log_likelihood": True}, **given)
    search = kulprit.ProjectionPredictive(model, result)
    search.project(num_samples=50, num_clusters=10, **arguments)
    assert len(search) > 1
    return result


@workflow
def kulprit_linear(k: Mapping[str, Any]) -> Any:
    """Forward search."""
    return projected("y ~ x + z", k)


@workflow
def kulprit_interaction(k: Mapping[str, Any]) -> Any:
    """With an interaction, which needs both its terms."""
    return projected("y ~ x * z", k)


@workflow
def kulprit_logistic(k: Mapping[str, Any]) -> Any:
    """Of a yes or no."""
    return projected("yes ~ x + z", k, "bernoulli")


@workflow
def kulprit_poisson(k: Mapping[str, Any]) -> Any:
    """Of counts, until one term is in."""
    return projected("count ~ x + z", k, "poisson", early_stop=1)


@workflow
def kulprit_chosen_terms(k: Mapping[str, Any]) -> Any:
    """Of submodels that the user names."""
    return projected("over ~ x + z", k, "negativebinomial", user_terms=[[], ["x"], ["x", "z"]])


# simuk: posteriors of simulated data, whose ranks are uniform if the sampler is right


def calibrated(model: Any, keywords: Mapping[str, Any], simulations: int = 6, **arguments: Any) -> None:
    """Simulation-based calibration; the ranks are in its result."""
    import simuk

    given = {name: value for name, value in keywords.items() if name != "random_seed"}
    calibration = simuk.SBC(
        model, num_simulations=simulations, sample_kwargs=given, seed=1, progress_bar=False, **arguments
    )
    calibration.run_simulations()
    assert not isinstance(calibration.simulations, dict), "a simulation failed"


@workflow
def simuk_hierarchy(k: Mapping[str, Any]) -> Any:
    """Groups around a common mean."""
    import pymc

    with pymc.Model() as model:
        mu, tau = pymc.Normal("mu", 0, 5), pymc.HalfCauchy("tau", 5)
        theta = pymc.Normal("theta", mu, tau, shape=4)
        pymc.Normal("y", theta, 2.0, observed=[1.0, 2.0, 3.0, 4.0])
    calibrated(model, k)
    with model:
        return pymc.sample(**k)


@workflow
def simuk_regression(k: Mapping[str, Any]) -> Any:
    """A straight line."""
    import pymc

    x, noise = rng().normal(size=(2, 20))
    with pymc.Model() as model:
        a, b, sigma = pymc.Normal("a"), pymc.Normal("b"), pymc.HalfNormal("sigma")
        pymc.Normal("y", a + b * x, sigma, observed=1 + 0.5 * x + 0.3 * noise)
    calibrated(model, k)
    with model:
        return pymc.sample(**k)


@workflow
def simuk_counts(k: Mapping[str, Any]) -> Any:
    """A rate."""
    import pymc

    with pymc.Model() as model:
        rate = pymc.Gamma("rate", 2, 0.5)
        pymc.Poisson("y", rate, observed=rng().poisson(4, 20))
    calibrated(model, k)
    with model:
        return pymc.sample(**k)


@workflow
def simuk_bambi(k: Mapping[str, Any]) -> Any:
    """A model of a formula."""
    import bambi

    model = bambi.Model("y ~ x", table(40))
    calibrated(model, k)
    given = dict(k)
    return model.fit(inference_method=given.pop("nuts_sampler", "pymc"), **given)


@workflow
def simuk_posterior(k: Mapping[str, Any]) -> Any:
    """Calibration around the posterior that the data have."""
    import pymc

    with pymc.Model() as model:
        p = pymc.Beta("p", 2, 2)
        pymc.Bernoulli("y", p, observed=pymc.Data("seen", rng().integers(0, 2, 20)))
        result = pymc.sample(**k)
    calibrated(model, k, 5, method="posterior", trace=result)
    return result


# preliz: priors by elicitation, in models of PyMC


def counted(prior: Any, keywords: Mapping[str, Any]) -> Any:
    """Counts with a prior of preliz for their rate."""
    import pymc

    with pymc.Model():
        pymc.Poisson("y", prior.to_pymc("rate"), observed=rng().poisson(4, 30))
        return pymc.sample(**keywords)


@workflow
def preliz_maximum_entropy(k: Mapping[str, Any]) -> Any:
    """A prior from an interval with a stated probability."""
    import preliz

    prior = preliz.Gamma()
    preliz.maxent(prior, 1, 10, 0.9, plot=False)
    return counted(prior, k)


@workflow
def preliz_quartiles(k: Mapping[str, Any]) -> Any:
    """A prior from its quartiles."""
    import preliz

    prior = preliz.LogNormal()
    preliz.quartile(prior, 2, 4, 7, plot=False)
    return counted(prior, k)


@workflow
def preliz_maximum_likelihood(k: Mapping[str, Any]) -> Any:
    """A prior from data of old."""
    import preliz

    prior = preliz.Gamma()
    preliz.mle([prior], rng().gamma(8, 0.5, 200), plot=False)
    return counted(prior, k)


@workflow
def preliz_bounded(k: Mapping[str, Any]) -> Any:
    """A truncated prior, and one of a probability."""
    import preliz
    import pymc

    with pymc.Model():
        scale = preliz.Truncated(preliz.Normal(0, 2), lower=0).to_pymc("scale")
        share = preliz.Beta(mu=0.4, sigma=0.1).to_pymc("share")
        pymc.Normal("y", share, scale, observed=rng().normal(0.5, 1.5, 40))
        return pymc.sample(**k)


@workflow
def preliz_posterior_as_prior(k: Mapping[str, Any]) -> Any:
    """What was learnt, as priors of the next model."""
    import preliz.ppls.agnostic
    import pymc

    with pymc.Model() as model:
        mu, sigma = pymc.Normal("mu", 0, 10), pymc.HalfNormal("sigma", 5)
        pymc.Normal("y", mu, sigma, observed=rng().normal(2, 1.5, 40))
        result = pymc.sample(**k)
    assert "mu = " in preliz.ppls.agnostic.posterior_to_prior(model, result)
    return result
