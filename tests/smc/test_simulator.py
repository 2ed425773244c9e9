"""Data that are only simulated: posteriors of closed form, draws, and what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import ConsilienceError, DtypeError, ModelError, ParameterError, SamplingError, ShapeError

DATA = np.random.default_rng(0).normal(1.0, 1.0, 20)


def normal(rng: np.random.Generator, mu: Any, size: Any) -> Any:
    """Data around a mean."""
    return rng.normal(mu, 1.0, size)


def simulated(**settings: Any) -> pm.Model:
    """A normal mean with a normal prior, compared by the mean of the data."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 2)
        pm.Simulator("s", normal, mu, observed=DATA, **{"sum_stat": "mean", "epsilon": 0.2, **settings})
    return model


@pytest.mark.parametrize("kernel", [pm.smc.MH, pm.smc.IMH])
def test_posterior_of_a_gaussian_is_the_exact_one(kernel: Any) -> None:
    """The mean of simulated data plus the distance's own noise is normal, and so are posterior and evidence."""
    variance = 1 / 20 + 0.2**2
    posterior = stats.norm(4 / (4 + variance) * DATA.mean(), np.sqrt(4 * variance / (4 + variance)))
    evidence = stats.norm(0, np.sqrt(4 + variance)).logpdf(DATA.mean()) + np.log(np.sqrt(2 * np.pi) * 0.2)
    result = pm.sample_smc(500, kernel, model=simulated(), random_seed=1, chains=2)
    mu = result["posterior"]["mu"].values.ravel()
    assert stats.kstest(mu[::4], posterior.cdf).pvalue > 1e-3
    assert mu.mean() == pytest.approx(posterior.mean(), abs=0.03)
    assert mu.std() == pytest.approx(posterior.std(), rel=0.1)  # three standard errors
    assert result["posterior"].attrs["log_marginal_likelihood"] == pytest.approx(evidence, abs=0.2)


def test_noise_of_simulations_is_drawn_anew_where_parameters_are_equal() -> None:
    """Of a rounded parameter, many particles have the same value: exact probabilities by enumeration."""

    def rounded(rng: np.random.Generator, n: Any, size: Any) -> Any:
        return rng.poisson(n, size).astype(float)

    with pm.Model() as model:
        rate = pm.Uniform("rate", 0.5, 8.5)
        pm.Simulator("s", rounded, pm.math.round(rate), epsilon=0.6, observed=3.0)
    counts = np.arange(200)
    weights = [(stats.poisson(n).pmf(counts) * np.exp(-0.5 * ((3.0 - counts) / 0.6) ** 2)).sum() for n in range(1, 9)]
    result = pm.sample_smc(1000, pm.smc.MH, model=model, random_seed=3, chains=1)
    found = np.bincount(np.round(result["posterior"]["rate"].values.ravel()).astype(int), minlength=9)[1:] / 1000
    np.testing.assert_allclose(found, np.array(weights) / np.sum(weights), atol=0.05)


def test_prior_and_posterior_predictive_draws_are_simulations() -> None:
    with simulated():
        prior = pm.sample_prior_predictive(2000, random_seed=1)
        result = pm.sample_smc(200, pm.smc.MH, random_seed=1, chains=1)
        later = pm.sample_posterior_predictive(result, random_seed=2, progressbar=False)
    values = prior["prior_predictive"]["s"].values
    assert values.shape == (1, 2000, 20)
    assert values.std() == pytest.approx(np.sqrt(5), rel=0.05)
    assert values[..., 0].std() == pytest.approx(np.sqrt(5), rel=0.1)
    after = later["posterior_predictive"]["s"].values
    assert after.shape == (1, 200, 20)
    assert after.mean() == pytest.approx(result["posterior"]["mu"].values.mean(), abs=0.05)
    again = pm.draw(pm.Simulator.dist(normal, 1.0, size=3), 4, random_seed=5)
    assert (again == pm.draw(pm.Simulator.dist(normal, 1.0, size=3), 4, random_seed=5)).all()
    assert len(np.unique(again)) == 12


def test_vectors_are_simulated_as_events() -> None:
    """`size` lacks the axes of an event, and parameters of a rank arrive whole."""
    seen = []

    def walk(rng: np.random.Generator, start: Any, steps: Any, size: Any) -> Any:
        seen.append((np.shape(start), np.shape(steps), tuple(size)))
        return start + np.cumsum(steps) + rng.normal(0, 1, (*size, 3))

    rv = pm.Simulator.dist(walk, 1.0, np.ones(3), ndim_supp=1, ndims_params=[0, 1], shape=(5, 3))
    assert rv.static_shape == (5, 3)
    assert pm.draw(rv, random_seed=1).shape == (5, 3)
    assert seen == [((), (3,), (5,))]
    with pm.Model() as model:
        a = pm.Normal("a")
        pm.Simulator(
            "s", walk, params=(a, np.ones(3)), signature="(),(n)->(n)", sum_stat="mean", observed=np.ones((5, 3))
        )
    pm.sample_smc(50, pm.smc.MH, model=model, random_seed=1, chains=1)
    assert set(seen) == {((), (3,), (5,))}


