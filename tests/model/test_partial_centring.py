"""Coordinates between centred and not, series by their innovations, and normal vectors centred again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.model import centredness, noncenter, recenter
from tests.model.test_reparametrisation import COVARIANCE, FAMILIES, hierarchy

PARTLY = [family for family in FAMILIES if family not in ("Gumbel", "Moyal")] + ["Gumbel", "Moyal"]
DEGREES = {"one": 0.3, "each": np.array([0.0, 0.4, 1.0]), "all": 1.0, "none": 0.0}


def slopes(density: Any, position: np.ndarray) -> list[float]:
    step = 1e-6 * np.eye(len(position))
    return [(density(position + h)[0] - density(position - h)[0]) / 2e-6 for h in step]


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("family", PARTLY)
def test_densities_differ_by_the_jacobian_of_a_part(family: str, degree: str) -> None:
    """log |d theta / d raw| is the sum of (1 - c) log scale; on the log line of positive families there is none."""
    c = np.broadcast_to(DEGREES[degree], 3)
    model = hierarchy(family)
    other = noncenter(model, {"theta": DEGREES[degree]})
    assert [v.name for v in other.free] == ["mu", "tau", "theta_raw"]
    assert other.named_vars_to_dims["theta_raw"] == ("group",)
    density = other.log_density()
    position = np.array([0.3, -0.7, 0.4, -0.9, 0.6])
    values = density.expand(position[None])
    name = str(model.value_vars[2].name)
    centred = np.log(values["theta"][0]) if name == "theta_log__" else values["theta"][0]
    before = model.compile_logp()({"mu": 0.3, "tau_log__": -0.7, name: centred})
    scales = np.full(3, np.exp(-0.7))
    if family == "scales of groups":
        scales = scales * [1.0, 2.0, 4.0]
    elif family.startswith("MvNormal"):
        scales = scales * np.diag(np.linalg.cholesky(COVARIANCE))
    volume = 0.0 if FAMILIES[family][1] == 0 else ((1 - c) * np.log(scales)).sum()
    assert density(position)[0] == pytest.approx(before + volume, rel=1e-12)
    np.testing.assert_allclose(density(position)[1], slopes(density, position), rtol=1e-6, atol=1e-6)
    if degree == "all":
        np.testing.assert_allclose(values["theta_raw"], values["theta"] if family != "LogNormal" else [centred])


def test_the_posterior_is_the_same_whatever_the_centredness() -> None:
    """Given tau, theta and mu are jointly normal, so that the posterior of tau is a sum over a fine grid."""
    y, s = np.array([2.0, -1.0, 0.5]), np.array([0.3, 1.0, 3.0])
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 1.0)
        tau = pm.LogNormal("tau", 0.0, 0.5)
        pm.Normal("y", pm.Normal("theta", mu, tau, shape=3), s, observed=y)
    grid = np.linspace(1e-3, 12.0, 4000)
    weight = np.empty(4000)
    first = np.empty(4000)
    for i, t in enumerate(grid):
        cov = np.ones((3, 3)) + t**2 * np.eye(3) + np.diag(s**2)
        weight[i] = -np.log(t) - 0.5 * (
            (np.log(t) / 0.5) ** 2 + y @ np.linalg.solve(cov, y) + np.linalg.slogdet(cov)[1]
        )
        first[i] = (np.ones((3, 3)) + t**2 * np.eye(3))[0] @ np.linalg.solve(cov, y)
    p = np.exp(weight - weight.max())
    p /= p.sum()
    partly = noncenter(model, {"theta": [0.6, 0.2, 0.0]})
    posterior = pm.sample(2000, chains=2, model=partly, random_seed=4, progressbar=False).posterior
    assert posterior["theta"].shape == (2, 2000, 3)
    draws = posterior["tau"].values.ravel()
    assert draws.mean() == pytest.approx((p * grid).sum(), abs=0.05)
    assert (draws**2).mean() == pytest.approx((p * grid**2).sum(), abs=0.15)
    assert posterior["theta"].values[..., 0].mean() == pytest.approx((p * first).sum(), abs=0.03)


def test_a_model_centred_in_part_is_centred_again() -> None:
    with pm.Model() as model:
        mu, tau = pm.Normal("mu"), pm.HalfNormal("tau")
        pm.Normal("theta", mu, tau, shape=3)
        pm.Normal("one", mu, tau)
    position = np.array([0.3, -0.7, 0.4, -1.1, 2.0, 0.6])
    for degree in (0.0, 0.5):
        back = recenter(noncenter(model, {"theta": degree, "one": degree}), ["theta", "one"])
        assert [v.name for v in back.free] == ["mu", "tau", "theta", "one"]
        assert back.log_density()(position)[0] == pytest.approx(model.log_density()(position)[0], rel=1e-12)


@pytest.mark.parametrize("degree", [-0.1, 1.1, np.nan, [0.1, 0.2], np.ones((2, 3)), [0.5, 2.0, 0.1]])
def test_centredness_is_a_share_of_each_element(degree: Any) -> None:
    with pytest.raises(pm.ModelError, match="the centredness of `theta` must be"):
        noncenter(hierarchy("Normal"), {"theta": degree})


def test_distributions_without_a_form_between_say_so() -> None:
    with pm.Model() as model:
        pm.GaussianRandomWalk("walk", 0.0, 1.0, shape=4)
        pm.Gamma("a", 2, 1)
    for name in ("walk", "a"):
        with pytest.raises(pm.ModelError, match=f"`{name}` .* have a centredness between 0 and 1"):
            noncenter(model, {name: 0.5})
    assert [v.name for v in noncenter(model, {"walk": 0.0}).free] == ["walk_raw", "walk_init_raw", "a"]


# A series with the scale `tau` of its steps: log |d x / d raw| at tau = 1, and per unit of log tau.
SERIES: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "walk": (
        lambda tau: pm.GaussianRandomWalk("x", 0.1, tau, init_dist=pm.Normal.dist(1.0, 2.0), shape=5), np.log(2), 4,
    ),
    "walks": (
        lambda tau: pm.GaussianRandomWalk("x", 0.1, [tau, 2 * tau], init_dist=pm.Normal.dist(0.0, 10.0), shape=(2, 3)),
        2 * np.log(10) + 2 * np.log(2), 4,
    ),
    "walk with heavy steps": (
        lambda tau: pm.RandomWalk("x", pm.Normal.dist(0, 1), pm.StudentT.dist(3, 0, tau), steps=3), 0.0, 3,
    ),
    "walk upwards": (lambda tau: pm.RandomWalk("x", pm.Normal.dist(0, 1), pm.Gamma.dist(2, 1 / tau), steps=2), 0.0, 0),
    "walk of vectors": (
        lambda tau: pm.MvGaussianRandomWalk(
            "x", np.zeros(2), chol=tau * np.array([[1.0, 0.0], [0.5, 2.0]]),
            init_dist=pm.MvNormal.dist(np.zeros(2), np.eye(2)), shape=(3, 2),
        ),
        2 * np.log(2), 4,
    ),
    "AR(1)": (lambda tau: pm.AR("x", 0.7, tau, init_dist=pm.Normal.dist(0.0, 3.0), shape=5), np.log(3), 4),
    "AR(2) with a constant": (
        lambda tau: pm.AR("x", [0.4, 0.7, -0.3], tau, constant=True, init_dist=pm.Normal.dist(0.0, 3.0), shape=5),
        2 * np.log(3), 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("series", SERIES)
def test_series_are_functions_of_their_innovations(series: str) -> None:
    declare, constant, per_log_tau = SERIES[series]
    with pm.Model() as model:
        x = declare(pm.HalfNormal("tau"))
        pm.Normal("y", x.sum(), 1.0, observed=0.3)
    other = noncenter(model, "x")
    assert [v.name for v in other.free] == ["tau", "x_raw", "x_init_raw"]
    assert other["x"].static_shape == x.static_shape
    density = other.log_density()
    position = 0.4 * np.cos(np.arange(density.dimension) + 2.0)
    log_tau = position[0]
    x_values = density.expand(position[None])["x"][0]
    before = model.compile_logp()({"tau_log__": log_tau, "x": x_values})
    volume = constant + per_log_tau * log_tau
    if series == "walk upwards":  # its innovations stay as they are, on the log line
        volume = position[1:3].sum()
    assert density(position)[0] == pytest.approx(before + volume, rel=1e-11)
    np.testing.assert_allclose(density(position)[1], slopes(density, position), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("family", ["MvNormal by covariance", "MvNormal by factor"])
def test_normal_vectors_are_centred_again(family: str) -> None:
    model = hierarchy(family)
    back = recenter(noncenter(model, "theta"), "theta")
    assert [v.name for v in back.free] == ["mu", "tau", "theta"]
    position = np.array([0.3, -0.7, 0.4, -1.1, 2.0])
    density = back.log_density()
    assert density(position)[0] == pytest.approx(model.log_density()(position)[0], rel=1e-12)
    raw = (
        noncenter(model, "theta")
        .log_density()
        .expand(np.concatenate([position[:2], density.expand(position[None])["theta_raw"][0]])[None])
    )
    np.testing.assert_allclose(raw["theta"][0], position[2:], rtol=1e-10)


def test_vectors_written_by_hand_are_centred() -> None:
    a = np.array([[1.0, 0.4], [-0.3, 2.0]])
    with pm.Model() as model:
        mu = pm.Normal("mu")
        z = pm.Normal("z", [1.0, 0.0], [2.0, 0.5], shape=2)
        theta = pm.Deterministic("theta", mu + pm.math.exp(mu) * 0.0 + pm.math.dot(a * pm.math.exp(mu), z))
        pm.Normal("y", theta, 1.0, observed=np.arange(2.0))
    centred = recenter(model, [theta])
    scaled = np.exp(0.3) * a
    position = np.array([0.3, 0.6, -0.5])
    back = np.linalg.solve(scaled, position[1:] - 0.3)
    expected = model.compile_logp()({"mu": 0.3, "z": back}) - np.linalg.slogdet(scaled)[1]
    assert [v.name for v in centred.free] == ["mu", "theta"]
    assert centred.log_density()(position)[0] == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(centred.log_density().expand(position[None])["z"][0], back)


def test_centredness_follows_from_what_the_data_say_of_each_element() -> None:
    """Much data about the first element, none about the last: near 1, and 0."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 1.0)
        tau = pm.LogNormal("tau", 0.0, 1.5)
        theta = pm.Normal("theta", mu, tau, shape=3)
        rate = pm.LogNormal("rate", mu, tau)
        pm.HalfNormal("half", tau)
        pm.Normal("y", theta[:2], [0.05, 1.0], observed=[2.0, -1.0])
        pm.Normal("x", pm.math.log(rate), 0.02, observed=0.3)
    posterior = pm.sample(
        1000, tune=400, chains=2, model=noncenter(model, "theta"), random_seed=4, progressbar=False,
        compute_convergence_checks=False,
    ).posterior  # fmt: skip
    found = centredness(posterior, model=model)
    assert set(found) == {"theta", "rate", "half"}
    assert found["theta"].shape == (3,)
    assert found["theta"][0] > 0.85
    assert 0.1 < found["theta"][1] < 0.9
    assert found["theta"][2] < 0.25
    assert found["rate"] > 0.85
    assert found["half"] < 0.25
    assert np.isfinite(noncenter(model, found).log_density()(np.zeros(7))[0])
    assert set(centredness({n: posterior[n].values for n in posterior}, ["rate"], model)) == {"rate"}


def test_centredness_needs_draws_of_a_location_and_a_scale() -> None:
    with pm.Model() as model:
        a = pm.Gamma("a", 2, 1)
        pm.Normal("theta", 0.0, a)
    draws = {"a": np.ones((1, 4)), "theta": np.arange(4.0)[None]}
    for names, given, message in (
        ("a", draws, "`a` is no free variable with a location and a scale"),
        ("theta", {"a": draws["a"]}, "the draws hold no `theta`"),
        ("theta", {n: v[:, :1] for n, v in draws.items()}, "two draws or more are needed, got 1"),
    ):
        with pytest.raises(pm.ModelError, match=message):
            centredness(given, names, model)
    with pytest.raises(KeyError, match="no variable `b`"):
        centredness(draws, "b", model)
