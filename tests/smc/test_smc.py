"""Particles reach known posteriors, and evidences are those of closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import ModelError, SamplingError, ShapeError
from consilience.model.log_density import model_density

DATA = np.random.default_rng(0).normal(1.0, 1.0, 20)
EXACT = float(stats.multivariate_normal(np.zeros(20), np.eye(20) + 4 * np.ones((20, 20))).logpdf(DATA))


def conjugate() -> pm.Model:
    """A normal mean with a normal prior."""
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 2), 1, observed=DATA)
    return model


@pytest.mark.parametrize("kernel", [pm.smc.IMH, pm.smc.MH, pm.smc.HMC])
def test_evidence_and_posterior_are_the_exact_ones(kernel: Any) -> None:
    """Within five standard errors in each of five runs, and their mean within four."""
    model, found = conjugate(), []
    for seed in range(5):
        result = pm.sample_smc(500, kernel, model=model, random_seed=seed, chains=8)
        known = result["posterior"].attrs
        assert abs(known["log_marginal_likelihood"] - EXACT) < 5 * known["log_marginal_likelihood_error"]
        found.extend(result["sample_stats"]["log_marginal_likelihood"].values)
    assert abs(np.mean(found) - EXACT) < 4 * np.std(found) / np.sqrt(len(found))
    mu = result["posterior"]["mu"].values
    variance = 1 / (20 + 0.25)
    assert abs(mu.mean() - variance * DATA.sum()) < 0.03
    assert abs(mu.std() - np.sqrt(variance)) < 0.02


def test_weights_of_separate_modes() -> None:
    """A mode of 0.8 and one of 0.2, 28 of their standard deviations apart."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 5, shape=2)
        modes = [np.log(weight) - 50 * ((x - place) ** 2).sum() for weight, place in ((0.8, 2.0), (0.2, -2.0))]
        pm.Potential("modes", pm.math.logsumexp(pm.math.stack(modes)))
    draws = pm.sample_smc(2000, model=model, random_seed=3, chains=4)["posterior"]["x"].values[..., 0]
    assert np.abs((draws > 0).mean(1) - 0.8).max() < 0.05


def test_draws_do_not_depend_on_the_number_of_threads() -> None:
    model = conjugate()
    found = [pm.sample_smc(200, model=model, random_seed=5, chains=4, cores=n)["posterior"]["mu"] for n in (1, 2, 8)]
    assert all((one.values == found[0].values).all() for one in found)


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
    with pytest.raises(SamplingError, match="too few for 1 dimensions"):
        pm.log_marginal_likelihood(pm.sample_smc(3, model=model, random_seed=1, chains=1), model=model)


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
        (conjugate, {"cores": 0}, ValueError, "`cores` must be at least 1"),
        (conjugate, {"chains": 0}, ValueError, "`chains` must be at least 1"),
    ]


@pytest.mark.parametrize(("model", "settings", "error", "message"), refused())
def test_mistakes_are_told(
    model: Callable[[], pm.Model], settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        pm.sample_smc(**{"draws": 100, "model": model(), "random_seed": 1, **settings})