TABLE = [
    ("gaussian", "identity", -0.5 * 4.0 * 20),
    ("laplace", "identity", -2.0 * 20),
    ("gaussian", "sort", -0.5 * 4.0 * 20),
    ("laplace", "median", -2.0),
    (lambda epsilon, observed, other: -epsilon * np.abs(observed - other), "mean", -0.5),
    ("gaussian", lambda x: np.array([x.min(), x.max()]), -0.5 * 4.0 * 2),
]


@pytest.mark.parametrize(("distance", "statistic", "expected"), TABLE)
def test_distances_are_minus_the_log_density(distance: Any, statistic: Any, expected: float) -> None:
    """Data and simulation differ by 1 everywhere, on a scale of 1/2."""
    rv = pm.Simulator.dist(
        lambda rng, size: DATA[::-1] + 1.0, distance=distance, sum_stat=statistic, epsilon=0.5, shape=20
    )
    if statistic == "identity":
        rv = pm.Simulator.dist(lambda rng, size: DATA + 1.0, distance=distance, epsilon=0.5, shape=20)
    assert float(pm.logp(rv, DATA).eval()) == pytest.approx(expected)


def test_step_methods_are_refused_by_name() -> None:
    model = simulated()
    for step, name in ((None, "NUTS"), (pm.Metropolis(), "Metropolis")):
        with pytest.raises(SamplingError, match=rf"{name} cannot sample.*`s` is a Simulator.*pm.sample_smc"):
            pm.sample(model=model, step=step, random_seed=1, progressbar=False)
    with pytest.raises(SamplingError, match=r"HMC needs the gradient.*`s` is a Simulator"):
        pm.sample_smc(100, pm.smc.HMC, model=model)
    with pytest.raises(ModelError, match="`s` is a Simulator"):
        pm.find_MAP(model=model, progressbar=False)
    with model:
        result = pm.sample_smc(50, pm.smc.MH, random_seed=1, chains=1)
        for question in (pm.log_marginal_likelihood, pm.compute_log_likelihood):
            with pytest.raises(
                ModelError, match="`s` is a Simulator or a particle filter, whose log density is random"
            ):
                question(result)
    assert np.isfinite(model.point_logps()["s"])
    with pm.Model() as free:
        pm.Normal("x", pm.Simulator("s", normal, 0.0), 1.0, observed=0.0)
    with pytest.raises(ModelError, match="`s` is random; a Simulator needs data"):
        pm.sample_smc(100, model=free)


def test_simulations_without_a_distance_have_probability_0() -> None:
    """A simulation that fails gives NaN: particles do not go there."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        pm.Simulator("s", lambda rng, m, size: rng.normal(np.sqrt(m) if m > 0 else np.nan, 1.0, size), mu, observed=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = pm.sample_smc(500, pm.smc.MH, model=model, random_seed=1, chains=1)
    assert (result["posterior"]["mu"].values > 0).all()


MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: pm.Simulator.dist(1.0), TypeError, "`fn` must be a function"),
    (lambda: pm.Simulator.dist(normal, 1.0, params=(1.0,)), TypeError, "not both"),
    (lambda: pm.Simulator.dist(normal, mu=1.0), TypeError, "no argument `mu`"),
    (
        lambda: pm.Simulator.dist(normal, 1.0, distance="euclid"),
        ValueError,
        "`distance` must be 'gaussian', 'laplace' or",
    ),
    (lambda: pm.Simulator.dist(normal, 1.0, sum_stat="mode"), ValueError, "`sum_stat` must be 'identity'"),
    (lambda: pm.Simulator.dist(normal, 1.0, epsilon=0.0), ParameterError, "`epsilon` must be positive"),
    (
        lambda: pm.sample_smc(20, pm.smc.MH, model=simulated(epsilon=[1.0, 2.0])),
        ShapeError,
        r"`epsilon` must be a number, or have the shape \(\)",
    ),
    (
        lambda: pm.draw(pm.Simulator.dist(lambda rng, size: np.zeros(3), shape=2)),
        ShapeError,
        r"Simulator: `fn` must give an array of the variable's shape \(2,\), got shape \(3,\)",
    ),
    (
        lambda: pm.logp(pm.Simulator.dist(normal, 1.0, distance=lambda e, x, y: pm.math.abs(x - y)), 1.0).eval(),
        DtypeError,
        "functions of NumPy arrays",
    ),
]


@pytest.mark.parametrize(("make", "error", "message"), MISTAKES)
def test_mistakes_are_told(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_what_a_simulation_raises_reaches_the_user() -> None:
    def failing(rng: np.random.Generator, mu: Any, size: Any) -> Any:
        raise ZeroDivisionError("of the user")

    with pm.Model() as model:
        pm.Simulator("s", failing, pm.Normal("mu"), observed=DATA)
    with pytest.raises(ZeroDivisionError, match="of the user"):
        pm.sample_smc(100, pm.smc.MH, model=model)
    assert not issubclass(ZeroDivisionError, ConsilienceError)
