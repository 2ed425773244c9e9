"""Modes, Hessians, Laplace's approximation and Pathfinder against closed forms, and what they say of bad input."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import ConsilienceWarning, InitialPointError, ModelError, SamplingError

RNG = np.random.default_rng(11)
X = RNG.normal(size=(60, 3))
NOISE = 0.7
Y = X @ np.array([1.0, -2.0, 0.5]) + NOISE * RNG.normal(size=60)


def regression() -> pm.Model:
    """A linear regression of known noise: everything about it is known."""
    with pm.Model(coords={"feature": ["a", "b", "c"]}) as model:
        b = pm.Normal("b", 0.0, 2.0, dims="feature")
        pm.Normal("y", X @ b, NOISE, observed=Y)
    return model


PRECISION = np.eye(3) / 4.0 + X.T @ X / NOISE**2
COVARIANCE = np.linalg.inv(PRECISION)
MEAN = COVARIANCE @ X.T @ Y / NOISE**2
EVIDENCE = stats.multivariate_normal.logpdf(Y, np.zeros(60), NOISE**2 * np.eye(60) + 4.0 * X @ X.T)


@pytest.mark.parametrize("method", ["L-BFGS-B", "BFGS", "Newton-CG", "Nelder-Mead"])
def test_the_mode_of_a_normal_is_its_mean(method: str) -> None:
    point, raw = pm.find_MAP(method, model=regression(), return_raw=True)
    tolerance = 1e-3 if method == "Nelder-Mead" else 1e-5
    np.testing.assert_allclose(point["b"], MEAN, atol=1e-9 if method == "L-BFGS-B" else tolerance)
    assert raw.converged
    assert raw.evaluations > 0


def test_the_mode_is_that_of_the_density_on_the_variables_own_scales() -> None:
    """Gamma(3, 2) has its mode at 1, Beta(3, 2) at 2/3; with the Jacobian they would lie elsewhere."""
    with pm.Model() as model:
        pm.Gamma("g", 3.0, 2.0)
        b = pm.Beta("b", 3.0, 2.0)
        pm.Deterministic("twice", 2.0 * b)
    point = pm.find_MAP(model=model)
    assert point["g"] == pytest.approx(1.0, abs=1e-7)
    assert point["b"] == pytest.approx(2.0 / 3.0, abs=1e-7)
    assert point["twice"] == pytest.approx(4.0 / 3.0, abs=1e-7)
    assert set(point) == {"g", "g_log__", "b", "b_logodds__", "twice"}
    assert "g_log__" not in pm.find_MAP(model=model, include_transformed=False)


def test_the_highest_of_several_modes_is_found() -> None:
    """The initial point lies in the lower one."""
    with pm.Model() as model:
        pm.NormalMixture("x", [0.2, 0.8], [-1.0, 2.5], [0.5, 0.4], initval=-1.0)
    assert pm.find_MAP(model=model, starts=16, random_seed=4)["x"] == pytest.approx(2.5, abs=1e-3)
    assert pm.find_MAP(model=model, starts=1)["x"] == pytest.approx(-1.0, abs=1e-1)


def test_some_variables_move_and_the_others_stay() -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 1.0)
        sigma = pm.HalfNormal("sigma", 1.0)
        pm.Normal("y", mu, sigma, observed=[1.0, 2.0, 3.0])
    point = pm.find_MAP(model=model, vars=[mu], initvals={"sigma": 2.0})
    assert point["sigma"] == pytest.approx(2.0)
    assert point["mu"] == pytest.approx((6.0 / 4.0) / (1.0 + 3.0 / 4.0), abs=1e-8)
    other = pm.find_MAP(model=model, vars="sigma", start={"mu": 2.0})
    first = pm.find_MAP({"mu": 2.0}, model=model, vars="sigma")  # the start is PyMC's first argument
    assert first["sigma"] == pytest.approx(other["sigma"])
    assert first["mu"] == pytest.approx(2.0)
    assert other["mu"] == pytest.approx(2.0)


def test_the_hessian_at_the_mode_is_the_precision() -> None:
    model = regression()
    found = pm.find_hessian(pm.find_MAP(model=model), model=model)
    np.testing.assert_allclose(found, PRECISION, rtol=1e-9)
    np.testing.assert_allclose(
        pm.find_hessian(pm.find_MAP(model=model), vars=["b"], model=model, negate_output=False), -PRECISION, rtol=1e-9
    )


def test_laplace_is_exact_for_a_normal_posterior() -> None:
    """Moments within five standard errors, the evidence to the precision of differences; labels are the model's."""
    tree = pm.fit_laplace(4000, model=regression(), random_seed=1)
    draws = np.asarray(tree["posterior"]["b"])[0]
    assert tree["posterior"]["b"].dims == ("chain", "draw", "feature")
    assert np.all(np.abs(draws.mean(0) - MEAN) < 5 * np.sqrt(np.diag(COVARIANCE) / 4000))
    np.testing.assert_allclose(np.cov(draws.T), COVARIANCE, atol=5 * COVARIANCE.max() * np.sqrt(2 / 4000))
    attributes = tree["posterior"].attrs
    assert attributes["log_marginal_likelihood"] == pytest.approx(EVIDENCE, abs=1e-5)
    assert attributes["log_marginal_likelihood_importance"] == pytest.approx(EVIDENCE, abs=1e-5)


