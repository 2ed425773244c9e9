"""The same model in other coordinates: densities differ by the Jacobian, all else is as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.model import noncenter, recenter
from consilience.model.log_density import model_density

LOWER = np.array([[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-0.3, 0.4, 0.7]])
COVARIANCE = LOWER @ LOWER.T

# A family with location `mu` and scale `tau` times a matrix: log |d theta / d raw| per unit of log tau, and at tau = 1.
FAMILIES: dict[str, tuple[Callable[[Any, Any], Any], float, float]] = {
    "Normal": (lambda mu, tau: pm.Normal("theta", mu, tau, dims="group"), 3, 0.0),
    "Normal by precision": (lambda mu, tau: pm.Normal("theta", mu, tau=tau**-2, dims="group"), 3, 0.0),
    "scales of groups": (
        lambda mu, tau: pm.Normal("theta", mu, tau * np.array([1.0, 2.0, 4.0]), dims="group"), 3, np.log(8),
    ),
    "StudentT": (lambda mu, tau: pm.StudentT("theta", pm.math.exp(mu), mu, tau, dims="group"), 3, 0.0),
    "Laplace": (lambda mu, tau: pm.Laplace("theta", mu, tau, dims="group"), 3, 0.0),
    "Cauchy": (lambda mu, tau: pm.Cauchy("theta", mu, tau, dims="group"), 3, 0.0),
    "Logistic": (lambda mu, tau: pm.Logistic("theta", mu, tau, dims="group"), 3, 0.0),
    "Gumbel": (lambda mu, tau: pm.Gumbel("theta", mu, tau, dims="group"), 3, 0.0),
    "Moyal": (lambda mu, tau: pm.Moyal("theta", mu, tau, dims="group"), 3, 0.0),
    "HalfStudentT": (lambda mu, tau: pm.HalfStudentT("theta", 3.0, tau, dims="group"), 0, 0.0),
    "HalfNormal": (lambda mu, tau: pm.HalfNormal("theta", tau, dims="group"), 0, 0.0),
    "HalfCauchy": (lambda mu, tau: pm.HalfCauchy("theta", tau, dims="group"), 0, 0.0),
    "LogNormal": (lambda mu, tau: pm.LogNormal("theta", mu, tau, dims="group"), 3, 0.0),
    "MvNormal by covariance": (
        lambda mu, tau: pm.MvNormal("theta", mu * np.ones(3), cov=tau**2 * COVARIANCE, dims="group"), 3,
        np.log(np.diag(LOWER)).sum(),
    ),
    "MvNormal by factor": (
        lambda mu, tau: pm.MvNormal("theta", mu * np.ones(3), chol=tau * LOWER, dims="group"), 3,
        np.log(np.diag(LOWER)).sum(),
    ),
    "MvNormal by precision": (
        lambda mu, tau: pm.MvNormal("theta", mu * np.ones(3), tau=np.linalg.inv(COVARIANCE) / tau**2, dims="group"), 3,
        np.log(np.diag(LOWER)).sum(),
    ),
}  # fmt: skip


def hierarchy(family: str) -> pm.Model:
    with pm.Model(coords={"group": ["a", "b", "c"]}) as model:
        mu = pm.Normal("mu", 0.5, 1.0)
        tau = pm.Exponential("tau", 1.0)
        theta = FAMILIES[family][0](mu, tau)
        pm.Normal("y", theta, [1.0, 2.0, 3.0], observed=[1.0, 0.0, -1.0], dims="group")
    return model


@pytest.mark.parametrize(("shape", "axes"), [((4,), 1), ((3, 4), 1), ((3, 4), 2)])
def test_zero_sum_arrays_are_a_scale_times_others(shape: tuple[int, ...], axes: int) -> None:
    """Coordinates of what sums to zero are scaled with it: one log tau for each."""
    with pm.Model() as model:
        tau = pm.Exponential("tau", 1.0)
        pm.ZeroSumNormal("theta", sigma=tau, n_zerosum_axes=axes, shape=shape)
    other = noncenter(model, ["theta"])
    own, theirs = model_density(model), model_density(other)
    place = np.random.default_rng(1).normal(size=own.dimension)
    spread = np.exp(place[0])
    raw = np.concatenate([place[:1], place[1:] / spread])
    assert np.isclose(theirs(raw)[0], own(place)[0] + (own.dimension - 1) * place[0], rtol=1e-12)
    np.testing.assert_allclose(theirs.expand(raw[None], True)["theta"], own.expand(place[None], False)["theta"])


@pytest.mark.parametrize("family", FAMILIES)
def test_densities_differ_by_the_jacobian(family: str) -> None:
    model = hierarchy(family)
    other = noncenter(model, ["theta"])
    assert [v.name for v in other.free] == ["mu", "tau", "theta_raw"]
    assert list(other.named_deterministics) == ["theta"]
    assert other.named_vars_to_dims == {"theta_raw": ("group",), "theta": ("group",), "y": ("group",)}
    density = other.log_density()
    position = np.array([0.3, -0.7, 0.4, -1.1, 2.0])
    log_tau = position[1]
    theta = density.expand(position[None])["theta"][0]
    name = str(model.value_vars[2].name)
    centred = np.log(theta) if name == "theta_log__" else theta
    before = model.compile_logp()({"mu": 0.3, "tau_log__": log_tau, name: centred})
    _, per_log_tau, constant = FAMILIES[family]
    # On the log line a scale moves all elements alike and takes no volume.
    assert density(position)[0] == pytest.approx(before + per_log_tau * log_tau + constant, rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_exist_in_the_new_coordinates(family: str) -> None:
    density = noncenter(hierarchy(family), "theta").log_density()
    position = np.array([0.3, -0.7, 0.4, -1.1, 2.0])
    _, slope = density(position)
    step = 1e-6 * np.eye(5)
    differences = [(density(position + h)[0] - density(position - h)[0]) / 2e-6 for h in step]
    np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("family", ["Normal", "scales of groups", "Laplace", "Cauchy", "LogNormal"])
def test_centring_is_the_way_back(family: str) -> None:
    model = hierarchy(family)
    back = recenter(noncenter(model, "theta"), "theta")
    assert [v.name for v in back.free] == ["mu", "tau", "theta"]
    position = np.array([0.3, -0.7, 0.4, -1.1, 2.0])
    density = back.log_density()
    assert density(position)[0] == pytest.approx(model.log_density()(position)[0], rel=1e-12)
    values = {name: value[0] for name, value in density.expand(position[None]).items()}
    line = np.log(values["theta"]) if family == "LogNormal" else values["theta"]
    scale = values["tau"] * (np.array([1.0, 2.0, 4.0]) if family == "scales of groups" else 1.0)
    np.testing.assert_allclose(values["theta_raw"], (line - values["mu"]) / scale)


def test_models_written_by_hand_are_centred() -> None:
    with pm.Model() as model:
        mu, tau = pm.Normal("mu"), pm.HalfNormal("tau")
        z = pm.Normal("z", 1.0, 2.0, shape=4)
        theta = pm.Deterministic("theta", mu - z * tau)
        pm.Normal("y", theta + z, 1.0, observed=np.arange(4.0))
    centred = recenter(model, [theta])
    with pm.Model() as expected:
        mu, tau = pm.Normal("mu"), pm.HalfNormal("tau")
        theta = pm.Normal("theta", mu - tau, 2.0 * tau, shape=4)
        pm.Normal("y", theta + (mu - theta) / tau, 1.0, observed=np.arange(4.0))
    position = np.array([0.3, -0.2, 1.0, 2.0, -1.0, 0.5])
    order = [str(v.name) for v in centred.value_vars]
    assert order == ["mu", "tau_log__", "theta"]
    assert centred.log_density()(position)[0] == pytest.approx(expected.log_density()(position)[0], rel=1e-12)


def test_scalars_are_centred_about_what_is_estimated() -> None:
    with pm.Model() as model:
        mu, tau, z = pm.Normal("mu"), pm.HalfNormal("tau"), pm.Normal("z")
        pm.Deterministic("theta", mu + tau * z)
    assert [v.name for v in recenter(model, "theta").free] == ["mu", "tau", "theta"]
    with pm.Model() as ambiguous:
        pm.Deterministic("sum", pm.Normal("a") + pm.Normal("b"))
    with pytest.raises(pm.ModelError, match="several serve: `a`, `b`"):
        recenter(ambiguous, "sum")


def test_several_variables_above_each_other() -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu", pm.Normal("top"), pm.HalfNormal("s"))
        tau = pm.HalfNormal("tau", pm.Exponential("rate", 1.0))
        nu = pm.Gamma("nu", 2, 0.1)
        pm.StudentT("theta", nu, mu, tau, shape=3)
    other = noncenter(model, ["theta", "tau", "mu"])
    assert [v.name for v in other.free] == ["top", "s", "mu_raw", "rate", "tau_raw", "nu", "theta_raw"]
    draws = 20_000
    prior = pm.sample_prior_predictive(draws, model=other, random_seed=1).prior
    again = pm.sample_prior_predictive(draws, model=model, random_seed=2).prior
    for name in ("theta", "tau", "mu"):
        levels = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
        below = [
            (prior[name].values[0, :].reshape(draws, -1)[:, 0] < q).mean() for q in np.quantile(again[name], levels)
        ]
        np.testing.assert_allclose(below, levels, atol=5 * np.sqrt(2 * 0.25 / draws))
    assert np.isfinite(other.compile_logp()(other.initial_point()))


def test_parameters_out_of_range_have_no_density_in_either_form() -> None:
    with pm.Model() as model:
        sigma = pm.Normal("sigma")
        theta = pm.Normal("theta", 0.0, sigma, shape=2)
        pm.Normal("y", theta, 1.0, observed=[0.0, 0.0])
    other = noncenter(model, "theta")
    assert other.compile_logp()({"sigma": -1.0, "theta_raw": np.zeros(2)}) == -np.inf


def test_divergences_are_reported_with_the_variables_to_rewrite() -> None:
    with pm.Model() as model:
        tau = pm.HalfCauchy("tau", 5.0)
        pm.Normal("theta", pm.Normal("mu", 0, 5), tau, shape=8)
        effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
        pm.Normal("y", model["theta"], [15.0, 10, 16, 11, 9, 11, 10, 18], observed=effects)
    with pytest.warns(pm.ConvergenceWarning) as caught:
        pm.sample(500, tune=300, model=model, target_accept=0.6, random_seed=1, progressbar=False)
    assert "`pm.noncenter(model, ['theta'])`" in str(caught[0].message)


def test_a_transform_that_is_the_default_one_is_no_transform_of_its_own() -> None:
    """A model that another program wrote names every transform."""
    log = pm.distributions.transforms.log

    def built(**named: Any) -> pm.Model:
        with pm.Model() as model:
            pm.HalfNormal("theta", pm.HalfNormal("tau", **named), shape=3, **named)
        return model

    own, named = (noncenter(model, "theta") for model in (built(), built(default_transform=log)))
    at = {"tau_log__": 0.3, "theta_raw_log__": np.array([-1.0, 0.2, 2.0])}
    assert named.compile_logp()(at) == own.compile_logp()(at)


def test_what_has_no_other_coordinates_is_refused() -> None:
    with pm.Model() as model:
        a = pm.Gamma("a", 2, 1)
        pm.Deterministic("twice", 2 * a)
        pm.Normal("y", a, 1.0, observed=1.0)
        pm.Normal("own", 0, 1, shape=3, transform=pm.distributions.transforms.ordered, initval=np.arange(3.0))
        pm.Normal("b")
        pm.Normal("b_raw")
        pm.Deterministic("square", model["b"] ** 2)
    for name, message in {
        "a": r"`a` \(Gamma\) is neither of a location-scale family",
        "twice": "`twice` is not a free variable",
        "y": "`y` is not a free variable",
        "own": "`own` has a transform of its own",
        "b": "has a variable `b_raw` already",
    }.items():
        with pytest.raises(pm.ModelError, match=message):
            noncenter(model, name)
    with pytest.raises(KeyError, match="no variable `c`"):
        noncenter(model, ["c"])
    for name, message in {
        "a": "`a` is not a deterministic",
        "twice": "there is none",
        "square": "there is none",
    }.items():
        with pytest.raises(pm.ModelError, match=message):
            recenter(model, name)
