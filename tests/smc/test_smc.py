"""Particles reach known posteriors, and evidences are those of closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray
from scipy import stats
from scipy.special import gammaln

import consilience as pm
from consilience.errors import ConsilienceWarning, ModelError, SamplingError, ShapeError
from consilience.model.log_density import model_density

DATA = np.random.default_rng(0).normal(1.0, 1.0, 20)
REGRESSORS = np.random.default_rng(2).normal(size=(30, 4))
RESPONSES = REGRESSORS @ np.array([1.0, 0.0, -1.0, 0.5]) + np.random.default_rng(3).normal(size=30)
EXACT = float(stats.multivariate_normal(np.zeros(20), np.eye(20) + 4 * np.ones((20, 20))).logpdf(DATA))


def conjugate() -> pm.Model:
    """A normal mean with a normal prior."""
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 2), 1, observed=DATA)
    return model


WAYS: list[tuple[Any, bool | int]] = [
    *((kernel, False) for kernel in (pm.smc.IMH, pm.smc.MH, pm.smc.HMC)),
    *((kernel, 20) for kernel in (pm.smc.IMH, pm.smc.MH, pm.smc.HMC)),
]


@pytest.mark.parametrize(("kernel", "waste_free"), WAYS)
def test_evidence_and_posterior_are_the_exact_ones(kernel: Any, waste_free: bool | int) -> None:
    """Within five standard errors in each of two runs, and their mean within four."""
    model, found = conjugate(), []
    for seed in range(2):
        result = pm.sample_smc(500, kernel, model=model, random_seed=seed, chains=8, waste_free=waste_free)
        known = result["posterior"].attrs
        assert abs(known["log_marginal_likelihood"] - EXACT) < 5 * known["log_marginal_likelihood_error"]
        found.extend(result["sample_stats"]["log_marginal_likelihood"].values)
    assert abs(np.mean(found) - EXACT) < 4 * np.std(found) / np.sqrt(len(found))
    mu = result["posterior"]["mu"].values
    variance = 1 / (20 + 0.25)
    assert abs(mu.mean() - variance * DATA.sum()) < 0.03
    assert abs(mu.std() - np.sqrt(variance)) < 0.02


def two_modes(weight: float, place: float, dimension: int) -> pm.Model:
    """A standard normal, and another one of this weight so far away on the diagonal; wide priors."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 10, shape=dimension)
        near = np.log(1 - weight) - 0.5 * pm.math.sum(x**2)
        far = np.log(weight) - 0.5 * pm.math.sum((x - place / np.sqrt(dimension)) ** 2)
        pm.Potential("mixture", pm.math.logaddexp(near, far) + 0.5 * pm.math.sum(x**2) / 100)
    return model


@pytest.mark.parametrize("kernel", [pm.smc.IMH, pm.smc.MH, pm.smc.HMC])
@pytest.mark.parametrize(("weight", "place"), [(0.3, 8.0), (0.05, 8.0), (0.2, 28.0)])
def test_weights_of_separate_modes(kernel: Any, weight: float, place: float) -> None:
    """Two that chains do not leave, one that they do not find."""
    draws = pm.sample_smc(2000, kernel, model=two_modes(weight, place, 2), random_seed=3, chains=4)["posterior"]["x"]
    share = float((draws.values.sum(-1) / np.sqrt(2) > place / 2).mean())
    assert abs(share - weight) < (0.05 if weight > 0.05 else 0.02)


def regression() -> tuple[pm.Model, float]:
    """A linear regression with known noise, and its log marginal likelihood."""
    with pm.Model() as model:
        pm.Normal("y", REGRESSORS @ pm.Normal("b", 0, 3, shape=4), 1, observed=RESPONSES)
    marginal = stats.multivariate_normal(np.zeros(30), np.eye(30) + 9 * REGRESSORS @ REGRESSORS.T)
    return model, float(marginal.logpdf(RESPONSES))


def counts() -> tuple[pm.Model, float]:
    """Poisson counts of a rate that has a Gamma prior, and their log marginal likelihood."""
    y = np.array([3, 5, 2, 8, 4])
    with pm.Model() as model:
        pm.Poisson("y", pm.Gamma("rate", 2.0, 0.5), observed=y)
    total, n = y.sum(), len(y)
    exact = 2 * np.log(0.5) + gammaln(2 + total) - (2 + total) * np.log(0.5 + n) - gammaln(y + 1).sum()
    return model, float(exact)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "kernel", "waste_free"),
    [
        *((lambda: (conjugate(), EXACT), *way) for way in WAYS),
        *((make, *way) for make in (regression, counts) for way in WAYS[:3]),
    ],
)
def test_evidences_lie_within_three_standard_errors(make: Any, kernel: Any, waste_free: bool | int) -> None:
    """In at least 95 % of 200 runs of 8 populations, whose estimates tell the error."""
    model, exact = make()
    inside = 0
    for seed in range(200):
        known = pm.sample_smc(
            400, kernel, model=model, random_seed=seed, chains=8, waste_free=waste_free, progressbar=False
        )["posterior"].attrs
        inside += abs(known["log_marginal_likelihood"] - exact) < 3 * known["log_marginal_likelihood_error"]
    assert inside >= 190


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [pm.smc.IMH, pm.smc.HMC])
def test_evidences_of_thirty_dimensions_are_not_biased(kernel: Any) -> None:
    """With the number of particles that the warning of too few asks for at the least, doubled; 20 data each."""
    data = np.random.default_rng(0).normal(1, 1, (20, 30))
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 2, shape=30), 1, observed=data)
    exact = stats.multivariate_normal(np.zeros(20), np.eye(20) + 4 * np.ones((20, 20))).logpdf(data.T).sum()
    about = pm.sample_smc(1000, kernel, model=model, chains=20, random_seed=1, progressbar=False)["posterior"].attrs
    assert abs(about["log_marginal_likelihood"] - exact) < 3 * about["log_marginal_likelihood_error"]