def test_pathfinder_finds_a_normal_posterior() -> None:
    """Moments within five standard errors of draws that are chosen by weight; the evidence by importance sampling."""
    tree = pm.fit_pathfinder(2000, model=regression(), random_seed=3)
    draws = np.asarray(tree["posterior"]["b"])[0]
    assert np.all(np.abs(draws.mean(0) - MEAN) < 5 * np.sqrt(np.diag(COVARIANCE) / 1000))
    assert tree["posterior"].attrs["pareto_k"] < 0.7
    assert tree["posterior"].attrs["log_marginal_likelihood"] == pytest.approx(EVIDENCE, abs=0.1)


@pytest.mark.parametrize("fit", [pm.fit_laplace, pm.fit_pathfinder])
def test_evidence_of_a_conjugate_model(fit: Any) -> None:
    """A gamma prior of a Poisson rate: negative binomial."""
    counts = np.array([3, 5, 2, 4, 4])
    with pm.Model() as model:
        pm.Poisson("y", pm.Gamma("rate", 2.0, 0.5), observed=counts)
    tree = fit(4000, model=model, random_seed=5)
    from scipy.special import gammaln

    n, total = len(counts), counts.sum()
    exact = (
        2 * np.log(0.5) - gammaln(2) + gammaln(2 + total) - (2 + total) * np.log(0.5 + n) - gammaln(counts + 1).sum()
    )
    attributes = tree["posterior"].attrs
    found = attributes.get("log_marginal_likelihood_importance", attributes["log_marginal_likelihood"])
    assert found == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("fit", [pm.fit_laplace, pm.fit_pathfinder])
def test_equal_seeds_give_equal_draws(fit: Any) -> None:
    one, other, third = (fit(100, model=regression(), random_seed=s) for s in (1, 1, 2))
    assert np.array_equal(one["posterior"]["b"], other["posterior"]["b"])
    assert not np.array_equal(one["posterior"]["b"], third["posterior"]["b"])


@pytest.mark.parametrize("fit", [pm.fit_laplace, pm.fit_pathfinder])
def test_a_posterior_that_is_far_from_normal_is_warned_of(fit: Any) -> None:
    """A funnel."""
    with pm.Model() as model:
        v = pm.Normal("v", 0.0, 3.0)
        pm.Normal("x", 0.0, pm.math.exp(v / 2), shape=9)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            fit(2000, model=model, random_seed=2)
        except SamplingError:
            return
    assert any("far from the posterior" in str(w.message) for w in seen)


class TestBadInput:
    """Says what was needed and what came."""

    def test_discrete_variables(self) -> None:
        with pm.Model() as model:
            pm.Poisson("y", pm.Poisson("n", 3.0) + 1.0, observed=2)
        with pytest.raises(ModelError, match=r"`n` is discrete.*pm\.marginalize"):
            pm.find_MAP(model=model)

    def test_a_density_without_a_highest_point(self) -> None:
        """The centred hierarchy, whose density is infinite where the scale vanishes."""
        with pm.Model() as model:
            tau = pm.HalfNormal("tau", 5.0)
            theta = pm.Normal("theta", 0.0, tau, shape=8)
            pm.Normal("y", theta, 10.0, observed=np.zeros(8))
        with pytest.raises(SamplingError, match="no highest point"):
            pm.find_MAP(model=model)

    def test_a_mode_at_a_bound(self) -> None:
        with pm.Model() as model:
            pm.Exponential("rate", 1.0)
        with pytest.warns(ConsilienceWarning, match="at a bound of the support of `rate_log__`"):
            assert pm.find_MAP(model=model)["rate"] < 1e-4

    def test_a_start_outside_the_support(self) -> None:
        with pm.Model() as model:
            x = pm.Normal("x", 0.0, 1.0)
            pm.Potential("p", pm.math.log(x - 5.0))
        with pytest.raises(InitialPointError, match="p"):
            pm.find_MAP(model=model)

    def test_names_that_are_not_there(self) -> None:
        with pytest.raises(ModelError, match=r"`vars` names 'c'; the free variables are \['b'\]"):
            pm.find_MAP(model=regression(), vars=["c"])

    def test_the_point_by_position_and_by_name(self) -> None:
        with pytest.raises(TypeError, match="`start` twice"):
            pm.find_MAP({"b": np.zeros(3)}, start={"b": np.zeros(3)}, model=regression())

    def test_an_unknown_method(self) -> None:
        with pytest.raises(ValueError, match="solver"):
            pm.find_MAP("steepest", model=regression())

    def test_options_of_other_methods(self) -> None:
        with pytest.raises(TypeError, match=r"takes no \['ftol'\]"):
            pm.find_MAP(model=regression(), ftol=1e-3)

    @pytest.mark.parametrize("given", [{"draws": 0}, {"num_paths": 0}, {"importance_sampling": "psir"}])
    def test_numbers_of_paths_and_draws(self, given: dict[str, Any]) -> None:
        with pytest.raises(SamplingError, match=next(iter(given))):
            pm.fit_pathfinder(model=regression(), **given)


def test_seed_is_another_name_of_random_seed() -> None:
    """As in PyMC's `find_MAP`; both at once are refused."""
    with pm.Model():
        pm.Normal("x", 2.0, 1.0)
        found = pm.find_MAP(seed=1, progressbar=False)
        with pytest.raises(TypeError, match="another name of `random_seed`"):
            pm.find_MAP(seed=1, random_seed=2, progressbar=False)
    np.testing.assert_allclose(found["x"], 2.0, atol=1e-6)
