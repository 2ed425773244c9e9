"""The models that newcomers meet first go through every step: prior, posterior, predictions, likelihoods, summary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt


def change_point(rng: np.random.Generator) -> None:
    years = np.arange(60)
    y = np.r_[rng.poisson(3, 30), rng.poisson(1, 30)]
    s = pm.DiscreteUniform("s", 0, 59)
    a = pm.Exponential("a", 1)
    b = pm.Exponential("b", 1)
    pm.Poisson("y", pm.math.switch(s >= years, a, b), observed=y)


def regression_of_classes(rng: np.random.Generator) -> None:
    x = rng.normal(size=(200, 3))
    b = pm.Normal("b", 0, 1, shape=3)
    a = pm.Normal("a")
    pm.Bernoulli("y", logit_p=a + x @ b, observed=(x @ [1, -1, 0.5] + rng.logistic(size=200) > 0).astype(int))


def regression_of_counts(rng: np.random.Generator) -> None:
    x = rng.normal(size=200)
    a = pm.Normal("a")
    b = pm.Normal("b")
    al = pm.Exponential("alpha", 1)
    pm.NegativeBinomial("y", mu=pm.math.exp(a + b * x), alpha=al, observed=rng.negative_binomial(3, 0.5, 200))


def correlated_slopes(rng: np.random.Generator) -> None:
    chol, _, _ = pm.LKJCholeskyCov("chol", n=3, eta=2, sd_dist=pm.Exponential.dist(1.0))
    z = pm.Normal("z", 0, 1, shape=(3, 20))
    eff = pm.Deterministic("eff", pt.dot(chol, z).T)
    g = np.repeat(np.arange(20), 10)
    x = rng.normal(size=(200, 3))
    pm.Normal("y", (eff[g] * x).sum(-1), 1, observed=rng.normal(size=200))


def stochastic_volatility(rng: np.random.Generator) -> None:
    st = pm.Exponential("step", 10)
    z = pm.Normal("z", 0, 1, shape=100)
    v = pm.Deterministic("v", st * pt.cumsum(z))
    nu = pm.Exponential("nu", 0.1)
    pm.StudentT("r", nu + 1, 0, pm.math.exp(v), observed=rng.standard_t(5, 100))


def normal_mixture(rng: np.random.Generator) -> None:
    w = pm.Dirichlet("w", np.ones(2))
    mu = pm.Normal("mu", [-2, 2], 1, transform=pm.distributions.transforms.ordered, initval=[-2, 2])
    s = pm.HalfNormal("s", 1)
    pm.NormalMixture("y", w=w, mu=mu, sigma=s, observed=np.r_[rng.normal(-2, 0.5, 100), rng.normal(2, 0.5, 100)])


def zero_inflation(rng: np.random.Generator) -> None:
    psi = pm.Beta("psi", 1, 1)
    mu = pm.Gamma("mu", 2, 1)
    pm.ZeroInflatedPoisson("y", psi=psi, mu=mu, observed=rng.poisson(2, 100) * (rng.random(100) < 0.6))


def censored_survival(rng: np.random.Generator) -> None:
    a = pm.Gamma("a", 2, 1)
    b = pm.Gamma("b", 2, 1)
    t = rng.weibull(1.5, 100) * 2
    pm.Censored("t", pm.Weibull.dist(alpha=a, beta=b), lower=None, upper=2.5, observed=np.minimum(t, 2.5))


def ordered_categories(rng: np.random.Generator) -> None:
    x = rng.normal(size=150)
    b = pm.Normal("b")
    steps = pm.HalfNormal("steps", 1, shape=2)
    c = pm.Deterministic("cutpoints", pt.cumsum(pt.stack([pm.Normal("first", -1, 1), steps[0], steps[1]])))
    pm.OrderedLogistic("y", eta=b * x, cutpoints=c, observed=np.digitize(x + rng.logistic(size=150), [-1, 0, 1]))


def autoregression(rng: np.random.Generator) -> None:
    rho = pm.Normal("rho", 0, 0.5, shape=2)
    s = pm.HalfNormal("s", 1)
    y = np.zeros(150)
    for i in range(2, 150):
        y[i] = 0.5 * y[i - 1] - 0.3 * y[i - 2] + rng.normal()
    pm.AR("y", rho, sigma=s, init_dist=pm.Normal.dist(0, 2), observed=y)


def counts_of_categories(rng: np.random.Generator) -> None:
    a = pm.Gamma("a", 2, 1, shape=4)
    n = rng.multinomial(20, [0.1, 0.2, 0.3, 0.4], 30)
    pm.DirichletMultinomial("y", n=20, a=a, observed=n)


def labels(rng: np.random.Generator) -> None:
    z = pm.Categorical("z", [0.3, 0.7], shape=100)
    mu = pm.Normal("mu", [-2, 2], 1, shape=2)
    pm.Normal("y", mu[z], 1, observed=np.r_[rng.normal(-2, 1, 30), rng.normal(2, 1, 70)])


def gaussian_process(rng: np.random.Generator) -> None:
    x = np.linspace(0, 10, 50)
    scale = pm.InverseGamma("l", 5, 5)
    e = pm.HalfNormal("e", 2)
    s = pm.HalfNormal("s", 1)
    K = e**2 * pt.exp(-0.5 * (x[:, None] - x) ** 2 / scale**2) + s**2 * pt.eye(50)
    pm.MvNormal("y", np.zeros(50), cov=K, observed=np.sin(x) + 0.2 * rng.normal(size=50))


def truncated_data(rng: np.random.Generator) -> None:
    mu = pm.Normal("mu", 0, 2)
    s = pm.HalfNormal("s", 2)
    y = rng.normal(1, 1, 300)
    pm.Truncated("y", pm.Normal.dist(mu, s), lower=0, observed=y[y > 0])


def missing_data(rng: np.random.Generator) -> None:
    x = np.where(rng.random(100) < 0.1, np.nan, rng.normal(size=100))
    a = pm.Normal("a")
    b = pm.Normal("b")
    xx = pm.Normal("x", 0, 1, observed=x)
    pm.Normal("y", a + b * xx, 1, observed=np.nan_to_num(x) * 2 + rng.normal(size=100))


MODELS: list[Callable[[np.random.Generator], None]] = [
    change_point, regression_of_classes, regression_of_counts, correlated_slopes, stochastic_volatility, normal_mixture,
    zero_inflation, censored_survival, ordered_categories, autoregression, counts_of_categories, labels,
    gaussian_process, truncated_data, missing_data,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::consilience.errors.ImputationWarning")
@pytest.mark.parametrize("build", MODELS, ids=lambda build: build.__name__)
def test_a_first_model_goes_through_every_step(build: Callable[[np.random.Generator], None]) -> None:
    """Discrete variables are summed out and recovered; what is sampled converges."""
    with pm.Model() as model:
        build(np.random.default_rng(1))
    discrete = [v.name for v in model.free if v.node.dtype.startswith("int")]
    prior = pm.sample_prior_predictive(20, model=model, random_seed=1)
    assert prior["prior_predictive"].sizes["draw"] == 20
    model = pm.marginalize(model, discrete) if discrete else model
    result = pm.sample(model=model, target_accept=0.9, random_seed=1, progressbar=False)
    assert result.status == "converged"
    after = pm.sample_posterior_predictive(result, model=model, random_seed=1, progressbar=False)
    assert all(np.isfinite(values).all() for values in after["posterior_predictive"].data_vars.values())
    assert np.isfinite(pm.summary(result)["mean"]).all()
    if discrete:
        found = pm.recover_marginals(result, model=model)["posterior"]
        assert set(discrete) <= set(found.data_vars)
    else:
        likelihood = pm.compute_log_likelihood(result, model=model, progressbar=False)["log_likelihood"]
        assert all(np.isfinite(values).all() for values in likelihood.data_vars.values())