def bounded() -> None:
    top = pm.HalfNormal("top", 2)
    pm.Uniform("u", 0, top + 1, shape=3)


def simplex() -> None:
    pm.Dirichlet("d", np.ones(4))


def correlated() -> None:
    pm.LKJCholeskyCov("c", n=3, eta=2.0, sd_dist=pm.Exponential.dist(1.0), compute_corr=False)


def ordered() -> None:
    pm.Normal("o", [0.0, 1.0, 2.0], 1, transform=pm.distributions.transforms.ordered, initval=[0.0, 1.0, 2.0])


@pytest.mark.parametrize("make", [bounded, simplex, correlated, ordered])
def test_positions_of_values_are_where_they_came_from(make: Callable[[], None]) -> None:
    """`unconstrained` undoes `expand`, for transforms whose bounds are random too."""
    with pm.Model() as model:
        make()
    density = model_density(model)
    positions = np.random.default_rng(1).normal(size=(7, density.dimension))
    values = density.expand(positions, False)
    np.testing.assert_allclose(density.unconstrained(values), positions, rtol=1e-8, atol=1e-8)


def test_bridge_sampling_finds_the_evidence() -> None:
    """From draws of chains, and from particles."""
    with conjugate() as model:
        chains = pm.sample(random_seed=1, progressbar=False)
        for result in (chains, pm.sample_smc(1000, random_seed=1)):
            found = pm.log_marginal_likelihood(result, random_seed=2)
            assert abs(found.value - EXACT) < 4 * found.error < 0.05
    with pytest.warns(ConsilienceWarning, match=r"3 particles are few for 1 dimensions.*Take 16 `draws`"):
        few = pm.sample_smc(3, model=model, random_seed=1, chains=1)
    with pytest.raises(SamplingError, match="too few for 1 dimensions"):
        pm.log_marginal_likelihood(few, model=model)


@pytest.mark.parametrize("memory", [0.0, 0.7])
def test_bridge_sampling_lies_within_three_standard_errors(memory: float) -> None:
    """In at least 95 % of 200 runs, of chains of draws of the exact posterior that remember the one before."""
    model, exact = regression()
    precision = REGRESSORS.T @ REGRESSORS + np.eye(4) / 9
    factor = np.linalg.cholesky(np.linalg.inv(precision))
    centre = np.linalg.solve(precision, REGRESSORS.T @ RESPONSES)
    inside = 0
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(size=(2, 400, 4))
        for i in range(1, 400):
            noise[:, i] = memory * noise[:, i - 1] + np.sqrt(1 - memory**2) * noise[:, i]
        draws = xarray.Dataset({"b": (("chain", "draw", "b_dim_0"), centre + noise @ factor.T)})
        found = pm.log_marginal_likelihood({"posterior": draws}, model=model, random_seed=seed)
        inside += abs(found.value - exact) < 3 * found.error
    assert inside >= 190


def test_particles_of_the_prior_may_be_given() -> None:
    start = {"mu": np.random.default_rng(1).normal(0, 2, 400)}
    model = conjugate()
    first = pm.sample_smc(400, model=model, start=start, random_seed=1, chains=2)
    again = pm.sample_smc(400, model=model, start=start, random_seed=1, chains=2)
    assert (first["posterior"]["mu"].values == again["posterior"]["mu"].values).all()
    assert abs(first["posterior"].attrs["log_marginal_likelihood"] - EXACT) < 0.5
    with pytest.raises(ModelError, match="no `mu`; they have nu"):
        pm.sample_smc(100, model=model, start={"nu": np.zeros(100)})
    with pytest.raises(ShapeError, match="draws of shape"):
        pm.sample_smc(100, model=model, start={"mu": np.zeros((100, 2))})
    with pytest.raises(ShapeError, match="needs 100 draws of the prior, got 7"):
        pm.sample_smc(100, model=model, start={"mu": np.arange(7.0)})


def refused() -> list[tuple[Callable[[], pm.Model], dict[str, Any], type[Exception], str]]:
    """Models that cannot be sampled so, and settings."""

    def discrete() -> pm.Model:
        with pm.Model() as model:
            pm.Normal("y", pm.Bernoulli("z", 0.5), 1, observed=DATA)
        return model

    def improper() -> pm.Model:
        with pm.Model() as model:
            pm.Normal("y", pm.Flat("f"), 1, observed=DATA)
        return model

    def impossible() -> pm.Model:
        with pm.Model() as model:
            f = pm.Normal("f")
            pm.Uniform("y", f + 100, f + 101, observed=DATA)
        return model

    def without_data() -> pm.Model:
        with pm.Model() as model:
            pm.Normal("f")
        return model

    return [
        (discrete, {}, ModelError, "`z` is discrete.*pm.marginalize"),
        (improper, {}, SamplingError, "the prior cannot be drawn from"),
        (impossible, {}, SamplingError, "likelihood above 0"),
        (without_data, {}, ModelError, "no data"),
        (conjugate, {"draws": 1}, SamplingError, "more particles"),
        (conjugate, {"threshold": 2.0}, ValueError, "`threshold` must lie between 0 and 1"),
        (conjugate, {"cores": 0}, ValueError, "`cores` must be an integer of at least 1"),
        (conjugate, {"chains": 0}, ValueError, "`chains` must be at least 1"),
    ]


@pytest.mark.parametrize(("model", "settings", "error", "message"), refused())
def test_mistakes_are_told(
    model: Callable[[], pm.Model], settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        pm.sample_smc(**{"draws": 100, "model": model(), "random_seed": 1, **settings})
